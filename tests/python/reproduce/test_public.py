"""Public figures of RDMA: every claim has its runs, and is judged."""

import csv
import json
import os
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIBRARY = ROOT / "validation" / "public"

CLAIMS = {"conweave": 7, "dcqcn": 5, "hpcc": 8, "irn": 4, "reps": 1, "spraying": 4}

CODE = """
import json, sys
from pathlib import Path
from leafspine.reproduce import reproducing
from leafspine.reproduce.verdicts import Verdict
chapters = reproducing.kept_chapters(Path(sys.argv[1]))
print(json.dumps({c.paper.name: [j.verdict.words for j in c.judged] for c in chapters}))
print(json.dumps([Verdict.MISSING.words, Verdict.UNTESTABLE.words]))
"""


def test_every_claim_is_judged_from_what_is_kept() -> None:
    """Breaks if a scenario of these figures has changed since its runs were kept, or a claim
    cannot be judged by them."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", CODE, str(LIBRARY)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    assert done.returncode == 0, done.stderr
    found, missing = (json.loads(line) for line in done.stdout.splitlines())
    assert {paper: len(words) for paper, words in found.items()} == CLAIMS
    assert not {word for words in found.values() for word in words} & set(missing), found


AGAIN = """
import json, sys
from pathlib import Path
import leafspine
from leafspine.reproduce import data, figures, plan
library, paper, name, points = Path(sys.argv[1]), *sys.argv[2:4], sys.argv[4:]
[figure] = [f for f in figures.read_paper(library / paper).figures if f.name == name]
kept = data.read(figure.folder)
[runs] = [runs for runs in figure.all_runs() if runs.name == "main"]
wanted = [json.loads(point) for point in points]
for case in plan.cases(runs, "paper"):
    if case.seed == 1 and [case.variant, dict(case.point)] in wanted:
        found = leafspine.run(case.toml, seed=1).summary["trace_hash"]
        then = kept.origins["main", case.variant, case.point][1].trace_hash
        print(json.dumps([case.variant, found, then]))
"""
"""Runs of seed 1 once more: variant, the hash of its packets, and that which was kept."""

AT_HALF = {"workload.0.load": 0.5}

REPEATED: list[tuple[str, list[tuple[str, dict[str, float]]]]] = [
    ("reps/slow", [("ECMP", {}), ("oblivious", {}), ("REPS", {})]),
    (
        "spraying/permutation",
        [
            ("flow (ECMP)", {}),
            ("flowlet (LetFlow)", {}),
            ("host (oblivious)", {}),
            ("host, adaptive (REPS)", {}),
            ("switch (RPS)", {}),
            ("switch, adaptive (DRILL)", {}),
        ],
    ),
    ("dcqcn/fig03", [("no DCQCN", {}), ("DCQCN", {})]),
    ("conweave/fig12", [("ConWeave", AT_HALF)]),
    ("hpcc/fig11", [("HPCC", {"workload.0.load": 0.3})]),
]
"""Figures and those of their runs that are made again: some seconds each."""


@pytest.mark.parametrize(("figure", "runs"), REPEATED, ids=[name for name, _ in REPEATED])
def test_kept_runs_are_those_of_today(
    figure: str, runs: list[tuple[str, dict[str, float]]]
) -> None:
    """Breaks if a run of a figure has other packets than when its numbers were kept: a claim is
    then judged by what leafspine no longer does, though the scenario is the same."""
    # Unchecked: that takes as long again, and smaller runs are.
    clean = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "LEAFSPINE_CHECK")
    }
    points = [json.dumps(run) for run in runs]
    command = [sys.executable, "-c", AGAIN, str(LIBRARY), *figure.split("/"), *points]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(variant for variant, *_ in found) == sorted(variant for variant, _ in runs)
    assert [entry for entry in found if entry[1] != entry[2]] == []


def test_own_systems_are_run() -> None:
    """Breaks if a paper's own system, which its claims praise, is none of the variants."""
    for file in LIBRARY.glob("*/paper.toml"):
        own = tomllib.loads(file.read_text(encoding="utf-8")).get("systems", [])
        kept = {
            row["variant"]
            for path in file.parent.glob("*/data.csv")
            for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        }
        assert set(own) <= kept, file


def test_each_source_says_what_differs() -> None:
    """Breaks if a figure is compared without a word on what was assumed."""
    for figure in LIBRARY.glob("*/*/figure.toml"):
        assert "assumptions = [" in figure.read_text(encoding="utf-8"), figure


def values(figure: Path, metric: str) -> dict[tuple[str, ...], list[float]]:
    """A metric of all kept runs, by set of runs, variant and point."""
    found: dict[tuple[str, ...], list[float]] = {}
    with (figure / "data.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            key = (row["runs"], row["variant"], *map(str, json.loads(row["point"]).values()))
            found.setdefault(key, []).append(float(row[metric]))
    return found


def test_medians_are_those_of_the_runs() -> None:
    """Breaks if the victim's medians that a note gives are not those of the kept runs."""
    figure = LIBRARY / "dcqcn" / "fig04"
    rates = values(figure, "own.rate_second")
    plain, controlled = (
        [statistics.median(rates[runs, variant]) for runs in ("main", "two")]
        for variant in ("no DCQCN", "DCQCN")
    )
    said = (
        f"without DCQCN {plain[0]:.1f} Gb/s with no sender under T3 and {plain[1]:.1f} with two",
        f"under DCQCN {controlled[0]:.1f} and {controlled[1]:.1f}",
    )
    text = (figure / "figure.toml").read_text(encoding="utf-8")
    assert all(part in text for part in said), said


def test_slowdowns_are_those_of_the_runs() -> None:
    """Breaks if the slowdowns by which a note explains CONGA are not those of the kept runs."""
    figure = LIBRARY / "conweave" / "fig12"
    found = values(figure, "all.slowdown_mean")
    flow, conga, ecmp = (
        [statistics.mean(found["main", variant, load]) for load in ("0.5", "0.8")]
        for variant in ("CONGA-Flow", "CONGA", "ECMP")
    )
    said = (
        f"slowdown of {flow[0]:.2f} and {flow[1]:.2f} at loads of 0.5 and 0.8 over lossless "
        f"Ethernet, with flowlets {conga[0]:.2f} and {conga[1]:.2f}, "
        f"ECMP {ecmp[0]:.2f} and {ecmp[1]:.2f}."
    )
    assert said in (figure / "figure.toml").read_text(encoding="utf-8"), said
