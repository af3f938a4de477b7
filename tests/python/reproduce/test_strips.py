"""The small pictures of a claim: what they show is what was judged."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspine.reproduce import strips
from leafspine.reproduce.strips import Strip
from leafspine.reproduce.tolerances import beyond, reproduced
from leafspine.reproduce.verdicts import Verdict, effect
from leafspine.stats import Estimate

CLAIMS = st.one_of(st.floats(-95, -1), st.floats(1, 400))


@given(CLAIMS, st.floats(-99, 900))
def test_the_band_is_what_is_reproduced(claimed: float, found: float) -> None:
    """Breaks if a dot in the band is not reproduced, or one beside it is."""
    low, high = reproduced(claimed)
    if min(abs(found - low), abs(found - high)) < 1e-6:
        return
    assert (low < found < high) == (abs(beyond(found, claimed)) < 1)
    verdict = effect(Estimate(found, 1e-9, 9), claimed)
    assert (verdict == Verdict.REPRODUCED) == (low < found < high)


@given(st.lists(st.tuples(st.floats(-200, 200), st.floats(0, 50)), min_size=1, max_size=6))
def test_a_scale_has_all_values_in_their_order(values: list[tuple[float, float]]) -> None:
    """Breaks if a value is outside of the picture, or two change places."""
    all_strips = [
        strips.of_bound("%", Estimate(mean, half, 5), (-math.inf, 10.0)) for mean, half in values
    ]
    on = strips.scale(all_strips)
    ends = sorted({end for strip in all_strips for end in (strip.low, strip.mean, strip.high)})
    places = [on.at(end) for end in ends]
    assert places == sorted(places)
    assert all(strips.EDGE < place < strips.WIDTH - strips.EDGE for place in places)


def test_an_infinite_value_is_at_the_end() -> None:
    """Breaks if a metric that is infinite, whose interval is not defined, has no place."""
    strip = strips.of_bound("", Estimate(math.inf, math.nan, 3), (-math.inf, 5.0))
    assert "nan" not in strips.drawn([(strip, "not")])


@pytest.mark.parametrize(
    ("strip", "words"),
    [
        (
            strips.of_percent(Estimate(-30.0, 2.0, 5), -50.0, False, (-math.inf, math.inf)),
            "paper -50 %",
        ),
        (strips.of_ratio(Estimate(math.log(2), 0.1, 5), 1.5), "paper 1.5 times"),
        (strips.of_bound("%", Estimate(3.0, None, 1), (-10.0, 10.0)), "above -10 and below 10 %"),
        (strips.of_value(Estimate(57.0, 5.0, 9), 50.0, (-math.inf, math.inf)), "paper 50"),
    ],
)
def test_a_strip_is_said_in_words(strip: Strip, words: str) -> None:
    """Breaks if those who cannot see a strip do not learn both numbers."""
    assert words in strip.words and f"ours {strip.mean:.3g}" in strip.words
    svg = strips.drawn([(strip, "direction")])
    assert svg.count("<svg") == 1 and words in svg
    assert ("polygon" in svg) == (strip.claimed is not None)
    [x] = re.findall(r'circle class="ours" cx="([\d.]+)"', svg)
    assert float(x) == pytest.approx(strips.scale([strip]).at(strip.mean), abs=0.06)


def test_what_decides_is_shown_first() -> None:
    """Breaks if of many comparisons those that are reproduced push out the others."""
    one = strips.of_bound("%", Estimate(5.0, 1.0, 5), (0.0, math.inf))
    many = [(one, "reproduced")] * 20 + [(one, "not")]
    svg = strips.drawn(many)
    assert svg.count("<svg") == strips.MOST
    assert svg.index('"strip not"') < svg.index('"strip reproduced"')
