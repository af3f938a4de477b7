"""TOML tables into typed records, with one clear error for what does not fit."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leafspine import engine
from leafspine.errors import InputError, refused
from leafspine.nearest import nearest

Table = Mapping[str, Any]


def load(path: Path) -> Table:
    """A TOML file as a table. Raises :class:`InputError`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}", file=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", file=str(path)) from None


def load_figure(path: Path) -> Table:
    """A figure's file, where ``only`` and ``variants`` may name one of the paper's ``[groups]``."""
    paper = path.parent.parent / "paper.toml"
    groups = load(paper).get("groups", {}) if paper.exists() else {}
    return {key: _ungrouped(value, groups, key) for key, value in load(path).items()}


def _ungrouped(value: Any, groups: Table, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _ungrouped(entry, groups, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [_ungrouped(entry, groups, "") for entry in value]
    named = key in ("only", "variants") and isinstance(value, str)
    return groups.get(value, value) if named else value


def _line(file: Path, path: tuple[str, ...]) -> int | None:
    """The line of a key, or of the nearest table above it."""
    try:
        return engine.line_of(file.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError):
        return None


def _in_words(kinds: tuple[type, ...]) -> str:
    """What kinds of values are called where somebody writes them."""
    return ", ".join(dict.fromkeys(_KINDS.get(kind, kind.__name__) for kind in kinds))


_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class Keys:
    """One table of a file: gives its keys by type, and in the end refuses those that are left.

    ``path``: of the table in the file, with numbers of lists' elements; empty for the file itself.
    ``name``: what errors call the table, if not its path.
    """

    def __init__(
        self, table: object, file: Path, path: tuple[str, ...] = (), name: str = ""
    ) -> None:
        self.file = file
        self.path = path
        self.name = name or ".".join(path)
        if not isinstance(table, Mapping):
            line = _line(file, path)
            raise refused(repr(table), "a table", file=str(file), line=line, key=self.name)
        self.table = dict(table)
        self.known: list[str] = []

    def refuse(self, key: str, found: str, allowed: str, near: str | None = None) -> InputError:
        """The error of a key."""
        full = f"{self.name}.{key}" if self.name else key
        line = _line(self.file, (*self.path, key))
        return refused(found, allowed, file=str(self.file), line=line, key=full, nearest=near)

    def wrong(self, what: str) -> InputError:
        """The error of keys that do not go together."""
        line = _line(self.file, self.path)
        place = str(self.file) if line is None else f"{self.file}:{line}"
        message = ": ".join(part for part in (place, self.name, what) if part)
        return InputError(message, file=str(self.file), line=line, key=self.name or None)

    def get(self, key: str, kinds: type | tuple[type, ...], default: Any = None) -> Any:
        """A value of one of the types, or the default."""
        self.known.append(key)
        if key not in self.table:
            return default
        value = self.table[key]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise self.refuse(key, repr(value), _in_words(allowed))
        return value

    def need(self, key: str, kinds: type | tuple[type, ...]) -> Any:
        """A value that must be there."""
        value = self.get(key, kinds)
        if value is None:
            allowed = kinds if isinstance(kinds, tuple) else (kinds,)
            raise self.refuse(key, "nothing", _in_words(allowed))
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a string alone is a list of one."""
        value = self.get(key, (str, list), [])
        values = [value] if isinstance(value, str) else value
        if not all(isinstance(entry, str) for entry in values):
            raise self.refuse(key, repr(value), "a list of texts")
        return tuple(values)

    def word(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of the words allowed."""
        self.known.append(key)
        value = self.table.get(key, default)
        if value not in allowed:
            near = nearest(value, allowed) if isinstance(value, str) else None
            found = "nothing" if value is None else repr(value)
            raise self.refuse(key, found, ", ".join(allowed), near)
        return str(value)

    def end(self) -> None:
        """Refuse what is left."""
        for key in self.table:
            if key not in self.known:
                allowed = ", ".join(sorted(set(self.known)))
                found = "a key that does not belong here"
                raise self.refuse(key, found, allowed, nearest(key, self.known))
