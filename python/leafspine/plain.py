"""Files that should be text, and what they are if they are none."""

import os
import stat
from pathlib import Path

from leafspine.errors import InputError, refused

PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
"""What a packed file begins with."""


def read(path: Path, most: int) -> bytes:
    """A file's bytes. Raises :class:`InputError` for a device or a socket, which may have no end,
    and for more than ``most`` bytes; a pipe is read so far."""
    with path.open("rb") as stream:
        kind = os.fstat(stream.fileno()).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise refused("a device or a socket", "a file of text", file=str(path))
        data = stream.read(most + 1)
    if len(data) > most:
        allowed = f"a file of text of at most {most >> 20} MiB"
        raise refused(f"more than {most >> 20} MiB", allowed, file=str(path))
    return data


def decode(path: Path, data: bytes) -> str:
    """A file's text. Raises :class:`InputError` that says what it is, if it is none."""
    for magic, name in PACKED.items():
        if data.startswith(magic):
            raise refused(f"a {name} file", "text: decompress it first", file=str(path))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refused("UTF-16 text", "UTF-8", file=str(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{path}: not UTF-8 text (byte {error.start})"
        raise InputError(where, file=str(path)) from None
    if "\0" in text:
        raise InputError(f"{path}: not text (byte {text.index(chr(0))} is zero)", file=str(path))
    # As a file that is read as text.
    return text.replace("\r\n", "\n").replace("\r", "\n")
