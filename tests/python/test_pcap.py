"""Captures: what `leafspine run --pcap` writes, as tshark reads it."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import needs
from test_docs import real

TSHARK = needs.installed("tshark")
needs_tshark = pytest.mark.usefixtures("tshark")

DROPS = """\
[topology]
kind = "star"
hosts = 3
host_link = { rate = "1Gbps", delay = "20us" }

[switch]
buffer = "16pkt"
host_ports = "unlimited"     # what is dropped before it leaves is in no capture

[transport]
{transport}

[[workload]]
kind = "long-flows"
sizes = { kind = "fixed", bytes = "500KB" }
senders = [0, 1]
receivers = [2]
count = 2
"""
TRANSPORTS = {
    "sack": 'scheme = "newreno"',
    "no-sack": 'scheme = "newreno"\nsack = false',
    "linux": 'scheme = "cubic"\nprofile = "linux"\nmin_rto = "10ms"',
    "dctcp": 'scheme = "dctcp"',
}
SENT_AGAIN = (
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
)
"""What tshark may call a segment whose bytes the same sender has sent before."""


def ran(folder: Path, text: str, pcap: str, *more: str) -> Path:
    (folder / "s.toml").write_text(text)
    out = folder / "out"
    done = real("-m", "leafspine", "run", folder / "s.toml", "--out", out, "--pcap", pcap, *more)
    assert done.returncode == 0, done.stderr
    return out


def drops(name: str) -> str:
    return DROPS.replace("{transport}", TRANSPORTS[name])


def tshark(file: Path, wanted: str, *fields: str) -> list[list[str]]:
    """The fields of the packets that a display filter lets through."""
    options = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-2", "-n"]
    columns = [part for field in fields for part in ("-e", field)]
    assert TSHARK is not None
    done = subprocess.run(
        [TSHARK, *options, "-r", str(file), "-Y", wanted, "-T", "fields", *columns],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


@needs_tshark
@pytest.mark.parametrize("name", TRANSPORTS)
def test_tshark_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    """Breaks if a packet is malformed, a checksum wrong, or a file is cut in the middle."""
    out = ran(tmp_path, drops(name), "host0,switch0-host2")
    for file in sorted((out / "pcap").iterdir()):
        wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
        assert tshark(file, wrong, "frame.number") == []
        everything = tshark(file, "frame", "ip.checksum.status", "tcp.checksum.status", "tcp.len")
        assert len(everything) > 500
        assert {row[0] for row in everything} == {"1"}
        # Of packets whose payload is not there nobody can tell.
        assert {row[1] for row in everything if row[2] == "0"} <= {"1"}


@needs_tshark
@pytest.mark.parametrize("name", TRANSPORTS)
def test_tshark_counts_our_retransmissions(name: str, tmp_path: Path) -> None:
    """Breaks if sequence numbers are not those of the segments, or a packet is missing or twice."""
    import pyarrow.parquet as pq

    out = ran(tmp_path, drops(name), "host0,host1")
    flows = pq.read_table(out / "flows.parquet").to_pylist()
    assert sum(flow["retransmits"] for flow in flows) > 10
    for flow in flows:
        file = out / "pcap" / f"host{flow['src']}.pcapng"
        again = " || ".join(SENT_AGAIN)
        found = tshark(file, f"frame.interface_id == 0 && ({again})", "tcp.seq")
        assert len(found) == flow["retransmits"]
        data = tshark(file, "frame.interface_id == 0 && tcp.len > 0", "tcp.seq", "tcp.len")
        first = {int(seq): int(length) for seq, length in data}
        assert sum(first.values()) == flow["bytes"]
        assert len(data) == len(first) + flow["retransmits"]
        # The last acknowledgment is of all bytes, and of SYN and FIN.
        acks = tshark(file, "frame.interface_id == 1 && tcp.flags.ack == 1", "tcp.ack")
        assert int(acks[-1][0]) == flow["bytes"] + 2


@needs_tshark
def test_options_are_those_of_the_transport(tmp_path: Path) -> None:
    """Breaks if SACK blocks, timestamps, window or flags are not what the simulation has."""
    folder = ran(tmp_path, drops("linux"), "host0,host2") / "pcap"
    file = folder / "host0.pcapng"
    assert all(row[0] for row in tshark(file, "frame", "tcp.options.timestamp.tsval"))
    assert tshark(folder / "host2.pcapng", "tcp.options.sack_le", "tcp.options.sack_le")
    (syn,) = tshark(
        file,
        "tcp.flags.syn == 1 && tcp.flags.ack == 0",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "frame.interface_name",
    )
    assert syn[:2] == ["1448", "6"] and syn[2] and syn[3] == "host0-switch0"
    windows = {int(row[0]) for row in tshark(file, "tcp.flags.syn == 0", "tcp.window_size")}
    assert windows == {3145728 >> 6 << 6}
    fins = tshark(file, "tcp.flags.fin == 1", "tcp.stream")
    assert {row[0] for row in fins} == {"0"}


@needs_tshark
def test_marks_are_seen(tmp_path: Path) -> None:
    """Breaks if ECN bits of a header are not the packet's."""
    text = drops("dctcp").replace("16pkt", "100pkt") + '[aqm]\nthreshold = "10pkt"\n'
    out = ran(tmp_path, text, "switch0-host2")
    summary = json.loads((out / "summary.json").read_text())
    file = out / "pcap" / "switch0-host2.pcapng"
    found = Counter(row[0] for row in tshark(file, "tcp.len > 0", "ip.dsfield.ecn"))
    assert found["3"] == summary["marks"] > 10
    assert set(found) == {"2", "3"}


