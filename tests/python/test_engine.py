"""The real engine behind the command line and the Python API, each in a process of its own."""

import json
import os
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pa_compute
import pyarrow.parquet as pa_parquet
import pytest

from test_results import contents

ROOT = Path(__file__).parent.parent.parent


def is_scenario(path: Path) -> bool:
    """Whether it can be run: not a figure, and not a part that a paper's scenarios are made of,
    which has no title. By what is in it, so that the next part needs no entry in a list."""
    found = tomllib.loads(path.read_text())
    return path.name == "scenario.toml" or {"title", "workload"} <= set(found)


PAPERS = [path for path in ROOT.glob("papers/**/*.toml") if is_scenario(path)]
KERNELS = [ROOT / "examples" / "programs.toml"]
"""Scenarios that cannot be read without a kernel: test_linux.py runs them."""
SCENARIOS = sorted({*ROOT.glob("examples/*.toml"), *PAPERS} - {*KERNELS})

SMALL = """\
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "1Gbps", delay = "5us" }
fabric_link = { rate = "1Gbps", delay = "5us" }

[[workload]]
kind = "poisson"
sizes = { kind = "uniform", low = "2KB", high = "200KB" }
load = 0.5
flows = 60

[classes]
short = "0..100KB"
"""

Done = subprocess.CompletedProcess[str]


def leafspine(*arguments: object, code: int = 0) -> Done:
    """The command line on the real engine."""
    done = python("-m", "leafspine", *arguments)
    assert done.returncode == code, done.stderr
    return done


