"""A reproduction from the papers' files to the scorecard, on the fake engine."""

import re
from pathlib import Path

import pytest
from small_paper import library_of_one  # noqa: F401  (the fixture library)

from leafspine import cli
from leafspine.reproduce import reproducing
from leafspine.reproduce.verdicts import Verdict
from leafspine.tasks import Failure, Task
from test_results import contents


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


def test_an_assumption_of_several_figures_stands_once(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a page lacks what a figure assumes by the paper's name for it, or such a name that
    the paper does not have passes."""
    paper = library / "some" / "paper.toml"
    paper.write_text(paper.read_text() + '[assumptions]\none-seed = "The seed is one."\n')
    words = ["reproduce", "some", "--papers", str(library), "--out", str(tmp_path / "out")]
    pages = [tmp_path / "out" / "some" / name / "page.md" for name in ("fig1", "fig2")]
    assert cli.invoke([*words, "--no-run"]) == 0
    before = [page.read_text() for page in pages]
    figure = library / "some" / "fig1" / "figure.toml"
    whole = figure.read_text()
    figure.write_text(whole.replace('["The seed is one."]', '[{ shared = "one-seed" }]'))
    assert figure.read_text() != whole
    assert cli.invoke([*words, "--no-run"]) == 0
    assert [page.read_text() for page in pages] == before
    capsys.readouterr()
    figure.write_text(figure.read_text().replace('"one-seed"', '"one-sed"'))
    assert cli.invoke([*words, "--no-run"]) == 2
    said = capsys.readouterr().err
    assert f"{figure}: assumptions.0.shared: found 'one-sed'" in said
    assert 'did you mean "one-seed"?' in said
    figure.write_text(figure.read_text().replace('"one-sed"', "4"))
    assert cli.invoke([*words, "--no-run"]) == 2
    said = capsys.readouterr().err
    assert "assumptions.0.shared: found 4; allowed: one-seed\n" in said
    figure.write_text(figure.read_text().replace("[{ shared = 4 }]", "4"))
    assert cli.invoke([*words, "--no-run"]) == 2
    assert "assumptions: found 4; allowed: a text, a list\n" in capsys.readouterr().err
    figure.write_text(whole.replace('["The seed is one."]', '[{ shared = "one-seed" }]'))
    paper.write_text(paper.read_text().partition("[assumptions]")[0])
    assert cli.invoke([*words, "--no-run"]) == 2
    said = capsys.readouterr().err
    assert "found 'one-seed', where the paper shares none; allowed: a name under [assump" in said


def test_a_group_stands_for_its_variants(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a figure that names a paper's group of variants is run or drawn otherwise than one
    that lists them, or if a name of no group passes."""
    words = ["reproduce", "some/fig1", "--papers", str(library), "--out"]
    figure = library / "some" / "fig1" / "figure.toml"
    whole = figure.read_text()
    assert "[runs.main]\n" in whole
    paper = library / "some" / "paper.toml"
    paper.write_text(paper.read_text() + '[groups]\nboth = ["ECMP", "LetFlow"]\n')
    for name, only in (("listed", '["ECMP", "LetFlow"]'), ("named", '"both"')):
        figure.write_text(whole.replace("[runs.main]\n", f"[runs.main]\nonly = {only}\n"))
        assert cli.invoke([*words, str(tmp_path / name)]) == 0
    made = [tmp_path / name / "some" / "fig1" / "data.csv" for name in ("listed", "named")]
    assert made[0].read_text() == made[1].read_text()
    assert "LetFlow" in made[0].read_text()
    capsys.readouterr()
    figure.write_text(whole.replace("[runs.main]\n", '[runs.main]\nonly = "bath"\n'))
    assert cli.invoke([*words, str(tmp_path / "third")]) == 2
    assert "only: found 'bath'" in capsys.readouterr().err
    figure.write_text(whole)
    paper.write_text(paper.read_text().replace('["ECMP", "LetFlow"]', "7"))
    assert cli.invoke([*words, str(tmp_path / "third")]) == 2
    assert "groups.both: found 7; allowed: a text, a list" in capsys.readouterr().err


def test_a_panel_of_a_variant_that_is_not_run_is_refused(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a misspelled variant, or group of some, is left out of a picture without a word."""
    figure = library / "some" / "fig1" / "figure.toml"
    whole = figure.read_text()
    words = ["reproduce", "some/fig1", "--papers", str(library), "--out", str(tmp_path / "out")]
    for named, found in (('["ECMP", "LetFlo"]', "LetFlo"), ('"all two"', "all two")):
        figure.write_text(whole.replace('name = "b"\n', f'name = "b"\nvariants = {named}\n'))
        assert cli.invoke(words) == 2
        said = capsys.readouterr().err
        assert f"{figure}: panel.1.variants: found '{found}'; allowed: ECMP, LetFlow" in said
    assert not (tmp_path / "out").exists()


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
