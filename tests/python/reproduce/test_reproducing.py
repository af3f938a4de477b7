"""A reproduction from the papers' files to the scorecard, on the fake engine."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import SCENARIO, VARIANTS
from leafspine import cli
from leafspine.errors import InputError
from leafspine.reproduce import data as numbers
from leafspine.reproduce import figures, layers, metrics, plan, reproducing
from leafspine.reproduce.verdicts import Verdict
from leafspine.tasks import Failure, Task
from test_results import contents

PAPER = """
title = "A paper"
authors = "Somebody"
figures = ["fig1", "fig2"]
"""

FIGURE = """
title = "Completion times"
place = "§1, Fig. 1"
assumptions = ["The seed is one."]

[runs.main]
scenario = "../fig1/scenario.toml"

[runs.main.quick]
set = { "workload.0.flows" = 50 }
sweep = { "workload.0.load" = [0.8] }

[[panel]]
name = "a"
kind = "bar"
metric = "all.fct_mean"
x = "workload.0.load"
unit = "ms"

[[panel]]
name = "b"
kind = "cdf"
series = "fct:short"

[[panel]]
name = "c"
kind = "table"
metric = "own.window_mean"

[[sensitivity]]
name = "more flows"
set = { "workload.0.flows" = 100 }
claims = ["C1"]
"""

FOUR = """
[[variant]]
name = "QDAPS"
"""

MORE_RUNS = """
[runs.more]
scenario = "scenario.toml"
"""

CLAIMS = """
[[claim]]
id = "C1"
place = "Fig. 1"
figure = "fig1"
type = "order"
says = "LetFlow is faster than ECMP"
[[claim.test]]
metric = "all.fct_mean"
less = ["LetFlow", "ECMP"]

[[claim]]
id = "C2"
place = "§2"
type = "cost"
says = "8 bytes a flow"
reason = "memory of hardware"