def python(*arguments: object) -> Done:
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [sys.executable, *(str(argument) for argument in arguments)]
    return subprocess.run(words, capture_output=True, text=True, env=clean, check=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_a_run_leaves_what_the_contract_says(small: Path, tmp_path: Path) -> None:
    """Breaks if the engine's columns or counters are not those that the package expects."""
    summary = json.loads(leafspine("run", small, "--out", tmp_path / "out", "--json").stdout)
    flows = pa_parquet.read_table(tmp_path / "out" / "flows.parquet")
    wanted = "flow src dst bytes start_ps fct_ps ideal_fct_ps retransmits timeouts reordered"
    wanted += " dup_acks path_changes mean_window packets spurious_retransmits undos tail_probes"
    assert set(wanted.split()) <= set(flows.column_names)
    assert flows.num_rows == 60
    assert flows["fct_ps"].null_count == 0
    assert pa_compute.all(pa_compute.greater_equal(flows["fct_ps"], flows["ideal_fct_ps"])).as_py()
    assert summary["classes"]["all"]["flows"] == 60
    assert summary["classes"]["all"]["slowdown_mean"] >= 1
    # 2 leaves x 2 spines and 8 hosts, two ports a link.
    assert pa_parquet.read_table(tmp_path / "out" / "ports.parquet").num_rows == 2 * (4 + 8)
    assert 0 < summary["network"]["utilisation_mean"] < 100


def test_a_resolved_scenario_gives_the_same_run(small: Path, tmp_path: Path) -> None:
    """Breaks if scenario.toml lacks a default, or does not read as itself."""
    leafspine("run", small, "--out", tmp_path / "a")
    leafspine("run", tmp_path / "a" / "scenario.toml", "--out", tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    resolved = tomllib.loads((tmp_path / "a" / "scenario.toml").read_text())
    assert resolved["transport"]["dupack_threshold"] == 3


def test_one_and_two_jobs_give_the_same_bytes(small: Path, tmp_path: Path) -> None:
    """Breaks if a result depends on the process that made it."""
    options = ("--lb", "ecmp,rps,presto", "--load", "0.3,0.6", "--seeds", 2)
    for jobs in (1, 2):
        leafspine("compare", small, *options, "--jobs", jobs, "--out", tmp_path / str(jobs))
    one, two = contents(tmp_path / "1" / "runs"), contents(tmp_path / "2" / "runs")
    assert one == two
    assert len(list((tmp_path / "1" / "runs").iterdir())) == 12
    assert contents(tmp_path / "1")["tables.csv"] == contents(tmp_path / "2")["tables.csv"]


def test_the_same_seed_gives_the_same_flows_to_every_variant(small: Path, tmp_path: Path) -> None:
    """Breaks if differences are not paired: other flows, or other starts."""
    leafspine("compare", small, "--lb", "ecmp,rps", "--seeds", 1, "--out", tmp_path / "out")
    tables = [
        pa_parquet.read_table(path, columns=["src", "dst", "bytes", "start_ps"])
        for path in (tmp_path / "out").glob("runs/*/flows.parquet")
    ]
    assert len(tables) == 2
    assert tables[0].equals(tables[1])


def test_flows_that_do_not_end_are_null_and_warned_of(small: Path, tmp_path: Path) -> None:
    """Breaks if a run that is cut short looks like a fast one."""
    cut = ("--set", "run.until=2ms", "--out", tmp_path / "out")
    summary = json.loads(leafspine("run", small, *cut, "--json").stdout)
    flows = pa_parquet.read_table(tmp_path / "out" / "flows.parquet")
    assert flows["fct_ps"].null_count == summary["classes"]["all"]["unfinished"] > 0
    done = leafspine("compare", small, "--set", "run.until=2ms", "--out", tmp_path / "c")
    assert "flows unfinished" in done.stderr


def test_the_python_api(small: Path) -> None:
    """Breaks if the API and the engine disagree on a type."""
    done = python(
        "-c",
        "import sys, leafspine\n"
        "result = leafspine.run(sys.argv[1], load_balancer__scheme='rps')\n"
        "table = leafspine.compare(sys.argv[1], lb=['ecmp', 'rps'], jobs=1).table()\n"
        "names = {entry['name'] for entry in leafspine.schemes()}\n"
        "print(result.flows.num_rows, table.num_rows > 0, 'letflow' in names)\n"
        "print(leafspine.workloads()[0]['mean'] > 0, leafspine.__version__)\n",
        small,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:4] == ["60", "True", "True", "True"]


def test_probes_have_files(small: Path, tmp_path: Path) -> None:
    """Breaks if a probe's columns cannot be written, or get lost."""
    small.write_text(
        SMALL + '[[probe]]\nkind = "queue"\nname = "up"\nports = "leaf0-*"\nevery = "100us"\n'
    )
    leafspine("run", small, "--out", tmp_path / "out")
    assert pa_parquet.read_table(tmp_path / "out" / "up.parquet").num_rows > 0


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (("load = 0.5", "laod = 0.5"), ["small.toml:12", "laod", "load"]),
        (("load = 0.5", "load = -1"), ["small.toml:12", "load"]),
        (('rate = "1Gbps"', 'rate = "0Gbps"'), ["small.toml:6", "rate"]),
        (('delay = "5us"', 'delay = "5KB"'), ["small.toml:6", "delay"]),
        (('"leaf-spine"', '"leaf-spin"'), ["small.toml:2", "leaf-spine"]),
    ],
)
def test_errors_name_file_line_and_key(
    small: Path, change: tuple[str, str], parts: list[str]
) -> None:
    """Breaks if what the engine knows of a mistake does not reach the user, or takes two lines."""
    small.write_text(SMALL.replace(*change))
    said = leafspine("run", small, code=2).stderr
    assert said.count("\n") == 1
    for part in parts:
        assert part in said


def test_a_link_that_does_not_exist_is_bad_input(small: Path) -> None:
    """Breaks if what only the graph can tell is a failure instead of an error of the file."""
    small.write_text(
        SMALL + '[[topology.change]]\nlink = "leaf9-spine9"\nat = "1ms"\nstate = "down"\n'
    )
    assert "leaf9-spine9" in leafspine("run", small, code=2).stderr
    assert "leaf9-spine9" in leafspine("compare", small, code=2).stderr


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_scenario_in_the_repository_is_good(path: Path) -> None:
    """Breaks if an example or a paper's scenario no longer reads."""
    code = """
import sys
from pathlib import Path
from leafspine import scenario
from leafspine.reproduce import layers
scenario.expand(layers.read(Path(sys.argv[1])).source)
"""
    done = python("-c", code, path)
    assert done.returncode == 0, done.stderr


