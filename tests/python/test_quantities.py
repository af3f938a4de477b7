"""Swept quantities as numbers for axes."""

import math
import re
from pathlib import Path

import pytest

from leafspine import quantities

SCENARIO = Path(__file__).parents[2] / "docs" / "scenario.md"


@pytest.mark.parametrize(
    ("written", "numbers", "unit"),
    [
        (["800Mbps", "1Gbps"], [800.0, 1000.0], "Mbps"),
        (["100us", "5ms"], [100.0, 5000.0], "us"),
        (["64KB", "1MB"], [64.0, 1000.0], "KB"),
        (["12.5us", "37.5us"], [12.5, 37.5], "us"),
        (["20pkt", "100pkt"], [20.0, 100.0], "pkt"),
        ([0.2, 0.8], [0.2, 0.8], ""),
        ([10, 20], [10.0, 20.0], ""),
    ],
)
def test_swept_values_have_one_unit(written: list[object], numbers: list[float], unit: str) -> None:
    """Breaks if 1 Gb/s stands left of 800 Mb/s, or exact values become inexact."""
    assert quantities.axis(written) == (numbers, unit)


def test_what_has_no_order_is_no_axis() -> None:
    """Breaks if packets and bytes, or words, are drawn as if they were of one kind."""
    for values in (["20pkt", "30KB"], ["ecmp", "rps"], [True, False]):
        assert all(math.isnan(value) for value in quantities.axis(values)[0])


def test_mixed_units_have_an_order() -> None:
    """Breaks if a claim about the largest value looks at 900us instead of 1ms."""
    written = ["1ms", "900us", "0.5s", "20ns"]
    assert sorted(written, key=lambda text: quantities.number(text)[0]) == [
        "20ns",
        "900us",
        "1ms",
        "0.5s",
    ]


def test_every_unit_of_scenarios_is_known() -> None:
    """Breaks if the engine learns a unit that axes take for another kind of quantity."""
    text = SCENARIO.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:time|rate|size|amount) \| ([^|]*) \|", text, re.MULTILINE)
    units = {unit for row in rows for unit in re.findall(r"`([A-Za-z]+)`", row)}
    assert {"ps", "Gbps", "KiB", "pkt"} <= units
    assert units - {"pkt", "rtt", "bdp"} == set(quantities.UNITS)


def test_units_are_shown_as_they_are_read() -> None:
    """Breaks if an axis says Mbps beside another that says Mb/s."""
    assert quantities.with_unit("link rate", "Mbps") == "link rate (Mb/s)"
    assert quantities.with_unit("delay", "us") == "delay (µs)"
    assert quantities.with_unit("load", "") == "load"
