"""Quantities as scenarios write them, ``"12.5us"`` or ``"1Gbps"``, as numbers for axes."""

from collections.abc import Sequence

import numpy as np

from leafspine.spelling import NUMBER_AND_UNIT, spelled

# The engine's units (docs/scenario.md), each with its base and its size in that.
UNITS: dict[str, tuple[str, int]] = {
    "ps": ("ps", 1),
    "ns": ("ps", 10**3),
    "us": ("ps", 10**6),
    "ms": ("ps", 10**9),
    "s": ("ps", 10**12),
    "bps": ("bps", 1),
    "kbps": ("bps", 10**3),
    "Mbps": ("bps", 10**6),
    "Gbps": ("bps", 10**9),
    "Tbps": ("bps", 10**12),
    "B": ("B", 1),
    "KB": ("B", 10**3),
    "MB": ("B", 10**6),
    "GB": ("B", 10**9),
    "KiB": ("B", 1 << 10),
    "MiB": ("B", 1 << 20),
    "GiB": ("B", 1 << 30),
}

SHOWN = {
    "us": "µs",
    "bps": "b/s",
    "kbps": "kb/s",
    "Mbps": "Mb/s",
    "Gbps": "Gb/s",
    "Tbps": "Tb/s",
    "pkt": "packets",
    "rtt": "base RTT",
    "bdp": "BDP",
}
"""Units that readers write otherwise than scenarios."""


def number(value: object) -> tuple[float, str]:
    """A swept value in the base of its unit, so that values of mixed units have an order.

    ``"5ms"`` is (5e9, ps), ``"40pkt"`` (40, pkt), 0.8 (0.8, no unit). Not a number: NaN.
    """
    size, unit = _written(value)
    base, scale = UNITS.get(unit, (unit, 1))
    return size * scale, base


def axis(values: Sequence[object]) -> tuple[list[float], str]:
    """Swept values as numbers of one unit, the finest of those written, and that unit."""
    units = list(dict.fromkeys(unit for _, unit in map(_written, values)))
    found = [number(value) for value in values]
    if len({base for _, base in found}) > 1:
        return [float("nan")] * len(values), ""
    finest = min(units, key=lambda unit: UNITS.get(unit, (unit, 1))[1], default="")
    scale = UNITS.get(finest, (finest, 1))[1]
    return [size / scale for size, _ in found], finest


def shown(unit: str) -> str:
    """A unit as a reader writes it: Mb/s for ``Mbps``, µs for ``us``."""
    return SHOWN.get(unit, unit)


def time(picoseconds: int) -> str:
    """A time for people: ``20 ms``."""
    for unit in ("s", "ms", "us", "ns"):
        if picoseconds >= UNITS[unit][1]:
            return f"{picoseconds / UNITS[unit][1]:g} {shown(unit)}"
    return f"{picoseconds} ps"


def rate(bits: int) -> str:
    """A rate in bits per second for people: ``2.5 Gb/s``."""
    for unit in ("Tbps", "Gbps", "Mbps", "kbps"):
        if bits >= UNITS[unit][1]:
            return f"{bits / UNITS[unit][1]:g} {shown(unit)}"
    return f"{bits} b/s"


def size(count: int, digits: int = 3) -> str:
    """A size for people, so many digits of it: ``1.46 KB``."""
    for unit in ("GB", "MB", "KB"):
        if count >= UNITS[unit][1]:
            return f"{float(f'{count / UNITS[unit][1]:.{digits}g}'):g} {unit}"
    return f"{count} B"


def with_unit(label: str, unit: str) -> str:
    """A label for an axis: ``link rate (Mb/s)``."""
    return f"{label} ({shown(unit)})" if unit else label


def _written(value: object) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = NUMBER_AND_UNIT.fullmatch(str(value))
    return (float(match[1]), spelled(match[2])) if match else (np.nan, "")
