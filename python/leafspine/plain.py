"""Files that should be text, and what they are if they are none."""

from pathlib import Path

from leafspine.errors import InputError

PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
"""What a packed file begins with."""


def decode(path: Path, data: bytes) -> str:
    """A file's text. Raises :class:`InputError` that says what it is, if it is none."""
    for magic, name in PACKED.items():
        if data.startswith(magic):
            raise InputError(f"{path}: found a {name} file; allowed: text: decompress it first")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: found UTF-16 text; allowed: UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
    if "\0" in text:
        raise InputError(f"{path}: no text (byte {text.index(chr(0))} is zero)")
    # As a file that is read as text.
    return text.replace("\r\n", "\n").replace("\r", "\n")
