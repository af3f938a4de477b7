"""A fabric's links, coloured by how much they carried, or for how long they were paused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
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
    figure, [axes] = _drawings([(title, ports, shares)], Normalize(0, 1))
    _scale(axes, 1.0)
    graphics.legend(figure, axes, "share of the time in which the link sent")
    return figure


def paused(found: Sequence[tuple[str, pa.Table, Sequence[float]]]) -> Figure:
    """A drawing for each title: from grey (never paused) to red (the longest of all).

    With each come its ports and the share of the time, in 0..1, for which each was paused. Each has
    its colours below it: the report takes the drawings apart.
    """
    most = max((share for _, _, shares in found for share in shares), default=0.0) or 1.0
    figure, panels = _drawings(found, Normalize(0, most))
    for axes in panels:
        _scale(axes, most)
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.02),
            ncols=STEPS,
            fontsize=8,
            columnspacing=1.0,
            handlelength=1.2,
        )
    return figure


def paused_shares(ports: pa.Table, window_ps: int) -> list[float]:
    """For what share of the window of measurement each port was paused."""
    paused_ps = ports["pause_ps"].to_numpy().astype(float)
    return [float(share) for share in np.minimum(paused_ps / max(window_ps, 1), 1.0)]


def _drawings(
    found: Sequence[tuple[str, pa.Table, Sequence[float]]], norm: Normalize
) -> tuple[Figure, list[Axes]]:
    """Drawings beside and below each other."""
    tiers = max(of_ports(ports).tiers for _, ports, _ in found)
    across = 1 if len(found) == 1 else 2
    height = 0.75 * graphics.HEIGHT * tiers / across
    figure, panels = graphics.grid(len(found), across=across, height=height)
    for axes, (title, ports, shares) in zip(panels, found, strict=True):
        _links(axes, of_ports(ports), shares, norm)
        axes.set(xlim=(0, 1), ylim=(-0.12, 1.12), title=title)
        axes.set_axis_off()
    return figure, panels


def _scale(axes: Axes, most: float) -> None:
    """Names for the legend: what the colours are, up to ``most``."""
    digits = 0 if most >= 0.05 else 2
    for share in np.linspace(0, most, STEPS):
        name = f"{100 * share:.{digits}f} %"
        axes.plot([], [], color=HEAT(share / most), lw=2.5, label=name)


def _links(axes: Any, fabric: Fabric, shares: Sequence[float], norm: Normalize) -> None:
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
