"""Traces in every format, on the real engine: the same flows give the same packets."""

import gzip
import json
import os
import re
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from leafspine import traces
from test_engine import ROOT, leafspine

SCENARIO = """\
[topology]
kind = "file"
path = "links.csv"
host_link = {{ rate = "10Gbps", delay = "1us" }}
fabric_link = {{ rate = "10Gbps", delay = "1us" }}

[[workload]]
kind = "trace"
path = "{trace}"
"""
ROWS = [
    ("10.5", "web-1", "db-1", 90_000),
    ("0.25", "db-1", "web-2", 5_000),
    ("3", "web-2", "web-1", 1),
]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a fabric, and a cache of its own."""
    links = ["source,target", "web-1,a", "web-2,a", "db-1,b", "a,top", "b,top"]
    (tmp_path / "links.csv").write_text("\n".join(links) + "\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def text(rows: list[tuple[str, str, str, int]], extra: str = "") -> str:
    lines = [f"start_us,src,dst,bytes{',' + extra if extra else ''}"]
    lines += [",".join(map(str, row)) + (",7" if extra else "") for row in rows]
    return "\n".join(lines) + "\n"


def played(lab: Path, trace: str, *options: str) -> dict[str, object]:
    """The summary of a run of the trace."""
    (lab / f"{trace}.toml").write_text(SCENARIO.format(trace=trace))
    out = lab / f"out-{trace}-{'-'.join(options)}"
    leafspine("run", lab / f"{trace}.toml", "--out", out, *options)
    summary: dict[str, object] = json.loads((out / "summary.json").read_text())
    summary["starts"] = pyarrow.parquet.read_table(out / "flows.parquet")["start_ps"].to_pylist()
    return summary


def test_every_format_gives_the_same_packets(lab: Path) -> None:
    """Breaks if the order of rows, gzip, Parquet or other columns change what is simulated, or
    `leafspine check` cannot count the flows of a file that `leafspine run` reads."""
    rising = sorted(ROWS, key=lambda row: float(row[0]))
    (lab / "sorted.csv").write_text(text(rising))
    (lab / "unsorted.csv").write_text(text(ROWS, "job"))
    (lab / "packed.csv.gz").write_bytes(gzip.compress(text(ROWS).encode()))
    start, src, dst, size = zip(*ROWS, strict=True)
    columns = {"dst": dst, "start_us": [float(at) for at in start], "note": ["a,b"] * 3}
    table = pa.table(
        {**columns, "src": src, "bytes": pa.array(size, pa.uint64()), "job": [1, 2, 3]}
    )
    pyarrow.parquet.write_table(table, lab / "flows.parquet")
    first = played(lab, "sorted.csv")
    assert first["starts"] == [250_000, 3_000_000, 10_500_000]
    for name in ("unsorted.csv", "packed.csv.gz", "flows.parquet"):
        found = played(lab, name)
        assert (found["trace_hash"], found["starts"]) == (first["trace_hash"], first["starts"]), (
            name
        )
        unused = name in ("unsorted.csv", "flows.parquet")
        said = [text for text in map(str, found["warnings"]) if "not used" in text]  # type: ignore[call-overload]
        assert said == [f"{name}: the column job is not used"] * unused, name
        assert re.search(r"-\s+1\s+3 ", leafspine("check", lab / f"{name}.toml").stdout), name


def test_a_load_stretches_a_trace(lab: Path) -> None:
    """Breaks if --set load does not move the starts of a trace, all by one factor."""
    (lab / "t.csv").write_text(text(sorted(ROWS, key=lambda row: float(row[0]))))
    low, high = (played(lab, "t.csv", "--set", f"workload.load={load}") for load in (0.1, 0.2))
    assert [a / b for a, b in zip(low["starts"], high["starts"], strict=True)] == pytest.approx(
        [2] * 3
    )  # type: ignore[call-overload]


def test_another_trace_is_another_run(lab: Path) -> None:
    """Breaks if a run is taken for one of a trace that has been edited since."""
    (lab / "t.csv").write_text(text(ROWS[:1]))
    before = played(lab, "t.csv")
    (lab / "t.csv").write_text(text([("10.5", "web-1", "db-1", 90_001)]))
    (lab / "t.csv.toml").write_text(SCENARIO.format(trace="t.csv"))
    done = leafspine("run", lab / "t.csv.toml", "--out", lab / "out-t.csv-", code=2)
    assert "another scenario" in done.stderr or "different" in done.stderr, done.stderr
    assert before["flows"] == 1


def test_parquet_is_converted_once(lab: Path) -> None:
    """Breaks if a converted file is converted again, or one is left when a conversion fails."""
    table = pa.table({"start_ps": [1], "src": [0], "dst": [1], "bytes": [9]})
    pyarrow.parquet.write_table(table, lab / "t.parquet")
    made = Path(traces.to_csv(lab / "t.parquet", "5"))
    assert made.read_text() == "start_ps,src,dst,bytes\n1,0,1,9\n"
    made.write_text("kept")
    assert Path(traces.to_csv(lab / "t.parquet", "5")).read_text() == "kept"
    (lab / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(pa.ArrowInvalid):
        traces.to_csv(lab / "bad.parquet", "6")
    assert [path.name for path in made.parent.iterdir()] == ["5.csv"]


def test_converted_traces_do_not_pile_up(lab: Path) -> None:
    """Breaks if what nobody uses stays for ever, or what is in use is deleted."""
    table = pa.table({"start_ps": [1], "src": [0], "dst": [1], "bytes": [9]})
    pyarrow.parquet.write_table(table, lab / "t.parquet")
    unused, used, recent = (Path(traces.to_csv(lab / "t.parquet", key)) for key in "123")
    long_ago = time.time() - traces.KEPT - 60
    for path in (unused, used):
        os.utime(path, (long_ago, long_ago))
    traces.to_csv(lab / "t.parquet", "2")
    made = Path(traces.to_csv(lab / "t.parquet", "4"))
    assert sorted(made.parent.iterdir()) == [used, recent, made]


def test_bad_parquet_is_one_line(lab: Path) -> None:
    """Breaks if a damaged file is a stack trace, or not named by its key."""
    (lab / "bad.parquet").write_bytes(b"PAR1 and no more")
    (lab / "s.toml").write_text(SCENARIO.format(trace="bad.parquet"))
    done = leafspine("run", lab / "s.toml", code=2)
    assert "s.toml:9: workload.0.path: found " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_examples_run(tmp_path: Path) -> None:
    """Breaks if the example of a file's fabric loses its names on the way to the results."""
    leafspine("run", ROOT / "examples" / "lab.toml", "--out", tmp_path / "out", "--csv")
    ports = pyarrow.csv.read_csv(tmp_path / "out" / "ports.csv").to_pylist()
    up = {port["name"] for port in ports if port["uplink"]}
    assert {"rack-a-top-1", "rack-c-top-1", "rack-c-top-1#1"} <= up
    slow = {port["name"] for port in ports if port["rate_bps"] == 10**10 and "top" in port["name"]}
    assert slow == {"rack-c-top-1", "rack-c-top-1#1", "top-1-rack-c", "top-1-rack-c#1"}
