"""The timeline of a job: a row a rank, a bar a message that it sends, a colour an iteration."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from leafspine import graphics
from leafspine.style import BLACK, COLOURS
from leafspine.timelines import unit_of

MOST_RANKS = 64
"""Of more ranks, the first ones."""
MOST_BARS = 20_000
"""Of more messages, the first ones."""


Tables = tuple[pa.Table, pa.Table, pa.Table]
"""Flows, collectives and ranks of a run."""


def timeline(flows: pa.Table, collectives: pa.Table, ranks: pa.Table, job: int) -> Figure:
    """The messages of a job's ranks over time; dashed lines are where collectives were complete."""
    return beside([("", (flows, collectives, ranks))], job)


def beside(found: Sequence[tuple[str, Tables]], job: int) -> Figure:
    """The same of several runs, a panel for each title, over one time."""
    figure, panels = graphics.grid(len(found))
    last = max(_end(*tables, job) for _, tables in found)
    for axes, (name, tables) in zip(panels, found, strict=True):
        _draw(axes, *tables, job, last)
        if name:
            graphics.title(axes, name)
    return figure


def _origin(ranks: pa.Table, job: int) -> np.uint64:
    """When the job began."""
    return np.uint64(ranks.filter(pc.equal(ranks["job"], job))["start_ps"][0].as_py())


def _ends(collectives: pa.Table, ranks: pa.Table, job: int) -> npt.NDArray[np.uint64]:
    """When the job's collectives were complete, since its start."""
    # The completion time alone: some collectives have no bandwidth, and are complete all the same.
    done = collectives.filter(pc.equal(collectives["job"], job))
    done = done.filter(pc.is_valid(done["completion_ps"]))
    ends = done["start_ps"].to_numpy() + done["completion_ps"].to_numpy()
    return np.asarray(ends - _origin(ranks, job), dtype=np.uint64)


def _end(flows: pa.Table, collectives: pa.Table, ranks: pa.Table, job: int) -> int:
    """When all of the job was done, since its start; of one that is cut off, when the last of its
    messages was that has come."""
    origin = int(_origin(ranks, job))
    known = ranks.filter(pc.equal(ranks["job"], job))["end_ps"]
    ends: list[int] = known.drop_null().to_pylist()
    own = flows.filter(pc.fill_null(pc.equal(flows["job"], job), False))
    messages: list[int] = pc.add(own["start_ps"], own["fct_ps"]).drop_null().to_pylist()
    last: list[int] = _ends(collectives, ranks, job).tolist()
    return max(*(end - origin for end in (*ends, *messages)), *last, 1)


def _draw(
    axes: Axes, flows: pa.Table, collectives: pa.Table, ranks: pa.Table, job: int, last: int
) -> None:
    own = flows.filter(pc.fill_null(pc.equal(flows["job"], job), False))
    own = own.filter(pc.is_valid(own["fct_ps"])).slice(0, MOST_BARS)
    hosts = ranks.filter(pc.equal(ranks["job"], job))["host"].to_pylist()[:MOST_RANKS]
    rank_of = {host: rank for rank, host in enumerate(hosts)}
    scale, unit = unit_of(float(last))
    starts = (own["start_ps"].to_numpy() - _origin(ranks, job)) / scale
    stops = starts + own["fct_ps"].to_numpy() / scale
    rows = [rank_of.get(host, -1) for host in own["src"].to_pylist()]
    iterations = own["iteration"].to_pylist()
    bars, colours = [], []
    for start, stop, row, iteration in zip(starts, stops, rows, iterations, strict=True):
        if row >= 0:
            bars.append([(start, row), (stop, row)])
            colours.append(COLOURS[iteration % len(COLOURS)])
    width = max(0.6, min(6.0, 160 / max(len(hosts), 1)))
    axes.add_collection(LineCollection(bars, colors=colours, linewidths=width, capstyle="butt"))
    for end in _ends(collectives, ranks, job):
        axes.axvline(end / scale, color=BLACK, linewidth=0.6, linestyle="--")
    axes.set_xlim(0, 1.01 * last / scale)  # the last end is seen whole
    axes.set_ylim(len(hosts) - 0.5, -0.5)
    axes.set_xlabel(f"time since the job's start ({unit})")
    axes.set_ylabel("rank")
