"""A stand-in for ``leafspine.plots`` that draws nothing: one small figure, in no time."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def write(
    _comparison: object,
    directory: Path,
    kept: Mapping[str, Any],
    watch: Callable[[int, int], None],
) -> list[Any]:
    from leafspine import files
    from leafspine.saved import Saved

    watch(0, 1)
    paths = [directory / "plots" / f"fake.{kind}" for kind in ("pdf", "png")]
    for path in paths:
        if "fake" not in kept:
            with files.replacing_file(path) as temporary:
                temporary.write_bytes(b"a picture\n" * 500)
    return [Saved("fake", "A picture", "Of nothing.", *paths, wide=False)]
