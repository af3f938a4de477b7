"""The comparison with ns-3, as far as it needs no ns-3: statistics, limits, what ns-3 gets."""

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest

import leafspine
from leafspine.errors import InputError
from leafspine.results import Result
from test_engine import ROOT, python

sys.path += [str(ROOT / "validation"), str(ROOT / "docs")]

import kernels

import cases
import figures
import kept
import linux
import referee
import run as against_ns3

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
        assert row["open"] == figures.beyond(row, {**case.limits, **case.known}, by_chance) == []
        assert bool(row["beyond"]) == ("chance" in row), name
        # What has no explanation needs no bound, and no bound is wide enough for anything.
        assert case.explained or not case.known, name
        # A bound is for what was seen, and not for twice that.
        for key, bound in case.known.items():
            assert figures.beyond(row, {key: bound / 2}), (name, key)


def test_the_figures_of_kernels_are_of_this_model(tmp_path: Path) -> None:
    """Breaks if the model's TCP changes and docs/validation.md goes on saying how the former one
    stood beside kernels, or what chance did to it. ``validation/linux.py --kept`` makes the figures
    again."""
    written = tmp_path / "rows.json"
    code = f"""
        import json, pathlib, sys
        sys.path.insert(0, {str(ROOT / "validation")!r})
        import kept, linux
        _, runs = kept.read()
        def pair(case, seed):
            return linux.compare(case, seed, runs.get((case.name, seed)), kept.refuse)
        def pairs(case):
            return [pair(case, seed) for seed in range(1, case.seeds + 1)]
        rows = [linux.row_of(case, pairs(case)) for case in linux.load()]
        pathlib.Path({str(written)!r}).write_text(json.dumps(rows))
    """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    rows, stands = json.loads(written.read_text()), json.loads(linux.RESULTS.read_text())["cases"]
    assert [row["name"] for row in rows] == [row["name"] for row in stands]
    listed = {case.name: case for case in linux.load()}
    for row, stood in zip(rows, stands, strict=True):
        # What chance can do takes longer than all the rest.
        ours = {key: stood[key] for key in row}
        now, then = (dict(leaves({**each, "seconds": 0})) for each in (row, ours))
        assert now.keys() == then.keys()
        for path, value in then.items():
            # Another processor may add up in another order.
            exact = not isinstance(value, float)
            assert now[path] == (value if exact else pytest.approx(value, rel=1e-9)), path
        if "chance" in stood:
            assert stood["repeats"] == linux.REPEATS
            # The first of these runs is the one whose figures are compared.
            bounds = figures.against(row, listed[row["name"]].limits)
            for what, (low, high) in stood["chance"].items():
                found = bounds[what].value
                assert found is not None and low - 1e-9 <= found <= high + 1e-9, what


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
    _, runs = kept.read()
    ours = linux.Modelled("other", np.array([1]), np.array([1]), {}, 0.0)
    monkeypatch.setattr(linux, "modelled", lambda case, seed: ours)
    for seed in (1, 2):
        known = runs.get((case.name, seed))
        assert (known is None) == (seed == 2)
        words = rf"lone-100m, seed {seed}: linux-runs.jsonl has none, .* --add"
        with pytest.raises(kept.StaleError, match=words):
            linux.compare(case, seed, known, kept.refuse)
    damaged = tmp_path / "runs.jsonl"
    monkeypatch.setattr(kept, "RUNS", damaged)
    with pytest.raises(kept.StaleError, match="is not there: make validate-linux"):
        kept.read()
    head = json.dumps(MADE)
    for text in ("", "{}", f"{head}\n{{", f'{head}\n{{"case": "lone-100m", "seed": 1}}'):
        damaged.write_text(text)
        with pytest.raises(kept.StaleError, match="damaged"):
            kept.read()


KERNEL = "6.0-fake"
MADE = {"kernel": KERNEL, "machine": "one", "python": "3", "numpy": "2"}
STAGED = {"lone-1g": 1, "incast-32": 3}
"""The cases on the stage, with their seeds."""


