"""The papers that ship, on the real engine: all claims are there, and each can be judged."""

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leafspine.reproduce import figures

HERE = Path(__file__).parent

# As many as the five papers state, with the ids' letters.
CLAIMS = {
    "qdaps": ("Q", 60),
    "qall": ("L", 131),
    "tam": ("T", 35),
    "aq-car": ("A", 43),
    "abq": ("B", 24),
}

# What the papers show of runs, by the numbers of figures and of tables.
FIGURES = {
    "qdaps": ([3, 4, 5, *range(10, 20)], [1]),
    "qall": ([3, *range(8, 28)], [1, 2, 3, 4]),
    "tam": ([3, 4, *range(6, 13)], [4]),
    "aq-car": (range(4, 15), []),
    "abq": ([1, 4, 5], [1]),
}

# Small ones: curves against time, and sensitivities.
SUBSET = ("qdaps/fig05", "abq/fig01")


def real(*words: object) -> str:
    """What a process with the real engine prints."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What ``check_papers.py`` says."""
    found: dict[str, Any] = json.loads(real(HERE / "check_papers.py"))
    return found


def test_all_claims_are_registered(said: dict[str, Any]) -> None:
    """Breaks if a claim of a paper is left out, or there twice."""
    assert said["claims"] == {
        name: [f"{letter}{number}" for number in range(1, count + 1)]
        for name, (letter, count) in sorted(CLAIMS.items())
    }
    assert sum(count for _, count in CLAIMS.values()) == 293


def test_all_figures_are_there(said: dict[str, Any]) -> None:
    """Breaks if a figure or a table of a paper is left out, or draws nothing."""
    wanted = {
        paper: {*(f"fig{n:02}" for n in figures), *(f"tab{n:02}" for n in tables)}
        for paper, (figures, tables) in FIGURES.items()
    }
    assert {paper: set(names) for paper, names in said["figures"].items()} == wanted
    assert sum(len(names) for names in said["figures"].values()) == 64
    assert said["empty"] == []


def test_sets_of_runs_are_called_what_they_are() -> None:
    """Breaks if a claim's numbers are said to be of "dm", a name of the figure's file, or if the
    title of a set of runs does not reach the claims."""
    words = ("cache", "mix", "main")
    tests = 0
    for paper in figures.papers():
        for claim in paper.claims:
            sets = {name for test in claim.tests for name in test.all_runs()}
            for test in claim.tests if len(sets) > 1 else ():
                for name in test.all_runs():
                    assert name in words or test.called(name) != name, (claim.id, name)
                    tests += test.called(name) == "data mining"
    assert tests > 10


@pytest.mark.parametrize("name", ["assumptions", "notes"])
def test_what_figures_say_alike_stands_once(name: str) -> None:
    """Breaks if a paper's figures have copies of an assumption or a note, which then change in some
    of them, or the paper has one that no figure names."""
    for file in (HERE.parents[2] / "papers").glob("*/paper.toml"):
        shared = tomllib.loads(file.read_text(encoding="utf-8")).get(name, {})
        stated: Counter[str] = Counter(shared.values())
        named = set()
        for path in file.parent.glob("*/figure.toml"):
            found = tomllib.loads(path.read_text(encoding="utf-8")).get(name, [])
            stated.update(entry for entry in found if isinstance(entry, str))
            named |= {entry["shared"] for entry in found if isinstance(entry, dict)}
        assert [text for text, count in stated.items() if count > 1] == []
        assert named == set(shared)


def test_groups_of_variants_are_named_where_they_are_meant() -> None:
    """Breaks if a paper has a group that no figure names, or a figure lists what is a group."""
    for file in (HERE.parents[2] / "papers").glob("*/paper.toml"):
        groups = tomllib.loads(file.read_text(encoding="utf-8")).get("groups", {})
        texts = [path.read_text(encoding="utf-8") for path in file.parent.glob("*/figure.toml")]
        for name, variants in groups.items():
            assert any(f'= "{name}"\n' in text for text in texts), name
            listed = f"= {json.dumps(variants)}\n"
            assert not any(listed in text for text in texts), name


def test_every_claim_can_be_judged(said: dict[str, Any]) -> None:
    """Breaks if a scenario is refused, or a claim names a variant, a point or a metric that its
    figure's runs do not have, at either scale, or a sensitivity one whose points it has not."""
    assert said["unmet"] == []
    assert said["unnamed"] == []


def test_what_is_said_of_average_and_tail_is_tested_of_both() -> None:
    """Breaks if a sentence on average and p99 completion times is judged by one of them alone."""
    found, lacking = 0, []
    for file in (HERE.parents[2] / "papers").glob("*/claims.toml"):
        for claim in tomllib.loads(file.read_text(encoding="utf-8"))["claim"]:
            if not any(words in claim["says"] for words in ("average and p99", "mean and p99")):
                continue
            found += 1
            tested = Counter[tuple[str, str]]()
            for test in claim["test"]:
                names = test["metric"]
                for name in [names] if isinstance(names, str) else names:
                    group, _, what = name.partition(".")
                    tested[group, what] += 1
            groups = {group for group, what in tested if what in ("fct_mean", "fct_p99")}
            lacking += [
                f"{claim['id']}: {group}"
                for group in sorted(groups)
                if tested[group, "fct_mean"] != tested[group, "fct_p99"]
            ]
    assert found > 10
    assert lacking == []


def test_what_contradicts_a_paper_does(said: dict[str, Any]) -> None:
    """Breaks if the numbers that a contradiction states do not rule its claim out."""
    assert said["unborne"] == []


def test_numbers_of_real_hosts_are_of_the_present_scenarios(said: dict[str, Any]) -> None:
    """Breaks if a scenario, a size or a claim of a figure with real hosts is changed and the kept
    numbers are still those of before. ``validation/papers_on_linux.py`` makes them."""
    assert said["stale"] == []


def test_numbers_beside_real_hosts_are_of_this_model() -> None:
    """Breaks if the model's TCP changes and the numbers that stand beside the kernels' are those of
    the former one. ``validation/papers_on_linux.py --kept`` makes them again."""
    found = json.loads(real(HERE / "model_on_linux.py"))
    assert len(found) == 16
    assert {place: now for place, (_, now) in found.items()} == {
        place: kept for place, (kept, _) in found.items()
    }


def test_some_figures_are_reproduced(tmp_path: Path) -> None:
    """Breaks if a figure's runs fail, or a claim of theirs ends without numbers."""
    real("-m", "leafspine", "reproduce", *SUBSET, "--out", tmp_path / "out", "--jobs", 2)
    card = (tmp_path / "out" / "scorecard.md").read_text(encoding="utf-8")
    assert "no data" not in card
    for name in SUBSET:
        assert (tmp_path / "out" / name / "page.md").is_file()
