"""Statistics of a comparison: exact percentiles, Student-t intervals, paired differences.

Definitions, so that a number in a table can be computed again by anyone:

* A percentile is by *nearest rank*: the smallest value such that at least p percent of all values
  are not above it. It is a completion time that some flow really had, an exact integer of
  picoseconds; interpolation would invent one between the two flows of a sparse tail.
* Over seeds, a metric is the mean of its per-seed values, with the two-sided 95 % interval of
  Student's t with n - 1 degrees of freedom. One seed has no interval.
* A comparison is paired: the same seed gives the same flows to every variant. A variant's value is
  divided by the first one's with the same seed, and the difference in percent is that of the
  geometric mean of these ratios: the mean of their logarithms with the same interval, raised again.
  What the flows of one seed have in common cancels, so the interval is much narrower than that of
  the two means. The geometric mean of ratios says the same whichever variant the others are divided
  by, and a seed in which the first one's value is near zero does not outweigh all others (P.
  Fleming, J. Wallace, "How not to lie with statistics: the correct way to summarize benchmark
  results", Communications of the ACM 29(3), 1986).
* Zeros have no ratio. Where a value is zero there is no percentage, but the plain difference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy.typing as npt

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n`` seeds and the half width of its 95 % interval (``None`` for one seed)."""

    mean: float
    half: float | None
    n: int

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half is None else self.mean + self.half


@dataclass(frozen=True)
class Percent(Estimate):
    """A geometric mean of ratios, as a difference in percent. Its interval ``ends`` are not equally
    far from it; ``half`` is half of their distance."""

    ends: tuple[float, float] | None = None

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return self.ends[0] if self.ends else None

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return self.ends[1] if self.ends else None


def nearest_rank(ordered: npt.NDArray[Any], percent: float) -> Any:
    """The nearest-rank percentile of values already in rising order, ``0 < percent <= 100``.

    ``None`` when there are no values.
    """
    if not 0 < percent <= 100:
        raise ValueError(f"percentile {percent} is not in (0, 100]")
    count = len(ordered)
    if count == 0:
        return None
    # Rounding first: 0.07 * 100 is a hair above 7 in binary and would take the next rank.
    rank = math.ceil(round(percent * count / 100, 9))
    return ordered[max(rank, 1) - 1]


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and 95 % interval of per-seed values; ``None`` when there are none."""
    count = len(values)
    if count == 0:
        return None
    # fsum: the same mean whatever the order in which runs finished.
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = t_quantile(0.5 + CONFIDENCE / 2, count - 1) * math.sqrt(variance / count)
    return Estimate(mean, half, count)


def paired_percent(values: Sequence[float | None], base: Sequence[float | None]) -> Percent | None:
    """Difference to ``base`` in percent, from the ratios seed by seed.

    Of the seeds in which both have a value. ``None`` when there are none, or one of these values is
    not above zero: to leave out such a seed alone would be to choose among the results.
    """
    pairs = _pairs(values, base)
    if any(value <= 0 or reference <= 0 for value, reference in pairs):
        return None
    found = estimate([math.log(value / reference) for value, reference in pairs])
    if found is None:
        return None
    mean = _in_percent(found.mean)
    if found.low is None or found.high is None:
        return Percent(mean, None, found.n)
    low, high = _in_percent(found.low), _in_percent(found.high)
    return Percent(mean, (high - low) / 2, found.n, (low, high))


def paired_difference(
    values: Sequence[float | None], base: Sequence[float | None]
) -> Estimate | None:
    """Difference to ``base`` in the values' own unit, seed by seed; ``None`` without a seed in
    which both have a value."""
    return estimate([value - reference for value, reference in _pairs(values, base)])


def _pairs(
    values: Sequence[float | None], base: Sequence[float | None]
) -> list[tuple[float, float]]:
    return [
        (value, reference)
        for value, reference in zip(values, base, strict=True)
        if value is not None and reference is not None
    ]


def _in_percent(logarithm: float) -> float:
    return 100.0 * math.expm1(logarithm)


@cache
def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, for probabilities from 0.5 to below 1.

    Bisection of the distribution function to the last bit of a double.
    """
    if degrees < 1 or not 0.5 <= probability < 1:
        raise ValueError(f"no t quantile for p = {probability}, {degrees} degrees of freedom")
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        high *= 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if t_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle


def t_cdf(t: float, degrees: int) -> float:
    """Distribution function of Student's t for ``t >= 0``.

    Finite sums for integer degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    theta = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(theta), math.sin(theta)
    if degrees % 2:
        term, total = cosine, 0.0
        for index in range(1, (degrees - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * index) / (2 * index + 1)
        inside = 2 / math.pi * (theta + sine * total)
    else:
        term, total = 1.0, 0.0
        for index in range(1, degrees // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * index - 1) / (2 * index)
        inside = sine * total
    return 0.5 + inside / 2
