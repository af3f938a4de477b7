"""Tokens of P4_16, after the C preprocessor."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(
    r"(?P<number>\d+[ws]0[xX][0-9a-fA-F]+|\d+[ws]\d+|0[xX][0-9a-fA-F]+|\d+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>&&&|\|\+\||\|-\||\+\+|<<|<=|>=|==|!=|&&|\|\||[-{}()\[\];:,.<>=+*&|^!~?@])"
    r"|(?P<space>\s+)"
)


class P4Error(Exception):
    """What is no P4, or no P4 that is understood here."""


class Token(NamedTuple):
    """Its kind, what it says, and where in the preprocessed text it stands."""

    kind: str
    text: str
    at: int


def preprocess(file: Path, defines: dict[str, int]) -> str:
    """The text of a program, without the target's own files, which <...> includes."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("core.p4", "v1model.p4"):
            (Path(empty) / name).touch()
        given = [f"-D{name}={value}" for name, value in defines.items()]
        command = ["cc", "-E", "-P", "-x", "c", "-nostdinc", "-I", empty, *given, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise P4Error(done.stderr.strip())
    return done.stdout


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a preprocessed text, and one that ends it."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise P4Error(f"no token: {text[at : at + 40]!r}")
        kind = str(found.lastgroup)
        if kind != "space":
            yield Token(kind, found.group(), at)
        at = found.end()
    yield Token("end", "", at)
