"""What the probes of a run have seen, over time: a panel, lines, marks where links change."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leafspine import graphics
from leafspine.link_changes import Change
from leafspine.probe_kinds import is_data
from leafspine.style import BLACK, COLOURS, of_shades

Array = npt.NDArray[Any]

MOST_LINES = 7
"""Ports or flows that get a line of their own; of more, the largest ones."""
MOST_POINTS = 1500
"""Of a line: of more samples, the largest of each few."""
OTHERS = "#bbbbbb"
MOST_FLOWS = 24

UNITS = ((1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1.0, "ps"))


def unit_of(span_ps: float) -> tuple[float, str]:
    """The unit in which a span of time has at least three of it: how many ps it has, its name."""
    return next(((scale, name) for scale, name in UNITS if span_ps >= 3 * scale), UNITS[-1])


def over_time(
    table: pa.Table,
    by: str,
    columns: Sequence[tuple[str, str, float]],
    changes: Sequence[Change],
) -> Figure:
    """Columns of a probe against time, a panel each, a line for each value of ``by``.

    ``columns``: name in the table, label with its unit, and what values are multiplied by.
    """
    times = table["time_ps"].to_numpy()
    which = np.asarray(table[by].to_pylist())
    names = list(dict.fromkeys(which.tolist()))
    values = {column: table[column].to_numpy().astype(float) for column, _, _ in columns}
    shown = _largest(names, which, list(values.values()))
    scale, unit = unit_of(float(times.max()) if len(times) else 0.0)
    figure, panels = graphics.grid(len(columns), across=1)
    for axes, (column, label, factor) in zip(panels, columns, strict=True):
        for name in [*(one for one in names if one not in shown), *shown]:
            own = which == name
            when, what = thinned(times[own] / scale, values[column][own] * factor)
            colour = shown.get(name)
            if colour is None:
                axes.plot(when, what, color=OTHERS, linewidth=0.5, zorder=1)
            else:
                axes.plot(when, what, color=colour, linewidth=1, label=_label(by, name))
        axes.set_ylabel(label)
        axes.set_ylim(0, max(axes.dataLim.ymax * 1.05, 1e-9) if axes.dataLim.ymax > 0 else 1)
        if not values[column].any():
            axes.text(0.5, 0.5, "none at any time", transform=axes.transAxes, ha="center", zorder=4)
        mark(axes, changes, scale)
    panels[-1].set_xlabel(f"time ({unit})")
    hidden = len(names) - len(shown)
    if hidden:
        panels[0].plot([], [], color=OTHERS, linewidth=0.5, label=f"{hidden} others")
    graphics.legend(figure, panels[0])
    return figure


def _label(by: str, name: object) -> str:
    return graphics.shown_name(str(name) if by == "port" else f"{by} {name}")


def _largest(names: Sequence[Any], which: Array, columns: Sequence[Array]) -> dict[Any, str]:
    """Those whose values are the largest on average, in their own order, with their colours.

    Of several columns each counts as a share of its largest: a port that drops packets and marks
    none is not among the others. What is zero in all of them is.
    """
    owns = {name: which == name for name in names}
    shares = dict.fromkeys(names, 0.0)
    for column in columns:
        means = {name: float(column[own].mean()) for name, own in owns.items()}
        most = max(means.values(), default=0.0)
        for name, mean in means.items():
            shares[name] = max(shares[name], mean / most if most > 0 else 0.0)
    chosen = sorted(names, key=lambda name: shares[name], reverse=True)[:MOST_LINES]
    kept = [name for name in names if name in chosen and (shares[name] or not any(shares.values()))]
    return dict(zip(kept, _colours(len(kept)), strict=True))


def _colours(count: int) -> list[str]:
    """Colours of ports or flows; that of marks is none of them."""
    bright = [colour for colour in COLOURS if colour != BLACK]
    return bright[:count] if count <= len(bright) else [one.colour for one in of_shades(count)]


def thinned(times: Array, values: Array) -> tuple[Array, Array]:
    """A line with fewer points: of each few samples the largest, so that no peak is lost."""
    every = -(-len(times) // MOST_POINTS)
    if every <= 1:
        return times, values
    firsts = range(0, len(times), every)
    at = [first + int(values[first : first + every].argmax()) for first in firsts]
    return times[at], values[at]


def mark(axes: Axes, changes: Sequence[Change], scale: float) -> None:
    """A line where a link changes; the first of those that are close together has its name."""
    low, high = axes.get_xlim()
    named = -np.inf
    for change in changes:
        at = change.time_ps / scale
        if not low <= at <= high:
            continue
        axes.axvline(at, color=BLACK, linewidth=0.8, linestyle="dashed", zorder=2)
        if at - named > 0.12 * (high - low):
            axes.annotate(
                change.text,
                (at, 1),
                xycoords=("data", "axes fraction"),
                xytext=(2, -2),
                textcoords="offset points",
                ha="left",
                va="top",
                fontsize=8,
                rotation=90,
                color=BLACK,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                zorder=4,
            )
            named = at
    axes.set_xlim(low, high)


def paths(packets: pa.Table, changes: Sequence[Change]) -> Figure:
    """By which port each flow's data went, over time: a row a flow, a colour a port.

    Of the flows that a ``packets`` probe saw, those with the most packets, by their start.
    """
    data = packets.filter(is_data(packets))
    flows, times = data["flow"].to_numpy(), data["time_ps"].to_numpy()
    ports = np.asarray(data["port"].to_pylist())
    numbers, counts = np.unique(flows, return_counts=True)
    shown = np.sort(numbers[np.argsort(-counts, kind="stable")[:MOST_FLOWS]])
    names = [str(name) for name in np.unique(ports[np.isin(flows, shown)])]
    scale, unit = unit_of(float(times.max()) if len(times) else 0.0)
    figure, [axes] = graphics.grid(1, across=1)
    for name, colour in zip(names, _colours(len(names)), strict=True):
        own = (ports == name) & np.isin(flows, shown)
        rows = np.searchsorted(shown, flows[own])
        axes.plot(
            times[own] / scale,
            rows,
            linestyle="none",
            marker="|",
            markersize=5,
            markeredgewidth=0.6,
            color=colour,
        )
        axes.plot([], [], color=colour, linewidth=4, label=graphics.shown_name(name))
    every = max(1, len(shown) // 8)
    axes.set_yticks(range(0, len(shown), every), [str(one) for one in shown[::every]])
    axes.set(ylabel="flow", xlabel=f"time ({unit})", ylim=(-0.8, len(shown) - 0.2))
    mark(axes, changes, scale)
    graphics.legend(figure, axes)
    return figure


Maker = Callable[[pa.Table, Sequence[Change]], Figure]


def queue(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """Packets and bytes that waited at ports."""
    return over_time(
        table,
        "port",
        [("packets", "queue (packets)", 1.0), ("bytes", "queue (KB)", 1e-3)],
        changes,
    )


def utilisation(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """The share of the time in which a line was sending."""
    return over_time(table, "port", [("utilisation", "use of the link (%)", 100.0)], changes)


def window(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """Congestion windows of flows."""
    return over_time(table, "flow", [("window_bytes", "window (KB)", 1e-3)], changes)


def tcp_info(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """What kernels say of connections: the congestion window, and the smoothed round trip time."""
    columns = [("cwnd", "window (segments)", 1.0), ("srtt_us", "smoothed RTT (us)", 1.0)]
    return over_time(table, "flow", columns, changes)


def signals(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """Packets marked and dropped since the sample before."""
    columns = [("marks", "marked packets", 1.0), ("drops", "dropped packets", 1.0)]
    return over_time(table, "port", columns, changes)


def pause(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """How long ports were paused since the sample before, and how often."""
    columns = [("paused_ps", "time paused (us)", 1e-6), ("pauses", "pauses", 1.0)]
    return over_time(table, "port", columns, changes)


def state(table: pa.Table, changes: Sequence[Change]) -> Figure:
    """What balancers keep: bytes, and slots in use."""
    columns = [("bytes", "state (KB)", 1e-3), ("occupied", "slots in use", 1.0)]
    return over_time(table, "switch", columns, changes)


MAKERS: dict[str, tuple[Maker, str]] = {
    "queue": (queue, "Queues over time"),
    "utilisation": (utilisation, "Use of links over time"),
    "window": (window, "Congestion windows over time"),
    "tcp-info": (tcp_info, "What kernels say of connections over time"),
    "state": (state, "State of load balancers over time"),
    "signals": (signals, "Marks and drops over time"),
    "pause": (pause, "Pauses over time"),
    "packets": (paths, "Paths of flows over time"),
}
"""By kind of probe: what draws it, and its title."""
