"""Drives the RTL a cycle at a time, and writes down what it does."""

from collections import deque
from collections.abc import Mapping

from cocotb.handle import SimHandleBase
from cocotb.triggers import Timer

# abq_ingress' events, from the lowest bit on.
EVENTS = (
    "came", "too_long", "passed", "stored", "followed", "left", "left_ece", "overflowed", "expired",
    "let_go", "let_go_ece", "stop",
)  # fmt: skip


class Inputs:
    """Streams into `ports` ports of `width` bits, whose signals begin with `prefix`."""

    def __init__(self, dut: SimHandleBase, ports: int, width: int, prefix: str) -> None:
        self.dut = dut
        self.ports = ports
        self.bytes = width // 8
        self.valid, self.ready, self.data, self.keep, self.last, self.user = (
            getattr(dut, prefix + name)
            for name in ("valid", "ready", "data", "keep", "last", "user")
        )
        # Words that go in, by port, each with its byte lanes, whether it ends a frame, and ports.
        self.words: list[deque[tuple[int, int, int, int]]] = [deque() for _ in range(ports)]
        self.driven = 0

    def clear(self) -> None:
        for signal in (self.valid, self.data, self.keep, self.last, self.user):
            signal.value = 0

    def send(self, port: int, frame: bytes, to: int = 0) -> None:
        """Puts a frame behind those of its port; `to` has a bit for each port that it is for."""
        for at in range(0, len(frame), self.bytes):
            part = frame[at : at + self.bytes]
            last = at + self.bytes >= len(frame)
            word = int.from_bytes(part, "little")
            self.words[port].append((word, (1 << len(part)) - 1, int(last), to))

    def drive(self) -> None:
        """Puts each port's next word at its input."""
        valid = data = keep = last = user = 0
        for port, words in enumerate(self.words):
            if words:
                word, lanes, ends, to = words[0]
                valid |= 1 << port
                data |= word << port * self.bytes * 8
                keep |= lanes << port * self.bytes
                last |= ends << port
                user |= to << port * len(self.user) // self.ports
        if valid or self.driven:
            self.driven = valid
            self.valid.value = valid
            self.data.value = data
            self.keep.value = keep
            self.last.value = last
            self.user.value = user

    def taken(self) -> None:
        """Words that the ports take in this cycle are no longer there in the next."""
        ready = self.ready.value.integer
        for port, words in enumerate(self.words):
            if words and ready >> port & 1:
                words.popleft()


def happened(events: int, port: int) -> set[str]:
    """The events of a port."""
    bits = events >> port * len(EVENTS)
    return {name for at, name in enumerate(EVENTS) if bits >> at & 1}


class Bench:
    """abq_input_queues with `ports` ports of `width` bits."""

    def __init__(self, dut: SimHandleBase, ports: int, width: int) -> None:
        self.dut = dut
        self.ports = ports
        self.inputs = Inputs(dut, ports, width, "in_")
        self.words, self.send = self.inputs.words, self.inputs.send
        self.lengths = [0] * ports
        # Frames that have come out; events of the last cycle, by port.
        self.out: list[bytes] = []
        # Of each ACK that has left a hold: whether it was to get ECE.
        self.left: list[bool] = []
        self.part = b""
        self.events: list[set[str]] = [set() for _ in range(ports)]

    async def reset(self, **settings: int) -> None:
        self.inputs.clear()
        inputs = {"clk": 0, "now": 0, "backlog": 0, "rst": 1, "out_ready": 1}
        for name, value in (inputs | {"settings": self.packed(settings)}).items():
            getattr(self.dut, name).value = value
        for _ in range(2):
            await self.cycle()
        self.dut.rst.value = 0
        await self.cycle()

    def packed(self, settings: Mapping[str, int]) -> int:
        """The bits of abq_settings.svh, whose first field is the highest."""
        length, time, slot = (
            len(self.dut.backlog) // self.ports,
            len(self.dut.now),
            len(self.dut.count) // self.ports,
        )
        widths = {
            "threshold": length,
            "floor": length,
            "corrector": 1,
            "ece_below_floor": 1,
            "pace": time,
            "max_hold": time,
            "capacity": slot,
        }
        bits = 0
        for name, width in widths.items():
            assert settings[name] >> width == 0, f"{name}: {settings[name]} has over {width} bits"
            bits = bits << width | settings[name]
        return bits

    def set_length(self, port: int, length: int) -> None:
        width = len(self.dut.backlog) // self.ports
        self.lengths[port] = length
        self.dut.backlog.value = sum(value << at * width for at, value in enumerate(self.lengths))

    async def cycle(self) -> None:
        """One clock cycle: inputs have been set, outputs are read before the edge."""
        dut = self.dut
        self.inputs.drive()
        await Timer(1, "step")
        if not int(dut.rst.value):
            self.read()
        dut.clk.value = 1
        await Timer(1, "step")
        dut.clk.value = 0

    def read(self) -> None:
        dut = self.dut
        self.inputs.taken()
        events = dut.events.value.integer
        for port in range(self.ports):
            self.events[port] = happened(events, port)
            if "left" in self.events[port]:
                self.left.append("left_ece" in self.events[port])
        if dut.out_valid.value.integer and dut.out_ready.value.integer:
            lanes = dut.out_keep.value.integer.bit_count()
            # What is not valid may be anything.
            word = str(dut.out_data.value)[-lanes * 8 :]
            self.part += int(word, 2).to_bytes(lanes, "little")
            if dut.out_last.value.integer:
                self.out.append(self.part)
                self.part = b""

    def takes(self) -> list[bytes]:
        """The frames that have come out since the last call."""
        taken, self.out = self.out, []
        return taken
