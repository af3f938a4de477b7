"""Decision vectors (docs/decision-vectors.md) as what a P4 switch is told and sent."""

import heapq
import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

TICK = 1_000_000
"""Picoseconds of the switch's clock."""
LOOP_BACK = 300
"""The port of the mirroring session: what leaves by it is taken off and brought back."""
SESSION = 1
ARRIVES, PICKS, ADMITS, DEQUEUED = 1, 2, 4, 8
TYPE_REPLAY, TYPE_STATE = 0x88B5, 0x88B6
FLAGS = {"S": 2, "A": 16, "F": 1, "R": 4, "E": 64, "C": 128, "D": 8, "P": 0, "-": 0}


class Switch(Protocol):
    """What a vector is replayed on."""

    def entry(self, table: str, match: list[Any], action: str, data: list[int]) -> None:
        """Writes a table's entry or, without keys, its default action."""

    def register(self, name: str, index: int, value: int) -> None:
        """Writes a register's word."""

    def send(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0, and waits for what comes out: port and frame."""


@dataclass
class Vector:
    """A file: parameters, the lines of its header, and its events with their decisions."""

    file: Path
    parameters: dict[str, str] = field(default_factory=dict)
    header: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    events: list[tuple[int, int, str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Line of the file, time in ps, what happens, pairs, decision."""

    def __post_init__(self) -> None:
        for number, line in enumerate(self.file.read_text().splitlines(), 1):
            if not line or line.startswith(("#", "sent ")):
                continue
            if line[0].isdigit():
                event, _, decision = line.partition(" ->")
                at, what, *rest = event.split()
                self.events.append((number, int(at), what, pairs(rest), pairs(decision.split())))
            elif line.startswith("param "):
                name, _, value = line.removeprefix("param ").partition("=")
                self.parameters[name] = value
            else:
                what, *rest = line.split()
                self.header.append((what, pairs(rest)))

    def lines(self, what: str) -> Iterator[dict[str, str]]:
        """The header's lines of one kind."""
        return (found for name, found in self.header if name == what)


def pairs(words: list[str]) -> dict[str, str]:
    """``key=value`` of each word."""
    return dict(word.split("=", 1) for word in words)


def span(text: str) -> int:
    """A parameter of time, in ps."""
    return int(text.removesuffix("ps"))


def checksum(data: bytes) -> int:
    """The Internet checksum."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ip_packet(packet: dict[str, Any]) -> bytes:
    """IPv4, TCP and zeros for payload, as long as the packet is on the wire."""
    size = int(packet["size"])
    # Data has payload behind 20 bytes of TCP; what has none is all header, options included.
    words = 5 if "D" in packet.get("flags", "-") else min((size - 20) // 4, 15)
    if (size <= 40 and words == 5 and "D" in packet["flags"]) or (size > 80 and words > 5):
        raise ValueError(f"no TCP packet: {packet}")
    tcp = struct.pack(
        ">HHIIBBHHH",
        int(packet.get("sport", 0)),
        int(packet.get("dport", 0)),
        int(packet.get("seq", 0)),
        0,
        words << 4,
        sum({FLAGS[letter] for letter in packet.get("flags", "-")}),
        0,
        0,
        0,
    )
    address = [0x0A00_0000 | int(packet.get(name, 0)) for name in ("src", "dst")]
    tos = int(packet.get("class", 0)) << 2 & 0xFC | int(packet.get("ecn", 0))
    ip = struct.pack(">BBHHHBBHII", 0x45, tos, size, 0, 0, 64, 6, 0, *address)
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return (ip + tcp).ljust(size, b"\0")


class Differs(Exception):
    """A decision that is not the vector's."""


class Replay:
    """One vector on one switch."""

    def __init__(self, vector: Vector, plane: dict[str, Any], switch: Switch) -> None:
        self.vector, self.plane, self.switch = vector, plane, switch
        self.uplinks: list[int] = plane["uplinks"]
        self.room: int = plane["defines"]["UPLINKS"]
        self.packets: dict[str, dict[str, str]] = defaultdict(dict)
        self.picked: dict[str, int] = {}
        self.found: dict[str, int] = {}
        self.backlog: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
        self.left: dict[int, list[int]] = defaultdict(list)
        self.dequeues: list[tuple[int, int, dict[str, Any]]] = []
        self.clones: list[tuple[int, int, bytes]] = []
        self.order = 0
        self.checked = 0
        self.pending: tuple[Any, ...] | None = None
        own = next(vector.lines("switch"))["tor"]
        self.tors = {
            int(f["tor"]): [int(h) for h in f["hosts"].split(",")] for f in vector.lines("tor")
        }
        self.below = self.tors.get(int(own), []) if own != "none" else []

    def run(self) -> int:
        """Replays all of it; how many decisions were compared."""
        self.set_up()
        for number, at, what, given, decision in self.vector.events:
            self.line = number
            step = getattr(self, f"do_{what}", None)
            if step is not None:
                step(at, given, decision)
        self.flush()
        return self.checked

    def set_up(self) -> None:
        """The control plane's part, and where hosts are."""
        for entry in self.plane["tables"]:
            # What waits is what the vector says, so that nothing is counted out of queues.
            if entry["table"] == "dequeues":
                continue
            self.switch.entry(entry["table"], entry["match"], entry["action"], entry["data"])
        for word in self.plane["registers"]:
            self.switch.register(word["register"], word["index"], word["value"])
        for port in self.vector.lines("port"):
            if "host" in port:
                address = 0x0A00_0000 | int(port["host"])
                self.switch.entry("hosts", [address], "set_host", [int(port["port"])])
        self.rates = {int(p["port"]): int(p["rate"]) for p in self.vector.lines("port")}

    # What the switch is told of.

    def do_paths(self, _: int, given: dict[str, str], __: dict[str, str]) -> None:
        """Live uplinks towards one leaf or all, and the way beyond each."""
        self.flush()
        ports = [int(port) for port in given["ports"].split(",")]
        delays = [int(delay) for delay in given.get("delay", "0").split(",")]
        data = [0] * (1 + self.room)
        for port, delay in zip(ports, delays, strict=False):
            if port in self.uplinks:
                uplink = self.uplinks.index(port)
                data[0] |= 1 << uplink
                data[1 + uplink] = (delay << 10) // TICK
        leaves = [int(given["to"])] if "to" in given else list(self.tors)
        for host in (host for leaf in leaves for host in self.tors[leaf]):
            if host not in self.below and data[0]:
                self.switch.entry("paths", [0x0A00_0000 | host], "set_paths", data)

    def do_backlog(self, _: int, given: dict[str, str], __: dict[str, str]) -> None:
        """What waits at a port from now on."""
        self.flush()
        port, queue = int(given["port"]), int(given.get("queue", 0))
        key = port << 8 | queue
        old = self.backlog[key]
        self.backlog[key] = (int(given.get("packets", old[0])), int(given.get("bytes", old[1])))
        if port in self.uplinks and self.plane["program"] != "qall":
            uplink = self.uplinks.index(port)
            packets, bytes_ = self.waiting(port)
            self.switch.register(f"enqueued_packets_{uplink}", 0, packets)
            self.switch.register(f"enqueued_bytes_{uplink}", 0, bytes_)

    def waiting(self, port: int) -> tuple[int, int]:
        """Packets and bytes at a port, over all its queues."""
        own = [found for key, found in self.backlog.items() if key >> 8 == port]
        return sum(packets for packets, _ in own), sum(bytes_ for _, bytes_ in own)

    def do_link(self, _: int, given: dict[str, str], __: dict[str, str]) -> None:
        """A link's rate: the control plane writes what follows from it."""
        self.flush()
        port = int(given["port"])
        if "rate" not in given or self.plane["program"] == "qall":
            return
        rate = self.rates[port] = int(given["rate"])
        if port in self.uplinks:
            uplink = self.uplinks.index(port)
            self.switch.entry(
                f"line_{uplink}", [], f"set_line_{uplink}", [(8_000_000 << 30) // rate]
            )
        if self.plane["program"] == "tam":
            self.switch.entry("thresholds", [port], "set_thresholds", self.thresholds(rate))

    def thresholds(self, rate: int) -> list[int]:
        """k* and K of a port, as TAM's section of docs/schemes.md has them."""
        given = self.vector.parameters
        rtt = (
            given["rtt"]
            if given["rtt"] != "base"
            else next(self.vector.lines("switch"))["base_rtt"]
        )
        long = rate * span(rtt) // (8 * 10**12) // int(given["divisor"])
        short = given["threshold"]
        if short == "by-rate":
            short = "65pkt" if rate >= 10**10 else "20pkt"
        if short.endswith("pkt"):
            return [long, int(short.removesuffix("pkt")), 0]
        return [long, int(short.removesuffix("B")), 1]

    # What happens to packets.

    def packet(self, given: dict[str, str]) -> dict[str, str]:
        """The packet of an event, with what the event says of it."""
        own = self.packets[given["packet"]]
        own.update({k: v for k, v in given.items() if k in FIELDS})
        return own

    def do_arrived(self, at: int, given: dict[str, str], _: dict[str, str]) -> None:
        """TAM's packets arrive, are sent somewhere and are queued in one go."""
        if self.plane["program"] == "tam":
            self.join(at, given, ARRIVES, {})

    def do_pick(self, at: int, given: dict[str, str], decision: dict[str, str]) -> None:
        """A port is chosen."""
        packet = self.packet(given)
        port = int(decision["port"])
        self.picked[given["packet"]] = port
        self.found[given["packet"]] = self.waiting(port)[0]
        if self.plane["program"] == "tam":
            self.join(at, given, PICKS, decision)
            return
        self.settle(at)
        self.choose(at, packet, PICKS, decision, {})

    def do_admit(self, at: int, given: dict[str, str], decision: dict[str, str]) -> None:
        """A packet is queued, or marked as it is."""
        self.join(at, given, ADMITS, decision)

    def join(self, at: int, given: dict[str, str], kind: int, decision: dict[str, str]) -> None:
        """Gathers what happens to one packet at one instant."""
        packet = self.packet(given)
        now = (at, given["packet"])
        if self.pending is None or self.pending[0] != now or kind <= self.pending[1]:
            self.flush()
            self.pending = (now, 0, packet, {}, {}, self.line)
        _, kinds, _, said, admitted, line = self.pending
        if kind == ADMITS:
            admitted = given
        self.pending = (now, kinds | kind, packet, {**said, **decision}, admitted, line)

    def flush(self) -> None:
        """Sends what was gathered."""
        if self.pending is None:
            return
        (at, _), kinds, packet, decision, admitted, line = self.pending
        self.pending, self.line = None, line
        self.choose(at, packet, kinds, decision, admitted)

    def choose(
        self,
        at: int,
        packet: dict[str, str],
        kinds: int,
        decision: dict[str, str],
        admitted: dict[str, str],
    ) -> None:
        """Sends a packet and compares where it comes out, and whether it is marked."""
        draws = [int(word, 0) for word in decision.get("draws", "0").split(",")]
        extra: dict[str, int] = {"random": draws[0] >> 32}
        if admitted:
            port = int(admitted["port"])
            extra |= {
                "port": port,
                "uplink": self.uplinks.index(port) + 1 if port in self.uplinks else 0,
                "found": int(admitted.get("total_packets", admitted.get("packets", "0"))),
                "left": int(admitted.get("total_bytes", admitted.get("bytes", "0"))),
            }
        out = self.switch.send(frame(at, kinds, packet, extra))
        if kinds & PICKS:
            ports = [found for found, _ in out]
            self.compare("port", int(decision["port"]), ports[0] if len(ports) == 1 else ports)
        if kinds & ADMITS:
            marked = out[0][1][HEADERS + 1] & 3 == 3 and int(packet.get("ecn", 0)) != 3
            marked = marked or (decision["verdict"] == "mark" and int(packet.get("ecn", 0)) == 3)
            self.compare("verdict", decision["verdict"], "mark" if marked else "take")

    def compare(self, what: str, wanted: object, found: object) -> None:
        """A decision with the vector's."""
        self.checked += 1
        if wanted != found:
            place = f"{self.vector.file.name}:{self.line}"
            raise Differs(f"{place}: {what} is {found}, not {wanted}")

    # QALL's egress pipeline: what was announced happens when its time comes.

    def do_leaving(self, at: int, given: dict[str, str], _: dict[str, str]) -> None:
        """A packet's transmission begins at ``start``, now or later."""
        packet = dict(self.packet(given))
        port = int(given.get("port", self.picked.get(given["packet"], 0)))
        start = int(given["start"])
        self.order += 1
        packet |= {"port": str(port), "found": str(self.found.get(given["packet"], 0))}
        packet["at_once"] = str(self.waiting(port)[0]) if start <= at else ""
        packet["behind"] = str(len(self.left[port]) + 1)
        self.left[port].append(at)
        heapq.heappush(self.dequeues, (start, self.order, packet))

    def settle(self, now: int) -> None:
        """Dequeues up to ``now``, and the clones that have come back by then."""
        delay = span(self.vector.parameters.get("clone_delay", "0ps"))
        while self.dequeues and self.dequeues[0][0] <= now:
            start, order, packet = heapq.heappop(self.dequeues)
            self.clones_until(start)
            port = int(packet["port"])
            behind = self.left[port][int(packet["behind"]) :]
            left = packet["at_once"] or str(sum(1 for at in behind if at < start))
            extra = {"port": port, "found": int(packet["found"]), "left": int(left)}
            for out, data in self.switch.send(frame(start, DEQUEUED, packet, extra)):
                if out == LOOP_BACK:
                    heapq.heappush(self.clones, (start + delay, order, data))
        self.clones_until(now)

    def clones_until(self, now: int) -> None:
        """Clones that have come back: each is taken in and ends."""
        while self.clones and self.clones[0][0] <= now:
            self.switch.send(heapq.heappop(self.clones)[2])


FIELDS = ("src", "dst", "sport", "dport", "seq", "size", "payload", "flags", "ecn", "class")
HEADERS = 14 + 22
"""Bytes before a packet's IP header."""


def frame(at: int, kind: int, packet: dict[str, Any], extra: dict[str, int]) -> bytes:
    """Ethernet, what the vector says, and the packet."""
    ethernet = bytes(12) + struct.pack(">H", TYPE_REPLAY)
    number = {"port": 0, "uplink": 0, "random": 0, "found": 0, "left": 0} | extra
    replay = struct.pack(">BHB", kind, number["port"], number["uplink"])
    replay += (at // TICK).to_bytes(6, "big")
    replay += struct.pack(">III", number["random"], number["found"], number["left"])
    return ethernet + replay + ip_packet(packet)


def vectors(root: Path) -> Iterator[tuple[Vector, dict[str, Any]]]:
    """All vectors that decide as a P4 program does, each with its control plane."""
    for plane in sorted((root / "hardware/p4/vectors").glob("*.json")):
        file = root / "crates/schemes/vectors/load_balancer" / f"{plane.stem}.txt"
        yield Vector(file), json.loads(plane.read_text())
