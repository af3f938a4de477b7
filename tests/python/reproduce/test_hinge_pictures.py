"""``docs/hinge_pictures.py``: a claim under each setting that it was tried with."""

import importlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Sensitivity
from leafspine.reproduce.strips import Strip
from leafspine.reproduce.verdicts import Verdict
from test_engine import ROOT


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, which is no part of the package."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("hinge_pictures")


def judged(mean: float, verdict: Verdict, half: float = 5) -> Any:
    """A claim of 30 % less, with what was found."""
    strip = Strip("%", mean, mean - half, mean + half, -30.0, (-40.0, -20.0))
    claim = SimpleNamespace(id="Q1", says="A against B: 30 % lower")
    return SimpleNamespace(claim=claim, verdict=verdict, strips=((strip, verdict.name.lower()),))


def page() -> Any:
    """A figure whose claim does not hold as read, holds where x, is no better where y, and was
    tried with one seed where z."""
    tried = (
        ("y", judged(20.0, Verdict.NOT)),
        ("x", judged(-28.0, Verdict.REPRODUCED)),
        ("z", judged(-27.0, Verdict.DIRECTION, 0)),
    )
    return SimpleNamespace(
        judged=(judged(10.0, Verdict.NOT),),
        data=Data(),
        figure=SimpleNamespace(
            sensitivities=[Sensitivity(n, (), (), ("Q1",)) for n in "xyz"], all_runs=tuple
        ),
        sensitive=[SimpleNamespace(setting=name, judged=found) for name, found in tried],
    )


def test_a_row_a_setting_in_the_order_of_what_was_found(pictures: Any) -> None:
    """Breaks if a setting is left out, or the paper as it is read is not the first."""
    rows = pictures.rows(SimpleNamespace(pages=(page(),)), "Q1")
    assert [(name, strip.mean, holds) for name, strip, holds in rows] == [
        ("as the paper is read", 10.0, False),
        ("x", -28.0, True),
        ("z", -27.0, None),
        ("y", 20.0, False),
    ]


def test_what_holds_is_a_filled_dot_in_the_band(pictures: Any) -> None:
    """Breaks if dots, the paper's line or the band are not where their numbers are, or if a claim
    that holds looks like one that does not."""
    rows = pictures.rows(SimpleNamespace(pages=(page(),)), "Q1")
    drawn = pictures.picture("Q1", rows)
    dots = re.findall(r'<circle cx="([\d.]+)" cy="\d+" r="4.5" fill="([^"]+)"', drawn)[2:]
    at = [float(x) for x, _ in dots]
    assert [fill == "#fff" for _, fill in dots] == [True, False, True]
    assert drawn.count("l8 8 m0 -8 l-8 8") == 2, "the one seed, and the legend's"
    band = re.search(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="88"', drawn)
    assert band is not None
    low, high = float(band[1]), float(band[1]) + float(band[2])
    assert low < at[1] < high < at[0] < at[2] < pictures.WIDTH - pictures.RIGHT
    # The band is 20 wide, x at -28: twelve twentieths of it.
    assert at[1] - low == pytest.approx(0.6 * (high - low), abs=0.2)
    lines = re.findall(r'd="M([\d.]+) \d+ V\d+" stroke="[^"]+" fill="none" stroke-width="2"', drawn)
    assert float(lines[0]) == pytest.approx((low + high) / 2, abs=0.2)


def test_numbers_of_a_scale_are_round(pictures: Any) -> None:
    """Breaks if a scale has odd numbers, or too many."""
    rows = pictures.rows(SimpleNamespace(pages=(page(),)), "Q1")
    scale = pictures.strips.scale([strip for _, strip, _ in rows])
    assert pictures.ticks(scale) == [-40, -20, 0, 20]
