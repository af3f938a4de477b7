"""Scenarios on top of others: a paper's fabric is written once, and a figure's file says what it
has besides.

A scenario file of a paper may begin with ``extends = "../fabric.toml"``, or a list of files. Tables
are then merged key by key; a table of another ``kind`` or ``scheme``, ``classes``, ``sweep``, lists
and values are replaced whole. ``only`` and ``variants`` choose and change variants by name, as in a
figure's sets of runs.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspine import engine, scenario
from leafspine.errors import InputError, ScenarioError, refused
from leafspine.reproduce import reading, run_sets
from leafspine.reproduce.reading import Keys
from leafspine.scenario import Source

WHOLE = ("classes", "sizes", "flap", "senders", "receivers", "sweep")
"""Tables that are one value, as in the engine's own layers; and what is swept."""


@dataclass(frozen=True)
class Layered:
    """A scenario, its table, and the files that it is made of, each before those it extends."""

    source: Source
    table: Mapping[str, Any]
    files: tuple[Path, ...]

    @property
    def variants(self) -> list[Mapping[str, Any]]:
        """Its variants: tables with ``name`` and ``set``."""
        return list(self.table.get("variant", []))

    def explain(self, error: ScenarioError, where: str) -> InputError:
        """The error that the engine found in it, with the file and the line of the key."""
        if len(self.files) > 1 and error.key and error.found and error.allowed:
            for file in self.files:
                parts = error.key.split(".")
                if _has(reading.load(file), parts):
                    line = engine.line_of(file.read_text(encoding="utf-8"), parts)
                    return refused(
                        error.found,
                        error.allowed,
                        file=str(file),
                        line=line,
                        key=error.key,
                        nearest=error.nearest,
                    )
        message = str(error)
        text = message if self.source.name in message else f"{self.source.name}: {message}"
        return InputError(f"{where}: {text}", **error.parts())


def read(path: Path, *over: Path) -> Layered:
    """A scenario file with all that it extends, and others on top. Raises :class:`InputError`."""
    table, files = _merged(path, ())
    for other in over:
        more, named = _merged(other, ())
        table, files = merge(table, more), (*named, *files)
    if len(files) == 1:
        return Layered(scenario.read(path), table, files)
    text = scenario.to_toml(table)
    return Layered(Source(text, str(path), str(path.resolve().parent)), table, files)


def _merged(path: Path, above: tuple[Path, ...]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    own = dict(reading.load(path))
    if "extends" not in own:
        return own, (path,)
    keys = Keys(own, path)
    found: dict[str, Any] = {}
    files: tuple[Path, ...] = ()
    for base in keys.texts("extends"):
        parent = path.parent / base
        if parent.resolve() in {file.resolve() for file in (*above, path)}:
            raise keys.wrong(f"extends {base!r}, which extends it")
        table, more = _merged(parent, (*above, path))
        found, files = merge(found, table), (*more, *files)
    named = run_sets.by_name(keys)
    own = {key: value for key, value in own.items() if key not in keys.known}
    found = merge(found, own)
    if named.variants or named.only:
        found["variant"] = run_sets.chosen(found.get("variant", []), [named])
    return found, (path, *files)


def merge(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables, of which the second one's keys count."""
    found: dict[str, Any] = copy.deepcopy(dict(base))
    for key, value in other.items():
        before: Any = found.get(key)
        found[key] = merge(before, value) if _alike(key, before, value) else value
    return found


def _alike(key: str, before: Any, value: Any) -> bool:
    """Whether a value is a table that goes on top of the one before, and not into its place."""
    tables = isinstance(value, Mapping) and isinstance(before, Mapping)
    return (
        tables
        and key not in WHOLE
        and all(value.get(k, before.get(k)) == before.get(k) for k in ("kind", "scheme"))
    )


def _has(table: object, parts: list[str]) -> bool:
    for part in parts:
        if isinstance(table, list) and part.isdigit() and int(part) < len(table):
            table = table[int(part)]
        elif isinstance(table, Mapping) and part in table:
            table = table[part]
        else:
            return False
    return True
