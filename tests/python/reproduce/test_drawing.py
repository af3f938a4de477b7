"""Panels: what becomes of axes, bars, curves and legends."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from leafspine import graphics, plots
from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.facts import Facts, Scheme
from leafspine.reproduce import (  # noqa: F401  (they register)
    drawing,
    fits,
    pages,
    paths,
    probe_metrics,
)
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Figure, read_figure
from leafspine.style import of_scheme, of_variants

SCHEMES = {"ECMP": "ecmp", "RPS": "rps", "QDAPS": "qdaps"}
STYLES = of_variants(SCHEMES.items())


def figure(folder: Path, panels: str, sets: tuple[str, ...] = ("main",)) -> Figure:
    """A figure with these panels."""
    runs = "\n".join(f"[runs.{name}]" for name in sets)
    text = f'title = "A figure"\nplace = "Fig. 1"\n{runs}\n{panels}'
    (folder / "figure.toml").write_text(text, encoding="utf-8")
    return read_figure(folder, "paper")


def drawn(folder: Path, panel: str, data: Data, sets: tuple[str, ...] = ("main",)) -> Axes:
    """The axes of a figure with one panel."""
    parts = figure(folder, f'[[panel]]\nname = "a"\n{panel}', sets).by_name()[0]
    axes = Canvas(layout="constrained").subplots()
    drawing._panel(parts, data, STYLES, axes)
    return axes


def numbers(metric: str, values: Mapping[tuple[str, str, Any], list[float]]) -> Data:
    """Values by set of runs, variant and value of the swept key, one a seed."""
    data = Data()
    for (runs, variant, swept), found in values.items():
        point = () if swept is None else (("key", swept),)
        for seed, value in enumerate(found, 1):
            data.put((runs, variant, point), metric, seed, value)
    return data


def curves(series: str, by_seed: Mapping[int, tuple[list[float], list[float]]]) -> Data:
    """One variant's curves."""
    data = Data()
    for seed, (x, y) in by_seed.items():
        data.put_series(("main", "ECMP", ()), series, seed, np.array(x), np.array(y))
    return data


def heights(axes: Axes) -> list[float]:
    """Bars from the left."""
    return [bar.get_height() for bar in sorted(axes.patches, key=lambda bar: bar.get_x())]


def names(axes: Axes) -> list[str]:
    """The horizontal axis's ticks."""
    return [label.get_text() for label in axes.get_xticklabels()]


@pytest.mark.parametrize("log", [False, True])
def test_logarithmic_time_panel(tmp_path: Path, log: bool) -> None:
    """Breaks if a logarithmic axis is pulled to zero: its values end in a line at the top."""
    data = curves("queue:q", {1: ([1.0, 2.0], [10.0, 30.0])})
    panel = f'kind = "time"\nseries = "queue:q"\nlog = {str(log).lower()}'
    low, high = drawn(tmp_path, panel, data).get_ylim()
    assert low == 0 if not log else 1 < low < 10
    assert 30 < high < 50


def test_sets_of_runs_stand_side_by_side(tmp_path: Path) -> None:
    """Breaks if a paper's chart of workloads times schemes needs a panel a workload, a bar is in
    another workload's group, or bars do not start at zero."""
    data = numbers(
        "all.fct_mean",
        {
            ("cache", "ECMP", None): [4000.0, 6000.0],
            ("cache", "RPS", None): [2000.0, 2000.0],
            ("web", "ECMP", None): [9000.0, 9000.0],
            ("web", "RPS", None): [7000.0, 7000.0],
        },
    )
    panel = """kind = "bar"
metric = "all.fct_mean"
unit = "ms"
runs = ["web", "cache"]
labels = ["web search", "cache follower"]
"""
    axes = drawn(tmp_path, panel, data, ("cache", "web"))
    assert heights(axes) == [9.0, 7.0, 5.0, 2.0]
    assert [name.replace("\n", " ") for name in names(axes)] == ["web search", "cache follower"]
    assert axes.get_ylabel() == "mean FCT (ms)"
    assert axes.get_ylim()[0] == 0
    assert axes.get_legend_handles_labels()[1] == ["ECMP", "RPS"]
    colours = {bar.get_facecolor() for bar in axes.patches}
    assert len(colours) == len({bar.get_hatch() for bar in axes.patches}) == 2


