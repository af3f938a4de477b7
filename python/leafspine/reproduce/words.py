"""``words.toml``: what words such as "comparable" or "few" are worth, once for all papers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leafspine.reproduce import reading
from leafspine.reproduce.reading import Keys

FILE = "words.toml"
KINDS = ("within", "beyond", "below", "above")


@dataclass(frozen=True)
class Word:
    """A word with its bound in percent.

    ``kind``: ``within`` and ``beyond`` are differences of two; ``below`` and ``above`` are of a
    share. ``also``: words that mean the same.
    """

    name: str
    kind: str
    percent: float
    why: str
    also: tuple[str, ...] = ()


def read(path: Path) -> dict[str, Word]:
    """All words of a file, by each of their spellings. Raises :class:`InputError`."""
    found: dict[str, Word] = {}
    for name, table in reading.load(path).items():
        keys = Keys(table, path, (name,))
        word = _word(keys, name)
        for spelling in (name, *word.also):
            if spelling in found:
                raise keys.wrong(f"{spelling!r} has a bound already")
            found[spelling] = word
    return found


def _word(keys: Keys, name: str) -> Word:
    bounds = {kind: keys.get(kind, (int, float)) for kind in KINDS}
    given = {kind: float(value) for kind, value in bounds.items() if value is not None}
    why, also = keys.need("why", str), keys.texts("also")
    keys.end()
    if len(given) != 1:
        raise keys.wrong(f"needs one of {', '.join(KINDS)}")
    ((kind, percent),) = given.items()
    return Word(name, kind, percent, why, also)


def of(library: Path, shipped: Path) -> Mapping[str, Word]:
    """The words of a folder of papers; if it has none, those that ship."""
    own = library / FILE
    return read(own if own.is_file() else shipped / FILE)
