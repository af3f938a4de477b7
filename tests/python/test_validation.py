"""The comparison with ns-3, as far as it needs no ns-3: statistics, limits, what ns-3 gets."""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafspine.results import Result
from test_engine import ROOT, python

sys.path.append(str(ROOT / "validation"))

import cases
import figures
import kept
import linux
import referee

RESULTS = ROOT / "validation" / "results" / "ns3.json"

RESOLVED = """\
[topology]
kind = "leaf-spine"
leaves = 4
spines = 3
hosts_per_leaf = 8
links_per_pair = 1
host_link = { rate = "10Gbps", delay = "2us", loss = 0.0 }
fabric_link = { rate = "2.5Gbps", delay = "500ns", loss = 0.0 }
host_delay = "1us"
host_jitter = "0ps"

[[topology.change]]
link = "leaf0-spine1"
at = "0ps"
rate = "2Gbps"

[switch]
buffer = "256pkt"

[aqm]
scheme = "ecn-threshold"
threshold = "65pkt"
at = "enqueue"

[transport]
scheme = "dctcp"
g = 0.0625
initial_alpha = 1.0
mss = 1458
header = 42
init_cwnd = "10pkt"
max_cwnd = "none"
min_rto = "10ms"
initial_rto = "10ms"
sack = true
limited_transmit = true
delayed_ack = "off"
handshake = true
handshake_ack = true

[run]
seed = 7
"""


def resolved(text: str) -> Result:
    """A run with this resolved scenario; ns-3 gets nothing else of it."""
    summary = {"window_start_ps": 5, "window_end_ps": 9}
    empty: Any = None
    return Result(scenario=text, summary=summary, flows=empty, ports=empty)


def test_ns3_is_told_what_leafspine_has_run() -> None:
    """Breaks if a number gets to ns-3 in another unit, or not at all."""
    lines = referee.spec(resolved(RESOLVED))
    assert lines == {
        "leaves": 4,
        "spines": 3,
        "hosts_per_leaf": 8,
        "host_rate": 10_000_000_000,
        "host_delay": 3_000_000,
        "host_jitter": 0,
        "fabric_rate": 2_500_000_000,
        "fabric_delay": 500_000,
        "slow": "leaf0-spine1 2000000000",
        "buffer": "256p",
        "mark_from": 65,
        "control": "dctcp",
        "mss": 1458,
        "init_cwnd": 10,
        "min_rto": 10_000_000_000,
        "initial_rto": 10_000_000_000,
        "delayed_ack": 0,
        "sack": 1,
        "limited_transmit": 1,
        "alpha": 1.0,
        "g": 0.0625,
        "window_start": 5,
        "window_end": 9,
        "until": referee.UNTIL_PS,
        "seed": 7,
    }


@pytest.mark.parametrize(
    ("found", "other"),
    [
        ('kind = "leaf-spine"', 'kind = "fat-tree"'),
        ("links_per_pair = 1", "links_per_pair = 2"),
        ('at = "0ps"', 'at = "1us"'),
        ('rate = "2Gbps"', 'state = "down"'),
        ('scheme = "ecn-threshold"', 'scheme = "red"'),
        ('threshold = "65pkt"', 'threshold = "65KB"'),
        ('at = "enqueue"', 'at = "dequeue"'),
        ("header = 42", "header = 40"),
        ("handshake_ack = true", "handshake_ack = false"),
    ],
)
def test_what_ns3_cannot_be_told_is_refused(found: str, other: str) -> None:
    """Breaks if ns-3 is given something else than leafspine has run."""
    assert found in RESOLVED
    with pytest.raises(referee.RefereeError):
        referee.spec(resolved(RESOLVED.replace(found, other)))