[[claim]]
id = "C3"
place = "Fig. 2"
figure = "fig2"
type = "order"
says = "ECMP is faster than LetFlow"
[[claim.test]]
metric = "all.fct_p99"
less = ["ECMP", "LetFlow"]
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library with one paper: two figures that share their runs."""
    folder = tmp_path / "papers" / "some"
    for name in ("fig1", "fig2"):
        (folder / name).mkdir(parents=True)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "fig1" / "scenario.toml").write_text(SCENARIO + VARIANTS)
    (folder / "fig1" / "figure.toml").write_text(FIGURE)
    rest = FIGURE[: FIGURE.index("[[sensitivity]]")].replace("Completion times", "The tail")
    (folder / "fig2" / "figure.toml").write_text(rest)
    return tmp_path / "papers"


def test_a_paper_from_runs_to_scorecard(library: Path, tmp_path: Path) -> None:
    """Breaks if a run is made twice, a claim is skipped, a verdict is not that of the numbers, or a
    file is missing."""
    out = tmp_path / "out"
    done = reproducing.reproduce(reproducing.choose(["all"], library), "quick", out)
    (chapter,) = done.chapters
    verdicts = {judged.claim.id: judged.verdict for judged in chapter.judged}
    assert verdicts == {
        "C1": Verdict.REPRODUCED,
        "C2": Verdict.UNTESTABLE,
        "C3": Verdict.NOT,
    }
    # Two variants, one load, three seeds: the sensitivity is of the paper's size.
    assert len(list((out / "runs").iterdir())) == 6
    for name in ("data.csv", "series.csv", "page.md", "figure.png", "figure.pdf"):
        assert (out / "some" / "fig1" / name).stat().st_size > 0, name
    page = (out / "some" / "fig1" / "page.md").read_text()
    assert "Verdicts: 1 reproduced." in page
    assert "Quick scale, 3 seeds" in page and "more flows" not in page
    assert "leafspine reproduce some/fig1 --scale quick" in page
    card = (out / "scorecard.md").read_text()
    assert "| some | 3 | 1 | 0 | 0 | 0 | 1 | 1 |" in card and "memory of hardware" in card
    report = (out / "report.html").read_text()
    # Two figures, each by day and by night.
    assert report.count("data:image/png") == 4 and "not reproduced" in report
    assert report.count('<image class="by-night"') == 2
    assert report.count('<td class="number" data-head="not reproduced">') == 2


def test_sensitivities_are_of_the_papers_size(library: Path, tmp_path: Path) -> None:
    """Breaks if one is not run at the paper's size, or its verdict is not on the page, beside what
    the same runs give as the paper is read, with their points and seeds."""
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "out")
    page = (tmp_path / "out" / "some" / "fig1" / "page.md").read_text()
    run_at = "load 0.2; load 0.8: 3 seeds"
    assert f"| C1 | more flows | {run_at} | reproduced | reproduced |" in page
    assert f"<td>{run_at}</td>" in (tmp_path / "out" / "report.html").read_text()


MOVED = """
[[sensitivity]]
name = "half of the links"
sweep = { "workload.0.load" = [0.2, 0.4] }
at = { "workload.0.load" = 0.4 }
claims = ["C1"]
"""


def with_moved(library: Path, sensitivity: str) -> list[reproducing.Chosen]:
    """The first figure with this sensitivity, its claim at a load of 0.8."""
    folder = library / "some"
    named = 'less = ["LetFlow", "ECMP"]\n'
    (folder / "claims.toml").write_text(
        CLAIMS.replace(named, f'{named}at = {{ "workload.0.load" = 0.8 }}\n')
    )
    (folder / "fig1" / "figure.toml").write_text(FIGURE + sensitivity)
    return reproducing.choose(["some/fig1"], library)


def test_a_sensitivity_has_a_point_of_its_own(library: Path, tmp_path: Path) -> None:
    """Breaks if a sensitivity is judged at the claim's point, which its sweep does not have, or the
    claim itself at the sensitivity's."""
    out = tmp_path / "out"
    reproducing.reproduce(with_moved(library, MOVED), "paper", out)
    page = (out / "some" / "fig1" / "page.md").read_text()
    assert (
        "| C1 | half of the links | load 0.2; load 0.4: 3 seeds | reproduced | reproduced |" in page
    )
    # Without it there is no number at the claim's point.
    plain = with_moved(library, MOVED.replace('at = { "workload.0.load" = 0.4 }\n', ""))
    reproducing.reproduce(plain, "paper", tmp_path / "plain")
    page = (tmp_path / "plain" / "some" / "fig1" / "page.md").read_text()
    assert "| half of the links | load 0.2; load 0.4: 3 seeds | reproduced | no data |" in page


def test_a_point_that_is_not_swept_is_refused(library: Path) -> None:
    """Breaks if a sensitivity's point that none of its runs is at gives no verdict and no word."""
    [chosen] = with_moved(library, MOVED.replace("= 0.4", "= 0.5"))
    [figure] = chosen.figures
    claims = chosen.paper.claims_of(figure.name)
    with pytest.raises(InputError) as caught:
        plan.plan(figure, claims, "paper")
    said = "sensitivity.1.at: found workload.0.load = 0.5; allowed: 0.2, 0.4"
    assert str(caught.value) == f"{figure.file}: {said}"


def test_a_point_must_be_one_of_the_claims(library: Path) -> None:
    """Breaks if a key that the claim is not judged by seems to move it."""
    with pytest.raises(InputError, match=r"at has 'run\.seed', but C1 names no point of it"):
        with_moved(library, MOVED.replace("at = {", 'at = { "run.seed" = 1,'))


def test_the_files_that_the_docs_show_are_good(tmp_path: Path) -> None:
    """Breaks if docs/reproducing.md shows a key that there is not, or leaves out a needed one."""
    page = (Path(__file__).parents[3] / "docs" / "reproducing.md").read_text()
    blocks = [part.split("```")[0] for part in page.split("```toml\n")[1:]]
    scenario, paper, figure, claims = blocks
    for name in ("fig12", "fig13"):
        (tmp_path / "some" / name).mkdir(parents=True)
    other = figure[: figure.index("[[panel]]")].replace('extends = "fig13/main"', "")
    for name, text in (
        ("paper.toml", paper),
        ("fig12/figure.toml", figure),
        ("fig13/figure.toml", other),
        ("claims.toml", claims),
        ("fabric.toml", SCENARIO + VARIANTS + FOUR),
        ("fig12/scenario.toml", scenario),
    ):
        (tmp_path / "some" / name).write_text(text)
    (found,) = figures.papers(tmp_path)
    named = layers.read(tmp_path / "some" / "fig12" / "scenario.toml").variants
    assert [entry["name"] for entry in named] == ["ECMP", "LetFlow", "RPS", "QDAPS"]
    assert [claim.id for claim in found.claims_of("fig12")] == ["Q26"]


