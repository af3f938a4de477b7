"""How far from a claim's number a result may lie: the rules of ``docs/reproducing.md``."""

import math

HALF, DOUBLE = -50.0, 100.0
"""Percent. Effects beyond these are judged by their ratio: percentages of reductions crowd below
100, where a third of 90 would take 60 (2.5 times less) for 90 (ten times less)."""

FACTOR = 1.5
"""No ratio may be off by more, as no value may be off by more than a third."""


def tolerance(claimed: float) -> float:
    """How far from a claim of so many percent an effect may lie: a third of it, or ten points (at
    most half of it), whichever is larger."""
    return max(abs(claimed) / 3, min(10.0, abs(claimed) / 2))


def of_ratio(logarithm: float) -> float:
    """The same of a ratio's logarithm: a third of it, or that of 1.1 (at most half of it),
    whichever is larger; never more than that of :data:`FACTOR`."""
    size = abs(logarithm)
    return min(max(size / 3, min(math.log(1.1), size / 2)), math.log(FACTOR))


def beyond(found: float, claimed: float) -> float:
    """By how many tolerances an effect in percent is larger than the claimed one of its sign: from
    -1 to 1 it is within the tolerance."""
    sign = math.copysign(1.0, claimed)
    if HALF <= claimed <= DOUBLE:
        return sign * (found - claimed) / tolerance(claimed)
    if found <= -100.0:
        return math.inf
    wanted = math.log1p(claimed / 100)
    return sign * (math.log1p(found / 100) - wanted) / of_ratio(wanted)


def reproduced(claimed: float) -> tuple[float, float]:
    """The smallest and the largest effect in percent that are within the tolerance of a claim."""
    if HALF <= claimed <= DOUBLE:
        room = tolerance(claimed)
        return claimed - room, claimed + room
    low, high = reproduced_ratio(1 + claimed / 100)
    return 100 * (low - 1), 100 * (high - 1)


def reproduced_ratio(claimed: float) -> tuple[float, float]:
    """The same of a ratio."""
    room = math.exp(of_ratio(math.log(claimed)))
    return claimed / room, claimed * room
