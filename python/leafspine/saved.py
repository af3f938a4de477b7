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
    panels: tuple[tuple[float, float, float, float], ...] = ()
    """Where each panel is: left, top, right and bottom as shares of the picture. The names of the
    lines, above them, are in none."""
    size: tuple[int, int] = (0, 0)
    """Of the picture, in pixels."""
    dark: Path | None = None
    """The picture on dark paper."""
    names: tuple[tuple[float, float, float, float], ...] = ()
    """Where each name of the lines is, with its mark; as ``panels``."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All that there is of it."""
        return (self.pdf, self.png) if self.dark is None else (self.pdf, self.png, self.dark)