def test_metrics_stand_side_by_side(tmp_path: Path) -> None:
    """Breaks if the least and the most used path need a panel each, in a plot or a table."""
    data = Data()
    for metric, value in (("own.path_utilisation_min", 10.0), ("own.path_utilisation_max", 90.0)):
        data.put(("main", "ECMP", ()), metric, 1, value)
    panels = "".join(
        f"""[[panel]]
name = "{kind}"
kind = "{kind}"
metric = ["own.path_utilisation_min", "own.path_utilisation_max"]
labels = ["least used", "most used"]
y_label = "utilisation"
"""
        for kind in ("bar", "table")
    )
    both = figure(tmp_path, panels)
    bar, table = both.by_name()
    axes = Canvas().subplots()
    drawing._panel(bar, data, STYLES, axes)
    assert heights(axes) == [10.0, 90.0]
    assert axes.get_ylabel() == "utilisation (%)"
    grid = pages._grid(table, data)
    assert grid.heads == ("", "least used", "most used")
    assert grid.rows == (("ECMP", "10", "90"),)


def test_bars_without_groups_have_their_names_below(tmp_path: Path) -> None:
    """Breaks if a reader has to look up each bar in a legend."""
    data = numbers("network.drops", {("main", v, None): [5.0] for v in SCHEMES})
    axes = drawn(tmp_path, 'kind = "bar"\nmetric = "network.drops"', data)
    assert names(axes) == list(SCHEMES)
    assert axes.get_legend_handles_labels()[1] == []


def test_names_of_groups_do_not_run_together() -> None:
    """Breaks if five workloads do not fit under a third of a page, or a line begins with ``ms``."""
    names_ = ["web search", "cache follower", "data mining", "Hadoop", "mix"]
    _, narrow = graphics.grid(3)
    drawing._name_ticks(narrow[0], names_)
    assert {label.get_rotation() for label in narrow[0].get_xticklabels()} == {35}
    _, wide = graphics.grid(2)
    drawing._name_ticks(wide[0], names_)
    assert "data\nmining" in names(wide[0])
    assert {label.get_rotation() for label in wide[0].get_xticklabels()} == {0}
    drawing._name_ticks(narrow[1], ["QALL, 0.01 ms", "QALL-Pkt", "QALL, 100 ms"])
    assert "QALL,\n0.01\N{NO-BREAK SPACE}ms" in names(narrow[1])


def test_a_logarithmic_axis_has_no_bars(tmp_path: Path) -> None:
    """Breaks if bars get a length that depends on where a logarithmic axis happens to begin."""
    data = numbers("network.drops", {("main", v, None): [10.0, 2000.0] for v in SCHEMES})
    axes = drawn(tmp_path, 'kind = "bar"\nmetric = "network.drops"\nlog = true', data)
    assert not axes.patches
    assert axes.get_yscale() == "log"
    markers = {line.get_marker() for line in axes.get_lines()}
    assert {of_scheme(scheme).marker for scheme in SCHEMES.values()} <= markers


def test_swept_values_of_mixed_units_share_an_axis(tmp_path: Path) -> None:
    """Breaks if 1 Gb/s is drawn left of 800 Mb/s, or its axis has no unit."""
    swept = ["1Gbps", "800Mbps", "200Mbps"]
    data = numbers("network.drops", {("main", "ECMP", value): [1.0] for value in swept})
    axes = drawn(tmp_path, 'metric = "network.drops"\nx = "key"\nx_label = "link rate"', data)
    assert list(axes.get_lines()[0].get_xdata()) == [200, 800, 1000]
    assert axes.get_xlabel() == "link rate (Mb/s)"
    assert names(axes) == ["200", "800", "1000"]


