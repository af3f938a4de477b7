"""A comparison cut into shards: each machine does one, and ``leafspine merge`` puts them together.

Which run is in which shard follows from the runs alone: they are sorted by key, which is as good as
shuffled, and dealt out one by one, so that the shards take about as long as each other.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leafspine.errors import refused

SUFFIX = ".shards"


@dataclass(frozen=True)
class Shard:
    """The ``number``-th, from 1, of ``count`` shards."""

    number: int
    count: int

    def keys(self, keys: Iterable[str]) -> list[str]:
        """Those of a comparison's runs that are in this shard."""
        return sorted(set(keys))[self.number - 1 :: self.count]

    def directory(self, whole: Path) -> Path:
        """Where it lies, beside the directory of the whole."""
        return beside(whole) / f"{self.number}-of-{self.count}"

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def beside(whole: Path) -> Path:
    """Where the shards of a directory lie."""
    return whole.with_name(whole.name + SUFFIX)


def parse(text: object) -> Shard | None:
    """The shard that ``--shard`` names. Raises :class:`InputError`."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text) if isinstance(text, str) else None
    if not found or int(found[1]) > int(found[2]):
        allowed = "I/N with I in 1 to N, such as 3/8 for the third of eight"
        raise refused(repr(text), allowed, file="--shard")
    return Shard(int(found[1]), int(found[2]))
