"""The page in which a comparison's fabric moves: one run of each variant, side by side.

At the last point of the sweep, where the load is highest, with the first seed.
"""

from pathlib import Path

from leafspine import movie, pictures, results
from leafspine.comparison_data import ComparisonData
from leafspine.looks import styles
from leafspine.movie import Part

NAME = "fabric.html"


def write(comparison: ComparisonData, directory: Path) -> str | None:
    """Write ``fabric.html``, if the runs have probes from which it can be made; says its name.

    One that shows the same is not made again. One of other numbers is removed, unless somebody has
    changed it.
    """
    key = pictures.digest(comparison)
    parts = _parts(comparison)
    if not parts:
        movie.remove_old(directory / NAME, key)
        return None
    title = comparison.cases[0].title or comparison.source.stem
    movie.write(parts, title, directory / NAME, key)
    return NAME


def leave_out(comparison: ComparisonData, directory: Path) -> None:
    """Make none; one of other numbers than this comparison's is removed."""
    movie.remove_old(directory / NAME, pictures.digest(comparison))


def _parts(comparison: ComparisonData) -> list[Part]:
    found: dict[str, Part] = {}
    for case in comparison.finished:
        probed = results.has_probes(comparison.directory / "runs" / case.key)
        if case.point == comparison.points[-1] and case.variant not in found and probed:
            result = comparison.result(case)
            if movie.can_play(result):
                colour = styles(comparison)[case.variant].colour
                found[case.variant] = Part(case.variant, colour, result)
    return list(found.values())
