"""The compiled engine of this process: leafspine's own, or one with schemes from outside.

A crate that is no part of leafspine builds a whole engine, its own schemes beside leafspine's
(``template/`` in the repository), and its distribution says where: the entry point of the group
``leafspine.engine``. An installed one takes the place of ``leafspine._engine``, in worker processes
as well. Attributes of this module are those of the engine, which is loaded with the first of them.
"""

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from leafspine.errors import InputError

GROUP = "leafspine.engine"
OWN = "leafspine._engine"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # the import system asks for some
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(module(), name)


@cache
def module() -> ModuleType:
    """The engine.

    Raises :class:`InputError` if several are installed, or one that does not fit this package.
    """
    own = importlib.import_module(OWN)
    installed = from_outside()
    if not installed:
        return own
    if len(installed) > 1:
        names = " and ".join(_owner(entry) for entry in installed)
        raise InputError(f"several engines are installed, by {names}: keep one (pip uninstall)")
    return _load(installed[0], own)


def from_outside() -> list[EntryPoint]:
    """What distributions say of their engines."""
    return sorted(entry_points(group=GROUP), key=_owner)


def _owner(entry: EntryPoint) -> str:
    """Name and version of the distribution that an engine belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _load(entry: EntryPoint, own: ModuleType) -> ModuleType:
    owner = _owner(entry)
    try:
        engine = importlib.import_module(entry.value)
        version, sources = engine.version(), engine.sources()
    except Exception as error:
        raise InputError(f"the engine of {owner} cannot be loaded: {error}") from error
    if version != own.version():
        built = f"with leafspine {version}, but the package is leafspine {own.version()}"
    elif sources != own.sources():
        built = f"from other sources of leafspine {version} than the package"
    else:
        return engine
    raise InputError(
        f"the engine of {owner} was built {built}: rebuild it (maturin develop --release in its "
        "folder), or remove it (pip uninstall)"
    )
