"""Public figures of RDMA: every claim has its runs, and is judged."""

import csv
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

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
