"""What figures share is said once: scenarios on top of others, run sets on top of others, variants
by name. On the fake engine, that gives each case its resolved text."""

from pathlib import Path

import pytest

from conftest import SCENARIO, VARIANTS
from leafspine.errors import InputError
from leafspine.reproduce import figures, layers, plan
from leafspine.reproduce.layers import merge
from leafspine.reproduce.run_sets import Layer, RunSet

PAPER = """
title = "A paper"
figures = ["fig1", "fig2"]

[changes.slow]
set = { "workload.0.flows" = 7 }
variants = { LetFlow = { "load_balancer.gap" = "9us" } }
"""

FIG1 = """
title = "One"
place = "§1"

[runs.main]
scenario = "scenario.toml"
set = { "workload.0.flows" = 100 }

[runs.main.quick]
set = { "workload.0.flows" = 50 }
sweep = { "workload.0.load" = [0.8], "run.seed" = [1] }

[runs.other]
extends = "main"
variants = { RPS = { like = "LetFlow", "load_balancer.scheme" = "rps" } }
only = ["RPS", "ECMP"]

[[panel]]
name = "a"
kind = "table"
metric = "all.fct_mean"

[[sensitivity]]
change = "slow"
claims = []

[[sensitivity]]
name = "slower"
extends = "other"
change = "slow"
set = { "workload.0.load" = 0.3 }
only = ["ECMP"]
claims = []
"""

FIG2 = """
title = "Two"
place = "§2"

[runs.main]
extends = "fig1/other"
set = { "run.seed" = 4 }

[[panel]]
name = "a"
kind = "table"
metric = "all.fct_mean"
"""

FABRIC = SCENARIO + VARIANTS[: VARIANTS.index("[sweep]")]

OVERLAY = """
extends = "../fabric.toml"

[run]
until = "1s"

[sweep]
"workload.0.load" = [0.2, 0.8]
"run.seed" = [1, 2]
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A paper of two figures and one fabric."""
    folder = tmp_path / "papers" / "some"
    for name, text in (("fig1", FIG1), ("fig2", FIG2)):
        (folder / name).mkdir(parents=True)
        (folder / name / "figure.toml").write_text(text)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "claims.toml").write_text("claim = []\n")
    (folder / "fabric.toml").write_text(FABRIC)
    (folder / "fig1" / "scenario.toml").write_text(OVERLAY)
    return tmp_path / "papers"


def sets(library: Path) -> dict[str, RunSet]:
    (paper,) = figures.papers(library)
    return {
        f"{figure.name}/{runs.name}": runs for figure in paper.figures for runs in figure.all_runs()
    }


def test_a_set_of_runs_on_top_of_another(library: Path) -> None:
    """Breaks if what is extended is lost, wins over what extends it, or a set over a sweep does not
    leave the one value."""
    found = sets(library)
    assert set(found) == {
        *("fig1/main", "fig1/other", "fig1/main~slow", "fig1/other~slower", "fig2/main"),
    }
    assert found["fig1/main"].at("paper") == ({"workload.0.flows": 100}, {})
    assert found["fig1/main"].at("quick")[0] == {"workload.0.flows": 50}
    # What extends comes after the quick scale of what it extends.
    settings, sweep = found["fig1/other~slower"].at("quick")
    assert settings == {"workload.0.flows": 7, "workload.0.load": 0.3}
    assert sweep == {"run.seed": [1]}
    settings, sweep = found["fig2/main"].at("quick")
    assert settings == {"workload.0.flows": 50, "run.seed": 4} and "run.seed" not in sweep


def test_a_sensitivity_of_several_sets(library: Path) -> None:
    """Breaks if a change is made to the first of the sets alone, or to one that there is not."""
    path = library / "some" / "fig1" / "figure.toml"
    whole = path.read_text()
    more = '[[sensitivity]]\nextends = ["main", "{}"]\nchange = "slow"\nname = "all"\nclaims = []\n'
    path.write_text(whole + more.format("other"))
    found = sets(library)
    for name in ("main", "other"):
        assert found[f"fig1/{name}~all"].at("paper") == ({"workload.0.flows": 7}, {})
    path.write_text(whole + more.format("others"))
    with pytest.raises(InputError, match="'others'"):
        sets(library)


