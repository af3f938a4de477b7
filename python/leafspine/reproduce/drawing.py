"""A figure's panels from its data alone, as PDF and PNG; a scheme's style is always the same."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from leafspine import files, graphics, plots, quantities
from leafspine.engine import Case, Point
from leafspine.labels import point_label
from leafspine.plots import Plot, scheme_of
from leafspine.reproduce import metrics, series
from leafspine.reproduce.data import Data, Values
from leafspine.reproduce.figures import Figure, Panel
from leafspine.saved import Saved
from leafspine.stats import Estimate, estimate
from leafspine.style import Style, of_shades, of_variants

TIMES = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
"""Units that a panel may ask for instead of microseconds."""

NAME = "figure"
"""Of its files, without their endings."""

LEGEND_ROW = 0.17
"""What a further row of the legend needs in inches."""
BARS = 0.8
"""Share of a group's place that its bars take."""


@dataclass(frozen=True)
class Group:
    """Bars side by side: one part of a panel at one point of its sweep."""

    name: str
    panel: Panel
    point: Point


def draw(
    figure: Figure, data: Data, cases: Mapping[str, Case], folder: Path, note: str
) -> Saved | None:
    """Draw a figure's panels into ``figure.pdf`` and ``.png``; nothing if it has tables only."""
    panels = _shown(figure)
    if not panels:
        return None
    styles = of_variants((variant, scheme_of(case)) for variant, case in cases.items())
    with plots.settings():
        canvas, axes = graphics.grid(len(panels))
        for parts, one in zip(panels, axes, strict=True):
            _panel(parts, data, styles, one)
            title = parts[0].title or parts[0].name
            title = f"({parts[0].name}) {title}" if len(panels) > 1 else title
            seed = _seed(parts, data)
            title += f", seed {seed}" if seed is not None else ""
            room = int(1.1 * graphics.width(one) / graphics.LETTER)
            one.set_title(textwrap.fill(_unbroken(title), room))
        _legend(canvas, axes)
        canvas.supxlabel(note, fontsize=8, color="#666666")
        return plots.save(Plot(NAME, figure.title, note, canvas), folder)


def _shown(figure: Figure) -> list[Sequence[Panel]]:
    return [parts for parts in figure.by_name() if parts[0].kind != "table"]


def leave_out(figure: Figure, folder: Path) -> bool:
    """Draw nothing, and remove what was drawn of other numbers; whether there is a picture."""
    for kind in ("pdf", "png"):
        path = folder / f"{NAME}.{kind}"
        with files.writing(path):
            path.unlink(missing_ok=True)
    return bool(_shown(figure))


def _seed(parts: Sequence[Panel], data: Data) -> int | None:
    """Which seed a panel against time shows, as there is no mean of such curves: the first that
    all its curves have."""
    if parts[0].kind != "time":
        return None
    found = [
        set(_by_seed(part, data, variant))
        for part in parts
        for variant in part.variants or data.variants(part.runs)
    ]
    found = [seeds for seeds in found if seeds]
    return min(set.intersection(*found), default=None) if found else None


def _panel(parts: Sequence[Panel], data: Data, styles: Mapping[str, Style], axes: Axes) -> None:
    panel = parts[0]
    if panel.kind == "bar":
        _bars(parts, data, styles, axes)
    elif panel.series:
        _curves(parts, data, styles, axes)
    else:
        _lines(panel, data, styles, axes)
    if not axes.has_data():
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color="#666666")
        return
    if panel.log:
        graphics.logarithmic(axes, "x" if panel.kind == "cdf" else "y")
    elif panel.kind != "cdf":
        graphics.from_zero(axes)


def _variants(panel: Panel, data: Data, styles: Mapping[str, Style]) -> list[str]:
    return [v for v in panel.variants or data.variants(panel.runs) if v in styles]


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


def _found(panel: Panel, data: Data, variant: str, points: Sequence[Point]) -> list[Any]:
    """A variant's means at the points, in the panel's unit."""
    scale, _ = scaled(metrics.unit_and_label(panel.metric)[0], panel.unit)
    means = [data.mean((panel.runs, variant, point), panel.metric) for point in points]
    return [_times(entry, scale) for entry in means]


def _y_label(panel: Panel, axes: Axes) -> None:
    unit, label = metrics.unit_and_label(panel.metric)
    _, unit = scaled(unit, panel.unit)
    axes.set_ylabel(_wrapped(quantities.with_unit(panel.y_label or label, unit)))


def _wrapped(label: str) -> str:
    """A label of the vertical axis in lines that a panel is high enough for."""
    return textwrap.fill(label, int(0.7 * graphics.HEIGHT / graphics.LETTER))


def _x_label(axes: Axes, label: str, unit: str) -> None:
    text = quantities.with_unit(label, unit)
    axes.set_xlabel(textwrap.fill(text, int(graphics.width(axes) / graphics.LETTER)))