def test_the_two_sample_statistic() -> None:
    """Breaks if it is not the largest distance of the two distribution functions, ties included."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        first = rng.integers(0, 12, size=rng.integers(1, 30))
        second = rng.integers(0, 12, size=rng.integers(1, 30))
        apart = max(abs((first <= x).mean() - (second <= x).mean()) for x in range(-1, 13))
        assert figures.two_sample(first, second) == pytest.approx(apart, abs=1e-12)
    # Two samples of 100: 1.358 x sqrt(2/100), as tables have it.
    assert figures.critical(100, 100) == pytest.approx(0.192, abs=0.001)


def runs(ours: list[int], theirs: list[int], drops: tuple[int, int] = (0, 0)) -> list[figures.Run]:
    """A case of one seed whose flows have 50 KB each."""
    totals = {
        name: {key: count if key == "drops" else 0 for key in figures.TOTALS}
        for name, count in zip(figures.SIMULATORS, drops, strict=True)
    }
    return [
        figures.Run(
            sizes=np.full(len(ours), 50_000),
            fct={"leafspine": np.array(ours), "ns3": np.array(theirs)},
            totals=totals,
        )
    ]


LIMITS = {"mean": 0.05, "p50": 0.05, "p99": 0.15, "drops": 0.2}


@pytest.mark.parametrize(
    ("ours", "theirs", "drops", "words"),
    [
        ([100, 100, 100], [100, 100, 100], (12, 10), []),
        ([104, 104, 104], [100, 100, 100], (0, 0), []),
        ([106, 106, 106], [100, 100, 100], (0, 0), ["mean", "p50"]),
        ([100, 100, 120], [100, 100, 100], (0, 0), ["mean", "p99"]),
        ([100, 100, 100], [100, 100, 100], (13, 10), ["drops"]),
        ([100, 100, 100], [100, 100, 100], (1, 0), ["drops"]),
        ([100, 100, -1], [100, 100, 100], (0, 0), ["did not end"]),
    ],
)
def test_limits_are_kept_to(
    ours: list[int], theirs: list[int], drops: tuple[int, int], words: list[str]
) -> None:
    """Breaks if a case passes that is beyond its limits, or one fails that is not."""
    missed = figures.beyond(figures.summary(runs(ours, theirs, drops)), LIMITS)
    assert len(missed) == len(words), missed
    assert all(word in line for word, line in zip(words, missed, strict=True)), missed


def test_what_chance_can_do_is_left_open_by_neither() -> None:
    """Breaks if a difference counts that one more run of ours may have, or if a larger one, one of
    something else, or a flow without an end passes for chance."""
    found = figures.summary(runs([110, 110, -1], [100, 100, 100]))
    unfinished = "1 flows of leafspine did not end"
    chance = {"all: mean FCT": (-0.01, 0.17), "all: p50 FCT": (0.01, 0.17)}
    assert figures.beyond(found, LIMITS, chance) == [
        "all: p50 FCT +10.0%, limit 5%",
        unfinished,
    ]
    chance["all: p50 FCT"] = (-0.19, -0.0)
    assert figures.beyond(found, LIMITS, chance) == [unfinished]


def test_a_class_counts_if_it_can_be_told_apart() -> None:
    """Breaks if classes go unchecked, or if one that chance explains fails a case."""
    ours = np.concatenate([np.full(500, 100), np.full(500, 1000)])
    sizes = np.concatenate([np.full(500, 50_000), np.full(500, 2_000_000)])
    for short, missed in ((100, 0), (130, 3)):
        theirs = np.concatenate([np.full(500, short), np.full(500, 1000)])
        # As many as KS cannot tell apart (9 % of 500) take three times as long.
        theirs[:20] = 300
        [made] = runs([1], [1])
        run = figures.Run(sizes, {"leafspine": ours, "ns3": theirs}, made.totals)
        found = figures.beyond(figures.summary([run]), {"mean": 0.05, "p50": 0.05, "p99": 0.15})
        assert len([line for line in found if line.startswith("short")]) == missed, found


def test_an_offset_is_of_every_flow() -> None:
    """Breaks if a lone flow a picosecond off what is known goes unnoticed."""
    known = figures.summary(runs([90, 190], [100, 200]), -10)
    assert figures.beyond(known, {"flow": 0.2}) == []
    other = figures.summary(runs([90, 191], [100, 200]), -10)
    assert len(figures.beyond(other, {"flow": 0.2})) == 1


def test_the_figures_kept_are_of_the_cases_that_there_are() -> None:
    """Breaks if a case was added or renamed and the comparison not repeated, or if figures beyond
    the limits were kept without a word of explanation."""
    found = {row["name"]: row for row in json.loads(RESULTS.read_text())["cases"]}
    listed = {case.name: case for case in cases.load()}
    assert list(found) == list(listed)
    for name, row in found.items():
        assert row["beyond"] == figures.beyond(row, listed[name].limits)
        assert not row["beyond"] or listed[name].explained, name


def test_the_figures_of_kernels_are_of_the_cases_that_there_are() -> None:
    """Breaks if a case with kernels was added, renamed or given other seeds and not run again, or
    if figures beyond the limits, or beyond what is known of a difference, pass for explained."""
    found = {row["name"]: row for row in json.loads(linux.RESULTS.read_text())["cases"]}
    listed = {case.name: case for case in linux.load()}
    assert {name: row["seeds"] for name, row in found.items()} == {
        name: case.seeds for name, case in listed.items()
    }
    for name, row in found.items():
        case = listed[name]
        assert row["beyond"] == figures.beyond(row, case.limits)
        by_chance = row.get("chance", {})
        assert row["open"] == figures.beyond(row, {**case.limits, **case.known}, by_chance)
        assert bool(row["beyond"]) == ("chance" in row), name
        # What has no explanation needs no bound, and no bound is wide enough for anything.
        assert case.explained or not case.known, name
        # A bound is for what was seen, and not for twice that.
        for key, bound in case.known.items():
            assert figures.beyond(row, {key: bound / 2}), (name, key)


def test_the_figures_of_kernels_are_of_this_model(tmp_path: Path) -> None:
    """Breaks if the model's TCP changes and docs/validation.md goes on saying how the former one
    stood beside kernels. ``validation/linux.py --kept`` makes the figures again."""
    written = tmp_path / "rows.json"
    code = f"""
        import json, pathlib, sys
        sys.path.insert(0, {str(ROOT / "validation")!r})
        import kept, linux
        _, run = kept.read()
        def pairs(case):
            seeds = range(1, case.seeds + 1)
            return [linux.compare(case, seed, run(case, seed)) for seed in seeds]
        rows = [linux.row_of(case, pairs(case)) for case in linux.load()]
        pathlib.Path({str(written)!r}).write_text(json.dumps(rows))
    """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    rows, stands = json.loads(written.read_text()), json.loads(linux.RESULTS.read_text())["cases"]
    assert [row["name"] for row in rows] == [row["name"] for row in stands]
    for row, stood in zip(rows, stands, strict=True):
        # What chance can do takes longer than all the rest.
        ours = {key: stood[key] for key in row}
        now, then = (dict(leaves({**each, "seconds": 0})) for each in (row, ours))
        assert now.keys() == then.keys()
        for path, value in then.items():
            # Another processor may add up in another order.
            exact = not isinstance(value, float)
            assert now[path] == (value if exact else pytest.approx(value, rel=1e-9)), path


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is in a tree of JSON, by its path."""
    if not isinstance(tree, dict | list):
        yield path, tree
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from leaves(value, f"{path}/{key}")


def test_runs_of_other_flows_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Breaks if kernels' times are held against flows that they did not have, or if a file that is
    missing or damaged ends with a traceback."""
    case = linux.load()[0]
    known = kept.read()[1](case, 1)
    ours = linux.Modelled("other", np.array([1]), np.array([1]), {}, 0.0)
    monkeypatch.setattr(linux, "modelled", lambda case, seed: ours)
    with pytest.raises(kept.StaleError, match=r"lone-100m, seed 1: .* of another scenario"):
        linux.compare(case, 1, known)
    with pytest.raises(kept.StaleError, match="no lone-100m with seed 2: make validate-linux"):
        kept.read()[1](case, 2)
    damaged = tmp_path / "runs.jsonl"
    monkeypatch.setattr(kept, "RUNS", damaged)
    with pytest.raises(kept.StaleError, match="is not there: make validate-linux"):
        kept.read()
    for text in ("", "{}\n{", '{}\n{"case": "lone-100m", "seed": 1}'):
        damaged.write_text(text)
        with pytest.raises(kept.StaleError, match="damaged"):
            kept.read()
