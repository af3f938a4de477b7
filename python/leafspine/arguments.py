"""Arguments of the Python API as they should be, or one clear line about those that are not."""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspine.errors import InputError, RunError, WriteError, refused
from leafspine.keywords import another_directory


def refuse(name: str, found: object, allowed: str) -> InputError:
    """The error of an argument."""
    try:
        shown = " ".join(repr(found).split())
    except Exception:  # a repr of the caller's own
        shown = "something that cannot be shown"
    short = shown if len(shown) <= 60 else shown[:57] + "..."
    return refused(f"{short} ({type(found).__name__})", allowed, key=name)


def scenario(found: object) -> None:
    """A path, text or a mapping."""
    if not isinstance(found, str | os.PathLike | Mapping):
        raise refuse("the scenario", found, "a path, TOML text or a mapping")
    if isinstance(found, Mapping):
        return
    path = os.fspath(found)
    if not isinstance(path, str):
        raise refuse("the scenario", found, "a path of text, TOML text or a mapping")
    if "\0" in path:
        raise refuse("the scenario", found, "text without NUL characters")
    unicode("the scenario", path)


def unicode(name: str, found: str) -> str:
    """Text that can be written as UTF-8: no half of a surrogate pair."""
    try:
        found.encode()
    except UnicodeEncodeError:
        raise refuse(name, found, "text that UTF-8 can hold") from None
    return found


def directory(name: str, found: object) -> Path | None:
    """A path, or nothing."""
    if found is None:
        return None
    path = os.fspath(found) if isinstance(found, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise refuse(name, found, "a path")
    return Path(unicode(name, path))


@contextlib.contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """What the system says against a path, as bad input; against writing at all, as a failure."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        where = error.filename or path
        message = f"{where}: {error.strerror or error}"
        wrong = (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError)
        if isinstance(error, wrong) or error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise InputError(f"{message}: {another_directory()}") from error
        raise RunError(message) from error


def flag(name: str, found: object, *, optional: bool = False) -> None:
    """True or false."""
    if found is None and optional:
        return
    if not isinstance(found, bool):
        raise refuse(name, found, "True or False")


def count(name: str, found: object, *, optional: bool = True, least: int = 1) -> None:
    """A whole number."""
    if found is None and optional:
        return
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found < 2**63:
        raise refuse(name, found, f"a whole number, at least {least}")


def counts(name: str, found: object) -> None:
    """A list of whole numbers."""
    for each in _elements(found, [None]):
        whole = isinstance(each, int) or hasattr(each, "__index__")
        if isinstance(each, bool) or not whole:
            raise refuse(name, found, "a list of whole numbers")


def names(name: str, found: object) -> None:
    """A list of names."""
    if not all(isinstance(each, str) for each in _elements(found, [None])):
        raise refuse(name, found, "a list of names")


def numbers(name: str, found: object) -> None:
    """A list of numbers."""
    real = (int, float)
    if not all(
        (isinstance(each, real) and not isinstance(each, bool)) or hasattr(each, "item")
        for each in _elements(found, [None])
    ):
        raise refuse(name, found, "a list of numbers")


def values(name: str, found: object) -> None:
    """Values by key, a list each."""
    if not isinstance(found, Mapping):
        raise refuse(name, found, "a mapping from keys to lists of values")
    for key, each in found.items():
        if not isinstance(key, str):
            raise refuse(f"a key of {name}", key, "a name such as workload.0.load")
        if _elements(each, None) is None:
            raise refuse(f"{name}[{key!r}]", each, "a list of values")


def text(name: str, found: object, *, optional: bool = True) -> None:
    """Text, or nothing."""
    if found is None and optional:
        return
    if not isinstance(found, str):
        raise refuse(name, found, "text")


def _elements(found: Any, otherwise: Any) -> Any:
    """A list, a tuple, a range or an array of one dimension as it is; or else the other."""
    if isinstance(found, Sequence):
        text = isinstance(found, str | bytes | bytearray | memoryview)
        return otherwise if text else found
    return found if getattr(found, "ndim", None) == 1 else otherwise
