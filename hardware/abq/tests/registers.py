"""The registers of abq_switch by AXI4-Lite: settings, counters, errors, switching off.

Two ports of 64 bits, a hold of six ACKs, times of 24 bits. Run by itself, with a folder for what is
built, it runs them on Icarus.
"""

import sys
from collections import Counter
from pathlib import Path

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import Timer
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from bench import EVENTS, Inputs, happened
from frames import padded, with_ece
from simulate import run

PORTS, WIDTH, CAPACITY, QUEUE_W, TIME_W = 2, 64, 6, 20, 24
# At reset.
K, LOWEST = 17, 3
PARAMETERS = {
    "PORTS": PORTS,
    "DATA_W": WIDTH,
    "CAPACITY": CAPACITY,
    "TIME_W": TIME_W,
    "QUEUE_WORDS": 512,
    "QUEUE_PACKETS": 32,
    "K": K,
    "FLOOR": LOWEST,
}

# docs/hardware.md, "Registers".
IDENTITY, SHAPE, CONTROL, THRESHOLD, FLOOR, PACE, MAX_HOLD, ROOM, CLEAR = range(0, 0x24, 4)
ENABLE, IN_BYTES, CORRECTOR, ECE_BELOW_FLOOR = 1, 2, 4, 8
AT_RESET = {
    IDENTITY: 0x41425101,
    SHAPE: 3 << 24 | TIME_W << 16 | WIDTH // 8 << 8 | PORTS,
    CONTROL: CORRECTOR,
    THRESHOLD: K,
    FLOOR: LOWEST,
    PACE: 0,
    MAX_HOLD: 0,
    ROOM: CAPACITY,
    CLEAR: 0,
}
STATE, LEVEL, PACKETS, BYTES, HELD = range(0, 0x14, 4)
COUNTERS = (*EVENTS, "dropped")
OKAY, SLVERR = 0, 2
UNCONGESTED, CONGESTED, LIGHT = range(3)


def page(port: int) -> int:
    return 0x100 * (port + 1)


def counter(port: int, name: str) -> int:
    return page(port) + 0x20 + 4 * COUNTERS.index(name)


KNOWN = {
    *AT_RESET,
    *(page(port) + at for port in range(PORTS) for at in (STATE, LEVEL, PACKETS, BYTES, HELD)),
    *(counter(port, name) for port in range(PORTS) for name in COUNTERS),
}
WRITABLE = {CONTROL, THRESHOLD, FLOOR, PACE, MAX_HOLD, ROOM, CLEAR}


def frame(number: int, payload: int = 0, flags: str = "A") -> bytes:
    return padded(
        Ether(dst=f"02:00:00:00:00:{number:02x}", src="02:00:00:00:00:00")
        / IP(src="10.0.0.1", dst="10.0.0.2")
        / TCP(sport=5001, dport=1024, ack=number, flags=flags)
        / Raw(bytes(payload))
    )