FAMILIES = """
import sys
from pathlib import Path
from leafspine import scenario as s
from leafspine.reproduce import layers
for path in sys.argv[1:]:
    source = layers.read(Path(path)).source
    cases = s.expand(source, s.comparing(source, [], seeds=2))
    found = {}
    for case in cases:
        found.setdefault((case.variant, case.point), []).append(case.family)
    assert all(one == other for one, other in found.values()), path
    assert len({case.key for case in cases}) == len(cases), path
    assert len({family for family, _ in found.values()}) == len(found), path
"""


def test_runs_that_differ_by_the_seed_are_a_family() -> None:
    """Breaks if anything else in a resolved scenario follows from the seed: more seeds would then
    be refused as another comparison; or if two variants or points are taken for one."""
    done = python("-c", FAMILIES, *SCENARIOS)
    assert done.returncode == 0, done.stderr


def test_the_catalogues_are_complete() -> None:
    """Breaks if a scheme of the comparison has no page, or a workload no mean."""
    for name in ("ecmp", "letflow", "rps", "drb", "presto", "dctcp", "ecn-threshold"):
        page = leafspine("schemes", name).stdout
        assert "source: " in page
    workloads = json.loads(leafspine("workloads", "--json").stdout)
    assert {"web-search", "web-search-qdaps"} <= {entry["name"] for entry in workloads}
    assert all(entry["mean"] > 0 for entry in workloads)
    (one,) = json.loads(leafspine("workloads", "web-search-dctcp", "--json").stdout)
    sizes, shares = zip(*one["points"], strict=True)
    assert sorted(sizes) == list(sizes) and sorted(shares) == list(shares) and shares[-1] == 1
    # The mean that is stated is that of the points: linear between them.
    middles = [(low + high) / 2 for low, high in pairwise(sizes)]
    parts = [high - low for low, high in pairwise(shares)]
    mean = sizes[0] * shares[0] + sum(a * b for a, b in zip(middles, parts, strict=True))
    assert mean == pytest.approx(one["mean"], rel=1e-3)


def test_what_schemes_cost() -> None:
    """Breaks if a scheme runs on another kind of port than it needs, or its table is lost."""

    def cost(name: str) -> dict[str, object]:
        [row] = json.loads(leafspine("bench", "--scheme", name, "--smoke", "--json").stdout)
        assert row["ns_per_decision"] > 0
        assert row["share_of_ecmp"] > 0
        found: dict[str, object] = row
        return found

    letflow, tcn = cost("letflow"), cost("tcn")
    assert (letflow["ports"], tcn["ports"]) == ("one-event", "general")
    assert (letflow["slots"], letflow["bytes_per_flow"]) == (65536, 16)
    refused = leafspine("bench", "--scheme", "letflo", code=2).stderr
    assert 'did you mean "letflow"' in refused


def test_reconstructed_schemes_say_so(small: Path, tmp_path: Path) -> None:
    """Breaks if a scheme that only mentions define is run without a word."""
    options = ("--set", "host_edge.scheme=flex", "--out", tmp_path / "out")
    assert "warning: flex is reconstructed" in leafspine("run", small, *options).stderr
    assert "reconstructed" not in leafspine("run", small, "--out", tmp_path / "plain").stderr


# 64 uplinks of 100 Gb/s: all flows have started before the first of the long ones ends.
FAST = """\
[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 8
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }

[[workload]]
sizes = "web-search"
load = 0.6
flows = 200
"""


