"""A reproduction cut into shards, as a comparison is (:mod:`leafspine.shards`).

A shard has its part of the runs, and in ``reproduction.json`` which figures they are of; the pages
are made when all are merged.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leafspine import engine, folder, merging, places
from leafspine.errors import DamagedError, InputError
from leafspine.keywords import another_directory
from leafspine.merging import Kind
from leafspine.places import How
from leafspine.reproduce import reproducing
from leafspine.reproduce.data import Data
from leafspine.reproduce.plan import Plan
from leafspine.reproduce.reproducing import MARK, Chosen, Reproduction
from leafspine.shards import Shard
from leafspine.tasks import Failure


def run(
    chosen: Sequence[Chosen],
    scale: str,
    directory: Path,
    shard: Shard,
    *,
    how: How = places.SIMPLY,
    library: Path | None = None,
    progress_bar: bool = False,
) -> tuple[int, int, list[Failure]]:
    """Make a shard's runs beside ``directory``: how many are finished, of how many, what failed.

    Raises as :func:`leafspine.reproduce.reproducing.reproduce` does.
    """
    plans = reproducing.plans(chosen, scale)
    where = shard.directory(directory)
    keys = _keys(plans)
    own = set(shard.keys(keys))
    request = {
        "leafspine": engine.version(),
        "figures": [figure.path for entry in chosen for figure in entry.figures],
        "scale": scale,
        "papers": None if library is None else str(library.absolute()),
        "runs": [{"key": key} for key in keys],
        "shard": [shard.number, shard.count],
    }
    _refuse_another(where, request)
    reproducing.claim(where, request)
    kept = {entry.figure.path: Data() for entry in plans}
    failures = reproducing.run(plans, kept, where, how, progress_bar, only=own)
    missing = folder.missing(where, {e.case.key: e.case for p in plans for e in p.wanted})
    left = own & {task.case.key for task in missing}
    return len(own) - len(left), len(own), failures


def merge(
    directories: Sequence[Path],
    out: Path | None,
    copied: Callable[[int, int], None],
    *,
    draw: bool = True,
) -> Reproduction:
    """Put shards together in ``out``, and write the pages that one machine would have written.

    Nothing is run, and the shards stay as they are. Raises :class:`InputError` as
    :func:`leafspine.merging.merge` does, and if the papers are others here.
    """
    parts = merging.shards_of(KIND, directories)
    found = parts[0].found
    library = None if found["papers"] is None else Path(found["papers"])
    chosen = reproducing.choose(found["figures"], library)
    keys = [entry["key"] for entry in found["runs"]]
    if _keys(reproducing.plans(chosen, found["scale"])) != keys:
        raise InputError(
            f"{parts[0].directory} was made of other papers, or another version of them, than "
            "there are here: merge where the shards' runs were made"
        )
    where = out or merging.place(parts)
    reproducing.claim(where)
    merging.copy(parts, where, copied)
    return reproducing.reproduce(chosen, found["scale"], where, make_runs=False, draw=draw)


def _keys(plans: Sequence[Plan]) -> list[str]:
    return sorted({entry.case.key for plan_ in plans for entry in plan_.wanted})


def read(directory: Path) -> dict[str, Any]:
    """What a directory holds. Raises :class:`DamagedError`."""
    path = directory / MARK
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    names = ("leafspine", "figures", "scale", "papers", "runs")
    if not isinstance(found, dict) or (found and not all(name in found for name in names)):
        raise DamagedError(f"{path} is truncated or not leafspine's: it is not read")
    return found


def _refuse_another(directory: Path, request: dict[str, Any]) -> None:
    """Raise :class:`InputError` if a shard of something else lies there."""
    if (directory / MARK).is_file() and read(directory) != request:
        raise InputError(
            f"{directory} holds a shard of another reproduction: {another_directory()}"
        )


KIND = Kind(
    "reproduction",
    "leafspine reproduce --shard",
    MARK,
    read,
    {
        "leafspine": "the version of leafspine differs",
        "figures": "the figures differ",
        "scale": "the scale differs",
        "papers": "the folder of papers differs",
        "runs": "the runs differ",
    },
)
