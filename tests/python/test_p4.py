"""The P4 programs of hardware/p4: run on every vector, changed and run again; what feeds them."""

import io
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from test_docs import real

ROOT = Path(__file__).parents[2]
REPLAY = ROOT / "hardware/p4/replay"
VECTORS = sorted(path.stem for path in (ROOT / "hardware/p4/vectors").glob("*.json"))
PROGRAMS = ("qall", "qdaps", "tam")


@pytest.fixture(autouse=True)
def replay_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of hardware/p4/replay are scripts' and no package."""
    monkeypatch.syspath_prepend(str(REPLAY))


def replay(root: Path, vector: str) -> "subprocess.CompletedProcess[str]":
    """Runs a vector on the programs below ``root``."""
    command = [sys.executable, "-B", str(root / "hardware/p4/replay/interpret.py"), vector]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("vector", VECTORS)
def test_programs_decide_as_the_simulator(vector: str) -> None:
    """Breaks if a program does not parse, mixes widths, takes another port than the simulator's
    scheme, or marks another packet."""
    done = replay(ROOT, vector)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "decisions are the simulator's" in done.stdout


MUTANTS = [
    ("qall", "now - last > update_period", "now - last >= update_period", "qall-p4-linear"),
    ("qall", "meta.cell < meta.weight_##n", "meta.cell <= meta.weight_##n + 9", "qall-p4"),
    ("qall", "smaller(now + 1 - before, tau)", "smaller(now - before, tau)", "qall-p4"),
    ("qall", "if (at_dequeue == 1)", "if (at_dequeue == 2)", "qall-p4-return"),
    ("qall", "if (by_packet == 0)", "if (by_packet == 3)", "qall-p4-return"),
    ("qall", "if (by_packet == 0)", "if (by_packet != 3)", "qall-p4"),
    ("qall", "(meta.known >> 48) & 0xff, meta.tau", "1, meta.tau", "qall-p4"),
    ("qall", "meta.now - last <= meta.gap", "meta.now - last < meta.gap", "qall-p4-flowlet"),
    ("qdaps", "meta.last == n + 1 || meta.delay", "meta.delay", "qdaps-p4"),
    (
        "qdaps",
        "meta.delay_##n > meta.remaining",
        "meta.delay_##n >= meta.remaining",
        "qdaps-p4-order",
    ),
    ("qdaps", "if (meta.rerouted)", "if (!meta.rerouted)", "qdaps-p4"),
    ("qdaps", "by_delay == 1 ? meta.delay_##n", "by_delay == 2 ? meta.delay_##n", "qdaps-p4-delay"),
    ("qdaps", "done - entry[71:40] >= 2", "done - entry[71:40] >= 1", "qdaps-p4-delay"),
    ("qdaps", "meta.strict == 1 ||", "meta.strict == 2 ||", "qdaps-p4-delay"),
    ("tam", "meta.now < (bit<64>)until ||", "false ||", "tam-p4-table-1"),
    ("tam", "counted_in == 1);", "counted_in == 7);", "tam-p4-moves"),
    ("tam", "EACH_UPLINK(LEAVE)", "", "tam-p4-moves"),
    ("tam", "stays && !(meta.is_long && meta.flowlet)", "stays", "tam-p4-table-1"),
    ("tam", "meta.active_##n << 48 | delay", "delay", "tam-p4-moves"),
    ("tam", "delay << 16 | meta.active_##n", "delay", "tam-p4"),
    ("tam", "{ meta.salt, TUPLE }", "{ 32w0, TUPLE }", "tam-p4"),
]


@pytest.mark.parametrize(("program", "old", "new", "vector"), MUTANTS)
def test_mutants_die(program: str, old: str, new: str, vector: str, tmp_path: Path) -> None:
    """Breaks if a program with a mistake decides as the simulator all the same."""
    shutil.copytree(
        ROOT / "hardware", tmp_path / "hardware", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "crates/schemes").mkdir(parents=True)
    (tmp_path / "crates/schemes/vectors").symlink_to(ROOT / "crates/schemes/vectors")
    file = tmp_path / "hardware/p4" / f"{program}.p4"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    done = replay(tmp_path, vector)
    assert done.returncode == 1 and f"{vector}.txt:" in done.stdout, done.stdout + done.stderr


EFFECT = ROOT / "hardware/p4/effect.toml"


