"""Progress on standard error: a bar with an estimate in a terminal, plain lines elsewhere; in a
notebook a bar below the cell.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from leafspine import notebook
from leafspine.engine import Building, Case, Watch
from leafspine.tasks import Event, Watcher

if TYPE_CHECKING:
    from leafspine.qall.fitting import Report


def wanted(asked: bool | None) -> bool:
    """Whether progress is shown: as the caller says, or else in a notebook."""
    return notebook.is_here() if asked is None else asked


@contextlib.contextmanager
def _in_notebook() -> Iterator[notebook.Bar]:
    bar = notebook.Bar()
    try:
        yield bar
    finally:
        bar.end()


def say(text: str, *, show: bool) -> None:
    """A line on standard error."""
    if show and text:
        Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def _ignore(_event: Event) -> None:
    pass


def _cut(label: str, building: str, console: Console, others: int) -> str:
    """A run and what of it is being built, as much as fits on the terminal's line beside what takes
    ``others`` cells; a line that wraps cannot be drawn over."""
    room = max(console.width - others, LEAST)
    text = f"{label}: {building}" if building and label else building or label
    if cell_len(text) > room:
        text = building or label
    return text if cell_len(text) <= room else set_cell_size(text, room - 1) + "…"


LEAST = 8
"""Cells of a text that are always shown."""
BAR = 6
"""Cells that are left to a bar, which gets what is over up to its usual length."""
TIMES = 21
"""Cells of the time that has passed, of that which is left, and of the word between."""


class _Delayed:
    """Prints what is being built, off a terminal: after a delay, and then at intervals."""

    FIRST, NEXT = 2.0, 10.0
    """Seconds until the first line, and between lines."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.due = time.monotonic() + self.FIRST

    def __call__(self, text: str) -> None:
        if text and time.monotonic() >= self.due:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)
            self.due = time.monotonic() + self.NEXT


@contextlib.contextmanager
def of_checks(*, show: bool = True) -> Iterator[Building | None]:
    """Shows what is built of a fabric before anything runs; small ones are done before it shows."""
    console = Console(stderr=True)
    if not show:
        yield None
    elif notebook.is_here():
        with _in_notebook() as bar:
            yield lambda text: bar(None, text)
    elif not console.is_terminal:
        yield _Delayed(console)
    else:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        task = progress.add_task("")

        def tell(text: str) -> None:
            progress.update(task, description=_cut("", text, console, 12))
            progress.start()

        try:
            yield tell
        finally:
            progress.stop()


@contextlib.contextmanager
def of_comparison(total: int, finished: int, *, show: bool = True) -> Iterator[Watcher]:
    """A watcher for ``total`` runs of which ``finished`` were there already."""
    console = Console(stderr=True)
    if not show or total == finished:
        yield _ignore
    elif notebook.is_here():
        with _in_notebook() as bar:
            yield _Shares(bar, total - finished).watch
    elif console.is_terminal:
        with _bar(console, total - finished) as (progress, task):
            yield _Bar(progress, task).watch
    else:
        yield _Lines(console, total, finished).watch


@contextlib.contextmanager
def of_run(label: str, *, show: bool = True) -> Iterator[Watch | None]:
    """A watcher for one run's flows."""
    console = Console(stderr=True)
    if not show:
        yield None
        return
    if notebook.is_here():
        with _in_notebook() as bar:
            yield lambda done, of, _time_ps, _hops, building: bar(
                done / of if of else None, f"{label}: {building}" if building else label
            )
        return
    if not console.is_terminal:
        delayed = _Delayed(console)
        yield lambda _finished, _total, _time_ps, _hops, building: delayed(building)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[sent]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=None, sent="")

        def watch(
            finished: int, total: int | None, _time_ps: int, hops: int, building: str
        ) -> None:
            of = "?" if total is None else total
            sent = "" if building else f"{finished}/{of} flows, {hops / 1e6:.1f} M packet-hops"
            # Six columns beside the text, and a blank before each.
            text = _cut(label, building, console, 1 + BAR + len(sent) + TIMES + 6)
            progress.update(task, description=text, completed=finished, total=total, sent=sent)

        yield watch


