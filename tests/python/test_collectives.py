"""What is measured of collectives, by hand, from the scenario to tables and figures."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import leafspine
from leafspine import job_figures, measures, tables
from test_engine import ROOT, python
from test_engine import leafspine as command

SCENARIO = """
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }

[switch]
host_ports = "unlimited"

[transport]
kind = "roce"
scheme = "line-rate"
mss = 4000
header = 40
ack_every = 1000

[[workload]]
kind = "collective"
collective = "COLLECTIVE"
algorithm = "ring"
bytes = "4MB"
compute = "100us"
iterations = 2
"""
MB = 10**6
RATE = Fraction(100, 1000)
"""Of each link, in bits a picosecond."""


def a_step(size: int) -> float:
    """A rank passes ``size`` bytes on: the time of packets of 4,000 and 40 bytes on the
    line, of the last one on the second link, and of two links, in picoseconds."""
    packets = -(-size // 4000)
    return float((size + 40 * packets + 4040) * 8 / RATE) + 2 * MB


def run(folder: Path, collective: str) -> leafspine.Result:
    scenario = folder / "job.toml"
    scenario.write_text(SCENARIO.replace("COLLECTIVE", collective))
    command("run", scenario, "--out", folder / "out")
    return leafspine.Result.load(folder / "out")


@pytest.mark.parametrize(
    ("collective", "steps", "factor"),
    [("all-reduce", 6, 1.5), ("all-gather", 3, 0.75), ("reduce-scatter", 3, 0.75)],
)
def test_bandwidths_by_hand(tmp_path: Path, collective: str, steps: int, factor: float) -> None:
    """Four ranks pass a quarter of 4 MB on in each step of a ring. The algorithm's
    bandwidth is the buffer over the time of all steps, and the bus bandwidth that times 2
    (n - 1)/n, or (n - 1)/n (as NCCL's tests count).

    Breaks if a bandwidth has another factor or unit, or if stragglers, idle shares and the
    tables are of something else.
    """
    result = run(tmp_path, collective)
    rows = result.collectives.to_pylist()
    took = steps * a_step(MB)
    assert [row["collective"] for row in rows] == [collective] * 2
    for row in rows:
        assert row["completion_ps"] == pytest.approx(took, rel=1e-3)
        exact = 4 * MB * 8e12 / row["completion_ps"]
        assert row["algorithm_bandwidth_bps"] == pytest.approx(exact, rel=1e-12)
        assert row["bus_bandwidth_bps"] == pytest.approx(factor * exact, rel=1e-12)
        assert row["spread_ps"] == 0
    # 100 us of computing in each of two iterations.
    whole = 2 * (took + 100 * MB)
    for rank in result.ranks.to_pylist():
        assert rank["compute_ps"] == 200 * MB
        assert rank["idle_share"] == pytest.approx(1 - 200 * MB / whole, rel=1e-3)
    said = json.loads((tmp_path / "out" / "summary.json").read_text())["collectives"]
    assert said["completion_mean"] == pytest.approx(took / MB, rel=1e-3)
    assert said["algorithm_bandwidth"] == pytest.approx(4 * MB * 8e3 / took, rel=1e-3)
    assert said["bus_bandwidth"] == pytest.approx(factor * said["algorithm_bandwidth"])
    assert said["idle_share"] == pytest.approx(100 * (1 - 200 * MB / whole), rel=1e-3)
    assert said["spread"] == 0


SLOW = """
[[topology.change]]
link = "host1-*"
rate = "50Gbps"
"""


def test_stragglers_by_hand(tmp_path: Path) -> None:
    """A ring of four passes quarters on in three steps, and host 1's link has half of the
    others' rate. Three quarters go to host 1 one behind the other, each in the time of two; host 2
    has what host 1 passes on as it comes, a hop later. Host 0 waits for host 1 once, in its third
    quarter, which has passed three hops: it is done first.

    Breaks if the spread is not from the end of the first rank to that of the last, or if the
    slowest host is another.
    """
    scenario = tmp_path / "job.toml"
    text = SCENARIO.replace("COLLECTIVE", "all-gather").replace("iterations = 2", "")
    # Two quarters wait before the slow link at most.
    scenario.write_text(text.replace("[switch]", '[switch]\nbuffer = "3MB"') + SLOW)
    command("run", scenario, "--out", tmp_path / "out")
    [row] = leafspine.Result.load(tmp_path / "out").collectives.to_pylist()
    quarter, packet = (float(size * 8 / RATE) for size in (MB + 40 * 250, 4040))
    hop = packet + 2 * MB
    last, first = 6 * quarter + 2 * hop, 4 * quarter + 3 * hop
    assert row["completion_ps"] == pytest.approx(last, rel=1e-3)
    assert row["spread_ps"] == pytest.approx(last - first, rel=1e-3)
    assert row["slowest_host"] == 2


def test_a_timeline_has_the_messages(tmp_path: Path) -> None:
    """Breaks if a bar of a job's timeline is not a message of its rank's from its start to
    its end, or a dashed line not a collective's end."""
    result = run(tmp_path, "all-reduce")
    tables = (result.flows, result.collectives, result.ranks)
    (axes,) = job_figures.timeline(*tables, job=0).axes
    (bars,) = axes.collections
    drawn = sorted((row, start, stop) for ((start, row), (stop, _)) in bars.get_segments())
    wanted = sorted(
        (flow["src"], flow["start_ps"] / MB, (flow["start_ps"] + flow["fct_ps"]) / MB)
        for flow in result.flows.to_pylist()
    )
    assert len(drawn) == 4 * 6 * 2
    for one, other in zip(drawn, wanted, strict=True):
        assert one == pytest.approx(other)
    ends = [(row["start_ps"] + row["completion_ps"]) / MB for row in result.collectives.to_pylist()]
    assert [line.get_xdata()[0] for line in axes.lines] == pytest.approx(ends)
    assert axes.get_xlabel() == "time since the job's start (µs)"


def test_a_collective_without_a_bandwidth_is_complete_all_the_same() -> None:
    """Breaks if a timeline has no line where an all-to-allv was complete, which has no bandwidth,
    or has one of a collective that was cut off."""
    flows = pa.table({name: pa.array([], pa.uint64()) for name in
                      ("job", "fct_ps", "start_ps", "src", "iteration")})  # fmt: skip
    done = {
        "job": [0, 0],
        "start_ps": pa.array([0, 5 * MB], pa.uint64()),
        "completion_ps": pa.array([3 * MB, None], pa.uint64()),
        "bus_bandwidth_bps": pa.array([None, None], pa.float64()),
    }
    ranks = {"job": [0], "host": [0], "start_ps": pa.array([0], pa.uint64())}
    ranks["end_ps"] = pa.array([6 * MB], pa.uint64())
    (axes,) = job_figures.timeline(flows, pa.table(done), pa.table(ranks), job=0).axes
    assert [line.get_xdata()[0] for line in axes.lines] == [3.0]


DRAWN = """
import json, sys, leafspine
panels = leafspine.load(sys.argv[1]).plot.collectives().axes
(axes,) = [panel for panel in panels if panel.get_ylabel().startswith("bus bandwidth")]
line = max(axes.lines, key=lambda line: len(line.get_xdata()))
print(json.dumps([float(value) for value in line.get_ydata()]))
"""
"""The values of the figure's line, by the real engine."""


def test_bandwidth_by_size(tmp_path: Path) -> None:
    """Breaks if a sweep of a collective's size has no figure of its bandwidth, or one with
    other values than the runs'."""
    scenario = tmp_path / "sizes.toml"
    sizes = ["1MB", "4MB", "16MB"]
    sweep = f'\n[sweep]\n"workload.0.bytes" = {json.dumps(sizes)}\n'
    scenario.write_text(SCENARIO.replace("COLLECTIVE", "all-reduce") + sweep)
    command("compare", scenario, "--no-plots", "--out", tmp_path / "out")
    done = python("-c", DRAWN, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for size, bandwidth in zip((1, 4, 16), json.loads(done.stdout), strict=True):
        took = 6 * a_step(size * MB // 4)
        assert bandwidth == pytest.approx(1.5 * size * MB * 8e3 / took, rel=1e-3)


def test_a_run_of_jobs_begins_with_collectives(tmp_path: Path) -> None:
    """Breaks if the first thing that a run of jobs alone prints is of their messages, or if that of
    flows beside a job is not of the flows."""
    result = run(tmp_path, "all-reduce")
    assert [table.title for table in tables.of_result(result)][:2] == ["Collectives", "Flows"]
    assert not any("are messages of jobs" in table.note for table in tables.of_result(result))
    result.summary["messages"] -= 1
    flows, collectives = tables.of_result(result)[:2]
    assert (flows.title, collectives.title) == ("Flows", "Collectives")
    assert f"; of the flows {result.summary['messages']} are messages of jobs" in flows.note


def test_flow_control_in_an_incast(tmp_path: Path) -> None:
    """`examples/incast-pfc.toml`: breaks if it does not run, if a packet of it is lost, if
    ports are not paused for a third less time under DCQCN than without, as it says, or if the
    report does not show where they were; or if the table that it prints does not say so."""
    out = tmp_path / "out"
    printed = command("compare", ROOT / "examples" / "incast-pfc.toml", "--out", out).stdout
    assert "<h3>Paused links</h3>" in (out / "report.html").read_text(encoding="utf-8")
    paused = {}
    for folder in (out / "runs").iterdir():
        result = leafspine.Result.load(folder)
        assert result.summary["dropped"] == 0
        name = "line rate" if "line-rate" in (folder / "scenario.toml").read_text() else "DCQCN"
        paused[name] = sum(result.ports["pause_ps"].to_pylist())
    assert paused["line rate"] > 0
    assert paused["DCQCN"] == pytest.approx(paused["line rate"] * 2 / 3, rel=0.1)
    assert "time paused (ms)" in (out / "report.html").read_text(encoding="utf-8")
    network = (out / "tables.md").read_text(encoding="utf-8").split("## Network")[1]
    heads, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in network.splitlines()
        if line.startswith("|")
    )
    shown = [dict(zip(heads, row, strict=True)) for row in rows]
    for row in shown:
        ms = paused[row["variant"]] / 1e9
        assert float(row["time paused (ms)"]) == pytest.approx(ms, rel=1e-3)
        assert row["time paused (ms)"] in printed and "time paused (ms)" in printed
        assert float(row["paused, hosts (%)"]) > 1 and int(row["pauses"]) > 100
        assert row["lossless drops"] == row["storms"] == "0"
    assert "time paused: sum over all ports; lossless drops and storms: of the whole run" in network


def test_a_network_without_flow_control_has_no_pauses(tmp_path: Path) -> None:
    """Breaks if a run's table of the network lacks what flow control did, or has it where there is
    none."""
    result = run(tmp_path, "all-reduce")
    labels = {metric.label for metric in measures.PAUSE_METRICS}

    def shown() -> set[str]:
        return {row[0] for row in tables.of_result(result)[-1].rows}

    assert shown().isdisjoint(labels)
    result.summary["flow_control"] = True
    assert labels <= shown()


def test_balancers_under_an_all_reduce(tmp_path: Path) -> None:
    """`examples/allreduce.toml` with its smallest buffer: breaks if it does not run, if an
    all-reduce is not sooner complete under RPS than under ECMP, or if tables and report do not
    show jobs."""
    out = tmp_path / "out"
    small = ("workload.iterations=2", 'sweep."workload.bytes"=["1MB"]', 'sweep."run.seed"=[1,2,3]')
    sets = [word for text in small for word in ("--set", text)]
    command("compare", ROOT / "examples" / "allreduce.toml", *sets, "--out", out)
    assert "## Collectives" in (out / "tables.md").read_text(encoding="utf-8")
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "<h3>Messages of the first job" in report
    # Of a message's completion time nobody asks where a collective's is known.
    found = report.split('id="found">')[1].split("</p>")[0]
    assert "for collectives" in found and "flows," not in found and "for flows" not in found
    assert (out / "tables.md").read_text(encoding="utf-8").split("## ")[1].startswith("Collectives")
    with (out / "tables.csv").open(encoding="utf-8", newline="") as file:
        found = {
            row["variant"]: row
            for row in csv.DictReader(file)
            if row["metric"] == "completion_mean"
        }
    assert float(found["RPS"]["mean"]) < 0.9 * float(found["ECMP"]["mean"])
    assert float(found["RPS"]["difference_high"]) < 0
