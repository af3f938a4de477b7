"""A figure as PDF and PNG: what is saved, and that it is not done twice."""

import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib import figure as matplotlib_figure
from matplotlib import get_data_path, image, layout_engine
from matplotlib.colors import rgb_to_hsv, to_hex, to_rgb
from matplotlib.figure import Figure

import leafspine
from leafspine import graphics, letters, night, plots, rendering
from leafspine.measures import METRICS
from leafspine.style import BLACK, COLOURS, shade


def everything() -> Figure:
    """A figure with one of each: lines, markers, bands, bars, hatches, mathematics, letters that
    only the whole font has, text aslant and in lines, a legend, cut-off lines."""
    figure = Figure(figsize=(7, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([1, 2, 3], [1e-7, 1e3, 1e9], marker="s", linestyle="dashed", label="a")
    left.plot([0, 5], [1e2, 1e4], label="b")
    left.set(xlim=(0.5, 3), ylabel="one\nand µ ± two")
    left.fill_between([1, 2, 3], [1, 2, 3], [10, 1e5, 1e7], alpha=0.3, lw=0)
    graphics.logarithmic(left, "y")
    right.bar([0, 1], [3, 4], hatch="////", edgecolor="white", label="c")
    right.errorbar([0, 1], [3, 4], yerr=[1, 0.5], linestyle="none", capsize=3)
    right.set_xticks([0, 1], ["aslant", "Привет"], rotation=35)
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def test_a_figure_is_laid_out_and_walked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Breaks if saving a figure as two files does all the work twice, as it did."""
    done: list[str] = []
    lay_out, draw = layout_engine.ConstrainedLayoutEngine.execute, matplotlib_figure.Figure.draw
    monkeypatch.setattr(
        layout_engine.ConstrainedLayoutEngine,
        "execute",
        lambda *given: (done.append("laid out"), lay_out(*given))[1],
    )
    monkeypatch.setattr(
        matplotlib_figure.Figure, "draw", lambda *given: (done.append("drawn"), draw(*given))[1]
    )
    with plots.settings():
        rendering.render(everything())
    assert done == ["laid out", "drawn"]


def test_figures_have_no_letters_of_the_whole_font(scenario: Path) -> None:
    """Breaks if letters are cut out of a font of 6,000 again, which took longer than drawing."""
    comparison = leafspine.compare(scenario, lb=["ecmp", "rps"], seeds=2)
    with plots.settings():
        for plot in plots.figures(comparison):
            pdf, _, _ = rendering.render(plot.figure)
            assert len(re.findall(rb"/FontFile2", pdf)) == 1, plot.name


def drawing_of(pdf: bytes) -> list[tuple[str, list[float]]]:
    """What the page of a PDF draws: operators with their numbers."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    page = max((zlib.decompress(s) for s in streams if s[:1] == b"\x78"), key=lambda s: b" Tf" in s)
    found = []
    numbers: list[float] = []
    for word in page.decode("latin-1").split():
        try:
            numbers.append(float(word))
        except ValueError:
            found.append((word, numbers))
            numbers = []
    return found


def test_both_files_show_what_matplotlib_would_have_saved(tmp_path: Path) -> None:
    """Breaks if lines, markers, bars or text of the PDF lie elsewhere than those of the PNG."""
    with plots.settings():
        pdf, png, _ = rendering.render(everything())
        laid_out = everything()
        laid_out.set_dpi(200)
        rendering.lay_out(laid_out)
        for kind in ("pdf", "png"):
            laid_out.savefig(tmp_path / f"theirs.{kind}")
    (tmp_path / "ours.png").write_bytes(png)
    ours, theirs = (image.imread(tmp_path / f"{whose}.png") for whose in ("ours", "theirs"))
    assert np.array_equal(ours, theirs[..., :3])
    assert theirs[..., 3].min() == 1
    mine, saved = drawing_of(pdf), drawing_of((tmp_path / "theirs.pdf").read_bytes())
    assert [operator for operator, _ in mine] == [operator for operator, _ in saved]
    for (operator, ours_), (_, theirs_) in zip(mine, saved, strict=True):
        # Letters are measured in whole pixels of the PNG, and lines of text by its rule.
        assert ours_ == pytest.approx(theirs_, abs=1.0), operator


def test_colours_are_the_same_on_dark_paper(tmp_path: Path) -> None:
    """Breaks if a line by night has another hue than its mark and its day, or is not to be seen, if
    paper stays white, or letters and an idle link are lost on it."""
    with plots.settings():
        figure = Figure(figsize=(1, 1))
        axes = figure.subplots()
        figure.subplots_adjust(0, 0, 1, 1)
        axes.set(xlim=(0, 1), ylim=(0, len(COLOURS)))
        axes.set_axis_off()
        for at, colour in enumerate(COLOURS):
            axes.fill_between([0, 1], at, at + 1, color=colour, linewidth=0)
        _, _, dark = rendering.render(figure)
    (tmp_path / "dark.png").write_bytes(dark)
    seen = image.imread(tmp_path / "dark.png")
    for at, colour in enumerate(COLOURS):
        row = round((len(COLOURS) - at - 0.5) / len(COLOURS) * len(seen))
        assert to_hex(seen[row, 100]) == night.of_hex(colour), colour
    day, by_night = (
        rgb_to_hsv([to_rgb(mapped(c)) for c in COLOURS if c != BLACK])[:, 0]
        for mapped in (str, night.of_hex)
    )
    assert by_night == pytest.approx(day, abs=0.02)
    every = np.array([to_rgb(shade(colour, place)) for colour in COLOURS for place in range(3)])
    on_white = 1.05 / (night._luminance(every) + 0.05)
    paper = night._luminance(np.array([night.PAPER]) / 255)[0]
    on_dark = (night._luminance(night.colours(every)) + 0.05) / (paper + 0.05)
    assert (on_dark > np.minimum(on_white, night.CONTRAST) - 0.05).all()
    assert night.of_hex("#ffffff") == "#15181c" and night.of_hex("#000000") == "#e6e8eb"
    idle = night._luminance(night.colours([to_rgb("#D9DDE2")]))[0]
    assert paper < idle < 0.2


def test_an_image_in_a_figure_is_refused() -> None:
    """Breaks if a figure with an image has it in the PNG and not in the PDF."""
    figure = Figure()
    figure.subplots().imshow(np.eye(2))
    with plots.settings(), pytest.raises(TypeError, match="has an image"):
        rendering.render(figure)


def test_letters_are_those_of_dejavu_sans() -> None:
    """Breaks if the letters that figures are written with are not Matplotlib's own: another shape,
    width or distance, which would change every figure."""
    whole = TTFont(Path(get_data_path()) / "fonts/ttf/DejaVuSans.ttf")
    part = TTFont(letters.FILE)
    names, all_names = part.getBestCmap(), whole.getBestCmap()
    shapes, all_shapes = part.getGlyphSet(), whole.getGlyphSet()
    for code, name in names.items():
        here = part["glyf"][name].getCoordinates(part["glyf"])[0]
        there = whole["glyf"][all_names[code]].getCoordinates(whole["glyf"])[0]
        assert here == there, chr(code)
        assert shapes[name].width == all_shapes[all_names[code]].width, chr(code)
    kerning, all_kerning = (font["kern"].kernTables[0].kernTable for font in (part, whole))
    pairs = [(names[ord(a)], names[ord(b)], all_names[ord(a)], all_names[ord(b)])
             for a, b in ("AV", "To", "Ve", "PA")]  # fmt: skip
    for a, b, all_a, all_b in pairs:
        assert kerning.get((a, b)) == all_kerning.get((all_a, all_b)) != None  # noqa: E711


def test_labels_are_written_in_those_letters() -> None:
    """Breaks if a label has a character that the short font lacks: the whole one is slow."""
    known = set(TTFont(letters.FILE).getBestCmap())
    labels = [f"{metric.label} {metric.unit}" for metric in METRICS.values()]
    for text in [*labels, *graphics.AXES.values(), "(µs)", "vs −", "±"]:
        assert {ord(letter) for letter in text} <= known, text
