"""Panels of figures: their size, axes with ticks that can be read, lines with bands."""

import io
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from leafspine.labels import key_label
from leafspine.stats import Estimate
from leafspine.style import Style

Array = npt.NDArray[Any]

COLUMN, TEXT = 3.5, 7.16
"""Widths in inches of a column and of the text of a two-column page: letters keep their size."""
NOTEBOOK_DPI = 90
HEIGHT = 2.3
"""A row of panels."""
LETTER = 0.08
"""Mean width in inches of a letter of a label."""
TITLE_LETTER = 0.07
"""Mean width of a letter of a title."""
LINE = 0.55
"""The line of a name in a legend, with the space around it."""
MOST_COLUMNS = 5
MOST_TICKS = 10
LEAST_TICKS = 3
MOST_MARKERS = 12


class Drawing(Figure):
    """A figure that notebooks show without pyplot."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=NOTEBOOK_DPI)
        return stream.getvalue()


def grid(
    count: int, *, across: int | None = None, height: float = HEIGHT
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, as wide as a column or the text of a page, and the panels.

    ``across``: so many beside each other instead, over the width of the text.
    """
    beside = across or (2 if count in (2, 4) else min(count, 3))
    rows = -(-count // beside)
    size = (COLUMN if beside == 1 and not across else TEXT, height * rows + 0.4)
    figure = Drawing(figsize=size, layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(rows, beside, squeeze=False)).flat)
    for one in axes[count:]:
        one.remove()
    return figure, axes[:count]


AXES = {
    "workload.load": "load",
    "workload.flows": "number of flows",
    "workload.duration": "time in which flows start",
    "workload.fan_in": "number of senders",
    "workload.interarrival": "mean interarrival time",
    "workload.rate": "offered traffic",
    "workload.sizes.bytes": "flow size",
    "topology.change.rate": "rate of the changed link",
    "topology.change.delay": "delay of the changed link",
    "topology.host_link.rate": "rate of the hosts' links",
    "topology.host_link.delay": "delay of the hosts' links",
    "topology.fabric_link.rate": "rate of the fabric's links",
    "topology.fabric_link.delay": "delay of the fabric's links",
    "switch.buffer": "buffer",
    "aqm.threshold": "marking threshold",
    "load_balancer.gap": "flowlet gap",
    "transport.init_cwnd": "initial window",
    "transport.min_rto": "shortest timeout",
    "measure.warmup": "warm-up",
}
"""What swept keys are called on an axis, without the numbers in them."""


def axis_label(key: str) -> str:
    """A swept key as an axis has it."""
    plain = ".".join(part for part in key.split(".") if not part.isdigit())
    return AXES.get(plain, key_label(key))


MOST_BANDS = 6
"""Of as many lines bands can be told from each other."""


def logarithmic(axes: Axes, along: str) -> None:
    """Make the axis ``x`` or ``y`` logarithmic, with enough ticks to read it: powers of ten, or 1,
    2 and 5 times such, or round numbers where it spans little."""
    ruler: XAxis | YAxis = axes.xaxis if along == "x" else axes.yaxis
    if along == "y":
        # An interval that reaches zero would be drawn as a line straight down.
        for line in axes.get_lines():
            values = np.asarray(line.get_ydata(), dtype=float)
            line.set_ydata(np.where(values > 0, values, np.nan))
    axes.set(**{f"{along}scale": "log"})
    low, high = axes.get_xlim() if along == "x" else axes.get_ylim()
    ticks = log_ticks(low, high)
    ruler.set_major_locator(FixedLocator(ticks))
    ruler.set_minor_locator(NullLocator())
    powers = all(math.isclose(tick, 10.0 ** round(math.log10(tick))) for tick in ticks)
    if powers and not 1e-3 <= ticks[0] <= ticks[-1] < 1e5:
        ruler.set_major_formatter(FuncFormatter(_power))
    else:
        ruler.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones, at least three if there are so many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // 5)
    for parts in ((1,), (1, 3), (1, 2, 5)):
        step = every if parts == (1,) else 1
        ticks = [part * 10.0**power for power in range(first, last + 1, step) for part in parts]
        ticks = [tick for tick in ticks if low <= tick * 1.0001 and tick <= high * 1.0001]
        if len(ticks) >= LEAST_TICKS:
            return ticks
    found = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in found if low <= tick <= high]


def _power(value: float, _: object) -> str:
    return f"$10^{{{round(math.log10(value))}}}$"


