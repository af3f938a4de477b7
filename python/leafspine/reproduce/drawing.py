"""A figure's panels from its data alone, as PDF and PNG; a scheme's style is always the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import ScalarFormatter

from leafspine import plots
from leafspine.engine import Case, Point
from leafspine.plots import PANEL, Plot, Saved, number, scheme_of
from leafspine.reproduce import metrics, series
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Figure, Panel
from leafspine.stats import Estimate
from leafspine.style import Style, of_variants
from leafspine.tables import key_label, point_label

COLUMNS = 3
TIMES = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
"""Units that a panel may ask for instead of microseconds."""


def draw(
    figure: Figure, data: Data, cases: Mapping[str, Case], folder: Path, note: str
) -> Saved | None:
    """Draw a figure's panels into ``figure.pdf`` and ``.png``; nothing if it has tables only."""
    panels = [panel for panel in figure.panels if panel.kind != "table"]
    if not panels:
        return None
    columns = 2 if len(panels) in (2, 4) else min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    styles = of_variants((variant, scheme_of(case)) for variant, case in cases.items())
    with plots.settings():
        size = (PANEL[0] * columns, PANEL[1] * rows + 0.5)
        canvas = Canvas(figsize=size, layout="constrained")
        axes = list(np.atleast_1d(canvas.subplots(rows, columns, squeeze=False)).flat)
        for panel, one in zip(panels, axes, strict=False):
            _panel(panel, data, styles, one)
        for one in axes[len(panels) :]:
            one.set_axis_off()
        _legend(canvas, axes, 2 * columns + (columns > 1))
        canvas.supxlabel(note, fontsize=7, color="#666666")
        return plots.save(Plot("figure", figure.title, note, canvas), folder)


def _panel(panel: Panel, data: Data, styles: Mapping[str, Style], axes: Axes) -> None:
    variants = [v for v in panel.variants or data.variants(panel.runs) if v in styles]
    title = f"({panel.name}) {panel.title}" if panel.title else f"({panel.name})"
    axes.set_title(title)
    if panel.kind in ("cdf", "time"):
        _curves(panel, data, variants, styles, axes)
    else:
        _metric(panel, data, variants, styles, axes)
    if panel.log and panel.kind == "cdf":
        axes.set_xscale("log")
    elif panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ScalarFormatter())
    elif panel.kind in ("line", "bar"):
        plots.from_zero(axes)


def _metric(
    panel: Panel, data: Data, variants: Sequence[str], styles: Mapping[str, Style], axes: Axes
) -> None:
    unit, label = metrics.unit_and_label(panel.metric)
    scale, unit = scaled(unit, panel.unit)
    points = data.points(panel.runs, panel.at)
    ordered = sorted(points, key=lambda p: number(dict(p).get(panel.x))[0]) if panel.x else points
    for place, variant in enumerate(variants):
        found = [data.mean((panel.runs, variant, point), panel.metric) for point in ordered]
        found = [_times(entry, scale) for entry in found]
        if panel.kind == "line":
            values = [number(dict(point)[panel.x])[0] for point in ordered]
            plots.draw_line(axes, values, found, plots.shown_name(variant), styles[variant])
        else:
            _bars(axes, place, len(variants), found, plots.shown_name(variant), styles[variant])
    axes.set_ylabel(label + (f" ({unit})" if unit else ""))
    _x_axis(panel, ordered, axes)


def scaled(unit: str, wanted: str) -> tuple[float, str]:
    """Factor and unit for a metric that is shown in the unit that a panel wants."""
    if unit == "us" and wanted in TIMES:
        return TIMES[wanted], wanted
    return 1.0, wanted or unit


def _times(found: Estimate | None, scale: float) -> Estimate | None:
    if found is None:
        return None
    half = None if found.half is None else found.half * scale
    return Estimate(found.mean * scale, half, found.n)


def _bars(
    axes: Axes,
    place: int,
    count: int,
    found: Sequence[Estimate | None],
    label: str,
    style: Style,
) -> None:
    width = 0.8 / count
    x = np.arange(len(found)) + (place - (count - 1) / 2) * width
    means = [entry.mean if entry else np.nan for entry in found]
    halves = [entry.half if entry and entry.half is not None else 0.0 for entry in found]
    hatch = {"solid": "", "dashed": "///", "dashdot": "...", "dotted": "xxx"}[style.line]
    face = "white" if style.hollow else style.colour
    axes.bar(x, means, width * 0.92, label=label, color=face, edgecolor=style.colour, hatch=hatch)
    if any(halves):
        axes.errorbar(x, means, yerr=halves, linestyle="none", color="#333333", lw=0.8, capsize=2)


def _x_axis(panel: Panel, points: Sequence[Point], axes: Axes) -> None:
    if not panel.x:
        names = [point_label(point) for point in points]
        axes.set_xticks(range(len(points)), names if len(points) > 1 else [""] * len(points))
        axes.grid(False, axis="x")
        return
    values = [dict(point)[panel.x] for point in points]
    unit = number(values[0])[1] if values else ""
    axes.set_xlabel(panel.x_label or key_label(panel.x) + (f" ({unit})" if unit else ""))
    if panel.kind == "bar":
        axes.set_xticks(range(len(values)), [f"{number(value)[0]:g}" for value in values])
        axes.grid(False, axis="x")
    elif len(values) <= plots.MOST_TICKS:
        numbers = [number(value)[0] for value in values]
        if len(numbers) > 3 and max(numbers) > 30 * max(min(numbers), 1e-9):
            axes.set_xscale("log")
        axes.set_xticks(numbers, [f"{value:g}" for value in numbers])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


def _curves(
    panel: Panel, data: Data, variants: Sequence[str], styles: Mapping[str, Style], axes: Axes
) -> None:
    points = data.points(panel.runs, panel.at)
    for variant in variants:
        for point in points[:1]:
            by_seed = data.series.get((panel.runs, variant, point), {}).get(panel.series, {})
            if not by_seed:
                continue
            curves = list(by_seed.values())
            x, y = _pooled(curves) if panel.kind == "cdf" else curves[0]
            style = styles[variant]
            every = {"markevery": 0.12, "markersize": 4, **plots.marker_of(style)}
            how: dict[str, Any] = (
                every if panel.kind == "cdf" else {"color": style.colour, "lw": 0.9}
            )
            axes.plot(x, y, label=plots.shown_name(variant), linestyle=style.line, **how)
    x_label, y_label = series.labels(panel.series)
    axes.set_xlabel(panel.x_label or x_label)
    axes.set_ylabel(y_label)
    if panel.kind == "cdf":
        axes.set_ylim(0, 1.02)
    elif not panel.log:
        plots.from_zero(axes)


def _pooled(curves: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The distribution of all seeds together: each seed's points weigh alike."""
    x = np.sort(np.concatenate([curve[0] for curve in curves]))
    return x, np.arange(1, len(x) + 1) / max(len(x), 1)


def _legend(canvas: Canvas, axes: Sequence[Axes], widest: int) -> None:
    """All variants of all panels, once; at most ``widest`` beside each other."""
    found: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if len(found) > 1:
        columns = min(len(found), widest, 6)
        canvas.legend(found.values(), found.keys(), loc="outside upper center", ncols=columns)
