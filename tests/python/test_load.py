"""Results read again: a run or a comparison as Python objects, frames, figures, in a notebook."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import leafspine
from conftest import SCENARIO, VARIANTS, child_path
from leafspine import comparison_figures, distributions, frames, loading, manifest, plots, style
from leafspine.comparison_data import ComparisonData
from leafspine.comparison_figures import ComparisonFigures
from leafspine.distributions import Sample
from leafspine.run_figures import RunFigures


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[leafspine.Comparison]:
    """Two variants, two loads, three seeds; not to be changed."""
    folder = tmp_path_factory.mktemp("load")
    (folder / "many.toml").write_text(SCENARIO + VARIANTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", child_path())
        yield leafspine.compare(folder / "many.toml", out=folder / "out")


def test_a_comparison_is_what_it_was(made: leafspine.Comparison) -> None:
    """Breaks if what is loaded has other runs, numbers, figures or warnings than what was made."""
    found = leafspine.load(made.directory)
    assert isinstance(found, leafspine.Comparison)
    assert found.variants == made.variants
    assert found.points == made.points
    assert found.seeds == made.seeds
    assert found.classes == made.classes
    assert found.table().equals(made.table())
    assert found.warnings() == made.warnings()
    assert [case.key for case in found.cases] == [case.key for case in made.cases]
    assert plots.styles(found) == plots.styles(made)


def test_a_run_is_what_it_was(scenario: Path, tmp_path: Path) -> None:
    """Breaks if load gives something else for a run's directory."""
    made = leafspine.run(scenario, out=tmp_path / "out")
    assert leafspine.load(tmp_path / "out") == made
    assert leafspine.load(str(tmp_path / "out")).flows.equals(made.flows)


def test_a_run_is_told_in_a_line(made: leafspine.Comparison) -> None:
    """Breaks if a case shows its whole resolved scenario, where it is made or where it is read."""
    [first, *_] = leafspine.load(made.directory).finished  # type: ignore[union-attr]
    assert (
        repr(first)
        == repr(made.finished[0])
        == ("Case(variant='ECMP', point=(('workload.0.load', 0.2),), seed=1)")
    )


def test_flows_of_all_runs_are_one_table(made: leafspine.Comparison) -> None:
    """Breaks if a flow is lost, or cannot be told from that of another run."""
    flows = leafspine.load(made.directory).flows
    assert isinstance(flows, pa.Table)
    assert flows.column_names[:4] == ["variant", "workload.0.load", "seed", "flow"]
    assert flows.num_rows == sum(made.result(case).flows.num_rows for case in made.cases)
    frame = made.to_pandas()
    for case in made.cases:
        own = frame[
            (frame["variant"] == case.variant)
            & (frame["workload.0.load"] == dict(case.point)["workload.0.load"])
            & (frame["seed"] == case.seed)
        ]
        assert own["bytes"].tolist() == made.result(case).flows["bytes"].to_pylist()
    ports = made.ports
    assert ports.num_rows == sum(made.result(case).ports.num_rows for case in made.cases)


def test_measured_flows_are_those_after_the_warmup(many: Path, tmp_path: Path) -> None:
    """Breaks if a frame for statistics has flows that are in none."""
    many.write_text((SCENARIO + VARIANTS).replace("seed = 1", "seed = 1\nfake_warmup = 3000000000"))
    comparison = leafspine.compare(many, out=tmp_path / "out")
    assert 0 < comparison.measured_flows.num_rows < comparison.flows.num_rows
    assert min(comparison.measured_flows["start_ps"].to_pylist()) >= 3_000_000_000


def test_labels_of_several_kinds_become_text() -> None:
    """Breaks if a sweep over 20 and "30KB", or over a key that a point lacks, is no column."""
    table = pa.table({"a": [1, 2]})
    stack = frames.stacked([({"v": 20, "w": 1}, table), ({"v": "30KB"}, table)])
    assert stack["v"].to_pylist() == ["20", "20", "30KB", "30KB"]
    assert stack["w"].to_pylist() == [1, 1, None, None]
    mixed = frames.stacked([({"v": 1}, table), ({"v": 0.5}, table)])
    assert mixed["v"].to_pylist() == [1.0, 1.0, 0.5, 0.5]
    assert frames.stacked([]).num_rows == 0


def test_frames_of_other_libraries(made: leafspine.Comparison) -> None:
    """Breaks if a frame has other columns than the Arrow table."""
    for name, table in (("flows", made.flows), ("ports", made.ports), ("metrics", made.table())):
        assert list(made.to_pandas(name).columns) == table.column_names
        assert made.to_polars(name).columns == table.column_names
        assert made.to_polars(name).height == table.num_rows
    result = made.result(made.cases[0])
    assert result.to_polars().height == result.flows.num_rows
    assert list(result.to_pandas("queue-0").columns) == ["time_ps", "port"]
    with pytest.raises(leafspine.InputError, match='did you mean "flows"'):
        made.to_polars("flow")


