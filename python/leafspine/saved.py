"""A figure that is drawn, as files."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Saved:
    """A figure's files and what the report says about it."""

    name: str
    title: str
    caption: str
    pdf: Path
    png: Path
    wide: bool
