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
import numpy.typing as npt

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


def _newer(colour: str, marker: str) -> Style:
    return Style(colour, marker, "dashdot")


# No entry is changed once figures of the papers have been made with it.
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
    "conweave": _newer(PURPLE, "^"),
    "ars": _newer(ORANGE, "v"),
    "drill": _open(OLIVE, "P"),
    "hula": _open(VERMILION, "v"),
    "qall": _full(GREEN, "X"),
    "tam": _full(SKY, "D"),
    "aq-car": _full(PURPLE, "v"),
    "flowbender": _open(SKY, "^"),
    "clove-ecn": _open(OLIVE, "o"),
    "hermes": _open(BLACK, "D"),
    "flex": _open(BLUE, "D"),
    "oblivious": _open(GREEN, "^"),
    "bitmap": _open(GREEN, "P"),
    "reps": _newer(VERMILION, "X"),
    "mixed": _open(BLACK, "s"),
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
STEERING = ("flowbender", "clove-ecn", "hermes", "flex", "oblivious", "bitmap", "reps", "mixed")


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
    the scheme's own style and the next ones darker and lighter shades of its colour, with other
    lines and markers.
    """
    found: dict[str, Style] = {}
    families: dict[str, list[Style]] = {}
    for variant, scheme in variants:
        own, family = of_scheme(scheme), families.setdefault(scheme, [])
        shaded = replace(own, colour=shade(own.colour, len(family)))
        found[variant] = _distinct(shaded, family, list(found.values()))
        family.append(found[variant])
    return found


SHADES = (("#000000", 0.0), ("#000000", 0.5), ("#ffffff", 0.45))
"""What a scheme's colour is mixed with, and how much, for its first, second and third variant."""


def shade(colour: str, place: int) -> str:
    """The colour of a scheme's variant, counted from 0: its own, dark, light, and so on again."""
    with_, share = SHADES[place % len(SHADES)]
    if not share:
        return colour
    if colour == BLACK:  # has no darker shade: two greys
        with_, share = "#ffffff", 0.35 * (place % len(SHADES))
    return _hex((1 - share) * _parts(colour) + share * _parts(with_))


def _parts(colour: str) -> npt.NDArray[np.float64]:
    """Red, green and blue of ``#rrggbb``, in 0..1."""
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def _hex(parts: npt.NDArray[np.float64]) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02X}" for part in parts)


def of_shades(count: int) -> list[Style]:
    """Styles for what belongs to one scheme (its paths): shades from dark to light, no scheme's."""
    dark, light = np.array([0.15, 0.05, 0.35]), np.array([0.75, 0.6, 0.45])
    return [
        Style(_hex(dark + weight * (light - dark)), MARKERS[place % len(MARKERS)], "solid")
        for place, weight in enumerate(np.linspace(0, 1, count))
    ]


def _distinct(style: Style, family: Sequence[Style], taken: Sequence[Style]) -> Style:
    """The style with another line or marker, if it is like one that is taken; its family are those
    of the same scheme, which it has to differ from in print without colours, too."""
    line, marker = LINES.index(style.line), MARKERS.index(style.marker)
    drawn = [(other.line, other.marker) for other in family]
    for step in range(len(LINES) * len(MARKERS)):
        turn, rest = divmod(step, len(LINES))
        candidate = replace(
            style,
            line=LINES[(line + rest) % len(LINES)],
            marker=MARKERS[(marker + rest + turn) % len(MARKERS)],
        )
        if candidate not in taken and (candidate.line, candidate.marker) not in drawn:
            return candidate
    return style


def matplotlib_settings() -> dict[Any, Any]:
    """Settings under which every figure is drawn: they do not depend on the user's own."""
    # Brings Matplotlib, which a report of figures that are there already does without.
    from leafspine import letters

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
        "legend.title_fontsize": 8,
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