@contextlib.contextmanager
def of_drawing(*, show: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Shows how many figures of how many are drawn."""
    console = Console(stderr=True)
    if not show:
        yield lambda _done, _total: None
        return
    if notebook.is_here():
        with _in_notebook() as bar:
            yield lambda done, total: bar(done / total, f"drawing {done}/{total}")
        return
    if not console.is_terminal:
        yield lambda done, total: say(f"drawing {total} figures", show=done == 0)
        return
    # It moves between figures alone: a bar that another thread moves would slow drawing down.
    columns = (TextColumn("drawing {task.completed}/{task.total}"), BarColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=None, visible=False)
        yield lambda done, total: progress.update(
            task, completed=done, total=total, visible=True, refresh=True
        )


@contextlib.contextmanager
def of_copies() -> Iterator[Callable[[int, int], None]]:
    """Shows how many runs of how many are copied, on a terminal; elsewhere that they are."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: say(f"copying {total} runs", show=done == 0)
        return
    columns = (TextColumn("copying runs"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextlib.contextmanager
def of_fit(wanted: int, *, show: bool = True) -> Iterator["Report"]:
    """Shows the samples so far before each run; the answer watches the run."""
    console = Console(stderr=True)
    if not show:
        yield lambda _have, _label: None
        return
    if notebook.is_here():
        with _in_notebook() as bar:
            yield lambda have, label: _noted(bar, have / wanted, label)
        return
    if not console.is_terminal:
        yield lambda have, label: console.print(
            f"{label}: {have} of {wanted} samples so far", markup=False, highlight=False
        )
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("samples, {task.fields[hops]:.1f} M packet-hops"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=wanted, hops=0.0)

        def report(have: int, label: str) -> Watch:
            text = _cut(label, "", console, 1 + BAR + 2 * len(f"{wanted}") + 30 + TIMES + 7)
            progress.update(task, completed=have, description=text)
            return lambda _finished, _total, _time_ps, hops, _building: progress.update(
                task, hops=hops / 1e6
            )

        yield report


def _noted(bar: notebook.Bar, share: float, label: str) -> Watch:
    """Shows the samples so far before a run, and goes on showing them."""
    bar(share, label)
    return lambda _finished, _total, _time_ps, _hops, _building: bar(share, label)


@contextlib.contextmanager
def _bar(console: Console, total: int) -> Iterator[tuple[Progress, int]]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[done]}/{task.fields[runs]} runs"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress, progress.add_task("", total=float(total), done=0, runs=total)


class _Tally:
    """How many runs are done, and what share of their flows has ended in those under way."""

    def __init__(self) -> None:
        self.done = 0
        self.shares: dict[str, float] = {}

    def count(self, event: Event) -> float:
        """What is done after an event, in runs."""
        key = event.case.key
        if event.kind in ("done", "failed"):
            self.done += 1
            self.shares.pop(key, None)
        else:
            self.shares[key] = event.share
        return self.done + sum(self.shares.values())


class _Shares(_Tally):
    """Moves a notebook's bar."""

    def __init__(self, bar: notebook.Bar, runs: int) -> None:
        super().__init__()
        self.bar = bar
        self.runs = runs

    def watch(self, event: Event) -> None:
        share = self.count(event) / self.runs
        self.bar(share, f"{self.done}/{self.runs} runs, {_doing(event)}")


class _Bar(_Tally):
    """Moves the bar by the share of flows that have ended in the runs that are under way."""

    def __init__(self, progress: Progress, task: int) -> None:
        super().__init__()
        self.progress = progress
        self.task = progress.tasks[task].id
        runs = progress.tasks[task].fields["runs"]
        self.others = 1 + len(f"{runs}/{runs} runs") + BAR + len("100 %") + TIMES + 7

    def watch(self, event: Event) -> None:
        completed = self.count(event)
        if event.kind in ("retry", "failed"):
            self.progress.console.print(_sentence(event), markup=False, highlight=False)
        self.progress.update(
            self.task,
            completed=completed,
            done=self.done,
            description=_cut(
                _label(event.case), _building(event), self.progress.console, self.others
            ),
        )


class _Lines:
    """A line for every run that has ended."""

    def __init__(self, console: Console, total: int, finished: int) -> None:
        self.console = console
        self.total = total
        self.done = finished
        self.delayed = _Delayed(console)

    def watch(self, event: Event) -> None:
        if event.kind == "done":
            self.done += 1
            text = f"[{self.done}/{self.total}] {event.case.label()}"
        elif event.kind in ("retry", "failed"):
            self.done += event.kind == "failed"
            text = _sentence(event)
        else:
            self.delayed(_doing(event) if event.message else "")
            return
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _sentence(event: Event) -> str:
    outcome = "trying once more" if event.kind == "retry" else "failed"
    return f"{_label(event.case)}: {event.message}: {outcome}"


def _doing(event: Event) -> str:
    """The run, and what of it is being built."""
    building = _building(event)
    return f"{_label(event.case)}: {building}" if building else _label(event.case)


def _building(event: Event) -> str:
    return event.message if event.kind == "progress" else ""


def _label(case: Case) -> str:
    return case.label()
