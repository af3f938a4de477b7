"""Which settings are tried: values of each parameter, and how those of several go together."""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from leafspine.errors import refused
from leafspine.quantities import UNITS
from leafspine.spelling import NUMBER_AND_UNIT, spelled

WHOLE = ("", "pkt", "B", "ps")
"""Units of which there are no fractions, where both ends of a range have none."""
WIDE = 4.0
"""A range whose ends are so many times apart is divided by factors, not by steps."""
ALLOWED = "KEY=FROM..TO such as idle_time=64us..2ms, or KEY=A,B,C"


@dataclass(frozen=True)
class Parameter:
    """A key and the values that are tried, as scenarios write them; ``ordered``: from a range."""

    key: str
    values: tuple[str, ...]
    ordered: bool

    @property
    def name(self) -> str:
        """The key without its table."""
        return self.key.rpartition(".")[2]


def parse(text: str, table: str, count: int) -> Parameter:
    """``KEY=FROM..TO`` with ``count`` values, or ``KEY=A,B``; a key without a dot is of ``table``.

    Raises :class:`InputError`.
    """
    key, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"[A-Za-z0-9_.-]+", key) or not values:
        raise refused(repr(text), ALLOWED, file="--param")
    whole = key if "." in key else f"{table}.{key}"
    low, dots, high = (part.strip() for part in values.partition(".."))
    if dots:
        return Parameter(whole, tuple(_between(text, low, high, count)), ordered=True)
    chosen = tuple(part.strip() for part in values.split(","))
    if not all(chosen) or len(set(chosen)) < len(chosen) or len(chosen) < 2:
        raise refused(repr(text), f"{ALLOWED}, at least two, each once", file="--param")
    return Parameter(whole, chosen, ordered=False)


def _between(text: str, low: str, high: str, count: int) -> list[str]:
    """So many values, both ends among them, evenly by step, or by factor over a wide range."""
    (first, unit), (last, other) = _quantity(text, low), _quantity(text, high)
    base, scale = UNITS.get(unit, (unit, 1))
    other_base, other_scale = UNITS.get(other, (other, 1))
    if base != other_base:
        raise refused(repr(text), "both ends in units of one kind", file="--param")
    last = last * other_scale / scale
    if not first < last:
        raise refused(repr(text), "FROM below TO", file="--param")
    shares = [index / (count - 1) for index in range(count)]
    if first > 0 and last / first >= WIDE:
        found = [first * math.exp(share * math.log(last / first)) for share in shares]
    else:
        found = [first + share * (last - first) for share in shares]
    whole = unit in WHOLE and first.is_integer() and last.is_integer() and "." not in low + high
    texts = [_written(value, unit, whole) for value in found]
    return list(dict.fromkeys([_written(first, unit, whole), *texts[1:-1], high]))


def _quantity(text: str, written: str) -> tuple[float, str]:
    try:
        return float(written), ""
    except ValueError:
        found = NUMBER_AND_UNIT.fullmatch(written)
    if found is None:
        raise refused(repr(text), ALLOWED, file="--param")
    return float(found[1]), spelled(found[2])


def _written(value: float, unit: str, whole: bool) -> str:
    """To three digits: nobody sets a switch to more."""
    if whole:
        return f"{round(value)}{unit}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:.0f}{unit}" if rounded >= 100 else f"{rounded:g}{unit}"


Setting = tuple[tuple[str, str], ...]
"""Keys and values."""


def settings(parameters: Sequence[Parameter], count: int, seed: int) -> list[Setting]:
    """The settings that are tried: ``count``, or as many as the longest list of values has.

    Of one parameter all its values; of several a Latin hypercube: each one's values evenly often,
    in an order of their own that follows from ``seed``.
    """
    if len(parameters) == 1:
        return [((parameters[0].key, value),) for value in parameters[0].values]
    # A value that somebody has written down is tried, too.
    count = max(count, *(len(parameter.values) for parameter in parameters))
    columns = []
    for number, parameter in enumerate(parameters):
        values = parameter.values
        column = [values[index * len(values) // count] for index in range(count)]
        random.Random(f"{seed} {number}").shuffle(column)
        columns.append([(parameter.key, value) for value in column])
    return list(dict.fromkeys(zip(*columns, strict=True)))
