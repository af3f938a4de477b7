"""How completion times are distributed: CDF, its complement, slowdown by flow size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leafspine.engine import FlowClass
from leafspine.graphics import (
    draw_line,
    grid,
    legend,
    logarithmic,
    marker_of,
    shown_name,
    spaced,
    title,
)
from leafspine.measures import PS_PER_US, in_class
from leafspine.quantities import size
from leafspine.stats import Estimate, estimate, nearest_rank
from leafspine.style import Style

Array = npt.NDArray[Any]

CDF_POINTS = 400
PERCENTILES = (50, 95, 99)
MOST_BINS, LEAST_BINS = 10, 4
IN_BIN = 100
"""Flows of one seed that a bin should have: with fewer a 99th percentile is the largest value."""


@dataclass(frozen=True)
class Sample:
    """The finished flows of one variant at one point: a triple of arrays for each seed, sizes in
    bytes, completion times and ideal ones in ps."""

    label: str
    style: Style
    seeds: tuple[tuple[Array, Array, Array], ...]

    def pooled(self, column: int) -> Array:
        """One of the three columns, of all seeds."""
        none = [np.array([], dtype=np.uint64)]
        return np.concatenate([*none, *(columns[column] for columns in self.seeds)])


def finished(flows: pa.Table) -> tuple[Array, Array, Array]:
    """Sizes, completion times and ideal ones of the flows that have ended."""
    done = flows.filter(flows["fct_ps"].is_valid())
    sizes, fct, ideal = (done[name].to_numpy() for name in ("bytes", "fct_ps", "ideal_fct_ps"))
    return sizes, fct, ideal


Panels = Sequence[tuple[FlowClass, str, float, str]]
"""Each panel's class, its name, what microseconds are multiplied by, and their unit then."""


def cdf(samples: Sequence[Sample], panels: Panels) -> Figure:
    """The share of flows that took at most so long, a panel a class; logarithmic time."""
    figure = _by_class(samples, panels, _cdf_line)
    for axes in figure.axes:
        axes.set_ylim(0, 1.02)
    figure.axes[0].set_ylabel("share of finished flows")
    return figure


def ccdf(samples: Sequence[Sample], panels: Panels) -> Figure:
    """The share of flows that took longer, both axes logarithmic: the tail in full."""
    figure = _by_class(samples, panels, _ccdf_line)
    for axes in figure.axes:
        least = axes.dataLim.minposy
        axes.set_ylim(0.8 * least if np.isfinite(least) else 0.1, 1.2)
        logarithmic(axes, "y")
    figure.axes[0].set_ylabel("share of flows that took longer")
    return figure


def _by_class(samples: Sequence[Sample], panels: Panels, draw: Any) -> Figure:
    figure, all_axes = grid(len(panels))
    for axes, (flow_class, name, scale, unit) in zip(all_axes, panels, strict=True):
        for sample in samples:
            member = in_class(sample.pooled(0), flow_class)
            ordered = np.sort(sample.pooled(1)[member]) / PS_PER_US * scale
            draw(axes, ordered, shown_name(sample.label), sample.style)
        title(axes, name)
        axes.set_xlabel(f"FCT ({unit})")
        logarithmic(axes, "x")
    legend(figure, all_axes[0])
    return figure


def _cdf_line(axes: Axes, ordered: Array, label: str, style: Style) -> None:
    # Evenly spaced ranks, and more in the last percent: steps too small to see are left out.
    shares = np.concatenate([np.linspace(0, 0.99, CDF_POINTS), np.linspace(0.99, 1, CDF_POINTS)])
    ranks = _ranks(shares, len(ordered))
    _steps(axes, ordered[ranks], (ranks + 1) / max(len(ordered), 1), label, style)


def _ccdf_line(axes: Axes, ordered: Array, label: str, style: Style) -> None:
    # As many ranks in each power of ten of the tail; the largest value has nothing above it.
    count = len(ordered)
    shares = 1 - np.logspace(-np.log10(max(count, 1)), 0, CDF_POINTS)
    ranks = _ranks(shares, count)
    ranks = ranks[ranks < count - 1]
    _steps(axes, ordered[ranks], 1 - (ranks + 1) / max(count, 1), label, style)


def _ranks(shares: Array, count: int) -> Array:
    if count == 0:
        return np.array([], dtype=int)
    return np.unique(np.minimum((shares * count).astype(int), count - 1))


def _steps(axes: Axes, values: Array, shares: Array, label: str, style: Style) -> None:
    how = {"linestyle": style.line, "markevery": 0.13, "markersize": 4, **marker_of(style)}
    axes.step(values, shares, where="post", label=label, **how)


def slowdown(samples: Sequence[Sample]) -> Figure:
    """Completion time over ideal time against flow size: p50, p95, p99.

    Each step along the axis is the same number of flows, by rising size, as in the papers of
    Homa and HPCC; the tick says the largest size in it. The mean over seeds of each seed's
    percentile, with its 95 % interval as a band.
    """
    edges = size_bins(samples)
    figure, panels = grid(len(PERCENTILES))
    for axes, percent in zip(panels, PERCENTILES, strict=True):
        means = []
        for sample in samples:
            found = [_of_bin(sample, edges, at, percent) for at in range(len(edges))]
            name = shown_name(sample.label)
            draw_line(axes, range(len(edges)), found, name, sample.style, len(samples))
            means += [one.mean for one in found if one]
        axes.set_title(f"p{percent}")
        # Bands may go below one, or below zero; slowdowns do not.
        axes.set_ylim(0.9 * min(means, default=1.0), 1.5 * max(means, default=10.0))
        logarithmic(axes, "y")
        axes.set_xticks(range(len(edges)), spaced(axes, [size(edge, 2) for edge in edges]))
        axes.set_xlabel("flow size, up to")
    panels[0].set_ylabel("slowdown")
    legend(figure, panels[0])
    return figure


def size_bins(samples: Sequence[Sample]) -> list[int]:
    """The largest size of each bin: bins of about as many flows, by rising size.

    At most ten, and fewer where a seed has few flows. Every seed gives the same flows to every
    variant, so that the bins are those of the variant that finished most of them.
    """
    best = max(samples, key=lambda sample: len(sample.pooled(0)))
    sizes = best.pooled(0)
    if len(sizes) == 0:
        return [0]
    distinct = np.unique(sizes)
    if len(distinct) <= MOST_BINS:
        return [int(one) for one in distinct]
    least = min(len(columns[0]) for columns in best.seeds)
    count = min(MOST_BINS, max(LEAST_BINS, least // IN_BIN))
    ordered, shares = np.sort(sizes), np.arange(1, count + 1) * 100 / count
    return sorted({int(nearest_rank(ordered, share)) for share in shares})


def _of_bin(sample: Sample, edges: Sequence[int], at: int, percent: float) -> Estimate | None:
    low = edges[at - 1] if at else -1
    found = []
    for sizes, fct, ideal in sample.seeds:
        inside = (sizes > low) & (sizes <= edges[at])
        if inside.any():
            found.append(float(nearest_rank(np.sort(fct[inside] / ideal[inside]), percent)))
    return estimate(found)