def width(axes: Axes) -> float:
    """About how many inches an axis is long, before the layout is made."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    if figure is None or place is None:
        return COLUMN
    return float(figure.get_figwidth() / place.get_gridspec().ncols - 0.8)


def spaced(axes: Axes, names: Sequence[str]) -> list[str]:
    """Names under ticks, as many as fit: all, every second, every third, ...; the last always."""
    room, count = width(axes), len(names)
    for every in range(1, count):
        shown = [(count - 1 - index) % every == 0 for index in range(count)]
        # Each may be as wide as what lies between two that are shown.
        widest = max(len(name) for name, is_shown in zip(names, shown, strict=True) if is_shown)
        if 0.8 * widest * LETTER + 0.08 <= room / count * every:
            return [name if is_shown else "" for name, is_shown in zip(names, shown, strict=True)]
    return ["" for _ in names[:-1]] + list(names[-1:])


def title(axes: Axes, text: str) -> None:
    """A title no wider than the panel and a little: what is in parentheses goes to a line of its
    own before anything else is broken."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    columns = place.get_gridspec().ncols if place is not None else 1
    across = figure.get_figwidth() if figure is not None else COLUMN
    room = int((across / columns - 0.4) / TITLE_LETTER)
    lines = text.replace(" (", "\n(", 1).split("\n") if len(text) > room else [text]
    axes.set_title("\n".join(textwrap.fill(line, room) for line in lines))


def legend(figure: Figure, axes: Axes, heading: str = "") -> None:
    """The names of a panel's lines above the figure, in as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        widest = LINE + 0.8 * LETTER * max(len(label) for label in labels)
        columns = min(len(labels), MOST_COLUMNS, max(1, int(figure.get_figwidth() / widest)))
        figure.legend(
            handles, labels, loc="outside upper center", ncols=columns, title=heading or None
        )


def ticks_at(axes: Axes, values: Sequence[float]) -> None:
    """Ticks where values are."""
    names = [f"{value:g}" for value in values]
    axes.set_xticks(values, spaced(axes, names))
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


def marker_of(style: Style) -> dict[str, Any]:
    return {
        "color": style.colour,
        "marker": style.marker,
        "markerfacecolor": "white" if style.hollow else style.colour,
        "markeredgecolor": style.colour,
    }


def shown_name(variant: str) -> str:
    """A name as Matplotlib takes it: no mathematics, and shown even if it starts with ``_``."""
    text = variant.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def draw_line(
    axes: Axes,
    values: Sequence[float],
    found: Sequence[Estimate | None],
    label: str,
    style: Style,
    among: int = 1,
) -> None:
    """A line with its band; the more lines it is ``among``, the fainter the bands, and among too
    many (:data:`MOST_BANDS`) there are none: they would hide the lines."""
    means = [entry.mean if entry else np.nan for entry in found]
    how = {"linestyle": style.line, "clip_on": False, "zorder": 3, **marker_of(style)}
    axes.plot(values, means, label=label, markevery=-(-len(means) // MOST_MARKERS), **how)
    low, high = ends(found)
    if np.any(low < high) and among <= MOST_BANDS:
        faint = min(0.15, 0.3 / max(among, 1))
        axes.fill_between(values, low, high, color=style.colour, alpha=faint, lw=0)
        edge: dict[str, Any] = {
            "color": style.colour,
            "lw": 0.5,
            "alpha": 0.4,
            "linestyle": style.line,
        }
        for bound in (low, high):
            axes.plot(values, bound, label="_", **edge)


def ends(found: Sequence[Estimate | None]) -> tuple[Array, Array]:
    """Lower and upper ends of intervals; NaN, which is not drawn, where one value has none."""
    low = [entry.low if entry and entry.low is not None else np.nan for entry in found]
    high = [entry.high if entry and entry.high is not None else np.nan for entry in found]
    return np.array(low), np.array(high)


def from_zero(axes: Axes) -> None:
    """From zero to a little above the highest band, so that no marker is cut.

    A band wider than what it surrounds would flatten all lines: it runs out of the picture where
    that is twice as high as the largest value drawn.
    """
    highest, lowest = axes.dataLim.ymax, 0.0
    # Lines that are not in the legend are ends of intervals.
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in lines]
    bars = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    values = np.concatenate([*drawn, bars, [0.0]])
    values = values[np.isfinite(values)]
    if values.max() > 0:
        highest = min(highest, 2 * values.max())
    if values.min() < 0:
        lowest = 1.06 * min(values.min(), max(axes.dataLim.ymin, 2 * values.min()))
    axes.set_ylim(lowest, 1.06 * highest if np.isfinite(highest) and highest > 0 else 1.0)
