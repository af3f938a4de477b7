"""Compiles the programs with p4c-bm2-ss and replays decision vectors on BMv2's simple_switch.

    python hardware/p4/replay/bmv2.py [VECTOR ...]

State is written by simple_switch_CLI, packets go in and come out by pcap files
(``--use-files``): nothing needs root.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

import forwarding

from vectors import DEQUEUED, LOOP_BACK, SESSION, Differs, Replay, Vector, vectors

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
HOW = """\
hardware/p4: {missing} not found.
The programs were read and run by hardware/p4/replay alone, not compiled.
p4c-bm2-ss is the BMv2 back end of p4c (https://github.com/p4lang/p4c), simple_switch and
simple_switch_CLI are BMv2's (https://github.com/p4lang/behavioral-model): the READMEs of both say
how to install or build them. With all three on PATH, make p4 compiles and replays."""
BUILT = tempfile.TemporaryDirectory()
"""Where compiled programs are."""
PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
THRIFT = 22_000
"""The port of the first switch's control plane; each has its own."""
PROMPT = "RuntimeCmd: "
PATIENCE = 20.0
"""Seconds for a packet to come out, or for the switch to start."""
QUIET = 0.3
"""Seconds after which nothing more of a packet comes out."""


@cache
def compiled(program: str, defines: frozenset[tuple[str, int]]) -> Path:
    """The program as BMv2's JSON: once for all vectors that it is compiled alike for."""
    out = Path(tempfile.mkdtemp(dir=BUILT.name)) / f"{program}.json"
    given = [f"-D{name}={value}" for name, value in sorted(defines)]
    source = ROOT / "hardware/p4" / f"{program}.p4"
    command = ["p4c-bm2-ss", *given, "-o", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} {' '.join(given)}: {done.stderr}")
    # No program uses all of the arithmetic.
    arithmetic = (ROOT / "hardware/p4/include/arithmetic.p4").read_text()
    unused = [f"'{name}' is unused" for name in re.findall(r"^bit<64> (\w+)", arithmetic, re.M)]
    warnings = [text for text in re.findall(r"warning: (.*)", done.stderr) if text not in unused]
    print("\n  warning: ".join([f"{program} {' '.join(given)} compiled", *warnings]), flush=True)
    return out


class Port:
    """What has come out of one port, read as far as it is whole."""

    def __init__(self, file: Path) -> None:
        self.file, self.at = file, len(PCAP)

    def next(self) -> bytes | None:
        """The next frame, if it has been written."""
        if not self.file.exists():
            return None
        with self.file.open("rb") as text:
            text.seek(self.at)
            head = text.read(16)
            if len(head) < 16:
                return None
            size = struct.unpack("<IIII", head)[2]
            data = text.read(size)
        if len(data) < size:
            return None
        self.at += 16 + size
        return data


class Bmv2:
    """A running simple_switch with one program, for a replay or built for forwarding; a context."""

    def __init__(
        self, plane: dict[str, Any], folder: Path, thrift: int, replay: bool = True
    ) -> None:
        self.folder, self.thrift = folder, thrift
        self.said = folder / "simple_switch.txt"
        defines = plane["defines"] | ({"REPLAY": 1} if replay else {})
        self.json = compiled(plane["program"], frozenset(defines.items()))
        described = json.loads(self.json.read_text())
        tables = [table for pipeline in described["pipelines"] for table in pipeline["tables"]]
        self.names = [t["name"] for t in tables] + [r["name"] for r in described["register_arrays"]]
        self.actions = [action["name"] for action in described["actions"]]
        ports = {0, LOOP_BACK, *plane["uplinks"], *(entry_ports(plane))}
        self.ports = {port: Port(folder / f"pcap{port}_out.pcap") for port in sorted(ports)}
        self.handles: dict[tuple[str, str], str] = {}

    def __enter__(self) -> "Bmv2":
        os.mkfifo(self.folder / "pcap0_in.pcap")
        # For reading too: otherwise this would wait for a switch that may have ended.
        fifo = os.open(self.folder / "pcap0_in.pcap", os.O_RDWR)
        self.packets: IO[bytes] = os.fdopen(fifo, "wb", buffering=0)
        for port in self.ports:
            if port:
                (self.folder / f"pcap{port}_in.pcap").write_bytes(PCAP)
        interfaces = [word for port in self.ports for word in ("-i", f"{port}@pcap{port}")]
        options = ["--use-files", "0", "--thrift-port", str(self.thrift), *interfaces]
        command = ["simple_switch", *options, str(self.json)]
        with self.said.open("wb") as said:
            self.switch = subprocess.Popen(
                command, cwd=self.folder, stdout=said, stderr=subprocess.STDOUT
            )
        self.packets.write(PCAP)
        try:
            self.cli = self._start_cli()
            self.command(f"mirroring_add {SESSION} {LOOP_BACK}")
        except BaseException:
            self._end(self.switch)
            raise
        return self

    def _start_cli(self) -> "subprocess.Popen[str]":
        command = ["simple_switch_CLI", "--thrift-port", str(self.thrift)]
        end = time.monotonic() + PATIENCE
        while True:
            pipe = subprocess.PIPE
            cli = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
            )
            self.cli = cli
            try:
                self._answer()
                return cli
            except EOFError as answer:
                cli.wait()
                if self.switch.poll() is not None:
                    raise RuntimeError(f"simple_switch: {self.said.read_text()}") from None
                if time.monotonic() > end:
                    raise RuntimeError(f"simple_switch_CLI: {answer}") from None
                time.sleep(0.2)

    def __exit__(self, *_: object) -> None:
        self._end(self.cli)
        self.packets.close()
        self._end(self.switch)

    @staticmethod
    def _end(process: "subprocess.Popen[Any]") -> None:
        process.kill()
        process.wait()

    def _answer(self) -> str:
        text = ""
        while not text.endswith(PROMPT):
            letter = self.cli.stdout.read(1) if self.cli.stdout else ""
            if not letter:
                raise EOFError(text)
            text += letter
        return text.removesuffix(PROMPT)

    def command(self, line: str) -> str:
        """What the control plane's shell answers."""
        assert self.cli.stdin is not None
        self.cli.stdin.write(line + "\n")
        self.cli.stdin.flush()
        answer = self._answer()
        if any(word in answer for word in ("Invalid", "Error", "***")):
            raise RuntimeError(f"{line}: {answer.strip()}")
        return answer

    def whole(self, name: str, among: list[str]) -> str:
        """A name with its control's."""
        found = [whole for whole in among if whole == name or whole.endswith(f".{name}")]
        if not found:
            raise RuntimeError(f"{name} is not in {self.json.name}")
        return found[0]

    def entry(self, table: str, match: list[Any], action: str, data: list[int]) -> None:
        """Writes a table's entry or, without keys, its default action."""
        whole, does = self.whole(table, self.names), self.whole(action, self.actions)
        values = " ".join(map(str, data))
        if not match:
            self.command(f"table_set_default {whole} {does} {values}")
            return
        ranged = table == "reroute"
        keys = " ".join(key_text(each, ranged) for each in match)
        old = self.handles.pop((whole, keys), None)
        if old is not None:
            self.command(f"table_delete {whole} {old}")
        priority = " 1" if ranged else ""
        answer = self.command(f"table_add {whole} {does} {keys} => {values}{priority}")
        handle = re.search(r"handle (\d+)", answer)
        if handle is None:
            raise RuntimeError(f"{whole} {keys}: {answer.strip()}")
        self.handles[whole, keys] = handle[1]

    def register(self, name: str, index: int, value: int) -> None:
        """Writes a register's word."""
        self.command(f"register_write {self.whole(name, self.names)} {index} {value}")

    def _write(self, frame: bytes) -> None:
        now = time.time()
        head = struct.pack("<IIII", int(now), int(now % 1 * 1e6), len(frame), len(frame))
        self.packets.write(head + frame)

    def send(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0: what comes out. A dequeue says whether it made a clone."""
        self._write(frame)
        # A clone may be out before the packet that it was made of.
        out = [self._wait(set(self.ports) - {LOOP_BACK})]
        _, data = out[0]
        if data[12:14] == b"\x88\xb5" and data[14] & DEQUEUED and data[27] == 1:
            out.append(self._wait({LOOP_BACK}))
        return out

    def word(self, name: str, index: int) -> int:
        """Reads a register's word."""
        answer = self.command(f"register_read {self.whole(name, self.names)} {index}")
        return int(answer.rpartition("=")[2])

    def forward(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0: all that comes out within ``QUIET``."""
        self._write(frame)
        time.sleep(QUIET)
        out: list[tuple[int, bytes]] = []
        for port, file in self.ports.items():
            while (data := file.next()) is not None:
                out.append((port, data))
        return out

    def _wait(self, ports: set[int]) -> tuple[int, bytes]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for port in ports:
                data = self.ports[port].next()
                if data is not None:
                    return port, data
            time.sleep(0.0005)
        raise TimeoutError(f"nothing came out of ports {sorted(ports)}")


def key_text(key: Any, ranged: bool) -> str:
    """A key as the shell reads it."""
    if not ranged:
        return str(key)
    low, high = (key, key) if isinstance(key, int) else key
    return f"{low}->{high}"


def entry_ports(plane: dict[str, Any]) -> set[int]:
    """Ports that a vector's packets can leave by: hosts' come before the uplinks."""
    return set(range(max(plane["uplinks"], default=0) + 1))


def replayed(number: int, vector: Vector, plane: dict[str, Any]) -> str:
    """A vector on BMv2."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Bmv2(plane, Path(folder), THRIFT + number) as switch,
    ):
        checked = Replay(vector, plane, switch).run()
    return f"{vector.file.stem}: {checked} decisions of BMv2 are the simulator's"


def forwarded(number: int, plane: dict[str, Any]) -> str:
    """A program as it is built for forwarding on BMv2."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Bmv2(plane, Path(folder), THRIFT + number, replay=False) as switch,
    ):
        forwarding.set_up(switch, plane)
        checks = list(forwarding.checks(plane["program"]))
        for check in checks:
            check(switch)
    done = ", ".join(check.__name__.replace("_", " ") for check in checks)
    return f"{plane['program']} forwards on BMv2: {done}"


def runs(names: list[str]) -> Iterator[Callable[[], str]]:
    """What there is to do: these vectors, or all and forwarding."""
    for number, (vector, plane) in enumerate(vectors(ROOT)):
        if not names or vector.file.stem in names:
            yield partial(replayed, number, vector, plane)
        if not names and vector.file.stem in forwarding.VECTORS:
            yield partial(forwarded, 100 + number, plane)


def main(names: list[str]) -> int:
    """Replays these vectors or all; 1 if a decision differs, 0 also where there are no tools."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(HOW.format(missing=", ".join(missing)))
        return 0
    for tool in TOOLS[:2]:
        out, both = subprocess.PIPE, subprocess.STDOUT
        said = subprocess.run([tool, "--version"], stdout=out, stderr=both, text=True, check=True)
        print(f"{tool}: {' '.join(said.stdout.split())}")
    wrong = 0
    for run in runs(names):
        try:
            print(run(), flush=True)
        except (Differs, RuntimeError, TimeoutError, subprocess.CalledProcessError) as error:
            wrong = 1
            print(error, flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