def test_a_load_that_is_not_carried_is_said(tmp_path: Path) -> None:
    """Breaks if a run of few flows at a high rate passes for one at its load, on the command line
    or in a comparison, where many runs are one line; or if its tables hide what was carried."""
    (tmp_path / "fast.toml").write_text(FAST)
    done = leafspine("run", tmp_path / "fast.toml", "--out", tmp_path / "run")
    assert "warning: not in steady state: flows start over 700 us, but 1 % of the" in done.stderr
    assert "warning: offered 3528 Gb/s, carried 1269 Gb/s (36 %): flows pile up" in done.stderr
    assert "offered 3528 Gb/s, carried 1269 Gb/s;" in done.stdout
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert len(summary["warnings"]) == 2
    carried = 8e3 * summary["bytes_delivered_in_window"]
    carried /= summary["window_end_ps"] - summary["window_start_ps"]
    assert summary["network"]["carried"] == pytest.approx(carried)
    options = ("--lb", "ecmp,rps", "--seeds", "3", "--out", tmp_path / "both")
    done = leafspine("compare", tmp_path / "fast.toml", *options)
    said = [line for line in done.stderr.splitlines() if "steady" in line or "carried" in line]
    assert len(said) == 2
    assert said[0].startswith("warning: 6 of 6 runs, such as ecmp seed=1: not in steady state")
    for name in ("tables.md", "report.html"):
        assert "not in steady state" in (tmp_path / "both" / name).read_text()


def test_a_duration_and_a_warmup(small: Path, tmp_path: Path) -> None:
    """Breaks if a duration changes a flow of those that a number of flows gives, or a warm-up a
    packet; if flows of the warm-up are not in the file or in a class; or if the key of a result
    without them changes."""
    run = ("run", small, "--out")
    leafspine(*run, tmp_path / "cold")
    warm = ("--set", "measure.warmup=2ms")
    leafspine(*run, tmp_path / "warm", *warm)
    leafspine(*run, tmp_path / "some", "--set", "workload.0.duration=3ms", *warm)
    cold, warmed, some = (
        pa_parquet.read_table(tmp_path / name / "flows.parquet")
        for name in ("cold", "warm", "some")
    )
    assert cold.equals(warmed)
    starts = cold["start_ps"].to_pylist()
    within = [start for start in starts if start <= 3 * 10**9]
    assert 0 < len(within) < len(starts)
    same = ["src", "dst", "bytes", "start_ps"]
    assert some.select(same).equals(cold.slice(0, len(within)).select(same))
    before, after = (
        json.loads((tmp_path / name / "summary.json").read_text()) for name in ("cold", "warm")
    )
    assert before["trace_hash"] == after["trace_hash"]
    early = sum(start < 2 * 10**9 for start in starts)
    assert (after["warmup_ps"], after["flows_in_warmup"]) == (2 * 10**9, early)
    assert after["window_start_ps"] == 2 * 10**9
    assert after["classes"]["all"]["flows"] == len(starts) - early
    assert "warmup" not in (tmp_path / "cold" / "scenario.toml").read_text()


def test_nothing_to_measure_is_said(small: Path, tmp_path: Path) -> None:
    """Breaks if a warm-up that leaves no flow, or a duration without one, is run or is not one line
    with the key that is wrong."""
    for setting, said in (
        ("measure.warmup=1s", "measure.warmup: found 1s, but the last flow starts at "),
        ("workload.0.duration=1ps", "workload.0.duration: found a time in which no flow starts"),
    ):
        done = leafspine("run", small, "--out", tmp_path / "out", "--set", setting, code=2)
        assert said in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rate", ["1Gbps", "400Gbps"])
def test_threads_change_no_byte(rate: str, tmp_path: Path) -> None:
    """Breaks if what a run leaves behind depends on how many threads work on it.

    A second thread works from 48 packet-hops a window on (docs/nodes.md): eight hosts can send 7
    full packets in one of 10 us at 1 Gb/s, where none does, and 2,667 at 400 Gb/s."""
    small = tmp_path / "small.toml"
    small.write_text(SMALL.replace("1Gbps", rate))
    one, many = tmp_path / "one", tmp_path / "many"
    leafspine("run", small, "--threads", 1, "--out", one)
    leafspine("run", small, "--threads", 2, "--out", many)
    assert contents(one) == contents(many)
