"""LetFlow once more, written from ``docs/decision-vectors.md`` alone, and held to its vectors.

Shows what it takes to check another implementation: a reader of the format (``Vector``), the random
stream (``Stream``), and the scheme. Run it with the paths of LetFlow's vectors::

    python tests/python/decision_vectors.py crates/schemes/vectors/load_balancer/letflow*.txt
"""

import sys
from collections.abc import Iterator
from pathlib import Path

MASK = (1 << 64) - 1

Pairs = dict[str, str]


def mix(x: int) -> int:
    """Two rounds of fold and multiply, then a fold."""
    for _ in range(2):
        x = (x ^ (x >> 32)) * 0xD6E8_FEB8_6659_FD93 & MASK
    return x ^ (x >> 32)


def region(value: int, n: int) -> int:
    """Which of n equal parts of 0..2^64 a value lies in."""
    return value * n >> 64


class Stream:
    """The random stream of ``random seed=.. role=.. id=..``."""

    STEP = 0x9E37_79B9_7F4A_7C15

    def __init__(self, seed: int, role: int, id: int) -> None:
        self.state = mix(mix(mix(seed + self.STEP & MASK) ^ role) ^ id)

    def next(self) -> int:
        self.state = self.state + self.STEP & MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB & MASK
        return z ^ (z >> 31)


class Vector:
    """A vector's header, by first word, and its events."""

    def __init__(self, path: Path) -> None:
        self.header: dict[str, Pairs] = {"param": {}}
        self.lines: list[tuple[int, str]] = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line[:1].isdigit():
                self.lines.append((number, line))
            elif line and line[0] != "#" and not line.startswith("sent "):
                word, *pairs = line.split()
                self.header.setdefault(word, {}).update(p.split("=", 1) for p in pairs)

    def events(self) -> Iterator[tuple[int, int, str, Pairs, Pairs]]:
        """Line number, time, event, what is given, what was decided."""
        for number, line in self.lines:
            given, _, decided = line.partition(" ->")
            time, event, *pairs = given.split()
            yield (
                number,
                int(time),
                event,
                dict(p.split("=", 1) for p in pairs),
                dict(p.split("=", 1) for p in decided.split()),
            )


class LetFlow:
    """A flow that pauses for longer than the gap draws a new port."""

    def __init__(self, vector: Vector) -> None:
        random = vector.header["random"]
        self.stream = Stream(int(random["seed"]), int(random["role"]), int(random["id"]))
        self.hash_seed = int(vector.header["switch"]["hash_seed"], 0)
        self.gap = int(vector.header["param"]["gap"].removesuffix("ps"))
        # Time of the last packet and port, by hash of the flow.
        self.table = [(0, -1)] * int(vector.header["param"]["entries"])

    def pick(self, now: int, packet: Pairs, ports: list[int]) -> tuple[int, list[int]]:
        """The port, and what was drawn for it."""
        tuple_ = 0
        for field in ("src", "dst", "sport", "dport"):
            tuple_ = tuple_ << 16 | int(packet.get(field, "0"))
        tag = int(packet.get("tag", "0"))
        entropy = tuple_ ^ tag << 12
        index = region(mix(entropy ^ self.hash_seed), len(self.table))
        last, port = self.table[index]
        drawn = []
        if now - last > self.gap or port not in ports:
            drawn = [self.stream.next()]
            port = ports[region(drawn[0], len(ports))]
        self.table[index] = (now, port)
        return port, drawn


def check(path: Path) -> list[str]:
    """Every decision in which LetFlow as written here differs from the vector."""
    vector = Vector(path)
    letflow = LetFlow(vector)
    leaves = range(int(vector.header["switch"]["tors"]))
    paths: dict[int, list[int]] = {}
    packets: dict[str, Pairs] = {}
    wrong = []
    picks = 0
    for number, now, event, given, decided in vector.events():
        if event == "paths":
            ports = [int(port) for port in given["ports"].split(",")]
            for leaf in [int(given["to"])] if "to" in given else leaves:
                paths[leaf] = ports
        elif event == "pick":
            picks += 1
            packet = packets.setdefault(given["packet"], {})
            packet.update(given)
            port, drawn = letflow.pick(now, packet, paths[int(given["to"])])
            found = {"port": str(port)}
            if drawn:
                found["draws"] = ",".join(f"0x{value:016x}" for value in drawn)
            if found != decided:
                wrong.append(f"{path.name}:{number}: expected {decided}, found {found}")
    assert picks, f"{path.name} asks nothing"
    return wrong


def main() -> int:
    wrong = [line for path in sys.argv[1:] for line in check(Path(path))]
    print("\n".join(wrong) or "all as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
