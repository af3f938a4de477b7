"""Frames that came out of the RTL are those that went in, but for ECE and TCP's checksum.

By Scapy, which computes the checksums again. Takes the folder that ``lockstep --pcap`` has filled.
"""

import sys
from pathlib import Path

from scapy.utils import RawPcapReader

from frames import with_ece

# A frame's number is in its destination's address.
NUMBER = slice(2, 6)


def check(sent: Path, received: Path) -> tuple[int, int]:
    """How many frames came out, and how many of them with ECE set."""
    before = {frame[NUMBER]: frame for frame, _ in RawPcapReader(str(sent))}
    frames = marked = 0
    for found, _ in RawPcapReader(str(received)):
        frames += 1
        original = before[found[NUMBER]]
        if found != original:
            marked += 1
            assert found == with_ece(original), f"{received.name}: frame {found[NUMBER].hex()}"
    return frames, marked


def main() -> int:
    frames = marked = 0
    for sent in sorted(Path(sys.argv[1]).glob("*-sent.pcap")):
        some, of_them = check(sent, sent.with_name(sent.name.replace("sent", "received")))
        frames, marked = frames + some, marked + of_them
    print(f"{frames} frames as they were sent, {marked} of them but for ECE and the checksum")
    print(f"{frames} passed, 0 failed")
    return 0 if frames else 1


if __name__ == "__main__":
    sys.exit(main())