def test_verdicts_and_pages_come_from_the_kept_numbers_alone(library: Path, tmp_path: Path) -> None:
    """Breaks if kept results give another page than the runs they were made from."""
    chosen = reproducing.choose(["some"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=library)
    shutil.rmtree(tmp_path / "one" / "runs")
    reproducing.from_kept(chosen, tmp_path / "two")
    for name in ("some/fig1/page.md", "some/fig2/page.md", "scorecard.md", "some/fig1/data.csv"):
        one, two = ((tmp_path / folder / name).read_text() for folder in ("one", "two"))
        assert one == two, name
    one, two = ((tmp_path / f / "some/fig1/figure.png").read_bytes() for f in ("one", "two"))
    assert one == two


def test_curves_are_kept_where_they_are_drawn(library: Path) -> None:
    """Breaks if curves that no panel shows fill the tables, one is missing, or a run is made that
    nothing is read off."""
    path = library / "some" / "fig1" / "figure.toml"
    at = 'series = "fct:short"\nat = { "workload.0.load" = 0.8 }\nvariants = ["LetFlow"]'
    path.write_text(path.read_text().replace('series = "fct:short"', at))
    (figure, other) = figures.papers(library)[0].figures
    wanted = plan.plan(figure, (), "paper").wanted
    found = {(w.runs, w.case.variant, w.case.point) for w in wanted if w.series}
    assert found == {("main", "LetFlow", (("workload.0.load", 0.8),))}
    # Without a point: the first of the sweep.
    wanted = plan.plan(other, (), "paper").wanted
    assert {(w.case.variant, w.case.point[0][1]) for w in wanted if w.series} == {
        ("ECMP", 0.2),
        ("LetFlow", 0.2),
    }
    head, _, b, _ = path.read_text().split("[[panel]]")
    path.write_text(f"{head}[[panel]]{b}")
    (figure, _) = figures.papers(library)[0].figures
    assert {w.case.variant for w in plan.plan(figure, (), "paper").wanted} == {"LetFlow"}


def _run_names(directory: Path) -> set[str]:
    return {path.name for path in (directory / "runs").iterdir()}


def test_what_is_kept_is_not_run_again(library: Path, tmp_path: Path) -> None:
    """Breaks if a second sitting, on another machine, repeats the runs of the first, or loses their
    numbers, or takes kept numbers for those of a changed scenario."""
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "whole")
    path = library / "some" / "fig1" / "scenario.toml"
    whole = path.read_text()
    path.write_text(whole.replace('"run.seed" = [1, 2, 3]', '"run.seed" = [1, 2]'))
    assert path.read_text() != whole
    reproducing.reproduce(chosen, "paper", tmp_path / "first", keep_in=library)
    path.write_text(whole)

    chosen = reproducing.choose(["some/fig1"], library)
    done = reproducing.reproduce(chosen, "paper", tmp_path / "second", keep_in=library)
    ours = _run_names(tmp_path / "whole")
    assert _run_names(tmp_path / "second") == ours - _run_names(tmp_path / "first")
    assert "3 seeds" in done.chapters[0].pages[0].size
    for name in (numbers.FILE, numbers.SERIES_FILE):
        kept, at_once = (f / "some" / "fig1" / name for f in (library, tmp_path / "whole"))
        assert kept.read_text() == at_once.read_text(), name

    path.write_text(whole.replace("0.2, 0.8", "0.25, 0.8"))
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "third", keep_in=library)
    assert 0 < len(_run_names(tmp_path / "third")) < len(ours)