def test_variants_by_name(library: Path) -> None:
    """Breaks if variants are chosen by their place, a change drops the variant's other keys or
    keeps those of a scheme that it had, or the order is not that of ``only``."""
    found = sets(library)
    given = layers.read(found["fig1/main"].scenario).variants
    assert found["fig1/main"].variants(given) is None
    assert found["fig1/main~slow"].variants(given) == [
        {"name": "ECMP", "set": {"load_balancer.scheme": "ecmp"}},
        {"name": "LetFlow", "set": {"load_balancer.scheme": "letflow", "load_balancer.gap": "9us"}},
    ]
    assert found["fig2/main"].variants(given) == [
        {"name": "RPS", "set": {"load_balancer.scheme": "rps"}},
        {"name": "ECMP", "set": {"load_balancer.scheme": "ecmp"}},
    ]
    gap = RunSet("x", Path(), (Layer(variants={"LetFlow": {"load_balancer.gap": "9us"}}),))
    rps = gap.on_top("y", [Layer(variants={"LetFlow": {"load_balancer.scheme": "rps"}})])
    assert rps.variants(given) == [
        {"name": "ECMP", "set": {"load_balancer.scheme": "ecmp"}},
        {"name": "LetFlow", "set": {"load_balancer.scheme": "rps"}},
    ]


def test_a_scenario_on_top_of_another(library: Path) -> None:
    """Breaks if the runs of a scenario that extends a fabric are not those of the whole text."""
    found = sets(library)["fig1/main"]
    ours = plan.cases(found, "quick")
    whole = (
        FABRIC.replace("seed = 1", 'seed = 1\nuntil = "1s"') + OVERLAY[OVERLAY.index("[sweep]") :]
    )
    found.scenario.write_text(whole)
    assert [case.key for case in plan.cases(found, "quick")] == [case.key for case in ours]
    assert {case.variant for case in ours} == {"ECMP", "LetFlow"}


def test_more_points_than_a_grid(library: Path) -> None:
    """Breaks if points that come ``also`` take others' place, if those are made twice, at the quick
    scale, or by what changes the runs; or if a figure with the same runs has fewer."""
    folder = library / "some"
    also = 'also = [{ "workload.0.load" = [0.8], "run.seed" = [2, 3] }]\n'
    path = folder / "fig1" / "figure.toml"
    path.write_text(path.read_text().replace("[runs.main.quick]", also + "\n[runs.main.quick]"))
    path = folder / "fig2" / "figure.toml"
    whole = path.read_text().replace("fig1/other", "fig1/main")
    path.write_text(whole.replace('set = { "run.seed" = 4 }\n', ""))
    found = sets(library)

    def points(name: str, scale: str = "paper") -> list[tuple[object, int]]:
        cases = plan.cases(found[name], scale)
        return [
            (dict(case.point)["workload.0.load"], case.seed)
            for case in cases
            if case.variant == "ECMP"
        ]

    grid = [(0.2, 1), (0.2, 2), (0.8, 1), (0.8, 2)]
    assert points("fig1/main") == points("fig2/main") == [*grid, (0.8, 3)]
    assert points("fig1/main~slow") == points("fig1/other") == grid
    assert points("fig1/main", "quick") == [(0.8, 1)]
    path.write_text(whole)  # it sets a seed: those are other runs
    assert found["fig2/main"].also and not sets(library)["fig2/main"].also


