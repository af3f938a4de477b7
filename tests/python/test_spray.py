"""`examples/spray.toml`: hosts that spray, with one slow link."""

import csv
from pathlib import Path

from test_engine import ROOT
from test_engine import leafspine as command


def test_the_example_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    """Breaks if the example does not run, or if hosts that go by what ACKs tell of the paths do no
    better with a slow link than hosts that spray blindly."""
    out = tmp_path / "out"
    command("compare", ROOT / "examples" / "spray.toml", "--no-plots", "--out", out)
    with (out / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tail = {
        row["variant"]: float(row["mean"])
        for row in rows
        if (row["group"], row["metric"]) == ("all", "fct_p99")
    }
    told = ("bitmap", "REPS", "REPS, coalesced ACKs", "mixed")
    assert set(tail) == {"ECMP", "RPS", "oblivious", *told}
    for name in told:
        assert tail[name] < tail["oblivious"], name
