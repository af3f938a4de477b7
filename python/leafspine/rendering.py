"""A figure as PDF, as PNG, and as PNG on dark paper, at once.

Most of what Matplotlib takes to save a figure goes into laying it out and into walking its artists
in Python. Here both are done once, for three renderers.
"""

import io
import itertools
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.backends.backend_pdf import PdfFile, RendererPdf
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D, TransformedBbox, TransformedPath
from PIL import Image

from leafspine import night

POINTS = 72
"""Points in an inch: the unit of PDF."""

# Matplotlib's backends have no types.
_file: Any = PdfFile
_page: Any = RendererPdf
_raster: Any = RendererAgg


def render(figure: Figure) -> tuple[bytes, bytes, bytes]:
    """The figure's PDF, PNG, and PNG on dark paper: without dates, so that the same figure has the
    same bytes."""
    figure.set_dpi(rcParams["savefig.dpi"])
    canvas: Any = FigureCanvasAgg(figure)
    raster = canvas.get_renderer()
    lay_out(figure)
    dark = _raster(raster.width, raster.height, raster.dpi)
    pdf = io.BytesIO()
    undated: Any = {"CreationDate": None}
    file = _file(pdf, metadata=undated)
    try:
        width, height = figure.get_size_inches()
        file.newPage(width, height)
        page = _page(file, figure.dpi, height, width)
        figure.draw(_All(raster, dark, page))
        page.finalize()
        file.finalize()
    finally:
        file.close()
    return pdf.getvalue(), _png(raster), _png(dark)


def _png(raster: Any) -> bytes:
    """Opaque, and not pressed harder than pays: half of the time for the same size."""
    found = io.BytesIO()
    pixels = Image.fromarray(np.asarray(raster.buffer_rgba())).convert("RGB")
    pixels.save(found, format="png", dpi=(raster.dpi, raster.dpi), compress_level=3)
    return found.getvalue()


Box = tuple[float, float, float, float]


def panels(figure: Figure, png: bytes) -> tuple[tuple[Box, ...], tuple[int, int]]:
    """Where the panels of a drawn figure are, with their labels: left, top, right, bottom.

    As shares of the picture, which is cut in the middle of what is white between two panels, below
    the names of the lines, and above what is written at the bottom. And how large the picture is,
    in pixels.
    """
    with Image.open(io.BytesIO(png)) as image:
        ink = np.asarray(image.convert("L")) < WHITE
    height, width = ink.shape
    frames = [axes.get_position() for axes in figure.axes]
    top = 0.0
    if figure.legends:
        top = 1 - figure.legends[0].get_window_extent().y0 / (figure.dpi * figure.get_figheight())
    written = [(text.get_window_extent().y1 + ROOM) / figure.bbox.height for text in figure.texts]
    bottom = 1 - max((y for y in written if y < min(box.y0 for box in frames)), default=0.0)
    between = ink[round(top * height) : round(bottom * height)]
    across = _cuts(between.any(axis=0), [(box.x0, box.x1) for box in frames], (0.0, 1.0))
    down = _cuts(ink.any(axis=1), [(1 - box.y1, 1 - box.y0) for box in frames], (top, bottom))
    found = []
    for box in frames:
        left, right = _between(across, box.x0, box.x1)
        upper, lower = _between(down, 1 - box.y1, 1 - box.y0)
        found.append((left, upper, right, lower))
    return tuple(found), (width, height)


def names(figure: Figure) -> tuple[Box, ...]:
    """Where each name of a drawn figure's lines is, with its line or bar: left, top, right, bottom,
    as shares of the picture."""
    found = []
    for legend in figure.legends[:1]:
        letter = float(legend.get_texts()[0].get_fontsize()) * figure.dpi / POINTS
        before = (legend.handlelength + legend.handletextpad) * letter
        for text in legend.get_texts():
            box = text.get_window_extent()
            middle, half = (box.y0 + box.y1) / 2, 0.9 * letter
            left, right = box.x0 - before - 0.4 * letter, box.x1 + 0.4 * letter
            upper, lower = middle + half, middle - half
            wide, high = figure.bbox.width, figure.bbox.height
            found.append((left / wide, 1 - upper / high, right / wide, 1 - lower / high))
    return tuple(found)


ROOM = 8
"""Pixels above what is written below the panels."""
WHITE = 250
"""Grey from which a pixel is paper."""


def _cuts(ink: Any, spans: list[tuple[float, float]], ends: tuple[float, float]) -> list[float]:
    """Where to cut along one direction, ends included: in the widest gap between two frames."""
    spans = sorted(set(spans))
    cuts = [ends[0]]
    for (_, end), (start, _) in itertools.pairwise(spans):
        if start > end:
            low, high = round(end * len(ink)), round(start * len(ink))
            cuts.append((low + _middle(ink[low:high])) / len(ink))
    return [*cuts, ends[1]]


