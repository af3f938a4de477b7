"""How figures look: the same colour, marker and line for a scheme in every figure of every run.

Eight colours that people with colour-vision deficiencies tell apart (after Okabe and Ito, 2008,
its yellow darkened so that it shows on white), in rounds: the second has dashed lines and hollow
markers. A marker per scheme keeps figures readable in print without colour.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

COLOURS = (
    "#333333",
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#9A8700",
)
LINES = ("solid", "dashed", "dashdot", "dotted")
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")

# A scheme's place is its style. New schemes go to the end, so that no figure ever changes.
REGISTRY = (
    "ecmp",
    "letflow",
    "rps",
    "drb",
    "qdaps",
    "presto",
    "wcmp",
    "pinned",
    "conga",
    "drill",
    "hula",
    "qall",
    "tam",
    "aq-car",
    "flowbender",
    "clove-ecn",
    "hermes",
    "flex",
    "qdaps-star",
    "qall-flowlet",
    "qall-linear",
    "qall-poly2",
    "qall-poly3",
    "abq",
)
# Host edges that choose paths: a figure of theirs is not one of the balancer that obeys.
STEERING = ("flowbender", "clove-ecn", "hermes", "flex")


@dataclass(frozen=True)
class Style:
    """Colour, marker and line of one variant; ``hollow`` markers are white inside."""

    colour: str
    marker: str
    line: str
    hollow: bool = False


def of_scheme(name: str) -> Style:
    """The style of a scheme by its registry name.

    A name that is not in the list gets one that depends on the name alone.
    """
    if name in REGISTRY:
        return _at(REGISTRY.index(name))
    return _at(zlib.crc32(name.encode()) % (2 * len(COLOURS)))


def _at(place: int) -> Style:
    turn, colour = divmod(place, len(COLOURS))
    return Style(
        colour=COLOURS[colour],
        marker=MARKERS[(colour + 3 * turn) % len(MARKERS)],
        line=LINES[turn % len(LINES)],
        hollow=turn % 2 == 1,
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
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
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
        "lines.linewidth": 1.5,
        "lines.markersize": 5,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "text.usetex": False,
    }
