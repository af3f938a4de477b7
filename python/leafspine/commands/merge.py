"""``leafspine merge``: shards of one comparison."""

from pathlib import Path

import click

from leafspine.commands.compare import show
from leafspine.commands.options import json_option, out_option


@click.command()
@click.argument(
    "directories",
    nargs=-1,
    required=True,
    metavar="DIR...",
    type=click.Path(path_type=Path),
)
@out_option("<DIR> without .shards")
@click.option("--no-plots", is_flag=True, help="Tables and a report without pictures.")
@json_option
def merge(directories: tuple[Path, ...], out: Path | None, no_plots: bool, as_json: bool) -> None:
    """Put the shards of a comparison together, as if one machine had done it all.

    DIR is what `leafspine compare --shard I/N` leaves, or the directory that all of them lie in.
    Nothing is run: a shard that is missing, not finished or of another comparison is refused.
    """
    from leafspine import merging, progress

    with progress.of_copies() as copied:
        comparison = merging.merge(directories, out, copied)
    show(comparison, plots=not no_plots, as_json=as_json)
