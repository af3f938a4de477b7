"""Shards put together: the directory that one machine would have made.

Of a comparison, and by :mod:`leafspine.reproduce.sharing` of a reproduction.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafspine import files, folder, loading, manifest, results
from leafspine.comparison import Comparison
from leafspine.errors import InputError
from leafspine.keywords import another_directory, option
from leafspine.manifest import MANIFEST
from leafspine.shards import SUFFIX, Shard


@dataclass(frozen=True)
class Kind:
    """What was cut into shards: what it is called, the command that cuts it, the file that says
    which it is, how that is read, and what the files of its shards have in common, in words."""

    name: str
    command: str
    mark: str
    read: Callable[[Path], dict[str, Any]]
    same: Mapping[str, str]


COMPARISON = Kind(
    "comparison",
    "leafspine compare --shard",
    MANIFEST,
    manifest.read,
    {
        "leafspine": "the version of leafspine differs",
        "name": "the scenario's name differs",
        "scenario": "the scenario differs",
        "settings": "the settings differ",
        "runs": "the runs differ",
    },
)


@dataclass(frozen=True)
class Part:
    """The directory of a shard, and what its manifest says."""

    directory: Path
    found: dict[str, Any]
    shard: Shard

    @property
    def keys(self) -> list[str]:
        """The runs that belong in it."""
        return self.shard.keys(run["key"] for run in self.found["runs"])

    def unfinished(self) -> int:
        """How many of them are not there."""
        runs = self.directory / "runs"
        return sum(not (runs / key / files.SUMS).is_file() for key in self.keys)


def merge(
    directories: Sequence[Path], out: Path | None, copied: Callable[[int, int], None]
) -> Comparison:
    """Put shards together in ``out``, by default where they would be if there were no shards.

    ``directories``: those of the shards, or one that they lie in. ``copied`` gets how many runs of
    how many are there. Nothing is run, and the shards stay as they are. Raises
    :class:`InputError` if one is missing, not finished, or of another comparison or build.
    """
    parts = shards_of(COMPARISON, directories)
    where = out or place(parts)
    whole = {
        name: value for name, value in parts[0].found.items() if name not in ("shard", "source")
    }
    if folder.holds_comparison(where) and manifest.read(where)["runs"] != whole["runs"]:
        raise InputError(f"{where} holds another comparison: {another_directory()}")
    folder.make_runs(where)
    copy(parts, where, copied)
    manifest.put(whole, where)
    merged = loading.comparison(where)
    # As it was typed: a report says it.
    name = str(parts[0].found.get("source", merged.source.name))
    return replace(merged, source=replace(merged.source, name=name))


def shards_of(kind: Kind, directories: Sequence[Path]) -> list[Part]:
    """All shards of one whole, by number. Raises :class:`InputError` for anything else."""
    parts = _parts(kind, directories)
    _of_one_whole(kind, parts)
    _complete(parts)
    _of_one_build(parts)
    return parts


def copy(parts: Sequence[Part], where: Path, copied: Callable[[int, int], None]) -> None:
    """Copy the shards' runs into the directory of the whole."""
    total, count = sum(len(part.keys) for part in parts), 0
    copied(0, total)
    for part in parts:
        for key in part.keys:
            _copy(part.directory / "runs" / key, where / "runs" / key)
            count += 1
            copied(count, total)


def place(parts: Sequence[Part]) -> Path:
    """Where the whole goes: the shards lie in ``<whole>.shards``."""
    shard = parts[0].directory
    beside = shard.absolute().parent
    if not beside.name.endswith(SUFFIX):
        raise InputError(
            f"{shard} does not lie in a directory {SUFFIX}: say where with {option('out')}"
        )
    return beside.with_name(beside.name.removesuffix(SUFFIX))


def holds(kind: Kind, directory: Path) -> bool:
    """Whether a directory is a shard of this kind, or has one."""
    return (directory / kind.mark).is_file() or any(directory.glob(f"*/{kind.mark}"))


def _parts(kind: Kind, directories: Sequence[Path]) -> list[Part]:
    """The shards by number."""
    found = []
    for directory in directories:
        if not directory.is_dir():
            raise InputError(f"{directory}: no such directory")
        if not holds(kind, directory):
            raise InputError(
                f"{directory} holds no shard of a {kind.name}, as `{kind.command}` leaves"
            )
        inside = sorted(path.parent for path in directory.glob(f"*/{kind.mark}"))
        for path in [directory] if (directory / kind.mark).is_file() else inside:
            found.append(_part(kind, path))
    return sorted(found, key=lambda part: part.shard.number)


def _part(kind: Kind, directory: Path) -> Part:
    found = kind.read(directory)
    numbers = found.get("shard")
    if not isinstance(numbers, list) or [type(entry) for entry in numbers] != [int, int]:
        raise InputError(f"{directory} holds a whole {kind.name}, not a shard of one")
    return Part(directory, found, Shard(*numbers))


def _of_one_whole(kind: Kind, parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for name, words in kind.same.items():
            if part.found.get(name) != first.found.get(name):
                raise InputError(
                    f"{first.directory} and {part.directory} are shards of different "
                    f"{kind.name}s: {words}"
                )
        if part.shard.count != first.shard.count:
            raise InputError(
                f"{first.directory} is shard {first.shard}, {part.directory} shard {part.shard}: "
                "shards of one cut are needed"
            )


def _complete(parts: Sequence[Part]) -> None:
    numbers = [part.shard.number for part in parts]
    if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise InputError(f"shard {twice[0]} is there twice: name each directory once")
    count = parts[0].shard.count
    if missing := [number for number in range(1, count + 1) if number not in numbers]:
        names = ", ".join(map(str, missing))
        one = len(missing) == 1
        raise InputError(
            f"shard{'' if one else 's'} {names} of {count} {'is' if one else 'are'} missing"
        )
    for part in parts:
        if left := part.unfinished():
            raise InputError(
                f"shard {part.shard} in {part.directory} is not finished: {left} of "
                f"{len(part.keys)} runs are missing; the command that made it goes on with them"
            )


def _of_one_build(parts: Sequence[Part]) -> None:
    builds: dict[str, Path] = {}
    for part in parts:
        for key in part.keys:
            run = part.directory / "runs" / key
            builds.setdefault(str(results.timing(run).get("build")), run)
    if len(builds) > 1:
        names = " and ".join(f"{build} ({run})" for build, run in list(builds.items())[:2])
        raise InputError(f"the shards were made by different builds of leafspine: {names}")


def _copy(made: Path, directory: Path) -> None:
    """Copy a finished result, every file of which is what was written."""
    if (directory / files.SUMS).is_file():
        files.read(directory)
        return
    contents = files.read(made)
    with files.replacing(directory) as temporary:
        for name, data in contents.items():
            (temporary / name).write_bytes(data)
        for path in [made / files.TIMING, *made.glob("*.csv")]:
            if path.is_file():
                shutil.copyfile(path, temporary / path.name)
