"""Colours on dark paper: of the same hue as on white, and as easy to see.

What is grey on white, letters, axes, an idle link, is grey here, from dark to light the other way
round. What has a colour keeps it; one that is too dark for the paper is lightened.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Colours = npt.NDArray[np.float64]

PAPER, INK = (0x15, 0x18, 0x1C), (0xE6, 0xE8, 0xEB)
"""Those of the report's page by night."""
CONTRAST = 3.0
"""The least of a line or mark against the paper (WCAG 2.1, 1.4.11)."""
GREY, COLOURED = 0.05, 0.2
"""Up to the first chroma (largest less smallest of red, green, blue) a colour is a grey, from the
second on it is none; between them it is in between."""
STEPS = 40


def colours(given: Sequence[Any] | npt.NDArray[Any]) -> Colours:
    """Rows of red, green, blue, and opacity if there is one, all 0 to 1, for dark paper."""
    found = np.array(given, dtype=np.float64)
    if found.size == 0:
        return found
    rgb = found[:, :3]
    paper, ink = np.array(PAPER) / 255, np.array(INK) / 255
    chroma = rgb.max(axis=1) - rgb.min(axis=1)
    share = np.clip((chroma - GREY) / (COLOURED - GREY), 0, 1)[:, None]
    turned = paper + (1 - rgb.mean(axis=1))[:, None] * (ink - paper)
    found[:, :3] = share * _seen(rgb) + (1 - share) * turned
    return found


def of_hex(colour: str) -> str:
    """The same of one colour: ``"#0072B2"``."""
    rgb = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 * part):02x}" for part in colours([rgb])[0])


def _seen(rgb: Colours) -> Colours:
    """Mixed with as much white as they need to be seen on the paper."""
    found = rgb.copy()
    least = CONTRAST * (_luminance(np.array([PAPER]) / 255)[0] + 0.05) - 0.05
    for step in range(1, STEPS + 1):
        dark = _luminance(found) < least
        found[dark] = rgb[dark] + (1 - rgb[dark]) * step / STEPS
    return found


def _luminance(rgb: Colours) -> npt.NDArray[np.float64]:
    """Relative luminance (WCAG 2.1)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    found: npt.NDArray[np.float64] = linear @ np.array([0.2126, 0.7152, 0.0722])
    return found