def test_a_run_that_another_set_has_is_not_made_again(library: Path, tmp_path: Path) -> None:
    """Breaks if kept numbers of a set of runs are not those of a sensitivity that has the same
    runs, or if they are taken for those of another seed."""
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "first", keep_in=library)
    path = library / "some" / "fig1" / "figure.toml"
    sweep = '{ "workload.0.load" = [0.8], "run.seed" = [1, 4] }'
    more = f'\n[[sensitivity]]\nname = "seeds"\nsweep = {sweep}\nclaims = ["C1"]\n'
    path.write_text(path.read_text() + more)

    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "second", keep_in=library)
    wanted = plan.plan(chosen[0].figures[0], chosen[0].paper.claims_of("fig1"), "paper").wanted
    added = {entry.case.key for entry in wanted if entry.case.seed == 4}
    assert _run_names(tmp_path / "second") == added != set()
    found = numbers.read(library / "some" / "fig1")
    for entry in wanted:
        if entry.runs == "main~seeds" and entry.case.seed == 1:
            own, main = (
                found.values[place]["all.fct_mean"][1]
                for place in (entry.place, ("main", *entry.place[1:]))
            )
            assert own == main


def test_a_run_that_another_figure_keeps_is_not_made_again(library: Path, tmp_path: Path) -> None:
    """Breaks if a figure makes runs whose numbers another one of the paper keeps, keeps them
    without their origin, or takes those of a run that was not read for the same metrics."""
    first = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(first, "paper", tmp_path / "first", keep_in=library)
    chosen = reproducing.choose(["some/fig2"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "second", keep_in=library)
    # Its claim is on a percentile, which the other figure has not.
    made = _run_names(tmp_path / "second")
    assert made

    book = library / "some" / "claims.toml"
    book.write_text(book.read_text().replace("all.fct_p99", "all.fct_mean"))
    (library / "some" / "fig2" / numbers.FILE).unlink()
    chosen = reproducing.choose(["some/fig2"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "third", keep_in=library)
    assert _run_names(tmp_path / "third") == set()
    one, two = (numbers.read(library / "some" / name) for name in ("fig1", "fig2"))
    for place, seeds in two.origins.items():
        assert seeds == one.origins[place]
        assert two.values[place]["all.fct_mean"] == one.values[place]["all.fct_mean"]


def test_flows_in_batches(library: Path, tmp_path: Path) -> None:
    """Breaks if batches do not make up the run, are read at the quick scale, are of a metric that
    is no mean over flows, are lost when kept, or make a run that is kept without them pass."""
    book = library / "some" / "paper.toml"
    book.write_text(book.read_text() + "batches = 4\n")
    path = library / "some" / "fig1" / "scenario.toml"
    path.write_text(path.read_text().replace('"run.seed" = [1, 2, 3]', '"run.seed" = [1]'))
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "quick", tmp_path / "quick")
    assert not (tmp_path / "quick" / "some" / "fig1" / numbers.BATCHES_FILE).exists()

    done = reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=library)
    (page,) = done.chapters[0].pages
    assert "1 seed, intervals over 4 batches of flows" in page.size
    assert "(one seed)" not in page.judged[0].found
    found = numbers.read(library / "some" / "fig1")
    assert set(found.batches) == set(found.values)
    for place, by_name in found.batches.items():
        assert set(by_name) == {"all.fct_mean"}
        # All flows of the fake engine end, and their number is a multiple of four.
        mean = found.values[place]["all.fct_mean"][1]
        parts = found.batches_of(place, "all.fct_mean", 1)
        assert len(set(parts)) == 4
        assert mean == pytest.approx(sum(part or 0.0 for part in parts) / 4, rel=1e-6)

    reproducing.reproduce(chosen, "paper", tmp_path / "two", keep_in=library)
    assert _run_names(tmp_path / "two") == set()
    assert numbers.read(library / "some" / "fig1").batches == found.batches
    (library / "some" / "fig1" / numbers.BATCHES_FILE).unlink()
    reproducing.reproduce(chosen, "paper", tmp_path / "three", keep_in=library)
    assert _run_names(tmp_path / "three") == _run_names(tmp_path / "one")