def _ordered(panel: Panel, data: Data) -> list[Point]:
    """The points that a panel shows, in rising order of what is on its horizontal axis."""
    points = list(data.points(panel.runs, panel.at))
    if panel.x:
        points.sort(key=lambda point: quantities.number(dict(point).get(panel.x))[0])
    return points


def _lines(panel: Panel, data: Data, styles: Mapping[str, Style], axes: Axes) -> None:
    """A metric against a swept key."""
    points = _ordered(panel, data)
    values, unit = quantities.axis([dict(point).get(panel.x) for point in points])
    variants = _variants(panel, data, styles)
    for variant in variants:
        found, name = _found(panel, data, variant, points), graphics.shown_name(variant)
        if any(found):
            graphics.draw_line(axes, values, found, name, styles[variant], len(variants))
    _y_label(panel, axes)
    _x_label(axes, panel.x_label or graphics.axis_label(panel.x), unit)
    if len(values) > 3 and max(values) > 30 * max(min(values), 1e-9):
        axes.set_xscale("log")
    if len(values) <= graphics.MOST_TICKS:
        graphics.ticks_at(axes, values)


def _groups(parts: Sequence[Panel], data: Data) -> list[Group]:
    found = []
    for panel in parts:
        points = _ordered(panel, data)
        values, _ = quantities.axis([dict(point).get(panel.x) for point in points])
        for point, value in zip(points, values, strict=True):
            where = f"{value:g}" if panel.x else point_label(point) if len(points) > 1 else ""
            name = ", ".join(word for word in (panel.label, where) if word)
            found.append(Group(name, panel, point))
    return found


def _bars(parts: Sequence[Panel], data: Data, styles: Mapping[str, Style], axes: Axes) -> None:
    """A bar a variant, in groups; on a logarithmic axis, where a bar has no length, a marker."""
    panel, groups = parts[0], _groups(parts, data)
    variants = list(dict.fromkeys(v for part in parts for v in _variants(part, data, styles)))
    named = len(groups) <= 1 and len(variants) > 1
    for place, variant in enumerate(variants):
        found = [_found(group.panel, data, variant, [group.point])[0] for group in groups]
        if named:
            width, x = BARS, np.array([float(place)] * len(found))
        else:
            width = BARS / len(variants)
            x = np.arange(len(found)) + (place - (len(variants) - 1) / 2) * width
        label = None if named else graphics.shown_name(variant)
        _bar(axes, x, found, width, label, styles[variant], panel.log)
    _y_label(panel, axes)
    axes.grid(False, axis="x")
    axes.set_xlim(-0.6, (len(variants) if named else len(groups)) - 0.4)
    if named:
        _name_ticks(axes, [graphics.shown_name(variant) for variant in variants])
    else:
        _group_ticks(axes, groups)


def _group_ticks(axes: Axes, groups: Sequence[Group]) -> None:
    """Values of the swept key under the groups, or names in lines as wide as a group."""
    panel = groups[0].panel if groups else None
    if panel is not None and panel.x:
        _, unit = quantities.axis([dict(group.point).get(panel.x) for group in groups])
        axes.set_xticks(range(len(groups)), graphics.spaced(axes, [group.name for group in groups]))
        _x_label(axes, panel.x_label or graphics.axis_label(panel.x), unit)
        return
    _name_ticks(axes, [group.name for group in groups])


