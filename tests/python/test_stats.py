"""Percentiles, intervals, paired differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspine.stats import (
    estimate,
    nearest_rank,
    paired_difference,
    paired_percent,
    t_cdf,
    t_quantile,
)

numbers = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    # Abramowitz and Stegun, table 26.10, two-sided 95 %.
    [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)],
)
def test_t_quantiles_are_those_of_the_printed_table(degrees: int, quantile: float) -> None:
    """Breaks if the distribution function or its inversion is wrong for odd or even degrees."""
    assert t_quantile(0.975, degrees) == pytest.approx(quantile, abs=5e-4)


@given(st.floats(min_value=0, max_value=50), st.integers(min_value=1, max_value=200))
def test_the_t_distribution_has_closed_forms_to_agree_with(t: float, degrees: int) -> None:
    """Breaks if the finite sums lose a term: 1 and 2 degrees of freedom have closed forms."""
    assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)
    assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)
    assert t_cdf(t, degrees) <= t_cdf(t, degrees + 1) + 1e-12  # tails get lighter


def test_an_interval_worked_by_hand() -> None:
    """Breaks if the variance divides by n or the wrong quantile is used."""
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None
    assert found.mean == 3.0
    assert found.half == pytest.approx(2.776445 * math.sqrt(2.5 / 5), abs=1e-5)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)


def test_one_value_has_no_interval_and_none_no_estimate() -> None:
    """Breaks if a single seed pretends to know its spread."""
    alone = estimate([7.0])
    assert alone is not None
    assert (alone.mean, alone.half, alone.low, alone.n) == (7.0, None, None, 1)
    assert estimate([]) is None


@given(st.lists(numbers, min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_seeds_changes_no_bit(values: list[float], random: object) -> None:
    """Breaks if means are summed in the order in which runs happened to finish."""
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert estimate(values) == estimate(shuffled)


@given(st.lists(st.integers(min_value=0, max_value=10**15), min_size=1), st.integers(1, 100))
def test_nearest_rank_is_the_smallest_value_that_covers_the_share(
    values: list[int], percent: int
) -> None:
    """Breaks if a rank is off by one anywhere."""
    ordered = np.sort(np.array(values, dtype=np.uint64))
    found = nearest_rank(ordered, percent)
    assert found in ordered
    assert np.sum(ordered <= found) * 100 >= percent * len(ordered)
    assert np.sum(ordered < found) * 100 < percent * len(ordered)


def test_nearest_rank_by_hand() -> None:
    """Breaks if binary fractions push an exact rank to the next value."""
    hundred = np.arange(1, 101)
    assert [nearest_rank(hundred, p) for p in (1, 7, 50, 95, 99, 100)] == [1, 7, 50, 95, 99, 100]
    assert nearest_rank(np.array([3, 9]), 50) == 3
    assert nearest_rank(np.array([]), 99) is None
    with pytest.raises(ValueError, match="not in"):
        nearest_rank(hundred, 0)


def test_differences_are_taken_seed_by_seed() -> None:
    """Breaks if the difference is one of means: there its interval would not be zero."""
    found = paired_percent([50.0, 100.0, 500.0], [100.0, 200.0, 1000.0])
    assert found is not None
    assert (found.mean, found.half, found.n) == (pytest.approx(-50), pytest.approx(0), 3)


def test_a_ratio_and_its_interval_by_hand() -> None:
    """Breaks if the mean is that of percentages (+12.5), or the interval not that of logarithms:
    ratios of 2, 1 and 1/2, the logarithm of 2 apart."""
    found = paired_percent([2.0, 3.0, 5.0], [1.0, 3.0, 10.0])
    assert found is not None and found.low is not None and found.high is not None
    assert found.mean == pytest.approx(0, abs=1e-12)
    end = 4.302653 * math.log(2) / math.sqrt(3)
    assert found.low == pytest.approx(100 * (math.exp(-end) - 1), abs=1e-4)
    assert found.high == pytest.approx(100 * (math.exp(end) - 1), abs=1e-3)
    assert found.half == pytest.approx((found.high - found.low) / 2)


positive = st.floats(min_value=1e-3, max_value=1e6)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=20))
def test_it_does_not_matter_which_variant_is_first(pairs: list[tuple[float, float]]) -> None:
    """Breaks if a variant can be worse than another that is worse than it, as the mean of
    percentages says of 1 and 2 beside 2 and 1."""
    one, other = ([pair[side] for pair in pairs] for side in (0, 1))
    found, turned = paired_percent(one, other), paired_percent(other, one)
    assert found is not None and turned is not None
    assert found.low is not None and turned.high is not None
    assert (1 + found.mean / 100) * (1 + turned.mean / 100) == pytest.approx(1)
    # The interval is turned over, too: it holds zero of both or of neither.
    assert (found.low > 1e-9) == (turned.high < -1e-9) or abs(found.low) < 1e-6


def test_seeds_without_a_pair_do_not_count() -> None:
    """Breaks if a missing run becomes a number."""
    found = paired_percent([110.0, None, 110.0], [100.0, 100.0, 100.0])
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(10), 2)
    assert paired_percent([1.0], [None]) is None
    assert paired_difference([1.0], [None]) is None


def test_a_zero_has_a_difference_and_no_percentage() -> None:
    """Breaks if seeds without a drop are left out, as if the others spoke for all: the second has
    three times as many drops, and in the one seed where the first has any it has none."""
    drops, base = [30.0, 30.0, 0.0], [0.0, 0.0, 20.0]
    assert paired_percent(drops, base) is None
    assert paired_percent(base, drops) is None
    found = paired_difference(drops, base)
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(40 / 3), 3)


@given(st.lists(positive, min_size=2, max_size=20))
def test_a_variant_is_no_different_from_itself(values: list[float]) -> None:
    """Breaks if the pairing is by anything but the seed's place."""
    found = paired_percent(values, values)
    assert found is not None
    assert (found.mean, found.half) == (0.0, 0.0)
