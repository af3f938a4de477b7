"""The paper's number beside ours on one scale, as a small picture for a page.

A strip has the interval of what was found as a line with a dot at its mean, the claim's number as a
diamond, and what would be reproduced as a band. All strips of a claim in one unit share a scale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from leafspine.reproduce.tolerances import reproduced, reproduced_ratio
from leafspine.stats import Estimate

MOST = 8
"""Strips of a claim; of more those that decide come first."""

WIDTH, HEIGHT, EDGE = 260, 16, 6
"""Pixels of a strip, and what is left free at both ends."""

ROOM = 0.08
"""Part of the shown range that is free beyond the outermost value."""


@dataclass(frozen=True)
class Strip:
    """What was found and what was claimed, in one unit."""

    unit: str
    """``%``, ``times`` (logarithmic), or empty: the metric's own."""
    mean: float
    low: float
    high: float
    claimed: float | None
    good: tuple[float, float]
    """What would be reproduced, or keep the bound; infinite where it is open."""

    @property
    def base(self) -> float:
        """Where nothing differs."""
        return 1.0 if self.unit == "times" else 0.0

    @property
    def words(self) -> str:
        """For those who cannot see it."""
        unit = {"%": " %", "times": " times"}.get(self.unit, "")
        ours = f"{self.mean:.3g}{unit}, {self.low:.3g} to {self.high:.3g}"
        if self.claimed is not None:
            return f"paper {self.claimed:.3g}{unit}, ours {ours}"
        low, high = self.good
        ends = [f"above {low:.3g}"] * math.isfinite(low) + [f"below {high:.3g}"] * math.isfinite(
            high
        )
        return f"paper {' and '.join(ends)}{unit}, ours {ours}"


def of_percent(found: Estimate, claimed: float, or_more: bool, ends: tuple[float, float]) -> Strip:
    """An effect in percent against a claimed one; ``ends``: of a bound that is asked besides."""
    if or_more:
        good = (claimed, math.inf) if claimed > 0 else (-math.inf, claimed)
    else:
        good = reproduced(claimed)
    return _strip("%", found, claimed, (max(good[0], ends[0]), min(good[1], ends[1])))


def of_bound(unit: str, found: Estimate, good: tuple[float, float]) -> Strip:
    """An estimate that has to lie in a range."""
    return _strip(unit, found, None, good)


def of_value(found: Estimate, claimed: float, ends: tuple[float, float]) -> Strip:
    """A value against the claimed one, which may be off by a third; ``ends`` as above."""
    near = sorted((claimed * 2 / 3, claimed * 4 / 3))
    return _strip("", found, claimed, (max(near[0], ends[0]), min(near[1], ends[1])))


def of_ratio(found: Estimate, claimed: float) -> Strip:
    """The logarithm of a ratio against that of the claimed one."""
    low, high = (min(end, 700.0) for end in (_low(found), _high(found)))
    good = reproduced_ratio(claimed)
    return Strip("times", math.exp(found.mean), math.exp(low), math.exp(high), claimed, good)


def _strip(unit: str, found: Estimate, claimed: float | None, good: tuple[float, float]) -> Strip:
    return Strip(unit, found.mean, _low(found), _high(found), claimed, good)


def _low(found: Estimate) -> float:
    # Of an infinite value there is no interval.
    return found.mean if found.low is None or math.isnan(found.low) else found.low


def _high(found: Estimate) -> float:
    return found.mean if found.high is None or math.isnan(found.high) else found.high


@dataclass(frozen=True)
class Scale:
    """From values to pixels."""

    first: float
    last: float
    logarithmic: bool

    def at(self, value: float) -> float:
        """The pixel of a value; those beyond the scale are at its ends."""
        part = (self._of(value) - self._of(self.first)) / (
            self._of(self.last) - self._of(self.first)
        )
        return EDGE + min(max(part, 0.0), 1.0) * (WIDTH - 2 * EDGE)

    def _of(self, value: float) -> float:
        if not self.logarithmic:
            return value
        return math.log(value) if value > 0 else -math.inf


def scale(strips: Sequence[Strip]) -> Scale:
    """One with all values of strips of one unit, what was claimed, and where nothing differs."""
    logarithmic = strips[0].unit == "times"
    values = [strips[0].base]
    for strip in strips:
        values += [strip.mean, strip.low, strip.high, *(end for end in strip.good)]
        values += [strip.claimed] if strip.claimed is not None else []
    finite = [v for v in values if math.isfinite(v) and (v > 0 or not logarithmic)]
    low, high = min(finite), max(finite)
    if logarithmic:
        room = max(high / low, 1.1) ** ROOM
        return Scale(low / room, high * room, True)
    room = ROOM * (high - low) or abs(high) or 1.0
    return Scale(low - room, high + room, False)


def drawn(strips: Sequence[tuple[Strip, str]]) -> str:
    """The strips of a claim, each with its verdict's name, as SVG elements; a scale a unit."""
    units = {
        strip.unit: [one for one, _ in strips if one.unit == strip.unit] for strip, _ in strips
    }
    scales = {unit: scale(of_unit) for unit, of_unit in units.items()}
    shown = sorted(strips, key=lambda entry: entry[1] == "reproduced")[:MOST]
    return "".join(_svg(strip, scales[strip.unit], verdict) for strip, verdict in shown)


def _svg(strip: Strip, on: Scale, verdict: str) -> str:
    middle = HEIGHT / 2
    left, right = on.at(strip.good[0]), on.at(strip.good[1])
    base = on.at(strip.base)
    low, mean, high = (on.at(value) for value in (strip.low, strip.mean, strip.high))
    parts = [
        f'<rect class="good" x="{left:.1f}" width="{right - left:.1f}" height="{HEIGHT}"/>',
        f'<line class="base" x1="{base:.1f}" x2="{base:.1f}" y1="0" y2="{HEIGHT}"/>',
        f'<line class="ours" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>',
        *(
            f'<line class="ours" x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 3}" y2="{middle + 3}"/>'
            for x in (low, high)
        ),
        f'<circle class="ours" cx="{mean:.1f}" cy="{middle}" r="3.2"/>',
    ]
    if strip.claimed is not None:
        x = on.at(strip.claimed)
        diamond = (
            f"{x:.1f},{middle - 5} {x + 5:.1f},{middle} {x:.1f},{middle + 5} {x - 5:.1f},{middle}"
        )
        parts.append(f'<polygon class="paper" points="{diamond}"/>')
    return (
        f'<svg class="strip {verdict}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><title>{escape(strip.words)}</title>{"".join(parts)}</svg>'
    )