class Switch:
    """abq_switch, what came out of it, and what its debug outputs said."""

    def __init__(self, dut: SimHandleBase) -> None:
        self.dut = dut
        self.inputs = Inputs(dut, PORTS, WIDTH, "s_axis_t")
        self.counted: list[Counter[str]] = [Counter() for _ in range(PORTS)]
        self.parts = [b""] * PORTS
        self.out: list[bytes] = []
        self.sent = 0

    async def reset(self) -> None:
        dut = self.dut
        self.inputs.clear()
        for name in ["clk", "m_axis_tready", "s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid"]:
            getattr(dut, name).value = 0
        for name in ["awaddr", "wdata", "araddr"]:
            getattr(dut, f"s_axil_{name}").value = 0
        dut.s_axil_wstrb.value = 15
        dut.s_axil_bready.value = dut.s_axil_rready.value = 1
        dut.rst.value = 1
        await self.cycles(2)
        dut.rst.value = 0

    async def cycle(self) -> None:
        dut = self.dut
        self.inputs.drive()
        await Timer(1, "step")
        if not int(dut.rst.value):
            self.inputs.taken()
            events, dropped = dut.debug_events.value.integer, dut.debug_dropped.value.integer
            for port, counted in enumerate(self.counted):
                counted.update(happened(events, port))
                counted["dropped"] += dropped >> port & 1
                self.read_line(port)
        dut.clk.value = 1
        await Timer(1, "step")
        dut.clk.value = 0
        await Timer(1, "step")

    def read_line(self, port: int) -> None:
        dut = self.dut
        if not (dut.m_axis_tvalid.value.integer & dut.m_axis_tready.value.integer) >> port & 1:
            return
        keep = str(dut.m_axis_tkeep.value)[::-1][port * WIDTH // 8 :][: WIDTH // 8]
        lanes = keep.count("1")
        word = str(dut.m_axis_tdata.value)[::-1][port * WIDTH :][: lanes * 8]
        self.parts[port] += int(word[::-1], 2).to_bytes(lanes, "little")
        # What other ports show may be anything.
        if str(dut.m_axis_tlast.value)[-1 - port] == "1":
            self.out.append(self.parts[port])
            self.parts[port] = b""

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await self.cycle()

    async def write(self, address: int, value: int, lanes: int = 15) -> int:
        """Returns the response."""
        dut = self.dut
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value = address, value
        dut.s_axil_wstrb.value = lanes
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        await self.cycle()
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
        assert dut.s_axil_bvalid.value.integer == 1
        response = dut.s_axil_bresp.value.integer
        await self.cycle()
        assert dut.s_axil_bvalid.value.integer == 0
        return response

    async def answer(self, address: int) -> tuple[int, int]:
        """What a read is answered with: the response, and the value."""
        dut = self.dut
        dut.s_axil_araddr.value, dut.s_axil_arvalid.value = address, 1
        await self.cycle()
        dut.s_axil_arvalid.value = 0
        assert dut.s_axil_rvalid.value.integer == 1
        found = dut.s_axil_rresp.value.integer, dut.s_axil_rdata.value.integer
        await self.cycle()
        assert dut.s_axil_rvalid.value.integer == 0
        return found

    async def read(self, address: int) -> int:
        response, value = await self.answer(address)
        assert response == OKAY, f"{address:#x}"
        return value

    async def set(self, **values: int) -> None:
        for name, value in values.items():
            assert await self.write(globals()[name.upper()], value) == OKAY

    async def everything(self) -> dict[int, int]:
        return {address: await self.read(address) for address in sorted(KNOWN)}

    async def send(self, port: int, to: int, count: int = 1, payload: int = 0) -> list[bytes]:
        """Frames into a port for another one, and cycles until they are where they stay."""
        frames = [frame(self.sent + at, payload) for at in range(count)]
        self.sent += count
        for each in frames:
            self.inputs.send(port, each, 1 << to)
        await self.cycles(30 + 10 * count + count * payload // 8)
        assert not any(self.inputs.words)
        return frames

    async def lines(self, bits: int, cycles: int = 0) -> None:
        """Lines that take what their queues have, one bit a port."""
        self.dut.m_axis_tready.value = bits
        await self.cycles(cycles)

    def takes(self) -> list[bytes]:
        taken, self.out = self.out, []
        return taken

    async def congest(self, packets: int) -> None:
        """So many packets wait at port 0, whose line stands still; port 1's takes all."""
        await self.lines(0b10)
        await self.send(1, 0, packets, payload=6)
        assert await self.read(page(0) + PACKETS) == packets


async def started(dut: SimHandleBase, **values: int) -> Switch:
    switch = Switch(dut)
    await switch.reset()
    await switch.set(**values)
    return switch


@cocotb.test()
async def after_a_reset(dut: SimHandleBase) -> None:
    """Breaks if a register has another value at reset, or a counter counts without traffic."""
    switch = await started(dut)
    await switch.cycles(50)
    found = await switch.everything()
    assert found == dict.fromkeys(sorted(KNOWN), 0) | AT_RESET


@cocotb.test()
async def settings_are_read_back(dut: SimHandleBase) -> None:
    """Breaks if a setting has other bits, reaches another, or what does not fit wraps around."""
    switch = await started(dut)
    expected = await switch.everything()
    lengths, times = (1 << QUEUE_W) - 1, (1 << TIME_W) - 1
    cases = {
        CONTROL: [(0b1010, 0b1010), (0b0101, 0b0101), (0xFFFF_FFF0, 0)],
        THRESHOLD: [(0, 0), (0x9_5A5A, 0x9_5A5A), (1 << QUEUE_W, lengths), (1 << 31, lengths)],
        FLOOR: [(0, 0), (0x6_A5A5, 0x6_A5A5), (1 << QUEUE_W, lengths), (1 << 31, lengths)],
        PACE: [(0xA5_5A5A, 0xA5_5A5A), (1 << TIME_W, times), (1 << 31, times), (7, 7)],
        MAX_HOLD: [(0x5A_A5A5, 0x5A_A5A5), (1 << TIME_W, times), (1 << 31, times), (9, 9)],
        ROOM: [(3, 3), (0, 1), (CAPACITY + 1, CAPACITY), (1 << 31, CAPACITY), (1, 1)],
    }
    for address, values in cases.items():
        for value, kept in values:
            assert await switch.write(address, value) == OKAY
            expected[address] = kept
            assert await switch.everything() == expected, f"{address:#x} = {value:#x}"


@cocotb.test()
async def what_is_not_there(dut: SimHandleBase) -> None:
    """Breaks if an address without a register, or beside a word, answers something else than
    SLVERR."""
    switch = await started(dut)
    before = await switch.everything()
    for address in range(1 << len(dut.s_axil_araddr)):
        if address not in KNOWN:
            assert await switch.answer(address) == (SLVERR, 0), f"{address:#x}"
        if address not in WRITABLE:
            assert await switch.write(address, 1) == SLVERR, f"{address:#x}"
    for address in WRITABLE:
        for lanes in range(15):
            assert await switch.write(address, 1, lanes) == SLVERR, f"{address:#x}, {lanes:04b}"
    assert await switch.everything() == before


@cocotb.test()
async def a_master_that_waits(dut: SimHandleBase) -> None:
    """Breaks if an address is taken without its data or data without its address, or if an answer
    changes or another access is taken while nobody takes the answer."""
    switch = await started(dut)
    dut.s_axil_awaddr.value, dut.s_axil_wdata.value = THRESHOLD, 7
    for valid in ("s_axil_awvalid", "s_axil_wvalid"):
        getattr(dut, valid).value = 1
        await switch.cycles(3)
        assert not dut.s_axil_awready.value.integer and not dut.s_axil_wready.value.integer
        getattr(dut, valid).value = 0
        assert await switch.read(THRESHOLD) == K
    dut.s_axil_bready.value = 0
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
    await switch.cycle()
    # The next one: refused in the end, and later than now.
    dut.s_axil_awaddr.value, dut.s_axil_wdata.value = IDENTITY, 9
    for _ in range(3):
        await switch.cycle()
        assert dut.s_axil_bvalid.value.integer and dut.s_axil_bresp.value.integer == OKAY
        assert not dut.s_axil_awready.value.integer and not dut.s_axil_wready.value.integer
    dut.s_axil_bready.value = 1
    await switch.cycle()
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
    assert dut.s_axil_bvalid.value.integer and dut.s_axil_bresp.value.integer == SLVERR
    await switch.cycle()
    assert await switch.read(THRESHOLD) == 7

    dut.s_axil_rready.value = 0
    dut.s_axil_araddr.value, dut.s_axil_arvalid.value = THRESHOLD, 1
    await switch.cycle()
    dut.s_axil_araddr.value = FLOOR
    for _ in range(3):
        await switch.cycle()
        assert dut.s_axil_rvalid.value.integer and dut.s_axil_rdata.value.integer == 7
        assert not dut.s_axil_arready.value.integer
    dut.s_axil_rready.value = 1
    await switch.cycle()
    dut.s_axil_arvalid.value = 0
    assert dut.s_axil_rvalid.value.integer and dut.s_axil_rdata.value.integer == LOWEST


async def traffic(switch: Switch) -> None:
    """Lets each event happen at port 0, at least once, and some at port 1."""
    long = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(flags="A")
    await switch.set(control=ENABLE | CORRECTOR, threshold=4, floor=1, room=2, max_hold=400)
    await switch.lines(0b11)
    await switch.send(0, 1)
    switch.inputs.send(0, bytes(long).ljust(140, b"\0"), 0b10)
    await switch.congest(9)
    # Two are held, one is pushed out, and all have waited their longest.
    await switch.send(0, 1, 3)
    await switch.cycles(500)
    # A release with a slow pace, an ACK that follows, and another spell that stops it.
    await switch.set(max_hold=0, pace=1000, room=CAPACITY)
    await switch.send(0, 1, 3)
    await switch.lines(0b11, 200)
    await switch.send(0, 1)
    await switch.lines(0b10)
    await switch.send(1, 0, 40, payload=60)


@cocotb.test()
async def counters(dut: SimHandleBase) -> None:
    """Breaks if a counter misses an event, counts twice or another port's, is at another's address,
    or if clearing leaves one or touches a setting."""
    switch = await started(dut)
    await traffic(switch)
    never = [name for name in COUNTERS if not switch.counted[0][name]]
    assert not never, f"{never}: not in the traffic"
    for port, counted in enumerate(switch.counted):
        found = {name: await switch.read(counter(port, name)) for name in COUNTERS}
        assert found == {name: counted[name] for name in COUNTERS}, f"port {port}"
    assert await switch.write(CLEAR, 0) == OKAY
    cleared = await switch.everything()
    assert not any(cleared[counter(port, name)] for port in range(PORTS) for name in COUNTERS)
    kept = {CONTROL: ENABLE | CORRECTOR, THRESHOLD: 4, FLOOR: 1, PACE: 1000, MAX_HOLD: 0}
    assert {address: cleared[address] for address in kept} == kept
    # They go on from there.
    await switch.send(1, 1)
    assert await switch.read(counter(1, "came")) == 1


@cocotb.test()
async def what_there_is_now(dut: SimHandleBase) -> None:
    """Breaks if a port's state, Qmax or X, queue, or hold is read as another's or as something
    else."""
    switch = await started(dut, control=ENABLE | CORRECTOR, threshold=4, floor=1)
    await switch.congest(7)
    await switch.send(0, 1, 3)
    now = [await switch.read(page(0) + at) for at in (STATE, LEVEL, PACKETS, BYTES, HELD)]
    # Six bytes of payload are in the frame's padding.
    assert now == [CONGESTED, 7, 7, 7 * 60, 3]
    other = [await switch.read(page(1) + at) for at in (STATE, LEVEL, PACKETS, BYTES, HELD)]
    assert other == [UNCONGESTED, 0, 0, 0, 0]
    # Three frames of eight words go: Q is K, and X is 7 - 4. With one more Q is X, and X is halved.
    for words, expected in [(24, [LIGHT, 3, 4, 4 * 60, 3]), (8, [LIGHT, 1, 3, 3 * 60, 0])]:
        await switch.lines(0b11, words)
        await switch.lines(0b10, 60)
        now = [await switch.read(page(0) + at) for at in (STATE, LEVEL, PACKETS, BYTES, HELD)]
        assert now == expected


@cocotb.test()
async def switched_off_with_held_acks(dut: SimHandleBase) -> None:
    """Breaks if ACKs stay in the hold when ABQ is switched off, go without the ECE that their spell
    asks for, or if one is held while it is off or not held again when it is on."""
    for peak, corrector, marked in [(9, CORRECTOR, True), (9, 0, False), (5, CORRECTOR, False)]:
        switch = await started(dut, control=ENABLE | corrector, threshold=4, floor=2)
        await switch.congest(peak)
        held = await switch.send(0, 1, 3)
        assert (switch.takes(), await switch.read(page(0) + HELD)) == ([], 3)
        await switch.set(control=corrector)
        await switch.cycles(60)
        assert switch.takes() == [with_ece(ack) if marked else ack for ack in held]
        assert [await switch.read(page(0) + at) for at in (STATE, HELD)] == [UNCONGESTED, 0]
        # The queue is as long as before.
        assert await switch.read(page(0) + PACKETS) == peak
        passing = await switch.send(0, 1, 2)
        assert switch.takes() == passing
        await switch.set(control=ENABLE | corrector)
        assert [await switch.read(page(0) + at) for at in (STATE, LEVEL)] == [CONGESTED, peak]
        await switch.send(0, 1)
        assert (switch.takes(), await switch.read(page(0) + HELD)) == ([], 1)


@cocotb.test()
async def switched_off_during_a_release(dut: SimHandleBase) -> None:
    """Breaks if switching off hurries, loses or reorders a paced release, if an ACK that comes
    meanwhile overtakes it or gets ECE, or if switching on again does not stop it above K."""
    switch = await started(dut, control=ENABLE | CORRECTOR, threshold=4, floor=2, pace=300)
    await switch.congest(9)
    held = await switch.send(0, 1, 3)
    await switch.set(control=CORRECTOR)
    later = await switch.send(0, 1)
    assert (switch.takes(), await switch.read(page(0) + HELD)) == ([], 4)
    await switch.cycles(650)
    assert switch.takes() == [with_ece(ack) for ack in held[:2]], "one each 300 cycles"
    await switch.cycles(650)
    assert switch.takes() == [with_ece(held[2]), later[0]]

    await switch.set(control=ENABLE | CORRECTOR)
    held = await switch.send(0, 1, 3)
    await switch.set(control=CORRECTOR)
    await switch.cycles(350)
    await switch.set(control=ENABLE | CORRECTOR)
    await switch.cycles(650)
    assert switch.takes() == [with_ece(held[0])], "then the queue is above K again"
    assert [await switch.read(page(0) + at) for at in (STATE, HELD)] == [CONGESTED, 2]


@cocotb.test()
async def data_has_its_turn(dut: SimHandleBase) -> None:
    """Breaks if data that waits does not get its turn after each ACK that a release reads, or is
    held back by it for longer."""
    switch = await started(dut, control=ENABLE | CORRECTOR, threshold=4, floor=2)
    await switch.congest(9)
    held = await switch.send(0, 1, 4)
    data = [frame(100 + number, payload=6) for number in range(8)]
    for each in data:
        switch.inputs.send(0, each, 0b10)
    await switch.cycles(12)
    await switch.set(control=CORRECTOR)
    await switch.cycles(200)
    out = switch.takes()
    places = [out.index(with_ece(ack)) for ack in held]
    assert places == [places[0] + 2 * turn for turn in range(4)] and places[0] <= 3
    assert [each for each in out if each in data] == data


@cocotb.test()
async def settings_while_acks_are_held(dut: SimHandleBase) -> None:
    """Breaks if a smaller capacity throws ACKs out by itself or takes more, if a bound does not
    hold for ACKs that are there already, or if a larger K does not end the spell by what the queue
    is now."""
    switch = await started(dut, control=ENABLE | CORRECTOR, threshold=4, floor=1)
    await switch.congest(9)
    held = await switch.send(0, 1, 4)
    await switch.set(room=2)
    await switch.cycles(50)
    assert (switch.takes(), await switch.read(page(0) + HELD)) == ([], 4)
    held += await switch.send(0, 1)
    assert (switch.takes(), await switch.read(page(0) + HELD)) == ([with_ece(held[0])], 4)
    await switch.set(max_hold=10)
    await switch.cycles(100)
    assert switch.takes() == [with_ece(ack) for ack in held[1:]]
    await switch.set(max_hold=0, room=CAPACITY)
    held = await switch.send(0, 1, 2)
    # Q = 9 is no more above K; Qmax - K is below nothing, so that there is no X.
    await switch.set(threshold=9)
    await switch.cycles(50)
    assert switch.takes() == held
    assert await switch.read(page(0) + STATE) == UNCONGESTED


@cocotb.test()
async def queues_in_bytes(dut: SimHandleBase) -> None:
    """Breaks if K, Qmax or X in bytes is compared with packets, or with other bytes than those of
    the frames that wait."""
    switch = await started(dut, control=ENABLE | IN_BYTES | CORRECTOR, threshold=250, floor=60)
    await switch.congest(4)
    assert await switch.read(page(0) + STATE) == UNCONGESTED, "240 bytes"
    await switch.send(1, 0, payload=46)
    now = [await switch.read(page(0) + at) for at in (STATE, LEVEL, PACKETS, BYTES)]
    assert now == [CONGESTED, 340, 5, 340]
    held = await switch.send(0, 1, 2)
    # Three frames of eight words go; 160 bytes wait, and X is 340 - 250 = 90.
    await switch.lines(0b11, 24)
    await switch.lines(0b10, 60)
    now = [await switch.read(page(0) + at) for at in (STATE, LEVEL, BYTES, HELD)]
    assert (now, switch.takes()[-1][:6]) == ([LIGHT, 90, 160, 2], frame(2)[:6])
    # One of 60 goes: 100; and the last, to 0.
    await switch.lines(0b11, 8)
    await switch.lines(0b10, 60)
    assert await switch.read(page(0) + HELD) == 2
    await switch.lines(0b11, 60)
    assert switch.takes()[-2:] == [with_ece(ack) for ack in held]


@cocotb.test()
async def a_full_output_queue(dut: SimHandleBase) -> None:
    """Breaks if an output queue takes fewer frames than its memory holds or a part of one that it
    has no room for, drops another than the last, or drops one that there is room for again."""
    # 32 lengths and one beyond them; four frames of 126 words in 512.
    for payload, room in [(6, 33), (950, 4)]:
        switch = await started(dut)
        await switch.lines(0)
        frames = await switch.send(1, 0, room, payload)
        assert await switch.read(counter(0, "dropped")) == 0
        await switch.send(1, 0, 3, payload)
        assert await switch.read(counter(0, "dropped")) == 3
        assert await switch.read(page(0) + PACKETS) == room
        assert await switch.read(page(0) + BYTES) == sum(map(len, frames))
        await switch.lines(0b11, 700)
        assert switch.takes() == frames
        assert [await switch.read(page(0) + at) for at in (PACKETS, BYTES)] == [0, 0]
        later = await switch.send(1, 0, 1, payload)
        await switch.cycles(300)
        assert switch.takes() == later
        assert await switch.read(counter(0, "dropped")) == 3


def main() -> int:
    tests, failed = run("abq_switch", "registers", PARAMETERS, Path(sys.argv[1]) / "registers")
    for name in failed:
        print(f"failed: {name} ({sys.argv[1]}/registers/registers.log)")
    print(f"{tests - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
