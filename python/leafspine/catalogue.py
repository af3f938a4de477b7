"""What there is: lists of schemes and workloads, and a page for each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from leafspine.errors import refused
from leafspine.nearest import nearest
from leafspine.terminal import Table, show_table

Entry = dict[str, Any]

# Fields that a list has columns for; a page shows all.
PAGE = ("summary", "source", "provenance", "from", "unspecified", "keys", "params")
PARAMETER = ("name", "default", "allowed", "doc", "key", "value")
LABELS = {"unspecified": "unspecified in the source"}
"""What a page calls fields whose names scripts know otherwise."""
SIZES = ("mean", "p10", "p50", "p90", "p99", "max")
LISTED = ("name", "place", "provenance", *SIZES, "summary")
WORDS = ("name", "place", "provenance", "default", "key")
"""Columns whose cells do not wrap; neither do sizes."""
IMPORTANCE = {"place": 9, "default": 9, "mean": 6, "p50": 5, "p99": 4, "max": 3, "p90": 2, "p10": 1}
"""In a terminal that is too narrow for all columns, the least important go first."""


def find(what: str, entries: Sequence[Entry], name: str) -> list[Entry]:
    """The entries of that name (one a place). Raises :class:`InputError` with the nearest name."""
    found = [entry for entry in entries if entry["name"] == name]
    if found:
        return found
    names = list(dict.fromkeys(str(entry["name"]) for entry in entries))
    raise refused(repr(name), ", ".join(names), key=what, nearest=nearest(name, names))


def show_list(what: str, entries: Sequence[Entry], console: Console) -> None:
    """Print a line for each entry."""
    columns = [name for name in LISTED if any(name in entry for entry in entries)]
    if what == "workload":
        columns.append("source")
    where = f"`leafspine {what}s NAME`, or --json"
    show_table(_table(columns, entries), console, where)


def _table(columns: Sequence[str], entries: Iterable[Entry]) -> Table:
    """Fields of entries side by side."""
    return Table(
        "",
        "",
        tuple(columns),
        tuple(tuple(_cell(name, entry.get(name)) for name in columns) for entry in entries),
        texts=sum(name in WORDS for name in columns),
        names=1,
        importance=tuple(IMPORTANCE.get(name, 7) for name in columns),
        sentences=tuple(n for n, name in enumerate(columns) if name not in (*WORDS, *SIZES)),
        framed=False,
    )


def _cell(name: str, value: Any) -> str:
    if name in SIZES and isinstance(value, int | float):
        return size(value)
    return "" if value is None else str(value)


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
    label = LABELS.get(name, name)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        console.print(f"\n{label}:")
        show_table(_table(_ordered(value[0], PARAMETER), value), console, "--json")
    elif isinstance(value, list):
        if value:
            console.print(f"{label}:")
        for item in value:
            console.print(Text(f"  - {item}"), soft_wrap=not console.is_terminal)
    else:
        text = Text(f"{label}: {_cell(name, value)}")
        console.print(text, soft_wrap=not console.is_terminal)
