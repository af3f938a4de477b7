"""What the programs do with packets as they are built for forwarding, on any switch."""

from collections.abc import Iterator
from typing import Any, Protocol

from vectors import Differs, Switch, ip_packet

VECTORS = ("qall-p4", "qdaps-p4", "tam-p4")
"""Whose control plane each program is given: four hosts at ports 0 to 3, four uplinks at 4 to 7."""
UPLINKS = (4, 5, 6, 7)
BELOW, BEYOND, UNKNOWN = 1, 4, 9
"""Hosts."""


class Forwards(Switch, Protocol):
    """What packets are sent through."""

    def forward(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0, and waits until nothing more comes out: ports and frames."""

    def word(self, name: str, index: int) -> int:
        """Reads a register's word."""


def ip_frame(**fields: object) -> bytes:
    """An Ethernet frame with a TCP packet of 1,500 bytes."""
    packet: dict[str, Any] = {"src": 0, "dst": BEYOND, "sport": 1024, "dport": 5001}
    packet |= {"size": 1500, "flags": "AD", "ecn": 2}
    return bytes(12) + b"\x08\x00" + ip_packet(packet | fields)


def set_up(switch: Switch, plane: dict[str, Any]) -> None:
    """The control plane of a vector, and one host each way."""
    for entry in plane["tables"]:
        switch.entry(entry["table"], entry["match"], entry["action"], entry["data"])
    for word in plane["registers"]:
        switch.register(word["register"], word["index"], word["value"])
    switch.entry("hosts", [0x0A000000 | BELOW], "set_host", [BELOW])
    switch.entry("paths", [0x0A000000 | BEYOND], "set_paths", [0b1111, 0, 0, 0, 0])


def expect(what: str, found: object, wanted: object) -> None:
    """A difference is an error."""
    if found != wanted:
        raise Differs(f"{what}: {found}, not {wanted}")


def whole_or_not_at_all(switch: Forwards) -> None:
    """Packets leave as they came, by the port of their host or an uplink; what is damaged, has no
    destination or is no IPv4 ends."""
    expect("below", switch.forward(ip_frame(dst=BELOW)), [(BELOW, ip_frame(dst=BELOW))])
    out = switch.forward(ip_frame())
    expect("beyond", [data for _, data in out], [ip_frame()])
    expect("an uplink", out[0][0] in UPLINKS, True)
    damaged = bytearray(ip_frame())
    damaged[22] ^= 1
    expect("a wrong checksum", switch.forward(bytes(damaged)), [])
    expect("an unknown host", switch.forward(ip_frame(dst=UNKNOWN)), [])
    expect("no IPv4", switch.forward(bytes(60)), [])


def with_options(frame: bytes) -> bytes:
    """The frame's packet with four bytes of IP options: three no-operations and the list's end."""
    from vectors import checksum

    ip = bytearray(frame[14:34] + b"\x01\x01\x01\x00")
    ip[0] = 0x46
    ip[2:4] = (int.from_bytes(ip[2:4], "big") + 4).to_bytes(2, "big")
    ip[10:12] = bytes(2)
    ip[10:12] = checksum(bytes(ip)).to_bytes(2, "big")
    return frame[:14] + bytes(ip) + frame[34:]


def options_too(switch: Forwards) -> None:
    """IP options are passed on, and their damage is seen."""
    frame = with_options(ip_frame())
    expect("options", [data for _, data in switch.forward(frame)], [frame])
    damaged = bytearray(frame)
    damaged[35] ^= 2
    expect("damaged options", switch.forward(bytes(damaged)), [])


def clones_return(switch: Forwards) -> None:
    """QALL's first dequeue after T_b writes its port's register by a clone that ends then: L = 0,
    V = 1 and the longest T, as after a pause that is longer. Where it is not, T is the pause."""
    switch.entry("paths", [0x0A000000 | BEYOND], "set_paths", [0b0001, 0, 0, 0, 0])
    switch.register("behaviour_0", 0, 0)
    expect("a clone", [port for port, _ in switch.forward(ip_frame())], [UPLINKS[0]])
    expect("behaviour_0", switch.word("behaviour_0", 0), 1 << 48 | 100)
    # tau = 10 s, T_b = 5 us. `forward` pauses for 0.3 s.
    switch.entry("collection", [], "set_collection", [1 << 40, 10_000_000, 5, 2, 0, 0])
    switch.forward(ip_frame())
    pause = switch.word("behaviour_0", 0) & (1 << 48) - 1
    expect(f"T of {pause} us is the pause", 200_000 < pause < 3_000_000, True)


def queues_are_counted(switch: Forwards) -> None:
    """A packet is counted into its uplink's queue and out of it, in bytes and in packets."""
    counters = [
        (f"{way}_{unit}_{uplink}", UPLINKS[uplink], amount)
        for way in ("enqueued", "dequeued")
        for unit, amount in (("bytes", 1500), ("packets", 1))
        for uplink in range(len(UPLINKS))
    ]
    before = [switch.word(name, 0) for name, _, _ in counters]
    ((port, _),) = switch.forward(ip_frame())
    for (name, own, amount), old in zip(counters, before, strict=True):
        expect(name, switch.word(name, 0) - old, amount if port == own else 0)


def marks_are_right(switch: Forwards) -> None:
    """TAM's mark has its checksum; what is not capable of marks has none."""
    switch.entry("thresholds", [BELOW], "set_thresholds", [0, 0, 0])
    for ecn, marked in ((2, 3), (1, 3), (0, 0)):
        out = switch.forward(ip_frame(dst=BELOW, ecn=ecn))
        expect(f"ECN {ecn}", out, [(BELOW, ip_frame(dst=BELOW, ecn=marked))])


def checks(program: str) -> Iterator[Any]:
    """All that is to be seen of a program, in this order."""
    yield from (whole_or_not_at_all, options_too)
    if program == "qall":
        yield clones_return
    else:
        yield queues_are_counted
    if program == "tam":
        yield marks_are_right
