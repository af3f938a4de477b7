"""Figures of a comparison, as PDF and PNG.

``fct-<class>``: completion time against the swept key, mean and 99th percentile, with 95 %
intervals as bands; ``fct-<class>-relative``: the same as a paired difference to the first variant;
``slowdown-<point>``: slowdown against flow size; ``cdf-<point>``, ``ccdf-<point>``: completion
times of all flows, and their tail; ``goodput``; ``queue``, ``reordering``, ``utilisation``: the
network; ``timeline``: a job's messages. Without a swept number, variants stand side by side with
error bars.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from leafspine import distributions, heat, job_figures, quantities
from leafspine.comparison_data import ComparisonData, Row
from leafspine.drawing import Plot, save, settings
from leafspine.engine import Case, FlowClass, Point
from leafspine.graphics import (
    MOST_BANDS,
    MOST_TICKS,
    axis_label,
    draw_line,
    ends,
    from_zero,
    grid,
    legend,
    logarithmic,
    marker_of,
    shown_name,
    ticks_at,
    title,
)
from leafspine.labels import point_label, slug
from leafspine.looks import scheme_of, styles
from leafspine.measures import COLLECTIVES, METRICS, NETWORK
from leafspine.quantities import number
from leafspine.saved import Saved
from leafspine.scenario import LOAD
from leafspine.stats import Estimate
from leafspine.style import Style
from leafspine.tables import rate_unit, time_unit

Getter = Callable[[Row], Estimate | None]
Read = Callable[[Point], Sequence[distributions.Sample]]


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
        jobs = [partial(_network, comparison, chosen, axis, COLLECTIVES)] * comparison.has_jobs
        found += jobs * comparison.only_jobs
        for flow_class in comparison.populated:
            found.append(partial(_fct, comparison, chosen, axis, flow_class))
            if len(comparison.variants) > 1:
                found.append(partial(_relative, comparison, chosen, axis, flow_class))
        found += jobs * (not comparison.only_jobs)
        found += [partial(_network, comparison, chosen, axis, name) for name in NETWORK_FIGURES]
        found.append(partial(_goodput, comparison, chosen, axis))
    # A point's flows are read once for its figures, and those of one point are held at a time.
    latest = lru_cache(maxsize=1)(partial(samples, comparison, chosen))
    for point in comparison.points:
        found += [partial(draw, comparison, latest, point) for draw in (_slowdown, _cdf, _ccdf)]
        if comparison.has_pauses and any(case.point == point for case in comparison.finished):
            found.append(partial(_paused, comparison, point))
    if comparison.has_jobs and (runs := _first_runs(comparison)):
        found.append(partial(_timeline, comparison, runs))
    return found


def over(
    comparison: ComparisonData, name: str, axis: Axis, flow_class: FlowClass | None = None
) -> Plot:
    """A figure over an axis: ``fct`` or ``relative`` of a class, ``goodput``, or the network's."""
    chosen = styles(comparison)
    if flow_class is not None:
        draw = {"fct": _fct, "relative": _relative}[name]
        return draw(comparison, chosen, axis, flow_class)
    if name == "goodput":
        return _goodput(comparison, chosen, axis)
    return _network(comparison, chosen, axis, name)


OF_A_POINT = ("slowdown", "cdf", "ccdf")


def at_point(comparison: ComparisonData, name: str, point: Point) -> Plot:
    """One figure of a point: ``slowdown``, ``cdf``, ``ccdf``, or ``paused``."""
    if name == "paused":
        return _paused(comparison, point)
    draw = dict(zip(OF_A_POINT, (_slowdown, _cdf, _ccdf), strict=True))[name]
    return draw(comparison, partial(samples, comparison, styles(comparison)), point)


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


