"""The letters of figures: DejaVu Sans without what figures are not written with.

``docs/letters.py`` makes the file and says what for.
"""

from functools import cache
from pathlib import Path

from matplotlib import font_manager

FILE = Path(__file__).parent / "data" / "letters" / "letters.ttf"
FAMILY = "DejaVu Sans for leafspine"
WHOLE = "DejaVu Sans"
"""Has the other characters; comes with Matplotlib."""


@cache
def families() -> list[str]:
    """Matplotlib's names of the fonts that a character is looked for in, one after the other."""
    font_manager.fontManager.addfont(FILE)
    return [FAMILY, WHOLE]