def test_a_scenario_on_top_of_a_set_of_runs(library: Path) -> None:
    """Breaks if ``over`` does not replace lists, is looked for beside another file, or a sweep that
    was ended goes on."""
    folder = library / "some"
    (folder / "fig1" / "other.toml").write_text("[[workload]]\nload = 0.4\nflows = 9\n")
    path = folder / "fig2" / "figure.toml"
    more = 'extends = "fig1/main"\nover = "../fig1/other.toml"\nsweep = { "workload.0.load" = [] }'
    path.write_text(path.read_text().replace('extends = "fig1/other"', more))
    found = sets(library)["fig2/main"]
    assert "workload.0.load" not in found.at("quick")[1]
    table = layers.read(*found.files).table
    assert table["workload"] == [{"load": 0.4, "flows": 9}] and "topology" in table


def test_what_is_merged_and_what_is_replaced() -> None:
    """Breaks if a table of another kind keeps keys of the former, or a list is merged."""
    base = {"topology": {"kind": "star", "hosts": 3}, "list": [1, 2], "classes": {"a": 1}}
    assert merge(base, {"topology": {"hosts": 4}})["topology"] == {"kind": "star", "hosts": 4}
    other = {"topology": {"kind": "tree"}, "list": [3], "classes": {"b": 2}}
    assert merge(base, other) == other
    assert base["topology"] == {"kind": "star", "hosts": 3}


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "fig1/figure.toml",
            'only = ["RPS", "ECMP"]',
            'only = ["RPS", "ECPM"]',
            ("'ECPM'", "ECMP, LetFlow, RPS", 'did you mean "ECMP"'),
        ),
        (
            "paper.toml",
            "LetFlow = {",
            "LetFlo = {",
            ("paper.toml", "'LetFlo'", 'did you mean "LetFlow"'),
        ),
        ("fig1/figure.toml", 'like = "LetFlow"', 'like = "LetFow"', ("figure.toml", "'LetFow'")),
        ("fig2/figure.toml", "fig1/other", "fig1/othr", ("figure.toml", 'did you mean "other"')),
        ("fig2/figure.toml", "fig1/other", "fig9/other", ("fig9", "no such file")),
        ("fig2/figure.toml", "fig1/other", "main", ("figure.toml", "which extends it")),
        ("fig1/figure.toml", 'change = "slow"', 'change = "slw"', ("'slw'", 'did you mean "slow"')),
        ("fig1/figure.toml", 'extends = "other"', 'extends = "othr"', ("'othr'", "other")),
        (
            "fig1/figure.toml",
            "[runs.other]",
            "[runs.other]\nalso = [3]",
            ("also", "list of tables"),
        ),
        (
            "fig1/figure.toml",
            "[runs.other]",
            '[runs.other]\nalso = [{ "run.seed" = [] }]',
            ("also", "list of tables"),
        ),
        (
            "fig1/figure.toml",
            "[runs.other]",
            '[runs.other]\nalso = [{ "run.seed" = 2 }]',
            ("runs.other.also.run.seed", "found 2", "a list of values"),
        ),
        (
            "fig1/figure.toml",
            '"run.seed" = [1] }',
            '"run.seed" = 1 }',
            ("runs.main.quick.sweep.run.seed", "found 1", "a list of values"),
        ),
        ("fig1/scenario.toml", "../fabric", "../fabrik", ("fabrik.toml", "no such file")),
        # Sensitivities are of the paper's size: a quick scale of theirs would say nothing.
        ("fig1/figure.toml", "change = ", "quick = {}\nchange = ", ("quick", "does not belong")),
        (
            "fabric.toml",
            "[topology]",
            'extends = "fig1/scenario.toml"\n[topology]',
            ("extends it",),
        ),
    ],
)
def test_what_is_wrong_is_named(
    library: Path, file: str, old: str, new: str, said: tuple[str, ...]
) -> None:
    """Breaks if a name that there is not passes, or the error does not say where and what."""
    path = library / "some" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        for runs in sets(library).values():
            plan.cases(runs, "quick")
    for word in said:
        assert word in str(caught.value), str(caught.value)