def test_a_swept_key_has_a_name_for_people(tmp_path: Path) -> None:
    """Breaks if an axis says ``fan in``."""
    data = Data()
    for count in (10, 20):
        data.put(("main", "ECMP", (("workload.0.fan_in", count),)), "network.drops", 1, 1.0)
    axes = drawn(tmp_path, 'metric = "network.drops"\nx = "workload.0.fan_in"', data)
    assert axes.get_xlabel() == "number of senders"


def test_a_panel_against_time_names_its_seed(tmp_path: Path) -> None:
    """Breaks if one run of several passes for their mean, or curves of different seeds, that is of
    different flows, stand beside each other because a run failed."""
    data = curves("queue:q", {3: ([0.0, 1.0], [1.0, 1.0]), 7: ([0.0, 1.0], [9.0, 9.0])})
    data.put_series(("main", "RPS", ()), "queue:q", 7, np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    both = 'name = "a"\nkind = "time"\nseries = "queue:q"'
    alone = 'name = "b"\nkind = "time"\nseries = "queue:q"\nvariants = ["ECMP"]'
    parts = figure(tmp_path, f"[[panel]]\n{both}\n[[panel]]\n{alone}").by_name()
    assert [drawing._seed(one, data) for one in parts] == [7, 3]
    axes = Canvas().subplots()
    drawing._panel(parts[0], data, STYLES, axes)
    assert [list(line.get_ydata()) for line in axes.get_lines()] == [[9.0, 9.0], [5.0, 5.0]]


def test_a_line_of_a_series_is_the_mean_over_seeds(tmp_path: Path) -> None:
    """Breaks if a curve on the same x in every run shows one run only, or has no interval."""
    data = curves("fit_r2", {1: ([1, 2, 3], [0.5, 0.7, 0.9]), 2: ([1, 2], [0.7, 0.9])})
    axes = drawn(tmp_path, 'kind = "line"\nseries = "fit_r2"', data)
    line, *edges = axes.get_lines()
    assert len(edges) == 2
    assert list(line.get_xdata()) == [1, 2]
    assert list(line.get_ydata()) == pytest.approx([0.6, 0.8])
    assert len(axes.collections) == 1


def test_points_are_those_of_all_seeds(tmp_path: Path) -> None:
    """Breaks if points of one run pass for all, or are joined by a line."""
    data = curves("fit_occupancy", {1: ([1.0], [5.0]), 2: ([1.5, 2.0], [6.0, 7.0])})
    line = drawn(tmp_path, 'kind = "points"\nseries = "fit_occupancy"', data).get_lines()[0]
    assert list(line.get_xdata()) == [1.0, 1.5, 2.0]
    assert line.get_linestyle() == "None"


def test_series_of_one_variant_share_a_panel(tmp_path: Path) -> None:
    """Breaks if a scheme's paths cannot be distinguished, or look like schemes."""
    data = Data()
    for path in range(4):
        curve = (np.array([0.0, 1.0]), np.array([path, path], dtype=float))
        data.put_series(("main", "RPS", ()), f"port:paths/leaf0-spine{path}", 1, *curve)
    listed = ", ".join(f'"port:paths/leaf0-spine{path}"' for path in range(4))
    panel = f"""kind = "time"
variants = ["RPS"]
series = [{listed}]
labels = ["path 1", "path 2", "path 3", "path 4"]
"""
    lines = drawn(tmp_path, panel, data).get_lines()
    assert [line.get_label() for line in lines] == ["path 1", "path 2", "path 3", "path 4"]
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 4
    assert not {line.get_color() for line in lines} & {
        of_scheme(s).colour for s in SCHEMES.values()
    }


def test_a_distribution_may_have_a_logarithmic_axis_in_milliseconds(tmp_path: Path) -> None:
    """Breaks if nine tenths of the flows are a line at the left edge, or values and unit differ."""
    data = curves("fct:all", {1: ([100.0, 1e6], [0.5, 1.0])})
    axes = drawn(tmp_path, 'kind = "cdf"\nseries = "fct:all"\nlog = true\nunit = "ms"', data)
    assert axes.get_xscale() == "log"
    assert list(axes.get_lines()[0].get_xdata()) == [0.1, 1000.0]
    assert axes.get_xlabel() == "FCT (ms)"
    # Neither the first flow nor the last lies on an edge.
    assert axes.get_ylim() == (-0.02, 1.03)


def test_a_panel_without_numbers_says_so(tmp_path: Path) -> None:
    """Breaks if runs that failed leave an empty frame."""
    axes = drawn(tmp_path, 'metric = "network.drops"\nx = "key"', Data())
    assert [text.get_text() for text in axes.texts] == ["no data"]


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (
            'kind = "line"\nmetric = "network.drops"\nruns = ["main", "b"]\nlabels = ["x", "y"]',
            "list",
        ),
        ('kind = "bar"\nmetric = "network.drops"\nruns = ["main", "b"]', "0 labels; allowed: 2"),
        (
            'kind = "bar"\nmetric = "network.drops"\nruns = ["main", "c"]\nlabels = ["x", "y"]',
            "'c'",
        ),
        ('kind = "bar"\nmetric = ["network.drops", "network.lost"]\nruns = ["main", "b"]', "list"),
        ('kind = "time"\nseries = ["queue:a", "queue:b"]\nlabels = ["a", "b"]', "one variant"),
        ('kind = "time"\nmetric = "network.drops"', "a time needs series"),
        ('kind = "bar"\nseries = "queue:a"', "a bar needs metric"),
        ('metric = "network.drops"\n[[panel]]\nname = "a"\nmetric = "network.lost"', "two panels"),
    ],
)
def test_a_panel_that_cannot_be_drawn_is_refused(tmp_path: Path, panel: str, message: str) -> None:
    """Breaks if a mistake in a figure's file shows only after hours of runs."""
    with pytest.raises(InputError, match=message):
        figure(tmp_path, f'[[panel]]\nname = "a"\n{panel}', ("main", "b"))