@contextmanager
def _unsearched() -> Iterator[None]:
    """A figure is many thousand objects: the collector would scan all of them once for every
    few figures."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


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
    low, high = ends([found])
    axes.errorbar(
        [place],
        [mean],
        yerr=[mean - low, high - mean],
        label=label,
        capsize=3,
        linestyle="none",
        **marker_of(style),
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
    legend(figure, panels[0])
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
    legend(figure, panels[0])
    return Plot(
        f"fct-{slug(flow_class.name)}-relative{axis.suffix}",
        f"Flow completion time relative to {first}, {_class_label(flow_class)}{axis.where}",
        f"Paired by seed; below zero is faster than {first}; {_band(comparison)}.",
        figure,
    )


def _goodput(comparison: ComparisonData, chosen: Mapping[str, Style], axis: Axis) -> Plot:
    classes = [entry for entry in comparison.populated if entry.name != "all"]
    classes = classes or list(comparison.populated)
    figure, panels = grid(len(classes))
    for axes, flow_class in zip(panels, classes, strict=True):
        scale, unit = rate_unit(comparison, flow_class.name)
        _draw(comparison, chosen, axis, axes, flow_class.name, "goodput_mean", _scaled(scale))
        title(axes, _class_label(flow_class))
        axes.set_ylabel(f"mean goodput ({unit})")
        from_zero(axes)
    legend(figure, panels[0])
    return Plot(
        f"goodput{axis.suffix}",
        f"Goodput of flows{axis.where}",
        f"{METRICS['goodput_mean'].meaning.capitalize()}; {_band(comparison)}.",
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
COLLECTIVE_FIGURE = ("Collectives", ("completion_mean", "bus_bandwidth", "idle_share"))
"""The same of the figure of collectives: over a swept size, bandwidth by size."""


def _network(
    comparison: ComparisonData, chosen: Mapping[str, Style], axis: Axis, name: str
) -> Plot:
    of_jobs = name == COLLECTIVES
    heading, metrics = COLLECTIVE_FIGURE if of_jobs else NETWORK_FIGURES[name]
    group = COLLECTIVES if of_jobs else NETWORK
    figure, panels = grid(len(metrics))
    for axes, metric in zip(panels, metrics, strict=True):
        _draw(comparison, chosen, axis, axes, group, metric, _scaled(1.0))
        axes.set_ylabel(quantities.with_unit(METRICS[metric].label, METRICS[metric].unit))
        from_zero(axes)
    if name == "utilisation":
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0, top)
    legend(figure, panels[0])
    caption = "; ".join(f"{METRICS[m].label}: {METRICS[m].meaning}" for m in metrics)
    return Plot(
        f"{name}{axis.suffix}", heading + axis.where, f"{caption}; {_band(comparison)}.", figure
    )


def _cdf(comparison: ComparisonData, read: Read, point: Point) -> Plot:
    return Plot(
        _at("cdf", point),
        f"Distribution of flow completion times{_where(point)}",
        "Finished flows of all seeds, pooled; logarithmic time.",
        distributions.cdf(read(point), _panels(comparison)),
    )


def _ccdf(comparison: ComparisonData, read: Read, point: Point) -> Plot:
    return Plot(
        _at("ccdf", point),
        f"Tail of the flow completion times{_where(point)}",
        "Share of all seeds' finished flows that took longer; both axes logarithmic.",
        distributions.ccdf(read(point), _panels(comparison)),
    )


def _slowdown(comparison: ComparisonData, read: Read, point: Point) -> Plot:
    return Plot(
        _at("slowdown", point),
        f"Slowdown against flow size{_where(point)}",
        "Completion time over the ideal one, of the finished flows; every tick is as many flows; "
        f"{_band(comparison)}.",
        distributions.slowdown(read(point)),
    )


def _paused(comparison: ComparisonData, point: Point) -> Plot:
    found: dict[str, list[tuple[Any, list[float]]]] = {name: [] for name in comparison.variants}
    for case in comparison.finished:
        if case.point == point:
            result = comparison.result(case)
            window = result.summary["window_end_ps"] - result.summary["window_start_ps"]
            found[case.variant].append((result.ports, heat.paused_shares(result.ports, window)))
    drawn = [
        (variant, runs[0][0], [float(share) for share in np.mean([s for _, s in runs], axis=0)])
        for variant, runs in found.items()
        if runs
    ]
    return Plot(
        _at("paused", point),
        f"Paused links{_where(point)}",
        "For what share of the measurement window the far end of each link had some priority of "
        "the port paused; mean over seeds.",
        heat.paused(drawn),
    )


def _first_runs(comparison: ComparisonData) -> dict[str, Case]:
    """The run of each variant's first seed at the first point, if it is finished and has a job."""
    first = comparison.points[0], comparison.seeds[0]
    return {
        case.variant: case
        for case in comparison.finished
        if (case.point, case.seed) == first
        and (COLLECTIVES, "collectives") in comparison.measured[case.variant, *first]
    }


def _timeline(comparison: ComparisonData, runs: Mapping[str, Case]) -> Plot:
    def tables(case: Case) -> job_figures.Tables:
        result = comparison.result(case)
        return result.flows, result.collectives, result.ranks

    return Plot(
        "timeline",
        f"Messages of the first job{_where(comparison.points[0])}",
        "The first seed's: a row a rank, a bar a message that it sends, a colour an iteration; "
        "dashed: a collective is complete.",
        job_figures.beside([(shown_name(name), tables(case)) for name, case in runs.items()], 0),
    )


def _at(name: str, point: Point) -> str:
    return f"{name}-{slug(point_label(point))}" if point else name


def _where(point: Point) -> str:
    return f" at {point_label(point)}" if point else ""


def _panels(comparison: ComparisonData) -> distributions.Panels:
    return [
        (entry, _class_label(entry), *time_unit(comparison, entry.name))
        for entry in comparison.populated
    ]


def samples(
    comparison: ComparisonData, chosen: Mapping[str, Style], point: Point
) -> list[distributions.Sample]:
    """The finished flows of each variant at a point."""
    found: dict[str, list[Any]] = {variant: [] for variant in comparison.variants}
    for case in comparison.finished:
        if case.point == point:
            flows = comparison.result(case).measured_flows
            found[case.variant].append(distributions.finished(flows))
    return [
        distributions.Sample(variant, chosen[variant], tuple(seeds))
        for variant, seeds in found.items()
    ]


def _class_label(flow_class: FlowClass) -> str:
    if flow_class.name == "all":
        return "all flows"
    return f"{flow_class.name} flows ({flow_class.describe()})"


def _band(comparison: ComparisonData) -> str:
    if len(comparison.seeds) == 1:
        return "one seed, no intervals"
    if len(comparison.variants) > MOST_BANDS:
        return f"95 % intervals over {len(comparison.seeds)} seeds are in the tables"
    return f"95 % intervals over {len(comparison.seeds)} seeds"


def _from_zero_or_log(axes: Axes) -> None:
    """A linear axis from zero; a logarithmic one where values span more than a factor of 30."""
    values = [y for line in axes.get_lines() for y in np.asarray(line.get_ydata(), dtype=float)]
    positive = [value for value in values if np.isfinite(value) and value > 0]
    if positive and max(positive) > 30 * min(positive):
        logarithmic(axes, "y")
    else:
        from_zero(axes)


__all__ = [
    "Axis",
    "Plot",
    "at_point",
    "axes_of",
    "figures",
    "makers",
    "over",
    "save",
    "scheme_of",
    "settings",
    "styles",
    "write",
]
