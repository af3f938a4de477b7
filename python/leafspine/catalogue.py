"""What there is: lists of schemes and workloads, and a page for each."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leafspine.errors import InputError

Entry = dict[str, Any]

# Fields that a list has columns for; a page shows all.
PAGE = ("summary", "source", "provenance", "from", "silent", "keys", "params")
PARAMETER = ("name", "default", "allowed", "doc", "key", "value")
LISTED = ("name", "place", "provenance", "mean", "p10", "p50", "p90", "p99", "max", "summary")


def find(what: str, entries: Sequence[Entry], name: str) -> list[Entry]:
    """The entries of that name (one a place). Raises :class:`InputError` with the nearest name."""
    found = [entry for entry in entries if entry["name"] == name]
    if found:
        return found
    names = list(dict.fromkeys(str(entry["name"]) for entry in entries))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"no {what} is called {name!r}; there are {', '.join(names)}{hint}")


def show_list(what: str, entries: Sequence[Entry], console: Console) -> None:
    """Print a line for each entry."""
    columns = [name for name in LISTED if any(name in entry for entry in entries)]
    if what == "workload":
        columns.append("source")
    table = Table(box=None, pad_edge=False)
    for name in columns:
        words = name not in ("mean", "p10", "p50", "p90", "p99", "max")
        table.add_column(name, justify="left" if words else "right", no_wrap=name == "name")
    for entry in entries:
        table.add_row(*(_cell(name, entry.get(name)) for name in columns))
    _widen(console, table)
    console.print(table)


def _cell(name: str, value: Any) -> Text:
    if name in ("mean", "p10", "p50", "p90", "p99", "max") and isinstance(value, int | float):
        return Text(size(value))
    return Text("" if value is None else str(value))


def size(count: float) -> str:
    """Bytes for people: three digits and a decimal unit."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.3g} B"


def show_entries(what: str, entries: Iterable[Entry], console: Console) -> None:
    """Print everything about the entries."""
    for entry in entries:
        title = f"{entry['name']} ({entry['place']})" if "place" in entry else entry["name"]
        console.print(Text(str(title), style="bold"))
        for name in _ordered(entry, PAGE):
            if name not in ("name", "place"):
                _show_field(name, entry[name], console)
        console.print()


def _ordered(entry: Mapping[str, Any], first: Sequence[str]) -> list[str]:
    """An entry's fields: those that are named in their order, then the others."""
    return sorted(entry, key=lambda name: first.index(name) if name in first else len(first))


def _show_field(name: str, value: Any, console: Console) -> None:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        console.print(f"\n{name}:")
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        columns = _ordered(value[0], PARAMETER)
        for column in columns:
            table.add_column(column)
        for row in value:
            cells = (row.get(column) for column in columns)
            table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))
        _widen(console, table)
        console.print(table)
    elif isinstance(value, list):
        if value:
            console.print(f"{name}:")
        for item in value:
            console.print(Text(f"  - {item}"), soft_wrap=not console.is_terminal)
    else:
        text = Text(f"{name}: ") + _cell(name, value)
        console.print(text, soft_wrap=not console.is_terminal)


def _widen(console: Console, table: Table) -> None:
    """Off a terminal, as wide as it needs to be: nothing is cut for a script."""
    if not console.is_terminal:
        width = Console(width=10_000).measure(table).maximum
        console.width = max(console.width, width)
