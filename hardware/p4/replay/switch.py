"""v1model: what is around a program's six blocks."""

import random
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from lexer import P4Error
from program import Program, Scope
from states import Reject
from values import Bits, BitType, Record, StructType

STANDARD = StructType(
    "standard_metadata_t",
    False,
    {
        "ingress_port": BitType(9),
        "egress_spec": BitType(9),
        "egress_port": BitType(9),
        "instance_type": BitType(32),
        "packet_length": BitType(32),
        "enq_timestamp": BitType(32),
        "enq_qdepth": BitType(19),
        "deq_timedelta": BitType(32),
        "deq_qdepth": BitType(19),
        "ingress_global_timestamp": BitType(48),
        "egress_global_timestamp": BitType(48),
        "checksum_error": BitType(1),
    },
)
DROP = 511
EGRESS_CLONE, RECIRCULATED = 2, 4
CONSTANTS = {
    "HashAlgorithm": {"crc16": "crc16", "crc32": "crc32", "csum16": "csum16"},
    "CloneType": {"E2E": "E2E"},
}


class Words:
    """An enumeration of the target."""

    def __init__(self, words: dict[str, str]) -> None:
        self.words = words

    def member(self, name: str) -> str:
        """One of its words."""
        return self.words[name]


def concatenated(fields: list[Bits]) -> bytes:
    """Fields one after the other, as bytes."""
    value, width = 0, 0
    for each in fields:
        if each.width is None:
            raise P4Error("a field without a width")
        value, width = value << each.width | each.value, width + each.width
    if width % 8:
        raise P4Error(f"{width} bits are no bytes")
    return value.to_bytes(width // 8, "big")


def crc16(data: bytes) -> int:
    """CRC-16/ARC, which BMv2 means by crc16."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def csum16(data: bytes) -> int:
    """The Internet checksum."""
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


HASHES = {"crc16": crc16, "crc32": zlib.crc32, "csum16": csum16}


class Packet:
    """``packet_in`` and ``packet_out``."""

    def __init__(self, data: bytes = b"") -> None:
        self.data, self.at, self.out = data, 0, b""

    def member(self, name: str) -> Any:
        """``extract`` or ``emit``."""
        return {"extract": self.extract, "emit": self.emit}[name]

    def extract(self, arguments: Any) -> None:
        """``extract(header)``, or with the bits of its varbit."""
        record: Record = arguments[0][0]()
        varying = arguments[1][0]().value if len(arguments) > 1 else 0
        widths = {n: varying if k.varying else k.width for n, k in record.type.fields.items()}
        size = sum(widths.values()) // 8
        if self.at + size > len(self.data):
            raise Reject
        bits = int.from_bytes(self.data[self.at : self.at + size], "big")
        left = size * 8
        for name, width in widths.items():
            left -= width
            record.fields[name] = Bits(bits >> left & (1 << width) - 1, width)
        record.valid, self.at = True, self.at + size

    def emit(self, arguments: Any) -> None:
        """``emit(header)``."""
        record: Record = arguments[0][0]()
        if record.valid:
            self.out += concatenated(list(record.fields.values()))


class Switch:
    """A switch with a program. ``mirrors``: the port of each session.

    A packet that comes at ``now`` is queued ``ingress_takes`` later and dequeued ``waits`` after
    that, in us.
    """

    def __init__(self, file: Path, defines: dict[str, int], mirrors: dict[int, int]) -> None:
        self.program = Program(file, defines)
        self.mirrors = mirrors
        self.rng = random.Random(1)
        self.now = 0
        self.ingress_takes, self.waits = 0, 0
        names = {name: Words(words) for name, words in CONSTANTS.items()}
        self.scope = Scope(Scope(names=names | self._externs()), self.program.names)
        self.blocks = [self.program.controls[name] for name in self.program.main]

    def _externs(self) -> dict[str, Any]:
        return {
            "mark_to_drop": lambda a: a[0][0]().fields.update(egress_spec=Bits(DROP, 9)),
            "hash": self._hash,
            "random": lambda a: a[0][1](
                Bits(self.rng.randint(a[1][0]().value, a[2][0]().value), 64)
            ),
            "truncate": lambda a: setattr(self, "_truncated", a[0][0]().value),
            "clone_preserving_field_list": lambda a: setattr(
                self, "_clone", (a[1][0]().value, a[2][0]().value)
            ),
            "recirculate_preserving_field_list": lambda _: setattr(self, "_again", True),
            "verify_checksum": self._verify,
            "update_checksum": self._update,
        }

    def _hash(self, arguments: Any) -> None:
        (_, put), (name, _), (base, _), (fields, _), (size, _) = arguments
        put(
            Bits(base().value + HASHES[name()](concatenated(fields())) % size().value, size().width)
        )

    def _verify(self, arguments: Any) -> None:
        (when, _), (fields, _), (found, _), (name, _) = arguments
        if when() and HASHES[name()](concatenated(fields())) != found().value:
            self.wrong_checksums += 1

    def _update(self, arguments: Any) -> None:
        (when, _), (fields, _), (_, put), (name, _) = arguments
        if when():
            put(Bits(HASHES[name()](concatenated(fields())), 16))

    def process(self, data: bytes, port: int, instance: int = 0) -> list[tuple[int, bytes]]:
        """A packet comes in by ``port``: what goes out, and where."""
        hdr, meta = self.program.types["headers_t"].zero(), self.program.types["metadata_t"].zero()
        standard = STANDARD.zero()
        standard.fields["ingress_port"] = Bits(port, 9)
        standard.fields["instance_type"] = Bits(instance, 32)
        standard.fields["ingress_global_timestamp"] = Bits(self.now, 48)
        packet = Packet(data)
        self.wrong_checksums = 0
        parser, verify, ingress, *_ = self.blocks
        with suppress(Reject):
            parser.run(self.scope, [packet, hdr, meta, standard])
        verify.run(self.scope, [hdr, meta])
        standard.fields["checksum_error"] = Bits(int(self.wrong_checksums > 0), 1)
        ingress.run(self.scope, [hdr, meta, standard])
        if standard.fields["egress_spec"].value == DROP:
            return []
        standard.fields["egress_port"] = standard.fields["egress_spec"]
        self._dequeue(standard)
        return self._leave(hdr, meta, standard, data[packet.at :])

    def _dequeue(self, standard: Record) -> None:
        """What v1model says of a packet's time in the queue."""
        enqueued = self.now + self.ingress_takes
        standard.fields["enq_timestamp"] = Bits(enqueued, 32)
        standard.fields["deq_timedelta"] = Bits(self.waits, 32)
        standard.fields["egress_global_timestamp"] = Bits(enqueued + self.waits, 48)

    def _leave(
        self, hdr: Record, meta: Record, standard: Record, rest: bytes
    ) -> list[tuple[int, bytes]]:
        """The egress pipeline, and the clones that it makes."""
        _, _, _, egress, update, deparser = self.blocks
        self._clone: tuple[int, int] | None = None
        self._again, self._truncated = False, None
        egress.run(self.scope, [hdr, meta, standard])
        clone, again, most = self._clone, self._again, self._truncated
        out: list[tuple[int, bytes]] = []
        if clone is not None:
            session, chosen = clone
            kept = meta.type.zero()
            for name, number in meta.type.lists.items():
                if number == chosen:
                    kept.fields[name] = meta.fields[name]
            # All else of a clone's standard metadata begins anew.
            own = STANDARD.zero()
            self._dequeue(own)
            own.fields["instance_type"] = Bits(EGRESS_CLONE, 32)
            own.fields["egress_port"] = Bits(self.mirrors[session], 9)
            out += self._leave(hdr.copy(), kept, own, rest)
        update.run(self.scope, [hdr, meta])
        packet = Packet()
        deparser.run(self.scope, [packet, hdr])
        data = (packet.out + rest)[:most]
        if again:
            return out + self.process(data, standard.fields["egress_port"].value, RECIRCULATED)
        return [(standard.fields["egress_port"].value, data), *out]
