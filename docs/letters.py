"""Makes ``python/leafspine/data/letters/letters.ttf``: ``.venv/bin/python docs/letters.py``.

A PDF has in it the letters that it shows, cut out of their font. Cutting them out of all of DejaVu
Sans, with 6,000 glyphs and the tables that shape Arabic, took longer than drawing the figure. This
is the part of it that figures are written with; other characters still come from the whole font.
"""

import io
from pathlib import Path

import matplotlib
from fontTools import subset

from leafspine.letters import FAMILY, FILE

RANGES = (
    (0x20, 0x7E),  # ASCII
    (0xA0, 0xFF),  # Latin-1: µ, ±, ×
    (0x391, 0x3C9),  # Greek
    (0x2010, 0x2027),  # dashes, quotes
    (0x2070, 0x208E),  # superscripts, subscripts
)
MORE = "−≤≥≈→∞"
# Tables for scripts that are not in it, and FontForge's and TeX's own.
TABLES = ["GSUB", "GPOS", "GDEF", "BASE", "MATH", "FFTM"]
# The family's name, as fonts have it in two places; all others, with the licence, stay.
NAMES_OF_FAMILY = (1, 16)


def made() -> bytes:
    """The font, from the one that comes with Matplotlib."""
    whole = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    options = subset.Options(legacy_kern=True, name_IDs=["*"], glyph_names=False)
    options.drop_tables = [table for table in options.drop_tables if table != "kern"] + TABLES
    font = subset.load_font(str(whole), options)
    font.recalcTimestamp = False
    cutter = subset.Subsetter(options=options)
    cutter.populate(
        unicodes=[code for first, last in RANGES for code in range(first, last + 1)], text=MORE
    )
    cutter.subset(font)
    for name in font["name"].names:
        if name.nameID in NAMES_OF_FAMILY:
            name.string = FAMILY
    contents = io.BytesIO()
    font.save(contents, reorderTables=False)
    return contents.getvalue()


if __name__ == "__main__":
    FILE.write_bytes(made())