def _name_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Names under bars or groups: level, in lines, or aslant, as there is room."""
    room = int(graphics.width(axes) / (0.8 * graphics.LETTER) / max(len(names), 1))
    names = [_unbroken(name) for name in names]
    axes.set_xticks(range(len(names)), names)
    longest = max((len(word) for name in names for word in name.split(" ")), default=0)
    if longest <= room:
        lines = [textwrap.fill(name, max(room, 1), break_long_words=False) for name in names]
        axes.set_xticks(range(len(names)), lines)
        return
    axes.tick_params(axis="x", rotation=35)
    for label in axes.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")


def _unbroken(text: str) -> str:
    """A text in which no line will begin with a unit."""
    return re.sub(r"(\d) (\w)", "\\1\N{NO-BREAK SPACE}\\2", text)


def _bar(
    axes: Axes,
    x: Values,
    found: Sequence[Estimate | None],
    width: float,
    label: str | None,
    style: Style,
    log: bool,
) -> None:
    means = [entry.mean if entry else np.nan for entry in found]
    halves = [entry.half if entry and entry.half is not None else np.nan for entry in found]
    if log:
        how = graphics.marker_of(style)
        axes.errorbar(x, means, yerr=halves, label=label, linestyle="none", capsize=2, **how)
        return
    face, edge = (style.colour, "white") if not style.hollow else ("white", style.colour)
    bars = axes.bar(x, means, width * 0.92, label=label, color=face, edgecolor=edge)
    for one in bars:
        one.set(hatch=style.hatch, linewidth=0.8)
    if np.any(np.greater(halves, 0)):
        axes.errorbar(x, means, yerr=halves, linestyle="none", color="black", lw=0.8, capsize=2)


def _curves(parts: Sequence[Panel], data: Data, styles: Mapping[str, Style], axes: Axes) -> None:
    """A series, a curve a variant; or several series of one variant."""
    panel = parts[0]
    x_label, x_unit = _unit_of(series.labels(panel.series)[0])
    y_label, y_unit = _unit_of(series.labels(panel.series)[1])
    scale, x_unit = scaled(x_unit, panel.unit) if panel.kind == "cdf" else (1.0, x_unit)
    shown = [(panel, v, graphics.shown_name(v), styles[v]) for v in _variants(panel, data, styles)]
    if len(parts) > 1:
        shades = of_shades(len(parts))
        shown = [
            (part, variant, part.label, shade)
            for part, shade in zip(parts, shades, strict=True)
            for variant in _variants(part, data, styles)
        ]
    seed = _seed(parts, data)
    for place, (part, variant, label, style) in enumerate(shown):
        found = _by_seed(part, data, variant)
        if seed is not None:
            found = {seed: found[seed]} if seed in found else {}
        curves = [(x * scale, y) for x, y in found.values()]
        if curves:
            # Markers of curves that coincide do not hide each other.
            apart = 0.25 if panel.kind == "time" else 0.14
            every = (apart * place / len(shown), apart)
            _curve(panel.kind, axes, curves, label, style, every, len(shown))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    _x_label(axes, panel.x_label or x_label, x_unit)
    axes.set_ylabel(_wrapped(quantities.with_unit(panel.y_label or y_label, y_unit)))
    if panel.kind == "cdf":
        axes.set_ylim(-0.02, 1.03)
    elif panel.kind == "time":
        axes.margins(x=0.01)


def _by_seed(panel: Panel, data: Data, variant: str) -> dict[int, tuple[Values, Values]]:
    """A variant's curves by seed, at the first point that the panel wants; none without points."""
    for point in data.points(panel.runs, panel.at)[:1]:
        found = data.series.get((panel.runs, variant, point), {}).get(panel.series, {})
        return {seed: curve for seed, curve in found.items() if len(curve[0])}
    return {}


def _curve(
    kind: str,
    axes: Axes,
    curves: Sequence[tuple[Values, Values]],
    label: str,
    style: Style,
    every: tuple[float, float],
    among: int,
) -> None:
    how = {"label": label, "linestyle": style.line, **graphics.marker_of(style)}
    if kind == "line":
        common, found = _mean_curve(curves)
        graphics.draw_line(axes, common, found, label, style, among)
    elif kind == "points":
        x, y = (np.concatenate(column) for column in zip(*curves, strict=True))
        axes.plot(x, y, **{**how, "linestyle": "none", "markersize": 2})
    elif kind == "cdf":
        axes.plot(*_pooled(curves), drawstyle="steps-post", markevery=every, **how)
    else:
        # A marker at zero is whole.
        axes.plot(*curves[0], lw=0.9, markevery=every, clip_on=False, zorder=3, **how)


def _pooled(curves: Sequence[tuple[Values, Values]]) -> tuple[Values, Values]:
    """The distribution over all seeds, pooled: each seed's points weigh alike."""
    x = np.sort(np.concatenate([curve[0] for curve in curves]))
    return x, np.arange(1, len(x) + 1) / max(len(x), 1)


def _mean_curve(
    curves: Sequence[tuple[Values, Values]],
) -> tuple[list[float], list[Estimate | None]]:
    """Mean and interval over seeds at every x that all of them have."""
    by_seed = [dict(zip(x.tolist(), y.tolist(), strict=True)) for x, y in curves]
    common = sorted(set(by_seed[0]).intersection(*by_seed[1:]))
    return common, [estimate([values[x] for values in by_seed]) for x in common]


def _unit_of(label: str) -> tuple[str, str]:
    """A series' label without its unit, and that: ``FCT (us)`` is FCT, us."""
    match = re.fullmatch(r"(.*) \(([^()]*)\)", label)
    return (match[1], match[2]) if match else (label, "")


def _legend(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """All variants of all panels, once, above them; as many beside each other as there is room."""
    found: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if len(found) < 2:
        return
    for most in range(len(found), 0, -1):
        rows = -(-len(found) // most)
        legend = canvas.legend(
            found.values(),
            found.keys(),
            loc="outside upper center",
            ncols=-(-len(found) // rows),
            columnspacing=1.0,
            handlelength=1.8,
        )
        if most == 1 or legend.get_window_extent().width <= canvas.bbox.width:
            break
        legend.remove()
    canvas.set_figheight(canvas.get_figheight() + LEGEND_ROW * (rows - 1))