class Here:
    """A pool of processes that works in this one, where what a test replaces is replaced."""

    def __init__(self, jobs: int) -> None:
        pass

    def __enter__(self) -> "Here":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def submit(self, do: Callable[..., Any], *given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(do(*given))
        except Exception as error:
            done.set_exception(error)
        return done


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """``validation/linux.py`` with two cases, hosts that agree, and a folder of its own. Gives the
    runs that kernels make, as they make them."""
    made: list[tuple[str, int]] = []
    totals = dict.fromkeys((*figures.TOTALS, "fct_without_timeouts"), 0.0)

    def modelled(case: cases.Case, seed: int) -> linux.Modelled:
        return linux.Modelled(f"{case.name} {seed}", np.array([1]), np.array([5]), totals, 0.1)

    def with_kernels(case: cases.Case, seed: int, asked: str) -> kept.Kept:
        made.append((case.name, seed))
        return kept.Kept(case.name, seed, asked, [5], totals, 1.0, "0.0.1+here")

    staged = [case for case in linux.load() if case.name in STAGED]
    assert {case.name: case.seeds for case in staged} == STAGED
    monkeypatch.setattr(linux, "load", lambda: staged)
    monkeypatch.setattr(linux, "modelled", modelled)
    monkeypatch.setattr(linux, "with_kernels", with_kernels)
    monkeypatch.setattr(linux, "kernel", lambda: KERNEL)
    monkeypatch.setattr(linux, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(linux, "FOLDERS", tmp_path / "folders")
    monkeypatch.setattr(linux, "RESULTS", tmp_path / "linux.json")
    monkeypatch.setattr(kept, "RUNS", tmp_path / "linux-runs.jsonl")
    return made


ALL = [(name, seed) for name, seeds in STAGED.items() for seed in range(1, seeds + 1)]


def written() -> list[bytes]:
    """What is kept of a comparison."""
    return [path.read_bytes() for path in (kept.RUNS, linux.RESULTS) if path.is_file()]


def with_runs(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the kept runs, or leave out those of which nothing is left."""
    head, *lines = kept.RUNS.read_text().splitlines()
    changed = [run for line in lines if (run := change(json.loads(line))) is not None]
    kept.RUNS.write_text("\n".join([head, *map(json.dumps, changed), ""]))


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said on standard error, which is one line."""
    said = capsys.readouterr().err
    assert said.startswith("validation: ") and said.count("\n") == 1, said
    return said


def test_figures_say_which_leafspine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Breaks if nobody can tell from the figures against ns-3 which commit they were made with."""
    monkeypatch.setattr(against_ns3, "RESULTS", tmp_path / "ns3.json")
    monkeypatch.setattr(cases.plan, "commit", lambda: "0123abc")
    against_ns3.write([])
    made = json.loads(against_ns3.RESULTS.read_text())["made"]
    assert made["leafspine"] == f"{leafspine.__version__}+0123abc"


def test_kernels_run_what_is_not_kept(made: list[tuple[str, int]]) -> None:
    """Breaks if ``--add`` runs kernels for what is kept, takes a run of another scenario for one of
    this, leaves one out, or forgets whose switches the older ones had."""

    def older(run: dict[str, Any]) -> dict[str, Any] | None:
        if (run["case"], run["seed"]) == ("incast-32", 2):
            return None
        if (run["case"], run["seed"]) == ("incast-32", 3):
            run["asked"] = "something else"
        if run["case"] == "lone-1g":
            del run["leafspine"]
        return run

    assert linux.main([]) == 0
    assert made == ALL
    with_runs(older)
    made.clear()
    assert linux.main(["--add"]) == 0
    assert made == [("incast-32", 2), ("incast-32", 3)]
    head, runs = kept.read()
    assert head["kernel"] == KERNEL
    assert list(runs) == ALL
    assert all(run.asked == f"{name} {seed}" for (name, seed), run in runs.items())
    assert runs["lone-1g", 1].leafspine == "" and runs["incast-32", 2].leafspine == "0.0.1+here"
    of = json.loads(linux.RESULTS.read_text())["made"]
    assert of["switches"] == ["", "0.0.1+here"]
    assert set(of) == {*kept.MADE, "model", "switches"}
    made.clear()
    assert linux.main(["--kept"]) == linux.main(["--add"]) == 0
    assert made == []


def test_kept_runs_stay_of_one_kernel(
    made: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Breaks if ``--add`` puts runs of another kernel beside those that are kept."""
    assert linux.main([]) == 0
    with_runs(lambda run: run if run["seed"] == 1 else None)
    before = written()
    made.clear()
    monkeypatch.setattr(linux, "kernel", lambda: "7.0-other")
    assert linux.main(["--add"]) == 2
    assert f"is of kernel {KERNEL}, this one is 7.0-other" in one_line(capsys)
    assert (made, written()) == ([], before)


def test_named_cases_write_nothing(made: list[tuple[str, int]]) -> None:
    """Breaks if a comparison of some cases takes the place of that of all."""
    assert linux.main(["incast-32"]) == 0
    assert made == [("incast-32", seed) for seed in (1, 2, 3)]
    assert linux.main(["--quick"]) == 0
    assert written() == []
    assert linux.main([]) == 0
    before = written()
    assert len(before) == 2
    with_runs(lambda run: None)
    kept_runs = kept.RUNS.read_bytes()
    assert linux.main(["--add", "lone-1g"]) == 0
    assert written() == [kept_runs, before[1]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["incast-23"], "case: found 'incast-23'; allowed: lone-1g, incast-32; did you mean"),
        (["--jobs", "0"], "--jobs: found 0; allowed: 1 or more"),
        (["--kept"], "linux-runs.jsonl is not there: make validate-linux"),
        (["--add"], "linux-runs.jsonl is not there: make validate-linux"),
    ],
)
def test_what_cannot_be_compared_is_said(
    words: list[str],
    says: str,
    made: list[tuple[str, int]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Breaks if what is wrong on the command line is a traceback, or nothing."""
    assert linux.main(words) == 2
    assert says in one_line(capsys)
    assert made == []


@pytest.mark.parametrize(
    "words", [["--kept", "--add"], ["--add", "--rerun"], ["--kept", "--rerun"]]
)
def test_ways_to_take_kept_runs_exclude_each_other(
    words: list[str], made: list[tuple[str, int]]
) -> None:
    """Breaks if of two that contradict each other one is taken."""
    with pytest.raises(SystemExit) as ended:
        linux.main(words)
    assert ended.value.code == 2
    assert made == []


def test_without_a_kernel_nothing_is_removed(
    made: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Breaks if ``--rerun`` removes runs that nothing can make again, or none where one can."""

    def no_kernel() -> str:
        raise InputError("the Linux kernel is not there")

    run = linux.FOLDERS / "lone-1g-1"
    run.mkdir(parents=True)
    with monkeypatch.context() as without:
        without.setattr(linux, "kernel", no_kernel)
        assert linux.main(["--rerun"]) == 2
    assert "the Linux kernel is not there" in one_line(capsys)
    assert run.is_dir() and made == []
    assert linux.main(["--rerun"]) == 0
    assert not run.exists() and made == ALL


def test_a_kernel_is_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if that a kernel is missing is noticed by its first run, or is a traceback."""
    monkeypatch.delenv("LEAFSPINE_LINUX", raising=False)
    monkeypatch.setenv("LEAFSPINE_LINUX_FOLDER", "/nowhere")
    run = tmp_path / "lone-1g-1"
    run.mkdir()
    code = f"""
        import pathlib, sys
        sys.path.insert(0, {str(ROOT / "validation")!r})
        import linux
        linux.FOLDERS = pathlib.Path({str(tmp_path)!r})
        sys.exit(linux.main(["--rerun", "lone-1g"]))
    """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 2, done.stderr
    assert "/nowhere/kernel" in done.stderr and done.stderr.count("\n") == 1
    assert run.is_dir()


BEYOND = "retransmits -30.3%, limit 20%"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"open": [BEYOND], "explained": "clocks are slow"}, f"open: {BEYOND}"),
        ({"open": [], "explained": "clocks are slow"}, "because clocks are slow"),
        ({"open": []}, "undecided: 39 runs of the model, retransmits −30.34 % to +35.36 %"),
    ],
)
def test_what_is_said_of_a_difference(found: dict[str, Any], words: str) -> None:
    """Breaks if docs/validation.md excuses what is open, or calls undecided what is explained; or
    if the range of something that is within its limit is given for what is beyond."""
    ranges = {"all: mean FCT": [-0.01, 0.02], "retransmits": [-0.3034, 0.3536]}
    case = {"explained": "", "beyond": [BEYOND], "repeats": 39, "chance": ranges, **found}
    assert kernels._why(case) == words


@pytest.mark.parametrize(("model", "theirs", "rows"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_what_either_side_counts_is_shown(model: float, theirs: float, rows: int) -> None:
    """Breaks if docs/validation.md leaves out losses that only one side has, or has rows without
    any."""
    nothing = {"model": 0.0, "linux": 0.0, "difference": 0.0}
    totals = {**dict.fromkeys(kernels.TOTALS, nothing), "queue_mean": {**nothing, "linux": 1.0}}
    totals["drops"] = {"model": model, "linux": theirs, "difference": None}
    head, _, *found = kernels._counts([{"title": "Some", "totals": totals}]).splitlines()
    assert len(found) == rows
    assert [line.count("|") for line in found] == [head.count("|")] * rows


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ([""], "switches between the kernels: not noted."),
        (["", "0.1+a"], "switches between the kernels: leafspine 0.1+a (not noted for older runs)"),
        (["0.1+a", "0.1+b"], "switches between the kernels: leafspine 0.1+a, 0.1+b."),
    ],
)
def test_who_made_the_kernels_runs_is_said(switches: list[str], words: str) -> None:
    """Breaks if docs/validation.md does not say which leafspine the model is, or gives its switches
    for those of older runs."""
    said = kernels._made({**MADE, "model": "0.1+c", "switches": switches})
    assert said.startswith(f"Made with Linux {KERNEL} on one; Python 3, numpy 2; ")
    assert "the model is leafspine 0.1+c; " in said
    assert words in said
