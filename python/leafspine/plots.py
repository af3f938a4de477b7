"""Figures of a comparison, as PDF and PNG.

``fct-<class>``: completion time against the swept key, mean and 99th percentile, with 95 %
intervals as bands; ``fct-<class>-relative``: the same as a paired difference to the first variant;
``cdf-<point>``: all flows' completion times; ``queue``, ``reordering``, ``utilisation``: the
network. Without a swept number, variants stand side by side with error bars.
"""

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leafspine import files, quantities, rendering
from leafspine.comparison_data import ComparisonData, Row
from leafspine.engine import Case, FlowClass, Point
from leafspine.graphics import (
    MOST_TICKS,
    axis_label,
    draw_line,
    from_zero,
    grid,
    logarithmic,
    marker_of,
    shown_name,
    ticks_at,
)
from leafspine.labels import point_label
from leafspine.measures import METRICS, NETWORK, PS_PER_US, in_class
from leafspine.quantities import number
from leafspine.saved import Saved
from leafspine.scenario import LOAD
from leafspine.stats import Estimate
from leafspine.style import REGISTRY, STEERING, Style, matplotlib_settings, of_variants
from leafspine.tables import time_unit

CDF_POINTS = 400


Getter = Callable[[Row], Estimate | None]


@dataclass(frozen=True)
class Plot:
    """A figure's name (that of its files), a title and a sentence for the report."""

    name: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Axis:
    """The swept key that the figures have on their horizontal axis, at one setting of the others.

    ``points`` in rising order of ``values``; no key: variants stand side by side.
    """

    key: str | None
    values: tuple[float, ...]
    points: tuple[Point, ...]
    rest: Point
    unit: str = ""

    @property
    def suffix(self) -> str:
        """Ending of the names of the files, empty when only one key is swept."""
        return f"-{slug(point_label(self.rest))}" if self.rest else ""

    @property
    def where(self) -> str:
        """The others' setting, for titles."""
        return f" ({point_label(self.rest)})" if self.rest else ""


def makers(comparison: ComparisonData) -> list[Callable[[], Plot]]:
    """What makes the figures of a comparison, one each."""
    chosen = styles(comparison)
    found: list[Callable[[], Plot]] = []
    for axis in axes_of(comparison):
        for flow_class in comparison.populated:
            found.append(partial(_fct, comparison, chosen, axis, flow_class))
            if len(comparison.variants) > 1:
                found.append(partial(_relative, comparison, chosen, axis, flow_class))
        found += [partial(_network, comparison, chosen, axis, name) for name in NETWORK_FIGURES]
    found += [partial(_cdf, comparison, chosen, point) for point in comparison.points]
    return found


def figures(comparison: ComparisonData) -> Iterator[Plot]:
    """All figures of a comparison, one after the other (each is freed by its user)."""
    with settings():
        for make in makers(comparison):
            yield make()


def write(
    comparison: ComparisonData,
    directory: Path,
    kept: Mapping[str, Saved],
    watch: Callable[[int, int], None],
) -> list[Saved]:
    """Write every figure as ``plots/<name>.pdf`` and ``.png`` under ``directory``.

    Those that are ``kept`` there, by name, are not drawn. ``watch`` gets how many of how many
    are done.
    """
    found: list[Saved] = []
    with settings(), _unsearched():
        makes = makers(comparison)
        for make in makes:
            watch(len(found), len(makes))
            plot = make()
            found.append(kept.get(plot.name) or save(plot, directory / "plots"))
    return found


def save(plot: Plot, directory: Path) -> Saved:
    """Write one figure as PDF and PNG."""
    pdf, png = directory / f"{plot.name}.pdf", directory / f"{plot.name}.png"
    with settings():
        drawn = rendering.render(plot.figure)
    for path, contents in zip((pdf, png), drawn, strict=True):
        with files.replacing_file(path) as temporary:
            temporary.write_bytes(contents)
    wide = len(plot.figure.axes) > 2
    return Saved(plot.name, plot.title, plot.caption, pdf, png, wide)


@contextmanager
def _unsearched() -> Iterator[None]:
    """A figure is many thousand objects: the collector would scan all of them once for every
    few figures."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def settings() -> Iterator[None]:
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(matplotlib_settings())
        yield


def slug(text: str) -> str:
    """A name for a file."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "all"


def styles(comparison: ComparisonData) -> dict[str, Style]:
    """Each variant's style, by the balancer that its scenario names."""
    pairs = []
    for variant in comparison.variants:
        case = next(case for case in comparison.cases if case.variant == variant)
        pairs.append((variant, scheme_of(case)))
    return of_variants(pairs)


