"""`examples/credits.toml`: receivers' credits in an incast."""

import csv
from pathlib import Path

from test_engine import ROOT
from test_engine import leafspine as command


def test_the_example_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    """Breaks if the example does not run, if receivers that say who sends when trim no less than
    senders that find out, or if their tail is no shorter than under DCQCN and without control."""
    out = tmp_path / "out"
    command("compare", ROOT / "examples" / "credits.toml", "--no-plots", "--out", out)
    with (out / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def of(group: str, metric: str) -> dict[str, float]:
        return {
            row["variant"]: float(row["mean"])
            for row in rows
            if (row["group"], row["metric"]) == (group, metric)
        }

    tail, again = of("all", "fct_p99"), of("network", "retransmits")
    assert set(tail) == {"credits", "credits and NSCC", "NSCC", "DCQCN", "none"}
    assert again["credits"] < again["NSCC"] < again["DCQCN"] < again["none"] / 10
    assert tail["credits"] < min(tail["DCQCN"], tail["none"])