def test_batches_are_cut_by_the_order_of_starts() -> None:
    """Breaks if a batch is of rows as they stand, so that schemes have different flows in it."""
    import pyarrow as pa

    fct = pa.array([4_000_000, 1_000_000, 3_000_000, 2_000_000, None], pa.uint64())
    flows = {"flow": [3, 0, 2, 1, 4], "bytes": [1000] * 5, "fct_ps": fct, "ideal_fct_ps": [1] * 5}
    assert metrics.of_batches(pa.table(flows), (), ["all.fct_mean"], 2) == {
        "all.fct_mean": [1.5, 3.5]
    }


def test_only_what_is_finished(library: Path, tmp_path: Path) -> None:
    """Breaks if --no-run makes a run, or a page hides that runs are missing."""
    out = tmp_path / "out"
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", out)
    runs = sorted((out / "runs").iterdir())
    for path in runs[1:]:
        shutil.rmtree(path)
    reproducing.reproduce(chosen, "paper", out, make_runs=False, keep_in=library)
    page = (out / "some" / "fig1" / "page.md").read_text()
    assert f"{len(runs) - 1} of {len(runs)} runs are not made yet" in page
    assert _run_names(out) == {runs[0].name}
    (row,) = (library / "some" / "fig1" / numbers.FILE).read_text().splitlines()[1:]
    assert runs[0].name in row and ",12345," in row


