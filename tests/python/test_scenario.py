"""From files, text, mappings and options to cases."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafspine
from conftest import SCENARIO
from leafspine import scenario as scenarios

text = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | text
values = scalars | st.lists(scalars, max_size=4) | st.dictionaries(text, scalars, max_size=3)


@given(st.dictionaries(text, values | st.lists(st.dictionaries(text, values), max_size=3)))
def test_a_mapping_written_as_toml_reads_as_itself(mapping: dict[str, object]) -> None:
    """Breaks if a string, a key or a nested table is not quoted as TOML wants it."""
    assert tomllib.loads(scenarios.to_toml(mapping)) == mapping


def test_what_toml_cannot_hold_is_refused() -> None:
    """Breaks if None or an object gets into a scenario as its Python name."""
    with pytest.raises(leafspine.InputError, match="found None"):
        scenarios.to_value(None)


def test_file_text_and_mapping_are_the_same_case(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the way in changes the key of the result."""
    cases = [
        scenarios.single(scenarios.read(given))
        for given in (scenario, str(scenario), SCENARIO, tomllib.loads(SCENARIO))
    ]
    assert len({case.key for case in cases}) == 1


def test_settings_are_dotted_or_underscored() -> None:
    """Breaks if a string is quoted twice or a number becomes text."""
    given = {"a__b": 1, "c.d": "40pkt", "e": True, "f": [1, 2]}
    expected = [("a.b", "1"), ("c.d", "40pkt"), ("e", "true"), ("f", "[1, 2]")]
    assert scenarios.to_settings(given) == expected


def test_the_key_depends_on_scenario_and_seed(scenario: Path) -> None:
    """Breaks if two different runs would share a directory."""
    source = scenarios.read(scenario)
    keys = {
        scenarios.single(source, settings).key
        for settings in ([], [("run.seed", "2")], [("workload.0.load", "0.7")])
    }
    assert len(keys) == 3
    assert all(len(key) == 16 for key in keys)


def test_several_cases_name_compare(many: Path) -> None:
    """Breaks if `run` takes the first of many runs in silence."""
    with pytest.raises(leafspine.InputError, match=r"12 runs .* use `leafspine compare"):
        leafspine.run(many)


def cases_of(path: Path, settings: object = (), **options: Any) -> list[leafspine.Case]:
    source = scenarios.read(path)
    return scenarios.expand(source, scenarios.comparing(source, settings, **options))


def test_options_replace_variants_and_sweep(many: Path) -> None:
    """Breaks if an option adds to what it should replace, or drops the rest of the file."""
    cases = cases_of(many, lb=["rps", "drb"], over={scenarios.LOAD: [0.5]}, seeds=2)
    assert [(case.variant, dict(case.point), case.seed) for case in cases] == [
        ("rps", {scenarios.LOAD: 0.5}, 1),
        ("rps", {scenarios.LOAD: 0.5}, 2),
        ("drb", {scenarios.LOAD: 0.5}, 1),
        ("drb", {scenarios.LOAD: 0.5}, 2),
    ]
    assert [entry.name for entry in cases[0].classes] == ["short", "long"]


def test_options_keep_what_they_do_not_name(many: Path) -> None:
    """Breaks if --seeds loses the loads, or the variants."""
    cases = cases_of(many, seeds=1)
    assert len(cases) == 4
    assert {case.seed for case in cases} == {1}


def test_seeds_count_from_the_scenarios_own(scenario: Path) -> None:
    """Breaks if run.seed = 40 is ignored, or a --set of it makes all seeds the same."""
    scenario.write_text(SCENARIO.replace("seed = 1", "seed = 40"))
    assert [case.seed for case in cases_of(scenario, seeds=3)] == [40, 41, 42]
    assert [case.seed for case in cases_of(scenario, [("run.seed", "7")], seeds=2)] == [7, 8]


@pytest.mark.parametrize("bad", ["", "=1", "keyonly"])
def test_a_setting_needs_key_and_value(bad: str) -> None:
    """Breaks if a mistyped --set is dropped."""
    with pytest.raises(leafspine.InputError, match="expected key=value"):
        scenarios.parse_setting(bad)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (
            '[[variant]]\nname = "a"\nset = {}\n[[variant]]\nname = "b"\n'
            'set = { "classes.short" = "0..20KB" }\n',
            "at most 100 KB (a) and at most 20 KB (b)",
        ),
        (
            '[sweep]\n"classes.short" = ["0..10KB", "0..100KB"]\n',
            "at most 10 KB (short 0..10KB) and at most 100 KB (short 0..100KB)",
        ),
    ],
)
def test_a_class_is_one_range_of_sizes(
    scenario: Path, cli: Callable[..., tuple[int, str, str]], more: str, found: str
) -> None:
    """Breaks if short flows of one variant are compared with short flows of another that are not
    the same flows, or if runs are made before that is said."""
    scenario.write_text(SCENARIO + more)
    code, _, error = cli("compare", scenario, "--out", "out")
    assert code == 2
    assert f"classes.short: found {found}; allowed: one range of sizes for all runs" in error
    assert not Path("out").exists()