def _middle(ink: Any) -> float:
    """The middle of the longest stretch without ink."""
    marks = np.concatenate([[-1], np.flatnonzero(ink), [len(ink)]])
    at = int(np.diff(marks).argmax())
    return float(marks[at] + marks[at + 1]) / 2


def _between(cuts: list[float], low: float, high: float) -> tuple[float, float]:
    middle = (low + high) / 2
    return max(cut for cut in cuts if cut <= middle), min(cut for cut in cuts if cut > middle)


def lay_out(figure: Figure) -> None:
    """Give panels and legend their places for good."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


class _All(RendererBase):
    """Draws on a raster, the same in the colours of the night on a second one, and on a page, whose
    unit is a point and whose y goes up.

    Widths of lines and sizes of letters are in points for both; artists get the raster's
    pixels, and what these come to on the page is computed here.
    """

    def __init__(self, raster: Any, dark: Any, page: Any) -> None:
        super().__init__()
        self.raster = raster
        self.dark = dark
        self.page = page
        self.shrink = Affine2D().scale(POINTS / raster.dpi)
        self.boxes: dict[int, tuple[Any, TransformedBbox]] = {}

    def new_gc(self) -> Any:
        return self.page.new_gc()

    def points_to_pixels(self, points: Any) -> Any:
        return self.raster.points_to_pixels(points)

    def get_canvas_width_height(self) -> Any:
        return self.raster.get_canvas_width_height()

    def get_text_width_height_descent(self, s: Any, prop: Any, ismath: Any) -> Any:
        return self.raster.get_text_width_height_descent(s, prop, ismath)

    def draw_path(self, gc: Any, path: Any, transform: Any, rgbFace: Any = None) -> None:  # noqa: N803
        self.raster.draw_path(gc, path, transform, rgbFace)
        face = None if rgbFace is None else tuple(night.colours([rgbFace])[0])
        self.dark.draw_path(_by_night(gc), path, transform, face)
        self.page.draw_path(self._on_page(gc), path, transform + self.shrink, rgbFace)

    def draw_markers(
        self,
        gc: Any,
        marker_path: Any,
        marker_trans: Any,
        path: Any,
        trans: Any,
        rgbFace: Any = None,  # noqa: N803
    ) -> None:
        self.raster.draw_markers(gc, marker_path, marker_trans, path, trans, rgbFace)
        face = None if rgbFace is None else tuple(night.colours([rgbFace])[0])
        self.dark.draw_markers(_by_night(gc), marker_path, marker_trans, path, trans, face)
        marker, line = marker_trans + self.shrink, trans + self.shrink
        self.page.draw_markers(self._on_page(gc), marker_path, marker, path, line, rgbFace)

    def draw_path_collection(
        self,
        gc: Any,
        master_transform: Any,
        paths: Any,
        all_transforms: Any,
        offsets: Any,
        offset_trans: Any,
        facecolors: Any,
        edgecolors: Any,
        *rest: Any,
        **named: Any,
    ) -> None:
        what = (master_transform, paths, all_transforms, offsets, offset_trans)
        how = (facecolors, edgecolors, *rest)
        self.raster.draw_path_collection(gc, *what, *how, **named)
        dark = (night.colours(facecolors), night.colours(edgecolors), *rest)
        self.dark.draw_path_collection(_by_night(gc), *what, *dark, **named)
        every, offset = master_transform + self.shrink, offset_trans + self.shrink
        self.page.draw_path_collection(
            self._on_page(gc), every, paths, all_transforms, offsets, offset, *how, **named
        )

    def draw_text(
        self,
        gc: Any,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        self.raster.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
        self.dark.draw_text(_by_night(gc), x, y, s, prop, angle, ismath, mtext)
        x, y = self.shrink.transform((x, self.raster.height - y))
        self.page.draw_text(self._on_page(gc), x, y, s, prop, angle, ismath, mtext)

    def draw_image(self, *_: Any, **__: Any) -> None:
        raise TypeError("a figure of lines and letters has an image: it would be in one file only")

    def draw_gouraud_triangles(self, *_: Any, **__: Any) -> None:
        raise TypeError("a figure of lines and letters has shaded triangles")

    def _on_page(self, gc: Any) -> Any:
        """How to draw, cut off where the raster is."""
        found = self.page.new_gc()
        found.copy_properties(gc)
        box, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
        if box is not None:
            # One object for one box: the page clips again for every other.
            _, small = self.boxes.setdefault(id(box), (box, TransformedBbox(box, self.shrink)))
            found.set_clip_rectangle(small)
        if path is not None:
            found.set_clip_path(TransformedPath(path, transform + self.shrink))
        return found


def _by_night(gc: Any) -> Any:
    """How to draw on dark paper."""
    found: Any = GraphicsContextBase()
    found.copy_properties(gc)
    found.set_foreground(tuple(night.colours([gc.get_rgb()])[0]), isRGBA=True)
    if (hatch := gc.get_hatch_color()) is not None:
        found.set_hatch_color(tuple(night.colours([to_rgba(hatch)])[0]))
    return found