def scheme_of(case: Case) -> str:
    """What a case's figure is about: the edge that steers, the hold, the queue manager that the
    variant is named after, a variant of QALL, or else the load balancer; the variant's own name if
    the scenario names none."""
    facts = case.facts
    if facts.host_edge and facts.host_edge.name in STEERING:
        return facts.host_edge.name
    if facts.hold:
        return facts.hold.name
    manager = facts.aqm.name if facts.aqm else ""
    if case.variant.lower() in (manager, manager.partition("-")[0]):
        return manager
    if facts.load_balancer is None:
        return case.variant.lower()
    name, params = facts.load_balancer.name, facts.load_balancer.params
    kinds = (params.get(key) for key in ("variant", "granularity"))
    special = [f"{name}-{kind}" for kind in kinds if f"{name}-{kind}" in REGISTRY]
    return special[0] if special else name


def axes_of(comparison: ComparisonData) -> list[Axis]:
    """The horizontal axes: the load if it is swept, else the first swept number."""
    key = _axis_key(comparison.points)
    if key is None:
        return [Axis(None, (), (point,), point) for point in comparison.points]
    groups: dict[Point, list[Point]] = {}
    for point in comparison.points:
        rest = tuple(entry for entry in point if entry[0] != key)
        groups.setdefault(rest, []).append(point)
    found = []
    for rest, points in groups.items():
        ordered = sorted(points, key=lambda point: number(dict(point)[key])[0])
        values, unit = quantities.axis([dict(point)[key] for point in ordered])
        found.append(Axis(key, tuple(values), tuple(ordered), rest, unit))
    return found


def _axis_key(points: Sequence[Point]) -> str | None:
    values: dict[str, set[Any]] = {}
    for point in points:
        for key, value in point:
            values.setdefault(key, set()).add(value)
    numbers = [key for key, found in values.items() if len(found) > 1 and _alike(found)]
    if LOAD in numbers:
        return LOAD
    return numbers[0] if numbers else None


def _alike(values: set[Any]) -> bool:
    """Whether all are numbers of one unit."""
    found = [number(value) for value in values]
    return all(np.isfinite(size) for size, _ in found) and len({unit for _, unit in found}) == 1


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 5))


def _draw(
    comparison: ComparisonData,
    chosen: Mapping[str, Style],
    axis: Axis,
    axes: Axes,
    group: str,
    metric: str,
    get: Getter,
    skip_first: bool = False,
) -> None:
    """One panel: a metric over the axis, a line and a band per variant."""
    variants = comparison.variants[1:] if skip_first else comparison.variants
    for place, variant in enumerate(variants):
        found = [get(comparison.by_name[variant, point, group, metric]) for point in axis.points]
        if axis.key is None:
            _bar(axes, place, found[0], shown_name(variant), chosen[variant])
        else:
            name, style = shown_name(variant), chosen[variant]
            draw_line(axes, axis.values, found, name, style, len(variants))
    if axis.key is None:
        axes.set_xticks(range(len(variants)), [""] * len(variants))
        axes.set_xlim(-0.5, len(variants) - 0.5)
        axes.grid(False, axis="x")
    else:
        axes.set_xlabel(quantities.with_unit(axis_label(axis.key), axis.unit))
        if len(axis.values) <= MOST_TICKS:
            ticks_at(axes, axis.values)


def _bar(axes: Axes, place: int, found: Estimate | None, label: str, style: Style) -> None:
    mean = found.mean if found else np.nan
    half = found.half if found and found.half is not None else 0.0
    axes.errorbar(
        [place], [mean], yerr=[half], label=label, capsize=3, linestyle="none", **marker_of(style)
    )


def _scaled(scale: float) -> Getter:
    def get(row: Row) -> Estimate | None:
        if row.estimate is None:
            return None
        half = None if row.estimate.half is None else row.estimate.half * scale
        return Estimate(row.estimate.mean * scale, half, row.estimate.n)

    return get


def _fct(
    comparison: ComparisonData, chosen: Mapping[str, Style], axis: Axis, flow_class: FlowClass
) -> Plot:
    scale, unit = time_unit(comparison, flow_class.name)
    figure, panels = grid(2)
    for axes, metric in zip(panels, ("fct_mean", "fct_p99"), strict=True):
        _draw(comparison, chosen, axis, axes, flow_class.name, metric, _scaled(scale))
        axes.set_ylabel(f"{METRICS[metric].label} ({unit})")
        _from_zero_or_log(axes)
    _legend(figure, panels[0])
    return Plot(
        f"fct-{slug(flow_class.name)}{axis.suffix}",
        f"Flow completion time, {_class_label(flow_class)}{axis.where}",
        f"Mean (left) and 99th percentile (right) of the finished flows; {_band(comparison)}.",
        figure,
    )


def _relative(
    comparison: ComparisonData, chosen: Mapping[str, Style], axis: Axis, flow_class: FlowClass
) -> Plot:
    first = comparison.variants[0]
    figure, panels = grid(2)
    for axes, metric in zip(panels, ("fct_mean", "fct_p99"), strict=True):
        axes.axhline(0, color="#333333", linewidth=0.8)
        _draw(
            comparison,
            chosen,
            axis,
            axes,
            flow_class.name,
            metric,
            lambda row: row.difference,
            skip_first=True,
        )
        axes.set_ylabel(f"{METRICS[metric].label} vs {shown_name(first)} (%)")
    _legend(figure, panels[0])
    return Plot(
        f"fct-{slug(flow_class.name)}-relative{axis.suffix}",
        f"Flow completion time relative to {first}, {_class_label(flow_class)}{axis.where}",
        f"Paired by seed; below zero is faster than {first}; {_band(comparison)}.",
        figure,
    )