def test_a_page_says_once_what_the_engine_says(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a reproduction keeps the engine's warnings to itself, has a line a run, puts them
    on the scorecard, or says them where the runs are missing and only numbers are kept."""
    scenario = library / "some" / "fig1" / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("seed = 1", "seed = 1\nfake_short = true"))
    chosen = reproducing.choose(["some/fig1"], library)
    done = reproducing.reproduce(chosen, "paper", tmp_path / "out", keep_in=library)
    page = (tmp_path / "out" / "some" / "fig1" / "page.md").read_text()
    assert page.count("flows start over") == 1 and " runs, such as ECMP" in page
    assert "flows start over" in done.report.read_text()
    assert "flows start over" not in (tmp_path / "out" / "scorecard.md").read_text()
    assert "flows start over" not in capsys.readouterr().err
    reproducing.from_kept(chosen, tmp_path / "kept")
    assert "start over" not in (tmp_path / "kept" / "some" / "fig1" / "page.md").read_text()


def test_results_of_another_build_are_pointed_out(library: Path, tmp_path: Path) -> None:
    """Breaks if numbers of a scheme as it was are shown as those of the scheme as it is, unsaid."""
    chosen, out = reproducing.choose(["some/fig1"], library), tmp_path / "out"
    (chapter,) = reproducing.reproduce(chosen, "quick", out).chapters
    assert chapter.pages[0].problems == ()
    for run in sorted((out / "runs").iterdir())[:2]:
        (run / "timing.json").write_text('{"build": "0123456789abcdef", "checked": true}')
    (chapter,) = reproducing.reproduce(chosen, "quick", out).chapters
    (warning,) = chapter.pages[0].problems
    assert "2 of 6 runs were made by another build" in warning
    rows = (out / "some" / "fig1" / numbers.FILE).read_text().splitlines()[1:]
    assert sum("+build.0123456789abcdef," in row for row in rows) == 2


def test_all_of_a_seed_come_before_the_next(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if an interrupted reproduction has all seeds of some points and none of others."""
    seeds: list[int] = []

    def run(_pool: object, tasks: list[Task]) -> list[Failure]:
        seeds.extend(task.case.seed for task in tasks)
        return []

    monkeypatch.setattr("leafspine.workers.Pool.run", run)
    reproducing.reproduce(reproducing.choose(["all"], library), "quick", tmp_path / "out")
    assert seeds == sorted(seeds) and set(seeds) == {1, 2, 3}


def test_data_comes_back_as_it_was(tmp_path: Path) -> None:
    """Breaks if a value, a hole, a point's type or a curve changes on its way through the file, or
    if batches and curves stay when a table without them takes its place."""
    import numpy as np

    data = numbers.Data()
    place = ("main", "A, B", (("workload.0.load", 0.8), ("aqm.threshold", "40pkt")))
    data.put(place, "all.fct_mean", 1, 1234.5)
    data.put(place, "all.fct_mean", 2, None)
    data.put_series(place, "fct:short", 1, np.array([1.0, 2.5]), np.array([0.5, 1.0]))
    for seed in (1, 2):
        data.put_origin(place, seed, numbers.Origin("0a" * 8, "0.1.0+abc", 10**10, "12" * 8))
    # A run off which only the other metric is read.
    other = ("main", "B", place[2])
    data.put(other, "all.fct_p99", 1, 0.0)
    data.put_origin(other, 1, numbers.Origin("0b" * 8, "0.1.0", 0, ""))
    data.put_batches(place, "all.fct_mean", 1, [1000.5, None, 1300.25])
    data.put_batches(other, "all.goodput_mean", 1, [0.0])
    numbers.write(data, tmp_path)
    back = numbers.read(tmp_path)
    assert back.origins == data.origins
    assert back.values == data.values
    assert back.batches == data.batches
    x, y = back.series[place]["fct:short"][1]
    assert (x.tolist(), y.tolist()) == ([1.0, 2.5], [0.5, 1.0])
    numbers.write(numbers.Data(data.values, origins=data.origins), tmp_path)
    assert not numbers.read(tmp_path).batches and not numbers.read(tmp_path).series


def test_pictures_can_be_left_out(library: Path, tmp_path: Path) -> None:
    """Breaks if --no-plots draws, leaves a picture of other numbers, or changes a verdict."""
    chosen = reproducing.choose(["some"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=library)
    with_pictures = (tmp_path / "one" / "some/fig1/page.md").read_text()
    reproducing.reproduce(chosen, "paper", tmp_path / "one", draw=False)
    reproducing.from_kept(chosen, tmp_path / "two", draw=False)
    for folder in (tmp_path / "one", tmp_path / "two"):
        assert list(folder.rglob("figure.p*")) == []
        page = (folder / "some/fig1/page.md").read_text()
        said = "Its picture was left out (`--no-plots`).\n"
        assert said in page
        assert re.sub(r"!\[.*\n", said, with_pictures) == page
        assert "(<code>--no-plots</code>)" in (folder / "report.html").read_text()
        assert "<img" not in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("before", "after"), [("12345", "12x45"), (",12345,", "\n"), ('"{""work', '"{work')]
)
def test_a_damaged_table_is_named_with_its_line(
    library: Path, tmp_path: Path, before: str, after: str
) -> None:
    """Breaks if a kept table that was cut off or changed ends in a traceback, or is half read."""
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=library)
    path = library / "some" / "fig1" / numbers.FILE
    head, first, *rest = path.read_text().splitlines()
    assert before in first
    path.write_text("\n".join([head, first.replace(before, after), *rest]) + "\n")
    with pytest.raises(InputError, match=r"data\.csv, line 2: cut off or changed"):
        reproducing.from_kept(chosen, tmp_path / "two")


def test_a_single_figure_judges_its_own_claims(library: Path, tmp_path: Path) -> None:
    """Breaks if the claims of figures that were not selected are shown as missing."""
    chosen = reproducing.choose(["some/fig2"], library)
    (chapter,) = reproducing.reproduce(chosen, "quick", tmp_path / "out").chapters
    assert [judged.claim.id for judged in chapter.judged] == ["C3"]


