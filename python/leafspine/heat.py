"""A fabric's links, coloured by how much they carried."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from leafspine import graphics
from leafspine.fabric import Fabric, Link, Node, of_ports

HEAT = LinearSegmentedColormap.from_list("heat", ["#D9DDE2", "#56B4E9", "#E69F00", "#B02418"])
"""From idle to full; dark enough on white to see a link that carries nothing."""
APART = 0.006
"""Between the two directions of a link, and parallel ones, as a share of the width."""
STEPS = 5
MOST_NAMES = 40


def draw(ports: pa.Table, shares: Sequence[float], title: str = "") -> Figure:
    """Links between their nodes, each direction a line: from grey (idle) to red (full).

    ``shares``: of the time in which each port sent, in 0..1.
    """
    fabric = of_ports(ports)
    figure, [axes] = graphics.grid(1, across=1, height=0.75 * graphics.HEIGHT * fabric.tiers)
    norm = Normalize(0, 1)
    lines, colours = [], []
    for link in fabric.links:
        for port, side in ((link.up, 1), (link.down, -1)):
            lines.append(_line(fabric.nodes, link, side))
            colours.append(HEAT(norm(shares[port])))
    order = np.argsort([shares[p] for one in fabric.links for p in (one.up, one.down)])
    axes.add_collection(
        LineCollection([lines[at] for at in order], colors=[colours[at] for at in order], lw=1.2)
    )
    _nodes(axes, fabric)
    axes.set(xlim=(0, 1), ylim=(-0.12, 1.12), title=title)
    axes.set_axis_off()
    for share in np.linspace(0, 1, STEPS):
        axes.plot([], [], color=HEAT(norm(share)), lw=2.5, label=f"{100 * share:.0f} %")
    graphics.legend(figure, axes, "share of the time in which the link sent")
    return figure


def _line(nodes: Sequence[Node], link: Link, side: int) -> list[tuple[float, float]]:
    shift = APART * (side * 0.5 + link.parallel * 2)
    low, high = nodes[link.lower], nodes[link.upper]
    return [(low.x + shift, low.y), (high.x + shift, high.y)]


def _nodes(axes: Any, fabric: Fabric) -> None:
    rows: Mapping[int, list[Node]] = {
        tier: [node for node in fabric.nodes if node.tier == tier] for tier in range(fabric.tiers)
    }
    for tier, row in rows.items():
        size = 3 if tier == 0 else 7
        places = [node.x for node in row], [node.y for node in row]
        axes.plot(*places, linestyle="none", marker="s", color="#333333", markersize=size, zorder=3)
        if tier and len(row) <= MOST_NAMES:
            names = graphics.spaced(axes, [node.name for node in row])
            for node, name in zip(row, names, strict=True):
                axes.annotate(
                    name,
                    (node.x, node.y),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                )
