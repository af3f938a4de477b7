"""Files that are there whole or not at all, with checksums that identify them.

What is written gets a temporary name, is forced to the disk and only then takes its place. A
directory so written has ``SHA256SUMS``, as ``sha256sum --check`` reads it: whatever is read again
is checked against it first. A temporary name is locked by the process that uses it, and the system
releases the lock when that process ends, on any machine: so leftovers can be identified.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Iterator, Set
from hashlib import file_digest, sha256
from pathlib import Path

from leafspine.errors import DamagedError, InputError, WriteError
from leafspine.keywords import another_directory

SUMS = "SHA256SUMS"
SCENARIO = "scenario.toml"
TIMING = "timing.json"
PLOTS = "plots"
CAPTURES = "pcap"

_TEMPORARY = re.compile(r"\.leafspine-[0-9a-f]{16}(\.lock)?")
_LOCK = ".lock"
_SUM = re.compile(r"([0-9a-f]{64})  ([^/]+)")

_WHAT_TO_DO = {
    errno.ENOSPC: "make room and",
    errno.EDQUOT: "make room and",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f) and",
    errno.EACCES: "allow writing there and",
    errno.EPERM: "allow writing there and",
    errno.EROFS: "allow writing there and",
    errno.EIO: "check the disk and",
}

_WRONG_PATH = (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)

_own: set[Path] = set()
"""Temporary names that this process uses: on some file systems it could lock them once more."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses in the block becomes one line: a :class:`WriteError`.

    Or an :class:`InputError`, if there can be nothing of this name.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        if error.errno in _WRONG_PATH:
            raise InputError(
                f"{path}: {os.strerror(error.errno or 0)}: {another_directory()}"
            ) from error
        number = error.errno
        reason = " ".join(str(error).split()) if number is None else os.strerror(number)
        todo = _WHAT_TO_DO.get(number or 0, "correct that and")
        raise WriteError(f"cannot write {path}: {reason}; {todo} run the same command again") from (
            error
        )


@contextlib.contextmanager
def replacing(directory: Path, *, over: bool = False) -> Iterator[Path]:
    """A new directory that becomes ``directory``, with its sums, when the block ends well.

    Raises :class:`WriteError`; then nothing is left. One that another process has finished
    meanwhile with the same bytes stays, unless ``over``; then its ``timing.json`` is replaced,
    or all of it if its sums differ.
    """
    with writing(directory):
        make_directory(directory.parent)
        sweep_leftovers(directory.parent)
        with _temporary_name(directory.parent) as temporary:
            temporary.mkdir()
            yield temporary
            _write_sums(temporary, {path.name for path in temporary.iterdir()})
            for path in sorted(temporary.iterdir()):
                _sync(path)
            _sync(temporary)
            if over:
                _publish_over(temporary, directory)
            else:
                _publish(temporary, directory)
            _sync(directory.parent)


@contextlib.contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """A temporary sibling that takes the file's place when the block ends well.

    Raises :class:`WriteError`; then the file is as it was.
    """
    with writing(path):
        make_directory(path.parent)
        sweep_leftovers(path.parent)
        with _temporary_name(path.parent) as temporary:
            yield temporary
            _sync(temporary)
            temporary.replace(path)
            _sync(path.parent)


@contextlib.contextmanager
def adding(directory: Path, name: str) -> Iterator[Path]:
    """A new folder that becomes ``name`` within ``directory``, which is there when the block ends
    well. One of this name that was there is replaced. Raises :class:`WriteError`."""
    with writing(directory / name):
        make_directory(directory.parent)
        with _temporary_name(directory.parent) as temporary:
            temporary.mkdir()
            yield temporary
            with _temporary_name(directory.parent) as old:
                if (directory / name).exists():
                    (directory / name).rename(old)
                temporary.rename(directory / name)
            _sync(directory)


def make_directory(directory: Path) -> None:
    """Make a directory and its parents, and sync them to the disk."""
    if directory.is_dir():
        return
    if os.path.lexists(directory):
        raise NotADirectoryError(errno.ENOTDIR, "", str(directory))
    make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    _sync(directory.parent)


def refuse_unwritable(directory: Path, *below: str) -> None:
    """Raise :class:`WriteError` if ``directory``, or what is ``below`` it, could not be made.

    Before work, not after it: what it would be in is made. Or :class:`InputError`, if there can be
    nothing of this name.
    """
    place = directory.joinpath(*below).absolute().parent
    with writing(directory):
        # Trying covers all causes: permissions, read-only file systems, pseudo file systems.
        try:
            make_directory(place)
            with _temporary_name(place) as temporary:
                temporary.mkdir()
        except FileNotFoundError:  # such as below /proc
            raise InputError(
                f"{directory}: nothing can be made there: {another_directory()}"
            ) from None


