"""The timeline of a job: a row a rank, a bar a message that it sends, a colour an iteration."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from leafspine import graphics
from leafspine.style import BLACK, COLOURS
from leafspine.timelines import unit_of

MOST_RANKS = 64
"""Of more ranks, the first ones."""
MOST_BARS = 20_000
"""Of more messages, the first ones."""


def timeline(flows: pa.Table, collectives: pa.Table, ranks: pa.Table, job: int) -> Figure:
    """The messages of a job's ranks over time; dashed lines are where collectives were complete."""
    own = flows.filter(pc.fill_null(pc.equal(flows["job"], job), False))
    own = own.filter(pc.is_valid(own["fct_ps"])).slice(0, MOST_BARS)
    placed = ranks.filter(pc.equal(ranks["job"], job))
    hosts = placed["host"].to_pylist()[:MOST_RANKS]
    rank_of = {host: rank for rank, host in enumerate(hosts)}
    origin = int(placed["start_ps"][0].as_py())
    done = collectives.filter(pc.equal(collectives["job"], job)).drop_null()
    ends = done["start_ps"].to_numpy() + done["completion_ps"].to_numpy() - np.uint64(origin)
    last = max([*ends.tolist(), *(placed["end_ps"].to_numpy() - np.uint64(origin)).tolist(), 1])
    scale, unit = unit_of(float(last))
    figure, [axes] = graphics.grid(1)
    starts = (own["start_ps"].to_numpy() - np.uint64(origin)) / scale
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
    for end in ends:
        axes.axvline(end / scale, color=BLACK, linewidth=0.6, linestyle="--")
    axes.set_xlim(0, last / scale)
    axes.set_ylim(len(hosts) - 0.5, -0.5)
    axes.set_xlabel(f"time since the job's start ({unit})")
    axes.set_ylabel("rank")
    return figure
