"""What swept keys and points are called where people read them."""

import re

from leafspine.engine import Point


def key_label(key: str) -> str:
    """A swept key for people: ``workload.0.load`` is ``load``."""
    parts = [part for part in key.split(".") if not part.isdigit()]
    if parts[-1] == "scheme" and len(parts) > 1:
        return parts[-2].replace("_", " ")
    return parts[-1].replace("_", " ")


def point_label(point: Point) -> str:
    """A point of the sweep for people."""
    return ", ".join(f"{key_label(key)} {plain(value)}" for key, value in point)


def plain(value: object) -> str:
    """A swept value for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def slug(text: str) -> str:
    """A name for a file."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "all"
