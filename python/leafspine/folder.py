"""A comparison's directory: whose it is, what is missing in it, and what does not belong there.

It holds ``runs/<key>/`` with a result each (see :mod:`leafspine.results`), ``comparison.json`` with
the request (see :mod:`leafspine.manifest`), and tables, plots (see
:mod:`leafspine.pictures`) and the report, which are made from the runs.
"""

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leafspine import files, manifest, results
from leafspine.engine import Case
from leafspine.errors import DamagedError, InputError, Interrupted, WriteError
from leafspine.keywords import another_directory
from leafspine.manifest import MANIFEST
from leafspine.tasks import Task

OURS = frozenset(
    {MANIFEST, "runs", "tables.md", "tables.csv", "plots", "report.html", "fabric.html"}
    | {files.CAPTURES}
)
"""Names in the directory."""

_KEY = re.compile("[0-9a-f]{16}")


def claim(directory: Path, cases: Sequence[Case]) -> None:
    """Refuse a directory that holds anything but a part of this comparison, or make it."""
    if holds_comparison(directory):
        manifest.refuse_another(directory, cases)
    make_runs(directory)


def holds_comparison(directory: Path) -> bool:
    """Whether a directory has a comparison; no, if it is empty or not there. Raises
    :class:`InputError` if it has anything else."""
    if directory.is_symlink() and not directory.exists():
        raise InputError(f"{directory} is a symbolic link to nothing: {another_directory()}")
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file: {another_directory()}")
    if directory.is_dir():
        files.sweep_leftovers(directory)
        for name in ("runs", "plots"):
            files.sweep_leftovers(directory / name)
        names = {path.name for path in directory.iterdir() if not files.is_temporary(path.name)}
        if MANIFEST in names:
            return True
        if names and not ("runs" in names and names <= OURS):
            raise InputError(
                f"{directory} is not empty and holds no comparison of leafspine: "
                f"{another_directory()}"
            )
    return False


def make_runs(directory: Path) -> None:
    """Make the folder of the runs, and those that it is in, if it is not there."""
    if not (directory / "runs").is_dir():
        files.refuse_unwritable(directory, "runs", "any")


def missing(directory: Path, unique: Mapping[str, Case], *, check: bool = False) -> list[Task]:
    """The cases without a result, with ``check`` a checked one.

    Raises :class:`InputError` if anything stands in their place, :class:`WriteError` if there are
    some and nothing can be written.
    """
    tasks = []
    bad: dict[str, InputError] = {}
    for key, case in unique.items():
        task = Task(case, directory / "runs" / key)
        try:
            if not results.is_finished(task.directory, case, check=check):
                tasks.append(task)
        except DamagedError as error:
            bad[key] = error
        except InputError as error:
            place = shlex.quote(str(task.directory))
            bad[key] = InputError(f"{error}; to run it again: rm -r {place}")
    if bad:
        first, *others = bad
        more = f" ({len(others)} more are bad: {', '.join(others)})" if others else ""
        raise type(bad[first])(f"{bad[first]}{more}")
    if tasks:
        files.refuse_unwritable(directory, "runs", "any")
    return tasks


def unknown(directory: Path, finished: Sequence[Case]) -> list[Path]:
    """Files in the directory or its finished runs that leafspine did not write."""
    found = [path for path in directory.iterdir() if path.name not in OURS]
    found += [path for path in (directory / "runs").iterdir() if not _KEY.fullmatch(path.name)]
    found = [path for path in found if not files.is_temporary(path.name)]
    for key in dict.fromkeys(case.key for case in finished):
        found += files.unknown(directory / "runs" / key)
    return sorted(found)


@contextlib.contextmanager
def keeping(directory: Path, unique: Mapping[str, Case]) -> Iterator[None]:
    """An end before its time says what is kept: :class:`Interrupted`, :class:`WriteError`."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: {_kept(directory, unique)}; the same command goes on from there"
        ) from None
    except WriteError as error:
        raise WriteError(f"{error}; {_kept(directory, unique)}") from error


def _kept(directory: Path, unique: Mapping[str, Case]) -> str:
    """What is not lost when a comparison ends early, in words."""
    files.sweep_leftovers(directory / "runs")
    finished = sum((directory / "runs" / key / files.SUMS).is_file() for key in unique)
    return (
        f"{finished} of {len(unique)} runs are finished and kept in "
        f"{shlex.quote(str(directory / 'runs'))}"
    )