def test_a_failed_run_is_a_hole_that_is_named(library: Path, tmp_path: Path) -> None:
    """Breaks if a verdict is given without numbers, or the page does not say what is missing."""
    path = library / "some" / "fig1" / "scenario.toml"
    text = path.read_text().replace(
        'set = { "load_balancer.scheme" = "letflow" }',
        'set = { "load_balancer.scheme" = "letflow", "run.fake_fail" = true }',
    )
    path.write_text(text)
    chosen = reproducing.choose(["some/fig1"], library)
    done = reproducing.reproduce(chosen, "quick", tmp_path / "out")
    assert done.chapters[0].judged[0].verdict == Verdict.MISSING
    page = (tmp_path / "out" / "some" / "fig1" / "page.md").read_text()
    assert "## Warnings" in page and "LetFlow" in page


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("claims.toml", lambda t: t.replace('"fig1"', '"fig3"'), "figure: found 'fig3'"),
        (
            "claims.toml",
            lambda t: t.replace('"C2"', '"C1"'),
            "C1: there is another claim of this id",
        ),
        ("claims.toml", lambda t: t.replace("less =", "lesser ="), 'did you mean "less"?'),
        ("claims.toml", lambda t: t.replace('"cost"', '"price"'), "allowed: at, upto"),
        ("claims.toml", lambda t: t.replace("reason =", "figure ="), "or the reason why"),
        ("claims.toml", lambda t: t.replace('["LetFlow", "ECMP"]', '["ECMP"]'), "lacks a key"),
        ("claims.toml", lambda t: t.replace("less =", 'others = ["A"]\nless ='), "upto and range"),
        ("fig1/figure.toml", lambda t: t.replace('"bar"', '"pie"'), "found 'pie'"),
        ("fig1/figure.toml", lambda t: t.replace('["C1"]', '["C9"]'), "no claim 'C9'"),
        (
            "fig1/figure.toml",
            lambda t: t.replace('flows"\nset', 'flows"\nextends = "more"\nset') + MORE_RUNS,
            "C1 says nothing of the runs 'more'",
        ),
        ("fig1/figure.toml", lambda t: t.replace("metric", "metrics"), 'did you mean "metric"?'),
        ("fig1/figure.toml", lambda t: t + "[", "figure.toml: "),
        ("paper.toml", lambda t: t.replace("fig2", "fig4"), "fig4/figure.toml: no such file"),
        ("paper.toml", lambda t: t + "batches = 0", "batches: found 0; allowed: 1 or more"),
    ],
)
def test_what_does_not_fit_is_refused(
    library: Path, file: str, change: Callable[[str], str], message: str
) -> None:
    """Breaks if a mistake in a paper's files is read over, or is not said in one line."""
    path = library / "some" / file
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as caught:
        figures.papers(library)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_setting_that_hides_a_sweep_is_refused(library: Path) -> None:
    """Breaks if points of a sweep that are one and the same run are shown as a curve."""
    path = library / "some" / "fig1" / "figure.toml"
    workload = 'workload = [{ kind = "poisson", sizes = "web-search", load = 0.5, flows = 100 }]'
    text = path.read_text().replace('set = { "workload.0.flows" = 50 }\n', "")
    path.write_text(text.replace('"workload.0.flows" = 100', workload))
    (figure, _) = figures.papers(library)[0].figures
    plan.plan(figure, (), "quick")
    with pytest.raises(InputError) as caught:
        plan.plan(figure, (), "paper")
    assert "the sweep of workload.0.load changes nothing" in str(caught.value)