NETWORK_FIGURES = {
    "queue": ("Queues of the uplinks", ("queue_mean", "queue_p99", "queue_max")),
    "reordering": ("Reordering and retransmissions", ("reordered_share", "retransmits")),
    "utilisation": (
        "Use of the uplinks",
        ("utilisation_min", "utilisation_mean", "utilisation_max"),
    ),
}
"""Title and metrics of the network's figures, by name."""


def _network(
    comparison: ComparisonData, chosen: Mapping[str, Style], axis: Axis, name: str
) -> Plot:
    title, metrics = NETWORK_FIGURES[name]
    figure, panels = grid(len(metrics))
    for axes, metric in zip(panels, metrics, strict=True):
        _draw(comparison, chosen, axis, axes, NETWORK, metric, _scaled(1.0))
        axes.set_ylabel(quantities.with_unit(METRICS[metric].label, METRICS[metric].unit))
        from_zero(axes)
    if name == "utilisation":
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0, top)
    _legend(figure, panels[0])
    caption = "; ".join(f"{METRICS[m].label}: {METRICS[m].meaning}" for m in metrics)
    return Plot(
        f"{name}{axis.suffix}", title + axis.where, f"{caption}; {_band(comparison)}.", figure
    )


def _cdf(comparison: ComparisonData, chosen: Mapping[str, Style], point: Point) -> Plot:
    classes = comparison.populated
    figure, panels = grid(len(classes))
    units = [time_unit(comparison, entry.name) for entry in classes]
    for variant in comparison.variants:
        sizes, fct = _pooled(comparison, variant, point)
        for axes, flow_class, (scale, _) in zip(panels, classes, units, strict=True):
            ordered = np.sort(fct[in_class(sizes, flow_class)]) / PS_PER_US * scale
            _cdf_line(axes, ordered, shown_name(variant), chosen[variant])
    for axes, flow_class, (_, unit) in zip(panels, classes, units, strict=True):
        axes.set_title(_class_label(flow_class))
        axes.set_xlabel(f"FCT ({unit})")
        logarithmic(axes, "x")
        axes.set_ylim(0, 1.02)
    panels[0].set_ylabel("share of finished flows")
    _legend(figure, panels[0])
    where = point_label(point)
    return Plot(
        f"cdf-{slug(where)}" if where else "cdf",
        f"Distribution of flow completion times{f' at {where}' if where else ''}",
        "Finished flows of all seeds, pooled; logarithmic time.",
        figure,
    )


def _pooled(comparison: ComparisonData, variant: str, point: Point) -> tuple[Any, Any]:
    """Sizes and completion times (ps) of the finished flows of all seeds."""
    sizes, fct = [np.array([], dtype=np.uint64)], [np.array([], dtype=np.uint64)]
    for case in comparison.finished:
        if case.variant == variant and case.point == point:
            flows = comparison.result(case).measured_flows
            flows = flows.filter(flows["fct_ps"].is_valid())
            sizes.append(flows["bytes"].to_numpy())
            fct.append(flows["fct_ps"].to_numpy())
    return np.concatenate(sizes), np.concatenate(fct)


def _cdf_line(axes: Axes, ordered: Any, label: str, style: Style) -> None:
    count = len(ordered)
    if count == 0:
        axes.plot([], [], label=label, linestyle=style.line, **marker_of(style))
        return
    # Evenly spaced ranks, and more in the last percent: steps too small to see are left out.
    shares = np.concatenate([np.linspace(0, 0.99, CDF_POINTS), np.linspace(0.99, 1, CDF_POINTS)])
    ranks = np.unique(np.minimum((shares * count).astype(int), count - 1))
    axes.step(
        ordered[ranks],
        (ranks + 1) / count,
        where="post",
        label=label,
        linestyle=style.line,
        markevery=0.13,
        markersize=4,
        **marker_of(style),
    )


def _class_label(flow_class: FlowClass) -> str:
    if flow_class.name == "all":
        return "all flows"
    return f"{flow_class.name} flows ({flow_class.describe()})"


def _band(comparison: ComparisonData) -> str:
    if len(comparison.seeds) == 1:
        return "one seed, no intervals"
    return f"95 % intervals over {len(comparison.seeds)} seeds"


def _from_zero_or_log(axes: Axes) -> None:
    """A linear axis from zero; a logarithmic one where values span more than a factor of 30."""
    values = [y for line in axes.get_lines() for y in np.asarray(line.get_ydata(), dtype=float)]
    positive = [value for value in values if np.isfinite(value) and value > 0]
    if positive and max(positive) > 30 * min(positive):
        logarithmic(axes, "y")
    else:
        from_zero(axes)
