"""Frames that go into the RTL, and what it may have changed in those that come out: by Scapy."""

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

# Of the smallest Ethernet frame, without its check sequence.
SMALLEST = 60

Fields = dict[str, str]


def padded(frame: Packet) -> bytes:
    """The frame's bytes, padded to Ethernet's smallest."""
    return bytes(frame).ljust(SMALLEST, b"\0")


def address(host: int) -> str:
    return f"10.0.{host >> 8}.{host & 255}"


def of_vector(packet: Fields, number: int) -> bytes:
    """A decision vector's packet as a frame. Its number stands in TCP's acknowledgment number."""
    flags = packet.get("flags", "-")
    ends = IP(src=address(int(packet["src"])), dst=address(int(packet["dst"])))
    if "P" in flags:
        return padded(Ether() / ends / UDP() / Raw(number.to_bytes(4)))
    tcp = TCP(
        sport=int(packet["sport"]),
        dport=int(packet["dport"]),
        seq=int(packet.get("seq", "0")),
        ack=number,
        flags="".join(letter for letter in flags if letter in "SAFREC"),
    )
    ends.tos = int(packet.get("ecn", "0"))
    return padded(Ether() / ends / tcp / Raw(bytes(int(packet.get("payload", "0")))))


def with_ece(frame: bytes) -> bytes:
    """The frame with ECE, and a checksum that Scapy has recomputed."""
    parsed = Ether(frame)
    parsed[TCP].flags |= "E"
    del parsed[TCP].chksum
    return bytes(parsed)
