"""What a notebook shows: of a result a table and a figure, of long work a bar.

Nothing here needs IPython: where there is a notebook it is loaded already.
"""

import base64
import html
import importlib
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 24
OFTEN = 0.2
"""Seconds between two changes of a bar."""


def is_here() -> bool:
    """Whether this Python is a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def page(
    titles: Sequence[str],
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    texts: int,
    figure: "Figure | None",
    more: str,
) -> str:
    """Titles, a table whose first ``texts`` columns are text, and a figure, as HTML.

    Of a long table the first rows, and ``more``: where all are.
    """
    head = "".join(_cell("th", text, at < texts) for at, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(_cell("td", text, at < texts) for at, text in enumerate(row)) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    left = len(rows) - MOST_ROWS
    note = f"<p>{left} more rows: {html.escape(more)}</p>" if left > 0 else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    above = "".join(f"<p>{html.escape(title)}</p>" for title in titles)
    return f"{above}{table}{note}{_picture(figure)}"


def _cell(tag: str, text: str, is_text: bool) -> str:
    side = "left" if is_text else "right"
    return f'<{tag} style="text-align:{side};white-space:nowrap">{html.escape(text)}</{tag}>'


def _picture(figure: Any) -> str:
    if figure is None:
        return ""
    data = base64.b64encode(figure._repr_png_()).decode()
    return f'<img style="max-width:100%;background:#fff" src="data:image/png;base64,{data}">'


class Bar:
    """A bar below a notebook's cell: how much of what is done, since when, and what is under way.

    What is done in no time has none, and it is gone when the work is done.
    """

    def __init__(self) -> None:
        self.began = self.shown = time.monotonic()
        self.handle: Any = None

    def __call__(self, share: float | None, text: str) -> None:
        """The part that is done, in 0..1 where it is known, and what to say beside the bar."""
        now = time.monotonic()
        if now - self.shown < OFTEN:
            return
        self.shown = now
        known = "" if share is None else f' value="{min(share, 1.0):.4f}"'
        said = html.escape(f"{text} {_left(share, now - self.began)}".strip())
        self._show(f"<progress{known}></progress> {said}", said)

    def end(self) -> None:
        """Nothing is to be seen any more."""
        if self.handle is not None:
            self._show("", "")

    def _show(self, shown: str, plain: str) -> None:
        data = {"text/html": shown, "text/plain": plain}
        if self.handle is not None:
            self.handle.update(data, raw=True)
            return
        # It has no types.
        display: Any = importlib.import_module("IPython.display").display
        self.handle = display(data, raw=True, display_id=True)


def _left(share: float | None, elapsed: float) -> str:
    """For how long it has worked, and about how long it still will."""
    if not share:
        return f"({elapsed:.0f} s)"
    return f"({elapsed:.0f} s, about {elapsed * (1 - share) / share:.0f} s left)"
