"""Every decision vector of ABQ, event by event, on the input queues of eight ports.

A vector's picoseconds are the RTL's unit of time, and time stands still but between its events.
"""

import os
import sys
from pathlib import Path

import cocotb
from cocotb.handle import SimHandleBase

from bench import Bench
from frames import of_vector, with_ece

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from decision_vectors import Pairs, Vector  # noqa: E402

PORTS, WIDTH = 8, int(os.environ.get("ABQ_WIDTH", "64"))
# Longer than any frame here takes through an input queue, and than a full hold takes out of it.
LONG = 1000
# Those that failed: after the first, mutants need no other.
FAILED: list[Path] = []
VECTORS = sorted((ROOT / "crates" / "schemes" / "vectors" / "hold").glob("abq*.txt"))


def number(value: str) -> int:
    """A parameter in its smallest unit; yes is 1, none 0."""
    words = {"true": 1, "false": 0, "none": 0}
    return words[value] if value in words else int(value.rstrip("psktB"))


class Replay:
    """One vector on the RTL."""

    def __init__(self, dut: SimHandleBase, path: Path) -> None:
        self.path = path
        self.bench = Bench(dut, PORTS, WIDTH)
        self.vector = Vector(path)
        self.packets: dict[str, Pairs] = {}
        self.sent: dict[int, bytes] = {}
        given = self.vector.header["param"]
        self.settings = {name: number(value) for name, value in given.items()}
        # Vectors of a release without a pace, or without the second setting, do not name them.
        self.settings = {"pace": 0, "ece_below_floor": 0} | self.settings
        self.pace = self.settings["pace"]
        self.now = 0

    async def run(self) -> int:
        await self.bench.reset(**self.settings)
        decisions = 0
        for line, time, event, given, decided in self.vector.events():
            found = await getattr(self, event)(time, given)
            for key in found:
                where = f"{self.path.name}:{line}: {event}"
                assert found[key] == decided.get(key), f"{where}: {found} for {decided}"
            assert "gone" in found or "gone" not in decided, f"{self.path.name}:{line}: {decided}"
            decisions += len(found)
        return decisions

    async def at(self, time: int) -> None:
        self.now = time
        self.bench.dut.now.value = time

    async def settle(self, port: int) -> set[str]:
        """Cycles until all that has to move has moved; what happened at the port meanwhile."""
        happened: set[str] = set()
        quiet = 0
        for _ in range(LONG):
            await self.bench.cycle()
            happened |= self.bench.events[port]
            moves = self.bench.part or any(self.bench.words) or any(self.bench.events)
            quiet = 0 if moves else quiet + 1
            if quiet == 24:
                return happened
        raise AssertionError(f"it does not come to rest: {self.bench.events[port]}")

    def gone(self, passed: int | None = None) -> Pairs:
        """What has come out, with ECE or not; each is as it came, but for ECE and the checksum."""
        numbers, marks = [], []
        said, self.bench.left = self.bench.left, []
        for frame in self.bench.takes():
            which = next(n for n, sent in self.sent.items() if frame[42:46] == sent[42:46])
            sent = self.sent.pop(which)
            if which == passed:
                assert frame == sent, f"{which} has changed"
                continue
            # Whether the engine has asked for ECE: one that had it before cannot show it.
            marked = said[len(numbers)]
            assert frame == (with_ece(sent) if marked else sent), f"{which} has changed"
            numbers.append(str(which))
            marks.append(str(int(marked)))
        assert len(said) == len(numbers), f"{len(said)} have left, {numbers} came out"
        return {"gone": ",".join(numbers), "gone_ece": ",".join(marks)} if numbers else {}

    async def limits(self, _: int, __: Pairs) -> Pairs:
        # They are settings here, from the same header.
        capacity, longest = self.settings["capacity"], self.settings["max_hold"]
        said = {"capacity": str(capacity), "max_hold": str(longest or "none")}
        return said | {"ece_when_forced": str(self.settings["corrector"])}

    async def backlog_changed(self, time: int, given: Pairs) -> Pairs:
        await self.at(time)
        port = int(given["port"])
        self.bench.set_length(port, int(given["backlog"]))
        await self.bench.cycle()
        events = self.bench.events[port]
        if "let_go" in events:
            found = {"verdict": "release", "ece": str(int("let_go_ece" in events))}
        else:
            # Without a pace all that was let go has gone: there is nothing to stop.
            found = {"verdict": "stop" if "stop" in events and self.pace else "keep"}
        assert not (await self.settle(port) & {"let_go", "stop"}), "it has decided twice"
        return found | self.gone()

    async def ingress(self, time: int, given: Pairs) -> Pairs:
        await self.at(time)
        port, which = int(given["port"]), int(given["packet"])
        packet = self.packets.setdefault(given["packet"], {})
        packet.update(given)
        self.sent[which] = of_vector(packet, which)
        self.bench.send(port, self.sent[which])
        events = await self.settle(port)
        assert "came" in events
        if "stored" in events:
            verdict = "follow" if "followed" in events else "hold"
        else:
            # With a pace, an ACK that finds none to follow passes.
            verdict = "follow" if "passed" in events and self.pace else "pass"
        passes = "stored" not in events
        found = {"verdict": verdict} | self.gone(which if passes else None)
        assert passes == (which not in self.sent), f"{which}: {events}"
        return found

    async def timers(self, time: int, given: Pairs) -> Pairs:
        """From due time to due time; `next` is the simulator's own bookkeeping."""
        port = int(given["port"])
        engine = self.bench.dut.ports[port].ingress.engine
        for _ in range(LONG):
            due = [time]
            if engine.timing.value.integer:
                due.append(engine.start.value.integer + self.pace)
            if engine.held.value.integer and self.settings["max_hold"]:
                due.append(engine.oldest_since.value.integer + self.settings["max_hold"])
            await self.at(max(self.now, min(due)))
            await self.settle(port)
            if min(due) >= time:
                return self.gone()
        raise AssertionError("what is due does not happen")


def make(path: Path) -> None:
    async def replay(dut: SimHandleBase) -> None:
        if FAILED and "ABQ_FIRST_ONLY" in os.environ:
            return
        FAILED.append(path)
        decisions = await Replay(dut, path).run()
        FAILED.remove(path)
        assert decisions, f"{path.name} asks nothing"
        dut._log.info("%s: %d decisions as expected", path.name, decisions)

    replay.__name__ = replay.__qualname__ = path.stem.replace("-", "_")
    globals()[replay.__name__] = cocotb.test()(replay)


for path in VECTORS:
    make(path)
