"""What a paper's files ask for: the runs of figures and sensitivities, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_paper import CLAIMS, FIGURE, MORE_RUNS, library_of_one  # noqa: F401  (the fixture library)

from conftest import SCENARIO, VARIANTS
from leafspine.errors import InputError
from leafspine.reproduce import figures, layers, plan, reproducing

FOUR = """
[[variant]]
name = "QDAPS"
"""

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
