"""Panels: what becomes of axes and legends."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from leafspine.engine import Case
from leafspine.plots import scheme_of
from leafspine.reproduce import drawing
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Panel
from leafspine.style import of_variants

SCENARIO = '[load_balancer]\nscheme = "ecmp"\n'


def panel(kind: str, log: bool) -> Panel:
    """A panel of one series."""
    return Panel(
        name="a",
        title="",
        kind=kind,
        runs="main",
        metric="",
        series="fct:all",
        x="",
        x_label="",
        unit="",
        log=log,
        variants=(),
        at={},
    )


@pytest.mark.parametrize("log", [False, True])
def test_logarithmic_time_panel(log: bool) -> None:
    """Breaks if a logarithmic axis is pulled to zero: its values end in a line at the top."""
    case = Case("ECMP", (), 1, SCENARIO, (), str(Path()))
    styles = of_variants([("ECMP", scheme_of(case))])
    data = Data()
    data.put_series(
        ("main", "ECMP", ()), "fct:all", 1, np.array([1.0, 2.0]), np.array([10.0, 30.0])
    )
    axes = Canvas().subplots()
    drawing._panel(panel("time", log), data, styles, axes)
    low, high = axes.get_ylim()
    assert low == 0 if not log else 1 < low < 10
    assert 30 < high < 50
