"""How soon goodput is back after a fault, from the scenario to the tables."""

import csv
import json
from pathlib import Path

from test_engine import ROOT
from test_engine import leafspine as command

MS = 10**9

SCENARIO = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "20Gbps", delay = "1us" }

[[topology.change]]
link = "leaf1-spine1"
at = "4ms"
rate = "2Gbps"

[[topology.change]]
link = "leaf1-spine1"
at = "8ms"
rate = "20Gbps"

[[topology.change]]
link = "leaf1-spine2"
at = "12ms"
loss = 0.1

[aqm]
scheme = "ecn-threshold"

[transport]
kind = "roce"
scheme = "line-rate"
recovery = "irn"
window = "4bdp"
nak_threshold = "4bdp"

[[workload]]
kind = "long-flows"
count = 4
sizes = { kind = "fixed", bytes = "1GB" }
senders = [0, 1, 2, 3]
receivers = [4, 5, 6, 7]

[run]
until = "16ms"

[measure]
window = "all"
recovery = 0.9
recovery_window = "100us"

[[variant]]
name = "blind"
set = { "host_edge.scheme" = "oblivious" }

[[variant]]
name = "REPS"
set = { "host_edge.scheme" = "reps" }
"""


def test_faults_are_in_results_and_tables(tmp_path: Path) -> None:
    """Breaks if a fault is in no summary, if goodput is back sooner or later than it can be, if
    the metrics are not those of the faults, or if tables and files have none."""
    scenario, out = tmp_path / "faults.toml", tmp_path / "out"
    scenario.write_text(SCENARIO, encoding="utf-8")
    shown = command("compare", scenario, "--no-plots", "--out", out).stdout
    assert "Recovery" in shown
    assert "## Recovery" in (out / "tables.md").read_text(encoding="utf-8")
    with (out / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == "recovery"]
    summaries = {
        "blind"
        if "oblivious" in path.with_name("scenario.toml").read_text()
        else "REPS": json.loads(path.read_text())
        for path in out.glob("runs/*/summary.json")
    }
    slow, lossy = (fault["recovered_ps"] for fault in summaries["REPS"]["faults"])
    assert slow < MS and lossy < 2 * MS
    # Who sprays blindly has its goodput again when the link has its rate, at 8 ms, and never from
    # the one that goes on losing a packet in ten.
    slow, lossy = (fault["recovered_ps"] for fault in summaries["blind"]["faults"])
    assert 3.9 * MS < slow < 5 * MS and lossy is None
    for summary in summaries.values():
        faults = summary["faults"]
        changes = [(c["at_ps"] // MS, c["rate_bps"], c["loss"]) for c in summary["link_changes"]]
        assert changes == [(4, 2 * 10**9, None), (8, 20 * 10**9, None), (12, None, 0.1)]
        assert [change["restores"] for change in summary["link_changes"]] == [False, True, False]
        told = [(fault["at_ps"] // MS, *fault["links"]) for fault in faults]
        assert told == [(4, "leaf1-spine1"), (12, "leaf1-spine2")]
        times = [f["recovered_ps"] for f in faults if f["recovered_ps"] is not None]
        found = summary["recovery"]
        assert found["faults"] == len(faults)
        assert found["not_back"] == len(faults) - len(times)
        if len(times) == len(faults):
            assert found["recovery_mean"] == sum(times) / len(times) / 1e6
            assert found["recovery_max"] == max(times) / 1e6
        else:
            assert found["recovery_mean"] is found["recovery_max"] is None
        assert found["lowest"] == min(fault["lowest_share"] for fault in faults) * 100
        assert found["missing"] == sum(fault["missing_bytes"] for fault in faults) / 1e6
    means = {row["variant"]: row["mean"] for row in rows if row["metric"] == "recovery_mean"}
    assert means["REPS"] and not means["blind"]
    missing = {row["variant"]: float(row["mean"]) for row in rows if row["metric"] == "missing"}
    assert missing["REPS"] < missing["blind"]


def test_a_run_alone_has_the_table_too(tmp_path: Path) -> None:
    """Breaks if a single run's tables have no recovery, or one that does not measure it has."""
    scenario = tmp_path / "faults.toml"
    scenario.write_text(SCENARIO.split("[[variant]]")[0], encoding="utf-8")
    shown = command("run", scenario, "--out", tmp_path / "one").stdout
    assert "mean time to recover" in shown
    scenario.write_text(scenario.read_text().split("recovery = 0.9")[0], encoding="utf-8")
    assert "time to recover" not in command("run", scenario, "--out", tmp_path / "two").stdout


BACK = {"ECMP", "LetFlow", "CONGA", "ARS", "ConWeave"}
"""Of `examples/rdma-faults.toml`: what keeps a queue pair on one way while it sends."""


def test_who_is_never_back(tmp_path: Path) -> None:
    """`examples/rdma-faults.toml`, the first millisecond, the fault in it: breaks if a balancer
    that sprays over a link that loses a packet in ten has its goodput again, or one that does
    not has not."""
    out = tmp_path / "out"
    sets = ("--set", "run.until=1ms", "--set", "topology.change.0.at=400us")
    command("compare", ROOT / "examples" / "rdma-faults.toml", *sets, "--no-plots", "--out", out)
    with (out / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "not_back"]
    assert {row["variant"] for row in rows if float(row["mean"]) == 0} == BACK
    assert {row["variant"] for row in rows if float(row["mean"]) == 1} == {
        *("DRILL", "QDAPS", "QALL", "REPS")
    }
