"""Tables as text, and how they fit a terminal.

Names are never cut. Heads and sentences wrap first; what then is too wide goes column by column,
the least important first, and a line says which are gone and where all are. Off a terminal a table
is as wide as it needs to be.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

SENTENCE = 20
"""A narrower column of sentences is not worth reading."""
WORD = 5
"""So wide a column of numbers still is, when there is no room for the names."""


@dataclass(frozen=True)
class Table:
    """A table as text: a title, a note, column heads and rows; ``starts`` marks new points."""

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    starts: tuple[bool, ...] = ()
    """Which rows have a line above them."""
    texts: int = 1
    """The first so many columns are words, the others numbers."""
    names: int | None = None
    """The first so many say what the rows are about, and stay. [those of words]"""
    importance: tuple[int, ...] = ()
    """A column's; of those that are not names the least goes first, of equals the last one. The
    most important one stays."""
    sentences: tuple[int, ...] = ()
    """Columns that may wrap."""
    framed: bool = True

    def is_name(self, column: int) -> bool:
        """Whether a column says what the rows are about."""
        return column < (self.texts if self.names is None else self.names)


def show_table(table: Table, console: Console, where: str) -> None:
    """Print a table; ``where``: what has the columns for which the terminal is not wide enough."""
    if not console.is_terminal:
        kept = tuple(range(len(table.heads)))
        widths = [_widest(table, column) for column in kept]
        console.width = max(console.width, sum(widths) + _frame(table, len(widths)))
    else:
        kept = _kept(table, console.width)
        widths = _widths(table, kept, console.width)
    console.print(_rich(table, kept, widths))
    if left := [_name(table, column) for column in range(len(table.heads)) if column not in kept]:
        console.print(Text(f"left out: {', '.join(left)}; all columns: {where}"))
    if table.framed:
        console.print()


def _kept(table: Table, width: int) -> tuple[int, ...]:
    """The columns that there is room for."""
    kept = list(range(len(table.heads)))
    others = [column for column in kept if not table.is_name(column)]
    importance = table.importance or (0,) * len(kept)
    others.sort(key=lambda column: (importance[column], -column))
    while len(others) > 1 and _needed(table, kept) > width:
        kept.remove(others.pop(0))
    return tuple(kept)


def _needed(table: Table, columns: Sequence[int]) -> int:
    """The least width at which nothing but heads and sentences wraps."""
    return sum(_least(table, column) for column in columns) + _frame(table, len(columns))


def _frame(table: Table, columns: int) -> int:
    """What is drawn between and around columns, and the blanks there."""
    return 3 * columns + 1 if table.framed else 2 * (columns - 1)


def _cells(table: Table, column: int) -> list[str]:
    return [row[column] for row in table.rows]


def _widest(table: Table, column: int) -> int:
    return max(cell_len(cell) for cell in [table.heads[column], *_cells(table, column)])


def _least(table: Table, column: int, lines: int | None = None) -> int:
    """The least width of a column whose head may have so many lines, or as many as it has words."""
    head = table.heads[column]
    cells = max((cell_len(cell) for cell in _cells(table, column)), default=0)
    if column in table.sentences:
        cells = min(cells, SENTENCE)
    least = max(cells, *(cell_len(word) for word in head.split()), 0)
    while lines and len(textwrap.wrap(head, least, break_on_hyphens=False)) > lines:
        least += 1
    return least


def _widths(table: Table, columns: Sequence[int], width: int) -> list[int]:
    """How wide each column is drawn: heads in as few lines as may be, the rest to sentences.

    Where not even the names and one column fit, cells fold, and names last.
    """
    room = width - _frame(table, len(columns))
    for lines in (1, 2, 3, None):
        widths = {column: _least(table, column, lines) for column in columns}
        if sum(widths.values()) <= room:
            break
    for column in table.sentences:
        if column in widths:
            spare = max(0, room - sum(widths.values()))
            widths[column] = min(widths[column] + spare, _widest(table, column))
    while sum(widths.values()) > room:
        others = [c for c in columns if widths[c] > WORD and not table.is_name(c)]
        widest = max(others or columns, key=lambda column: widths[column])
        if widths[widest] == 1:
            break
        widths[widest] -= 1
    return [widths[column] for column in columns]


def _name(table: Table, column: int) -> str:
    """A head as a line names it: with the one before where it stands for several columns."""
    head = table.heads[column]
    return f"{table.heads[column - 1]} {head}" if table.heads.count(head) > 1 else head


def _rich(table: Table, columns: Sequence[int], widths: Sequence[int]) -> RichTable:
    rich = RichTable(
        title=Text(table.title, style="table.title") if table.title else None,
        caption=Text(table.note, style="table.caption") if table.note else None,
        title_justify="left",
        caption_justify="left",
        box=HEAVY_HEAD if table.framed else None,
        pad_edge=table.framed,
    )
    for column, width in zip(columns, widths, strict=True):
        rich.add_column(Text(table.heads[column]), width=width, overflow="fold")
        if column >= table.texts and column not in table.sentences:
            rich.columns[-1].justify = "right"
    for index, row in enumerate(table.rows):
        if index and table.starts[index : index + 1] == (True,):
            rich.add_section()
        rich.add_row(*(Text(row[column]) for column in columns))
    return rich
