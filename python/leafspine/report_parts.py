"""Pieces of the report: panels of pictures, tables with aligned numbers, marks of variants."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from leafspine import night
from leafspine.saved import Saved
from leafspine.style import Style
from leafspine.terminal import Table

PIXELS = 200
"""Of a picture in an inch."""
NARROW, WIDE = 7.2, 13.5
"""Least and largest width, in the page's letters, of an inch of a panel."""

DASHES = {"solid": "", "dashed": "5 3", "dashdot": "7 2 2 2", "dotted": "2 2"}
PATHS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "s": "M-3.6 -3.6h7.2v7.2h-7.2z",
    "^": "M0 -4.4L4.2 3.4H-4.2z",
    "v": "M0 4.4L4.2 -3.4H-4.2z",
    "D": "M0 -4.8L4.8 0L0 4.8L-4.8 0z",
    "P": "M-1.5 -4.4h3v2.9h2.9v3h-2.9v2.9h-3v-2.9h-2.9v-3h2.9z",
    "X": "M0 -2L2.4 -4.4L4.4 -2.4L2 0L4.4 2.4L2.4 4.4L0 2L-2.4 4.4L-4.4 2.4L-2 0"
    "L-4.4 -2.4L-2.4 -4.4z",
    "*": "M0 -5.2L1.4 -1.7L5 -1.6L2.1 .7L3.1 4.3L0 2.2L-3.1 4.3L-2.1 .7L-5 -1.6L-1.4 -1.7z",
}  # fmt: skip
"""Matplotlib's markers, about the origin."""

_WITH_INTERVAL = re.compile(r"(.*?)(?: %)? (± .*|\[.*|\(n = .*)")
_NUMBER = re.compile(r"[+−-]?[\d,]*\.?\d+")
FIGURE_SPACE, POINT_SPACE = "\u2007", "\u2008"
"""As wide as a digit, and as a point."""


def look(style: Style) -> dict[str, str]:
    """The mark of a variant as the plots have it, for an SVG."""
    return {
        "colour": style.colour,
        "dashes": DASHES[style.line],
        "path": PATHS[style.marker],
        "dark": night.of_hex(style.colour),
        "fill": "var(--paper)" if style.hollow else "currentColor",
    }


def picture(figure: Saved) -> dict[str, Any]:
    """A figure's panels, which become as many pictures as fit beside each other."""
    width, height = figure.size
    panels = figure.panels or ((0.0, 0.0, 1.0, 1.0),)
    return {
        "title": figure.title,
        "caption": figure.caption,
        "file": f"{figure.pdf.parent.name}/{figure.pdf.name}",
        "width": width,
        "height": height,
        "data": base64.b64encode(figure.png.read_bytes()).decode(),
        "dark": base64.b64encode((figure.dark or figure.png).read_bytes()).decode(),
        "panels": [_panel(box, width, height) for box in panels],
        "names": [_panel(box, width, height) for box in figure.names],
    }


def _panel(box: tuple[float, float, float, float], width: int, height: int) -> dict[str, str]:
    left, top, right, bottom = box
    inches = (right - left) * width / PIXELS
    numbers = (left * width, top * height, (right - left) * width, (bottom - top) * height)
    return {
        "box": " ".join(f"{number:.1f}" for number in numbers),
        "narrow": f"{NARROW * inches:.1f}",
        "wide": f"{WIDE * inches:.1f}",
    }


def table(found: Table, looks: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A table for the page: units in the heads alone, numbers one below the other by their points,
    intervals apart from them, variants with their marks."""
    columns = [_column(found, at, looks) for at in range(len(found.heads))]
    rows = [
        {"first": first, "cells": [cells[at] for _, cells in columns]}
        for at, first in enumerate(found.starts)
    ]
    return {
        "title": found.title,
        "note": found.note,
        "heads": [head for head, _ in columns],
        "texts": found.texts,
        "rows": rows,
    }


def _column(
    found: Table, at: int, looks: Mapping[str, Mapping[str, str]]
) -> tuple[str, list[dict[str, Any]]]:
    head, texts = found.heads[at], [row[at] for row in found.rows]
    if at < found.texts:
        marks = looks if head == "variant" else {}
        return head, [{"value": text, "interval": "", "look": marks.get(text)} for text in texts]
    if any(" % " in text or text.endswith(" %") for text in texts):
        head = f"{head} (%)"
    pairs = [_split(text) for text in texts]
    values = aligned([value for value, _ in pairs])
    intervals = [interval for _, interval in pairs]
    return head, [
        {"value": value, "interval": interval, "look": None}
        for value, interval in zip(values, intervals, strict=True)
    ]


def _split(text: str) -> tuple[str, str]:
    """A number and its interval."""
    match = _WITH_INTERVAL.fullmatch(text)
    return (match[1], match[2]) if match else (text.removesuffix(" %"), "")


def aligned(texts: Sequence[str]) -> list[str]:
    """Numbers with as much space after them that their points are one below the other."""
    places = [len(text.partition(".")[2]) if _NUMBER.fullmatch(text) else 0 for text in texts]
    most = max(places, default=0)
    found = []
    for text, place in zip(texts, places, strict=True):
        point = POINT_SPACE if most and not place else ""
        space = point + FIGURE_SPACE * (most - place)
        found.append(text + (space if _NUMBER.fullmatch(text) else ""))
    return found