def is_temporary(name: str) -> bool:
    """Whether a file of this name is being written, or was when its process ended."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep_leftovers(parent: Path) -> None:
    """Remove what processes that have ended left half written."""
    try:
        found = {path.name for path in parent.iterdir() if is_temporary(path.name)}
    except OSError:
        return
    for name in sorted({name.removesuffix(_LOCK) for name in found}):
        if parent / name not in _own:
            _sweep(parent / name)


def _sweep(path: Path) -> None:
    lock = path.with_name(path.name + _LOCK)
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        _remove(path)
        return
    except OSError:
        return  # another user's
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
        lock.unlink(missing_ok=True)
    except OSError:
        pass  # in use, or where there are no locks
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _temporary_name(parent: Path) -> Iterator[Path]:
    """A name that is this process's own; what bears it at the end is removed."""
    while True:
        path = parent / f".leafspine-{secrets.token_hex(8)}"
        lock = path.with_name(path.name + _LOCK)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Not every file system has locks: leftovers stay there.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if lock.exists():  # else another process removed it before it was locked
            break
        os.close(descriptor)
    _own.add(path)
    try:
        yield path
    finally:
        _remove(path)
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(descriptor)
        _own.discard(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _publish(temporary: Path, directory: Path) -> None:
    try:
        temporary.rename(directory)
    except OSError:
        sums = directory / SUMS
        if not sums.is_file() or sums.read_bytes() != (temporary / SUMS).read_bytes():
            raise


def _publish_over(temporary: Path, directory: Path) -> None:
    if (directory / SUMS).read_bytes() == (temporary / SUMS).read_bytes():
        (temporary / TIMING).replace(directory / TIMING)
        _sync(directory)
        return
    # Between the two renamings there is no result, and so never half a one.
    with _temporary_name(directory.parent) as old:
        directory.rename(old)
        try:
            temporary.rename(directory)
        except OSError:
            old.rename(directory)
            raise


def _sync(path: Path) -> None:
    """Force a file, or the names in a directory, to the disk: a power cut keeps the order."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot do this for directories.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def _has_sum(name: str) -> bool:
    """Not what differs from run to run, nor what may be added later and is never read again."""
    return name not in (SUMS, TIMING) and not name.endswith(".csv")


def _write_sums(directory: Path, names: Set[str]) -> None:
    named = sorted(name for name in names if _has_sum(name))
    text = "".join(f"{_sum_of(directory / name)}  {name}\n" for name in named)
    (directory / SUMS).write_text(text, encoding="utf-8", newline="\n")


def _sum_of(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def read(directory: Path) -> dict[str, bytes]:
    """All files that have a sum, each of which is what was written.

    Raises :class:`DamagedError` for the first that is not.
    """
    return {name: _read(directory, name, value) for name, value in _sums(directory).items()}


def read_one(directory: Path, name: str) -> bytes:
    """One file that is what was written. Raises :class:`DamagedError` if it is not."""
    sums = _sums(directory)
    if name not in sums:
        raise damaged(directory, SUMS, f"does not name {name}")
    return _read(directory, name, sums[name])


def unknown(directory: Path) -> list[Path]:
    """Files in a result's directory that its sums do not name: they are never read."""
    known = set(_sums(directory))
    known |= {SUMS, TIMING, *(f"{name.removesuffix('.parquet')}.csv" for name in known)}
    return sorted(
        path
        for path in directory.iterdir()
        if path.name not in known and not is_temporary(path.name) and not _is_added(path)
    )


def _is_added(path: Path) -> bool:
    """Whether it is the folder of a run's figures or captures: anybody may put more there."""
    return path.name in (PLOTS, CAPTURES) and path.is_dir() and not path.is_symlink()


def damaged(directory: Path, name: str, what: str) -> DamagedError:
    """A file of ``directory`` is not what was written, and what to do about it."""
    return DamagedError(
        f"{directory / name} {what}: it is not read as a result; to run it again: "
        f"rm -r {shlex.quote(str(directory))}"
    )


def read_plain(directory: Path, name: str) -> bytes:
    """A file's contents. Raises :class:`DamagedError` if it is not a plain, readable one."""
    path = directory / name
    if path.is_symlink():
        raise damaged(directory, name, "is a symbolic link")
    if path.is_dir():
        raise damaged(directory, name, "is a directory")
    if not path.exists():
        raise damaged(directory, name, "is missing")
    if not path.is_file():
        raise damaged(directory, name, "is not a plain file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _read(directory: Path, name: str, value: str) -> bytes:
    contents = read_plain(directory, name)
    if sha256(contents).hexdigest() != value:
        what = "is truncated, changed or of another run" if contents else "is empty"
        raise damaged(directory, name, f"{what} (see {SUMS})")
    return contents


def _sums(directory: Path) -> dict[str, str]:
    text = read_plain(directory, SUMS).decode(errors="replace")
    sums = {}
    for line in text.splitlines():
        found = _SUM.fullmatch(line)
        if found is None:
            raise damaged(directory, SUMS, "is not a list of sums")
        sums[found[2]] = found[1]
    if not text.endswith("\n"):
        raise damaged(directory, SUMS, "is truncated" if text else "is empty")
    return sums
