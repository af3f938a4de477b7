"""TOML tables into typed records, with one clear error for what does not fit."""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leafspine.errors import InputError

Table = Mapping[str, Any]


def load(path: Path) -> Table:
    """A TOML file as a table. Raises :class:`InputError`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


class Keys:
    """One table of a file: gives its keys by type, and in the end refuses those nobody wanted."""

    def __init__(self, table: object, where: str) -> None:
        if not isinstance(table, Mapping):
            raise InputError(f"{where}: found {table!r}; allowed: a table")
        self.table = dict(table)
        self.where = where
        self.asked: list[str] = []

    def get(self, key: str, kinds: type | tuple[type, ...], default: Any = None) -> Any:
        """A value of one of the types, or the default."""
        self.asked.append(key)
        if key not in self.table:
            return default
        value = self.table[key]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            raise InputError(f"{self.where}: {key}: found {value!r}; allowed: {names}")
        return value

    def need(self, key: str, kinds: type | tuple[type, ...]) -> Any:
        """A value that must be there."""
        value = self.get(key, kinds)
        if value is None:
            raise InputError(f"{self.where}: {key} must be given")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a string alone is a list of one."""
        value = self.get(key, (str, list), [])
        values = [value] if isinstance(value, str) else value
        if not all(isinstance(entry, str) for entry in values):
            raise InputError(f"{self.where}: {key}: found {value!r}; allowed: a list of texts")
        return tuple(values)

    def word(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of the words allowed."""
        value = self.get(key, str, default)
        if value not in allowed:
            raise InputError(
                f"{self.where}: {key}: found {value!r}; allowed: {', '.join(allowed)}"
                + nearest(str(value), allowed)
            )
        return str(value)

    def end(self) -> None:
        """Refuse what is left."""
        for key in self.table:
            if key not in self.asked:
                raise InputError(
                    f"{self.where}: {key}: found a key that does not belong here; "
                    f"allowed: {', '.join(sorted(set(self.asked)))}" + nearest(key, self.asked)
                )


def nearest(found: str, allowed: tuple[str, ...] | list[str]) -> str:
    """The end of an error: what was probably meant."""
    close = difflib.get_close_matches(found, allowed, 1)
    return f'; did you mean "{close[0]}"?' if close else ""
