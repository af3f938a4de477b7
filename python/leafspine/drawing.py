"""A figure with its name and words, how figures are set, and how one becomes files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from leafspine import files, rendering
from leafspine.saved import Saved
from leafspine.style import matplotlib_settings


@dataclass(frozen=True)
class Plot:
    """A figure's name (that of its files), a title and a sentence for the report."""

    name: str
    title: str
    caption: str
    figure: Figure


def save(plot: Plot, directory: Path) -> Saved:
    """Write one figure as PDF and PNG, and as PNG on dark paper."""
    pdf, png = directory / f"{plot.name}.pdf", directory / f"{plot.name}.png"
    dark = directory / f"{plot.name}-dark.png"
    with settings():
        drawn = rendering.render(plot.figure)
        panels, size = rendering.panels(plot.figure, drawn[1])
    for path, contents in zip((pdf, png, dark), drawn, strict=True):
        with files.replacing_file(path) as temporary:
            temporary.write_bytes(contents)
    wide = len(plot.figure.axes) > 2
    names = rendering.names(plot.figure)
    return Saved(plot.name, plot.title, plot.caption, pdf, png, wide, panels, size, dark, names)


@contextmanager
def settings() -> Iterator[None]:
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(matplotlib_settings())
        yield