def control_planes(variant: str, *sets: str) -> dict[str, Any]:
    """What ``leafspine p4`` prints of a variant of the kept scenario."""
    given = [word for each in sets for word in ("--set", each)]
    done = real("-m", "leafspine", "p4", EFFECT, "--variant", variant, *given)
    assert done.returncode == 0, done.stderr
    planes: dict[str, Any] = json.loads(done.stdout)
    return planes


def data_of(plane: dict[str, Any], table: str) -> list[list[int]]:
    """The values of a table's entries."""
    return [entry["data"] for entry in plane["tables"] if entry["table"] == table]


def test_control_plane_has_the_simulators_values() -> None:
    """Breaks if a table or register of a scenario's switch has another value than the parameters
    and the fabric's links give by hand."""
    # 10 Gb/s, a buffer of 256 packets, tau = 5 ms, T_b = 100 us.
    plane = control_planes(
        "QALL in P4",
        "load_balancer.tau=5ms",
        "load_balancer.update_period=100us",
        "switch.buffer=256pkt",
    )["0"]
    assert (plane["program"], plane["defines"], plane["uplinks"]) == (
        "qall",
        {"UPLINKS": 4},
        [8, 9, 10, 11],
    )
    assert data_of(plane, "index") == [[100 * 5_000 * 2, 5_000]]
    assert data_of(plane, "collection") == [[-(-(100 << 40) // 256), 5_000, 100, 2, 0, 0]]
    assert [word["value"] for word in plane["registers"]] == [1 << 48 | 5_000] * 4
    # Hosts 0 to 7 are below leaf 0, the other 24 beyond its four uplinks: 2 us to a spine, 2 us on.
    assert data_of(plane, "hosts") == [[port] for port in range(8)]
    assert data_of(plane, "paths") == [[0b1111, *[4 << 10] * 4]] * 24

    plane = control_planes(
        "QDAPS in P4",
        "load_balancer.reroute=fixed",
        "load_balancer.threshold=9pkt",
        "load_balancer.rtt=30us",
    )["0"]
    assert data_of(plane, "line_3") == [[int(8e6 * 2**30 / 1e10)]]
    assert data_of(plane, "reroute") == [[9, 0]]
    assert [e["match"] for e in plane["tables"] if e["table"] == "reroute"] == [
        [[100_001, 2**32 - 1]]
    ]
    assert data_of(plane, "flow_table") == [[65_536, 60, 0, 0]]

    plane = control_planes(
        "TAM in P4",
        "load_balancer.rtt=50us",
        "load_balancer.threshold=65pkt",
        "load_balancer.gap=100us",
    )["0"]
    # k* = 10 Gb/s x 50 us / 7.
    assert data_of(plane, "thresholds") == [[62_500 // 7, 65, 0]] * 12
    assert data_of(plane, "flow_table") == [[65_536, 100_000, 100, 500]]
    assert [entry["match"] for entry in plane["tables"] if entry["table"] == "sources"] == [
        [0x0A00_0000 | host] for host in range(8)
    ]


@pytest.mark.parametrize(
    "variant", ["QALL in P4", "QALL-Flowlet in P4", "QDAPS in P4", "TAM in P4"]
)
def test_programs_have_what_the_control_plane_writes(variant: str) -> None:
    """Breaks if the control plane names a table, action or register that its program does not have,
    gives an action another number of values, or has more entries than there is room for."""
    from interpret import Interpreted

    for plane in control_planes(variant).values():
        switch = Interpreted(plane, replay=False)
        for entry in plane["tables"]:
            switch.entry(entry["table"], entry["match"], entry["action"], entry["data"])
        for word in plane["registers"]:
            switch.register(word["register"], word["index"], word["value"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--variant", "QDAPS"], 'load_balancer: found "qdaps" that decides otherwise'),
        (["--variant", "QDPAS"], '--variant: found "QDPAS"; allowed: "QALL", '),
        (
            ["--variant", "QDAPS in P4", "--switch", "99"],
            "--switch: found 99; allowed: a switch from 0 to 7",
        ),
        (
            ["--set", "load_balancer.arithmetic=p4"],
            "idle_growth: found true; allowed: false with arithmetic",
        ),
    ],
)
def test_what_has_no_program_is_refused(options: list[str], message: str) -> None:
    """Breaks if a scheme without a program, an unknown variant or switch, or what cannot be done
    gives anything but one line and exit code 2."""
    done = real("-m", "leafspine", "p4", EFFECT, *options)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, (
        done.stderr
    )


def test_production_builds_parse() -> None:
    """Breaks if a program is P4 only with REPLAY, or only for the uplinks that the vectors have."""
    from program import Program

    for name in PROGRAMS:
        for uplinks in (4, 8, 16):
            Program(ROOT / "hardware/p4" / f"{name}.p4", {"UPLINKS": uplinks})


@pytest.mark.parametrize("times", [0, 2])
def test_a_table_is_applied_once(times: int, tmp_path: Path) -> None:
    """Breaks if a program is accepted whose table a compiler removes, since it is never applied, or
    BMv2 refuses, since it is applied at two places."""
    from lexer import P4Error
    from program import Program

    shutil.copytree(ROOT / "hardware/p4/include", tmp_path / "include")
    text = (ROOT / "hardware/p4/qall.p4").read_text()
    applied = "uplink_port.apply();"
    assert text.count(applied) == 1
    (tmp_path / "qall.p4").write_text(text.replace(applied, applied * times))
    with pytest.raises(P4Error, match=f"table 'uplink_port' is applied at {times} places"):
        Program(tmp_path / "qall.p4", {"UPLINKS": 4})


def production(vector: str) -> tuple[Any, str]:
    """The switch of a vector as it is built to forward packets, and its program."""
    import forwarding
    from interpret import Interpreted

    plane = json.loads((ROOT / f"hardware/p4/vectors/{vector}.json").read_text())
    switch = Interpreted(plane, replay=False)
    forwarding.set_up(switch, plane)
    return switch, plane["program"]


def test_clones_bring_the_state_back() -> None:
    """Breaks if the first dequeue after T_b does not clone, if the clone does not come back and
    end, or does not write its port's register (L = 0, V = 1, T = 27 us, the time since the dequeue
    before: not from arrival to arrival, nor without what the ingress pipeline took), or if a clone
    is made before T_b is over."""
    from forwarding import ip_frame

    forwards, _ = production("qall-p4")
    switch = forwards.switch
    forwards.entry("paths", [0x0A000004], "set_paths", [0b0001, 0, 0, 0, 0])
    known = switch.program.register("behaviour_0").words
    before = known[0]
    for switch.now in (3, 5):
        assert [port for port, _ in forwards.send(ip_frame())] == [4]
        assert known[0] == before, "update_period is 5 us"
    switch.now, switch.ingress_takes, switch.waits = 24, 3, 5
    assert [port for port, _ in forwards.send(ip_frame())] == [4], "the clone has ended"
    assert known[0].value == 1 << 48 | 27


@pytest.mark.parametrize("vector", ["qall-p4", "qdaps-p4", "tam-p4"])
def test_programs_forward(vector: str) -> None:
    """Breaks if a packet for a host below or beyond leaves changed or by another port, with IP
    options or without; if one with a wrong checksum, an unknown destination or no IPv4 is
    forwarded; if a packet is not counted into its uplink's queue or out of it; if QALL's clone
    does not come back; if TAM's mark leaves the checksum as it was or is on what is not capable."""
    import forwarding

    switch, program = production(vector)
    for check in forwarding.checks(program):
        check(switch)


def test_bmv2s_packet_comes_before_its_clone(tmp_path: Path) -> None:
    """Breaks if a clone that is out first is taken for the packet that it was made of, or is not
    waited for, or if a frame is read before all of it has been written."""
    import bmv2

    from vectors import DEQUEUED, LOOP_BACK, frame

    def written(port: int, data: bytes) -> None:
        head = struct.pack("<IIII", 0, 0, len(data), len(data))
        (tmp_path / f"pcap{port}_out.pcap").write_bytes(bmv2.PCAP + head + data)

    packet = {"src": 0, "dst": 4, "size": 1500, "flags": "AD"}
    dequeued = frame(0, DEQUEUED, packet, {"port": 5, "random": 1})
    switch = object.__new__(bmv2.Bmv2)
    switch.packets = io.BytesIO()
    files = {port: tmp_path / f"pcap{port}_out.pcap" for port in (5, LOOP_BACK)}
    switch.ports = {port: bmv2.Port(file) for port, file in files.items()}
    written(LOOP_BACK, b"clone")
    written(5, dequeued)
    whole = files[5].read_bytes()
    files[5].write_bytes(whole[:-1])
    assert switch.ports[5].next() is None
    files[5].write_bytes(whole)
    assert switch.send(dequeued) == [(5, dequeued), (LOOP_BACK, b"clone")]
