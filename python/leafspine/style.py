"""How figures look: the same colour, marker and line for a scheme in every figure of every run.

Eight colours that people with colour-vision deficiencies tell apart (after Okabe and Ito, 2008,
its yellow darkened so that it shows on white). There are more schemes than colours: those that
papers compare with each other differ in colour and in marker, any two in one of them. Markers, and
the hatches of bars, which go with them, keep figures readable in print without colour.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.colors import to_hex

from leafspine import letters

BLACK, BLUE, ORANGE, GREEN = "#333333", "#0072B2", "#E69F00", "#009E73"
VERMILION, PURPLE, SKY, OLIVE = "#D55E00", "#CC79A7", "#56B4E9", "#9A8700"
COLOURS = (BLACK, BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, OLIVE)
LINES = ("solid", "dashed", "dashdot", "dotted")
HATCHES = {
    "o": "",
    "s": "////",
    "^": "....",
    "v": r"\\\\",
    "D": "xxxx",
    "P": "----",
    "X": "++++",
    "*": "oo",
}
MARKERS = tuple(HATCHES)


@dataclass(frozen=True)
class Style:
    """Colour, marker and line of one variant; ``hollow`` markers are white inside."""

    colour: str
    marker: str
    line: str
    hollow: bool = False

    @property
    def hatch(self) -> str:
        """What fills a bar: a pattern for each marker."""
        return HATCHES[self.marker]


def _full(colour: str, marker: str) -> Style:
    return Style(colour, marker, "solid")


def _open(colour: str, marker: str) -> Style:
    return Style(colour, marker, "dashed", hollow=True)


# No entry is changed once figures have been made with it.
REGISTRY = {
    "ecmp": _full(BLACK, "o"),
    "letflow": _full(BLUE, "s"),
    "rps": _full(ORANGE, "^"),
    "drb": _full(GREEN, "v"),
    "qdaps": _full(VERMILION, "D"),
    "presto": _full(PURPLE, "P"),
    "wcmp": _full(SKY, "X"),
    "pinned": _full(OLIVE, "*"),
    "conga": _open(SKY, "*"),
    "drill": _open(OLIVE, "P"),
    "hula": _open(VERMILION, "v"),
    "qall": _full(GREEN, "X"),
    "tam": _full(SKY, "D"),
    "aq-car": _full(PURPLE, "v"),
    "flowbender": _open(SKY, "^"),
    "clove-ecn": _open(OLIVE, "o"),
    "hermes": _open(BLACK, "D"),
    "flex": _open(BLUE, "D"),
    "qdaps-star": _open(PURPLE, "*"),
    "qall-flowlet": _open(PURPLE, "D"),
    "qall-linear": _open(ORANGE, "D"),
    "qall-poly2": _open(BLUE, "v"),
    "qall-poly3": _open(VERMILION, "o"),
    "abq": _full(VERMILION, "^"),
    # Queue managers, where a variant is named after its own.
    "droptail": _full(BLACK, "v"),
    "ecn-threshold": _full(BLUE, "o"),
    "a-ecn": _open(ORANGE, "s"),
    "red": _full(OLIVE, "^"),
    "codel": _full(GREEN, "D"),
    "tcn": _full(PURPLE, "X"),
    "mq-ecn": _full(SKY, "P"),
    "ml-ecn": _full(VERMILION, "*"),
}
# Host edges that choose paths: a figure of theirs is not one of the balancer that obeys.
STEERING = ("flowbender", "clove-ecn", "hermes", "flex")


def of_scheme(name: str) -> Style:
    """The style of a scheme by its registry name.

    A name that is not in the list gets one that depends on the name alone.
    """
    if name in REGISTRY:
        return REGISTRY[name]
    turn, colour = divmod(zlib.crc32(name.encode()) % (2 * len(COLOURS)), len(COLOURS))
    return Style(
        colour=COLOURS[colour],
        marker=MARKERS[(colour + 3 * turn) % len(MARKERS)],
        line=LINES[2 + turn],
        hollow=turn == 1,
    )


def of_variants(variants: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Styles for ``(variant, scheme)`` pairs, no two alike.

    A variant looks like its scheme. Where several share one (LetFlow with two gaps), the first has
    the scheme's own style and the next ones its colour with other lines and markers.
    """
    found: dict[str, Style] = {}
    for variant, scheme in variants:
        found[variant] = _distinct(of_scheme(scheme), list(found.values()))
    return found


def of_shades(count: int) -> list[Style]:
    """Styles for what belongs to one scheme (its paths): shades from dark to light, no scheme's."""
    dark, light = np.array([0.15, 0.05, 0.35]), np.array([0.75, 0.6, 0.45])
    return [
        Style(to_hex(dark + weight * (light - dark)), MARKERS[place % len(MARKERS)], "solid")
        for place, weight in enumerate(np.linspace(0, 1, count))
    ]


def _distinct(style: Style, taken: Sequence[Style]) -> Style:
    line, marker = LINES.index(style.line), MARKERS.index(style.marker)
    for step in range(len(LINES) * len(MARKERS)):
        turn, rest = divmod(step, len(LINES))
        candidate = replace(
            style,
            line=LINES[(line + rest) % len(LINES)],
            marker=MARKERS[(marker + rest + turn) % len(MARKERS)],
        )
        if candidate not in taken:
            return candidate
    return style


def matplotlib_settings() -> dict[Any, Any]:
    """Settings under which every figure is drawn: they do not depend on the user's own."""
    return {
        "figure.dpi": 100,
        "savefig.dpi": 200,
        "font.family": letters.families(),
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.labelsize": 9,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.3,
        "lines.markersize": 4.5,
        "hatch.linewidth": 0.6,
        "figure.constrained_layout.w_pad": 0.07,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "text.usetex": False,
    }
