"""How a quantity may be written: as crates/schemes/src/units.rs reads it."""

import re

_DIGITS = "[0-9]+(?:_[0-9]+)*"
NUMBER_AND_UNIT = re.compile(rf"\s*({_DIGITS}(?:\.{_DIGITS})?)\s*([A-Za-z/%\u00b5\u03bc]+)\s*")
"""A quantity as the engine reads it: a space before the unit, and underscores between digits."""


def spelled(unit: str) -> str:
    """A unit as resolved scenarios have it: ``us`` for µs (either letter), ``Gbps`` for Gb/s."""
    if unit[0] in "\u00b5\u03bc":
        unit = f"u{unit[1:]}"
    return re.sub("(?:b|bit)/s$", "bps", unit)