def overlaps(canvas: Canvas) -> list[str]:
    """Texts that touch each other or leave the picture; texts aslant are not looked at."""
    FigureCanvasAgg(canvas)
    canvas.draw_without_rendering()
    boxes = [("legend", legend.get_window_extent()) for legend in canvas.legends]
    for axes in canvas.axes:
        texts = [axes.title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            near = [low - 1e-6 * (high - low), high + 1e-6 * (high - low)]
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            texts += [text for at, text in ticks if near[0] <= at <= near[1]]
        shown = [text for text in texts if text.get_text() and text.get_rotation() % 90 == 0]
        boxes += [(text.get_text(), text.get_window_extent()) for text in shown]
    found = [
        f"{one!r} and {other!r}"
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5
    ]
    outer = canvas.bbox
    return found + [
        f"{name!r} outside"
        for name, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > outer.x1 + 1 or box.y1 > outer.y1 + 1
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_nothing_covers_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Breaks if long names, ten ticks and a legend of six schemes do not fit beside each other."""
    schemes = ("ecmp", "letflow", "conga", "drill", "qall", "qall-flowlet")
    cases = {
        f"{scheme}, packets": Case(
            f"{scheme}, packets", (), 1, "", (), "", facts=Facts(load_balancer=Scheme(scheme))
        )
        for scheme in schemes
    }
    data = Data()
    for place, variant in enumerate(cases):
        for load in range(1, 11):
            data.put(
                ("main", variant, (("workload.0.load", load / 10),)),
                "own.bottleneck_busy_queue",
                1,
                1e4 * load * (place + 1),
            )
    panels = "".join(
        f"""[[panel]]
name = "{"abcde"[panel]}"
title = "Output queue of all flows while anything waits in it"
kind = "{"line" if panel % 2 == 0 else "bar"}"
metric = "own.bottleneck_busy_queue"
x = "workload.0.load"
x_label = "load of the links from leaves to spines of the whole fabric"
"""
        for panel in range(count)
    )
    kept: list[Canvas] = []
    monkeypatch.setattr(plots, "save", lambda plot, folder: kept.append(plot.figure))
    drawing.draw(figure(tmp_path, panels), data, cases, tmp_path, "Quick scale, 1 seed")
    assert overlaps(kept[0]) == []