def test_the_command(library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if a name that there is not is no bad input, or the list does not show figures."""
    folder = ["--papers", str(library)]
    assert cli.invoke(["reproduce", *folder]) == 0
    assert "some/fig2: The tail" in capsys.readouterr().out
    assert cli.invoke(["reproduce", "sme", *folder]) == 2
    assert 'did you mean "some"?' in capsys.readouterr().err
    assert cli.invoke(["reproduce", "some", "--scale", "small", *folder]) == 2
    assert cli.invoke(["reproduce", "some", "--keep", *folder]) == 2
    out = ["--out", str(tmp_path / "out")]
    assert cli.invoke(["reproduce", "some", *folder, *out]) == 0
    assert "report.html" in capsys.readouterr().out
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    assert cli.invoke(["reproduce", "some", *folder, "--out", str(tmp_path / "full")]) == 2


@pytest.mark.parametrize("count", [3, 14])
def test_shards_that_are_merged_are_the_whole(
    count: int, library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a run is in no shard or in two, any byte depends on how they were shared out, or a
    hole or another reproduction is taken for the whole."""
    words = ["reproduce", "some", "--papers", str(library), "--out"]
    assert cli.invoke([*words, str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    out, shards = tmp_path / "cut", tmp_path / "cut.shards"
    for number in range(1, count + 1):
        if number == 2:
            assert cli.invoke(["merge", str(shards)]) == 2
            assert "missing" in capsys.readouterr().err
        assert cli.invoke([*words, str(out), "--shard", f"{number}/{count}"]) == 0
        assert f"leafspine merge {shards}" in capsys.readouterr().out
    made = [path.name for path in shards.glob("*/runs/*")]
    assert len(made) == len(set(made)) == 6
    assert cli.invoke(["merge", str(shards)]) == 0
    assert "report.html" in capsys.readouterr().out
    assert contents(out) == contents(tmp_path / "whole")
    again = [*words, str(out), "--shard", f"1/{count}", "--scale", "paper"]
    assert cli.invoke(again) == 2
    assert "a shard of another reproduction" in capsys.readouterr().err
    assert cli.invoke([*words, str(out), "--shard", "1/2", "--no-run"]) == 2
    assert cli.invoke(["merge", str(tmp_path / "whole"), "--out", str(out)]) == 2
    assert "a whole reproduction" in capsys.readouterr().err


@pytest.mark.parametrize("scale", figures.SCALES)
def test_every_test_of_a_claim_has_its_runs(library: Path, scale: str) -> None:
    """Breaks if a claim names a variant or a point that is not run, and nothing reports it."""
    (paper,) = figures.papers(library)
    for figure in paper.figures:
        claims = paper.claims_of(figure.name)
        assert plan.unmet(claims, plan.plan(figure, claims, scale)) == []
    text = CLAIMS.replace('less = ["LetFlow", "ECMP"]', 'less = ["LetFlow", "ECNP"]').replace(
        'metric = "all.fct_p99"', 'metric = "all.fct_p99"\nat = { "workload.0.load" = 0.3 }'
    )
    (library / "some" / "claims.toml").write_text(text)
    (paper,) = figures.papers(library)
    found = []
    for figure in paper.figures:
        claims = paper.claims_of(figure.name)
        found += plan.unmet(claims, plan.plan(figure, claims, scale))
    assert len(found) == 2 and "ECNP" in found[0] and "0.3" in found[1]


def test_a_refused_run_names_its_figure(library: Path, tmp_path: Path) -> None:
    """Breaks if of many figures nobody says which one's scenario the engine refuses, or why."""
    figure = library / "some" / "fig2" / "figure.toml"
    refused = '[runs.main]\nset = { "run.fake_refuse" = true }'
    figure.write_text(figure.read_text().replace("[runs.main]", refused))
    with pytest.raises(InputError) as caught:
        reproducing.reproduce(reproducing.choose(["all"], library), "quick", tmp_path / "out")
    assert str(caught.value) == f"{figure}: no link is called 'leaf9-spine9'"
    assert caught.value.key == "topology.change.0.link"


def test_a_commit_is_dirty_by_its_sources(tmp_path: Path) -> None:
    """Breaks if a run is said to be of a commit whose sources were changed, or kept numbers that
    are written make the next ones seem to be of none."""

    def git(*words: str) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", str(tmp_path), *name, *words], check=True, capture_output=True)

    sources = ("crates/file", "python/file", "Cargo.toml", "Cargo.lock")
    for name in (*sources, "papers/file"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "a")
    clean = plan.commit_of(tmp_path)
    assert len(clean) >= 7
    (tmp_path / "papers" / "file").write_text("2")
    assert plan.commit_of(tmp_path) == clean
    for name in sources:
        path = tmp_path / name
        path.write_text("2")
        assert plan.commit_of(tmp_path) == f"{clean}-dirty", name
        path.write_text("1")
        assert plan.commit_of(tmp_path) == clean, name


def test_where_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if what is installed, not under git, or on a machine without git, has no numbers for
    want of a commit."""
    assert plan.commit_of(tmp_path) == ""
    (tmp_path / "crates").mkdir()
    # A folder above may be under git.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert plan.commit_of(tmp_path) == ""
    monkeypatch.setenv("PATH", "")
    assert plan.commit_of(tmp_path) == ""
