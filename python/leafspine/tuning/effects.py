"""Whether a parameter has a significant effect.

If it has, settings with neighbouring values give similar results. So the squared differences of
the metric between neighbours, summed (von Neumann, 1941), are compared with those of the same
results in random orders: a permutation test. It sees any shape of the effect, not only a slope. For
values without an order, the squared differences within groups of equal values take their place.
"""

import itertools
import math
import random
from collections.abc import Sequence

from leafspine.tuning.parameters import Parameter
from leafspine.tuning.searching import Tried

ORDERS = 4000
LEVEL = 0.05


def p_value(parameter: Parameter, tried: Sequence[Tried]) -> float | None:
    """The share of random orders that are at least as smooth.

    ``None`` if all settings give the same, so that there is nothing to order; NaN where values
    without an order are there once each. Of the metric itself, which every setting has with the
    same seeds: zeros have no difference in percent.
    """
    found = [entry for entry in tried if entry.value is not None]
    results = [entry.value.mean for entry in found if entry.value is not None]
    if len(set(results)) < 2:
        return None
    places = [parameter.values.index(dict(entry.setting)[parameter.key]) for entry in found]
    if not parameter.ordered and len(set(places)) == len(places):
        return math.nan
    orderly = _sum if parameter.ordered else _within
    observed = orderly(places, results)
    stream, smoother = random.Random(1), 0
    for _ in range(ORDERS):
        stream.shuffle(results)
        smoother += orderly(places, results) <= observed * (1 + 1e-12)
    return (smoother + 1) / (ORDERS + 1)


def _sum(places: Sequence[int], results: Sequence[float]) -> float:
    ordered = [result for _, result in sorted(zip(places, results, strict=True))]
    return math.fsum((b - a) ** 2 for a, b in itertools.pairwise(ordered))


def _within(places: Sequence[int], results: Sequence[float]) -> float:
    groups: dict[int, list[float]] = {}
    for place, result in zip(places, results, strict=True):
        groups.setdefault(place, []).append(result)
    return math.fsum(
        (result - math.fsum(group) / len(group)) ** 2
        for group in groups.values()
        for result in group
    )


def in_words(parameter: Parameter, p: float | None) -> str:
    """A sentence for the reader."""
    if p is None:
        return f"{parameter.name} has no effect: no value changes the metric at all"
    if math.isnan(p):
        return f"{parameter.name}: its values have no order; only the best is tested, below"
    if p < LEVEL:
        return f"{parameter.name} has an effect (p = {p:.2g})"
    return f"{parameter.name}: no significant effect (p = {p:.2g})"
