"""``leafspine plot``: what is on disk, drawn."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leafspine.errors import InputError

if TYPE_CHECKING:
    from leafspine.comparison import Comparison

MARK = "#0072B2"
"""The colour of a run alone."""


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Directory of the figures. [DIR/plots]"
)
def plot(directory: Path, out: Path | None) -> None:
    """Draw a finished run: its links' use on the fabric, and its probes over time.

    Queues, use of links, windows, marks and drops, paths of flows: whatever the scenario's
    [[probe]] recorded, with marks where links change. Of a comparison the first
    seed of each variant at each point. Nothing is run.
    """
    from leafspine import loading, movie, run_figures
    from leafspine.comparison import Comparison

    found = loading.load(directory)
    if isinstance(found, Comparison):
        places = _probed(found, out)
        if not places:
            raise InputError(
                f"{directory}: no run of this comparison has a probe: add [[probe]] to the "
                "scenario; its other figures are in plots/, and `leafspine compare` draws them"
            )
    else:
        places = {directory: out or directory / "plots"}
    for run, folder in places.items():
        result = found if run == directory else loading.load(run)
        if not isinstance(result, Comparison):
            for saved in run_figures.write(result, folder):
                click.echo(f"{saved.title}: {saved.pdf}, {saved.png.name}")
            if movie.can_play(result):
                movie.write([movie.Part("", MARK, result)], run.name, folder / "fabric.html")
                click.echo(f"The fabric moves: {folder / 'fabric.html'}")


def _probed(comparison: "Comparison", out: Path | None) -> dict[Path, Path]:
    """The first seeds' runs that have something to draw over time, and where it goes."""
    found = {}
    for case in {(one.variant, one.point): one for one in comparison.finished[::-1]}.values():
        result = comparison.result(case)
        if result.probes and result.directory is not None:
            own = result.directory
            found[own] = own / "plots" if out is None else out / case.key
    return found
