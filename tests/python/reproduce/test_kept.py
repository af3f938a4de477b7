"""Numbers that are kept: which runs they spare, what they come from, how damage is told."""

import shutil
import subprocess
from pathlib import Path

import pytest
from small_paper import library_of_one  # noqa: F401  (the fixture library)

from leafspine.errors import InputError
from leafspine.reproduce import data as numbers
from leafspine.reproduce import figures, metrics, plan, reproducing


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


def test_a_run_is_put_together_from_the_rows_of_several_figures(
    library: Path, tmp_path: Path
) -> None:
    """Breaks if a figure makes a run whose metrics are kept each under another figure, or takes
    together what is of other packets, or of rows that lack a metric."""
    tail = library / "some" / "fig2" / "figure.toml"
    tail.write_text(tail.read_text().replace("all.fct_mean", "all.fct_p99"))
    chosen = reproducing.choose(["some/fig1", "some/fig2"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "first", keep_in=library)
    one, two = (numbers.read(library / "some" / name) for name in ("fig1", "fig2"))
    book = library / "some" / "claims.toml"
    mean = 'metric = "all.fct_mean"\nless'
    assert book.read_text().count(mean) == 1
    book.write_text(book.read_text().replace(mean, 'metric = "all.fct_p99"\nless'))
    # Of the sensitivity nobody has kept the percentile, and of one run another build has it.
    path = library / "some" / "fig2" / numbers.FILE
    rows = path.read_text().splitlines()
    rows[-1] = rows[-1].rpartition(",")[0] + ",0123456789abcdef"
    path.write_text("\n".join(rows) + "\n")
    changed = rows[-1].split(",")[-4]

    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "second", keep_in=library)
    wanted = plan.plan(chosen[0].figures[0], chosen[0].paper.claims_of("fig1"), "paper").wanted
    lacking = {entry.case.key for entry in wanted if entry.runs != "main"}
    assert _run_names(tmp_path / "second") == {*lacking, changed}
    found = numbers.read(library / "some" / "fig1")
    for place, seeds in two.origins.items():
        assert found.origins[place] == one.origins[place]
        for name, source in (("all.fct_mean", one), ("all.fct_p99", two)):
            own, theirs = (of.values[place][name] for of in (found, source))
            assert {seed: own[seed] for seed in seeds} == {seed: theirs[seed] for seed in seeds}


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