def test_captures_are_added_to_a_result(tmp_path: Path) -> None:
    """Breaks if a capture changes a result, or is not made where the result is there already; if
    it depends on threads, or on the run before."""
    out = ran(tmp_path, drops("sack"), "host*", "--threads", "1")
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    first = {path.name: path.read_bytes() for path in (out / "pcap").iterdir()}
    assert set(first) == {"host0.pcapng", "host1.pcapng", "host2.pcapng"}
    ran(tmp_path, drops("sack"), "host0", "--threads", "2")
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    second = {path.name: path.read_bytes() for path in (out / "pcap").iterdir()}
    assert second == {"host0.pcapng": first["host0.pcapng"]}
    done = real("-m", "leafspine", "run", tmp_path / "s.toml", "--out", out)
    assert "warning" not in done.stderr


@pytest.mark.parametrize(
    ("pcap", "said"),
    [
        ("host7", "--pcap: "),
        ("leaf0-spine1", "--pcap: "),
        ("switch0", 'did you mean "switch0-*"?'),
        ("host0,,host1", "expected ports and hosts with commas between"),
    ],
)
def test_what_is_no_port_is_refused(pcap: str, said: str, tmp_path: Path) -> None:
    """Breaks if a wrong name is taken, or leaves something behind."""
    (tmp_path / "s.toml").write_text(drops("sack"))
    out = tmp_path / "out"
    done = real("-m", "leafspine", "run", tmp_path / "s.toml", "--out", out, "--pcap", pcap)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_a_comparison_captures_each_variant_once(tmp_path: Path) -> None:
    """Breaks if two variants' packets are in one file, another seed's are there, a capture is not
    what the same run alone gives, or captures are taken for somebody's own files; if a wrong name
    is told only when all runs are done."""
    text = drops("sack").replace("[transport]\n", "[transport]\n# set by variants\n")
    more = """
[[variant]]
name = "Big buffer!"
set = { "switch.buffer" = "64pkt" }

[[variant]]
name = "Small buffer"
set = { "switch.buffer" = "16pkt" }

[sweep]
"run.seed" = [1, 2]
"""
    (tmp_path / "s.toml").write_text(text + more)
    words = ["-m", "leafspine", "compare", tmp_path / "s.toml", "--no-plots", "--out"]
    done = real(*words, tmp_path / "all", "--pcap", "host0,switch0-host2")
    assert done.returncode == 0, done.stderr
    assert "was not written by leafspine" not in done.stderr
    made = sorted(str(path.relative_to(tmp_path / "all")) for path in tmp_path.glob("all/pcap/*/*"))
    assert made == [
        f"pcap/{variant}/{port}.pcapng"
        for variant in ("big-buffer", "small-buffer")
        for port in ("host0", "switch0-host2")
    ]
    alone = ran(tmp_path, text, "host0", "--seed", "1")
    own = (alone / "pcap" / "host0.pcapng").read_bytes()
    assert (tmp_path / "all/pcap/small-buffer/host0.pcapng").read_bytes() == own
    assert (tmp_path / "all/pcap/big-buffer/host0.pcapng").read_bytes() != own
    done = real(*words, tmp_path / "wrong", "--pcap", "host0,host7")
    assert (done.returncode, "--pcap: " in done.stderr) == (2, True)
    assert "host7" in done.stderr and not (tmp_path / "wrong").exists()
    done = real(*words, tmp_path / "cut", "--pcap", "host0", "--shard", "1/2")
    assert (done.returncode, "captures of a shard" in done.stderr) == (2, True)