@pytest.mark.parametrize("name", ["polars", "pandas"])
def test_a_library_that_is_missing_is_named(
    made: leafspine.Comparison, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Breaks if a user without Polars gets a traceback of an import."""
    monkeypatch.setitem(sys.modules, name, None)

    def missing(_name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(leafspine.InputError, match=f"{name} is not installed: pip install {name}"):
        getattr(made, f"to_{name}")()


@pytest.mark.parametrize("what", ["nothing", "missing", "no comparison", "no scenario"])
def test_what_is_neither_is_said_so(tmp_path: Path, what: str) -> None:
    """Breaks if a wrong directory gives a traceback."""
    folder = tmp_path / "out"
    if what != "missing":
        folder.mkdir()
    if what == "no comparison":
        (folder / "comparison.json").write_text("{}")
    if what == "no scenario":
        (folder / "comparison.json").write_text('{"leafspine": "1", "runs": []}')
    with pytest.raises(leafspine.InputError, match=re.escape(str(folder))):
        leafspine.load(folder)


def test_runs_that_are_missing_are_failures(made: leafspine.Comparison, tmp_path: Path) -> None:
    """Breaks if an interrupted comparison cannot be looked at, or looks complete."""
    folder = tmp_path / "out"
    shutil.copytree(made.directory, folder)
    shutil.rmtree(folder / "runs" / made.cases[0].key)
    found = leafspine.load(folder)
    assert isinstance(found, leafspine.Comparison)
    assert [failure.message for failure in found.failures] == [loading.NO_RESULT]
    assert len(found.finished) == len(made.cases) - 1
    assert "11 of 12 runs" in repr(found)
    assert found.table().num_rows == made.table().num_rows
    for case in made.cases[1:]:
        shutil.rmtree(folder / "runs" / case.key)
    with pytest.raises(leafspine.InputError, match="none of its 12 runs has finished"):
        leafspine.load(folder)


def test_another_versions_comparison_is_read(made: leafspine.Comparison, tmp_path: Path) -> None:
    """Breaks if results cannot be looked at after an update: their keys are of the old version."""
    folder = tmp_path / "out"
    shutil.copytree(made.directory, folder)
    record = json.loads((folder / manifest.MANIFEST).read_text())
    for number, run in enumerate(record["runs"]):
        new = f"{number:016x}"
        (folder / "runs" / run["key"]).rename(folder / "runs" / new)
        run["key"] = new
    record.pop("name")  # earlier versions wrote none
    (folder / manifest.MANIFEST).write_text(json.dumps(record))
    found = leafspine.load(folder)
    assert isinstance(found, leafspine.Comparison)
    assert found.flows.equals(made.flows)
    assert found.write(plots=False).is_file()


# Figures


def test_each_figure_is_a_method(made: leafspine.Comparison) -> None:
    """Breaks if a figure of the report cannot be had alone, or is not a Matplotlib figure."""
    figures = made.plot
    for draw in ("fct", "relative", "goodput", "queue", "reordering", "utilisation"):
        found = getattr(figures, draw)()
        assert isinstance(found, Figure)
        assert found.axes[0].get_xlabel() == "load"
    for draw in ("slowdown", "cdf", "ccdf"):
        assert isinstance(getattr(figures, draw)({"workload.0.load": 0.2}), Figure)
    assert "short" not in figures.fct("long").axes[0].get_title()
    for method in vars(type(figures)).values():
        if callable(method) and not method.__name__.startswith("_"):
            assert method.__doc__


def test_a_point_may_be_named_in_short(made: leafspine.Comparison) -> None:
    """Breaks if `load` is not the swept load, or a name that two keys have is taken for one."""
    assert isinstance(made.plot.cdf({"load": 0.2}), Figure)
    with pytest.raises(leafspine.InputError, match=r"0\.7.*allowed.*0\.2"):
        made.plot.cdf({"load": 0.7})
    two = (("workload.0.load", 0.2), ("workload.1.load", 0.3))
    assert comparison_figures._matches(two, {"workload.1.load": 0.3})
    assert not comparison_figures._matches(two, {"load": 0.3})


def test_a_figure_of_nothing_is_refused(made: leafspine.Comparison) -> None:
    """Breaks if a class or point that is not there gives a traceback or another figure."""
    with pytest.raises(leafspine.InputError, match='allowed: "all", "short", "long"; did you mean'):
        made.plot.fct("shor")
    with pytest.raises(leafspine.InputError, match=r"0\.7.*allowed.*0\.2"):
        made.plot.cdf({"workload.0.load": 0.7})


def test_a_run_has_its_own_figures(made: leafspine.Comparison) -> None:
    """Breaks if a run's figures need a comparison; one over time says which probe it needs."""
    result = made.result(made.cases[0])
    for draw in ("cdf", "ccdf", "slowdown", "fabric"):
        assert isinstance(getattr(result.plot, draw)(), Figure)
    with pytest.raises(leafspine.InputError, match='no probe of kind "window": add'):
        result.plot.window()


def test_slowdown_is_that_of_the_flows() -> None:
    """Breaks if a bin takes a flow twice or none, or a percentile is not of its flows."""
    sizes = np.repeat(np.array([1000, 2000, 5000, 9000], dtype=np.uint64), 100)
    ideal = np.full(400, 10, dtype=np.uint64)
    seeds = tuple(
        (sizes, ideal * np.tile(np.arange(1, 101), 4) * np.repeat([1, 2, 3, 4], 100) * seed, ideal)
        for seed in (1, 3)
    )
    sample = Sample("a", style.of_scheme("rps"), seeds)
    assert distributions.size_bins([sample]) == [1000, 2000, 5000, 9000]
    with plots.settings():
        figure = distributions.slowdown([sample])
    for axes, percent in zip(figure.axes, distributions.PERCENTILES, strict=True):
        line = axes.get_lines()[0]
        # The mean over both seeds of a percentile by nearest rank.
        assert list(line.get_ydata()) == [2 * percent * step for step in (1, 2, 3, 4)]


def test_bins_have_as_many_flows_each() -> None:
    """Breaks if a bin is so small that its 99th percentile is one flow."""
    sizes = np.arange(1, 1001, dtype=np.uint64)
    sample = Sample("a", style.of_scheme("rps"), ((sizes, sizes, sizes),))
    assert distributions.size_bins([sample]) == [100 * step for step in range(1, 11)]
    few = Sample("b", style.of_scheme("rps"), ((sizes[:500], sizes[:500], sizes[:500]),))
    assert distributions.size_bins([few]) == [100, 200, 300, 400, 500]
    nothing = Sample("c", style.of_scheme("rps"), ())
    assert distributions.size_bins([nothing]) == [0]


def test_nothing_finished_can_be_drawn(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a comparison in which no flow has ended gives a traceback instead of a report."""
    scenario.write_text(SCENARIO.replace("seed = 1", "seed = 1\nfake_unfinished = 200"))
    comparison = leafspine.compare(scenario, lb=["ecmp", "rps"], seeds=2, out=tmp_path / "out")
    report = comparison.write().read_text()
    assert "flows did not finish (ecmp: 400 of 400, rps: 400 of 400)" in report


# Notebooks


def test_notebooks_show_a_table_and_a_figure(made: leafspine.Comparison) -> None:
    """Breaks if a comparison shows as a page of numbers, or markup of a name acts."""
    shown = made._repr_html_()
    assert shown.count("<table>") == 1
    # Of which flows the table and the figure are.
    assert "<p>Short flows</p><table>" in shown
    assert "data:image/png;base64," in shown
    assert "LetFlow" in shown
    assert len(repr(made)) < 300
    result = made.result(made.cases[0])
    assert "<table>" in result._repr_html_()
    assert len(repr(result)) < 300
    assert made.plot.fct()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


TYPED = """\
import leafspine
from leafspine import Comparison, Result

found = leafspine.load("out")
reveal_type(found)
reveal_type(found.flows)
assert isinstance(found, Comparison)
reveal_type(found.plot.fct())
"""


def test_types_are_known_outside(tmp_path: Path) -> None:
    """Breaks if mypy does not know, for a user, that flows are an Arrow table."""
    (tmp_path / "use.py").write_text(TYPED)
    (tmp_path / "stubs" / "pyarrow").mkdir(parents=True)
    (tmp_path / "stubs" / "pyarrow" / "__init__.pyi").write_text("class Table: ...\n")
    package = Path(leafspine.__file__).parent
    assert (package / "py.typed").is_file()
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-incremental", "use.py"],
        cwd=tmp_path,
        env={"MYPYPATH": "stubs"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.findall('Revealed type is "([^"]*)"', done.stdout)
    assert told == [
        "leafspine.results.Result | leafspine.comparison.Comparison",
        "pyarrow.Table",
        "matplotlib.figure.Figure",
    ], done.stdout + done.stderr


def test_the_reference_has_every_name() -> None:
    """Breaks if a function, a figure or an attribute is not on the reference page."""
    page = (Path(leafspine.__file__).parents[2] / "docs" / "python.md").read_text()
    page = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    kinds = (leafspine.Comparison, leafspine.Result, ComparisonFigures, RunFigures)
    names = {name for kind in kinds for name in vars(kind) if not name.startswith("_")}
    names |= set(leafspine.Comparison.__dataclass_fields__) | set(vars(ComparisonData))
    names = {name for name in names if not name.startswith("_")}
    internal = {
        "load", "tables", "is_of_this_build", "unknown_files", "source", "command",
        "settings", "keep", "populated", "summaries", "measured", "by_name", "comparison", "run",
        "counted", "repeated", "only_jobs",
    }  # fmt: skip
    assert names - internal - words - {"summary"} == set()
    assert set(leafspine.__all__) <= words
