"""``leafspine merge``: shards of one comparison."""

from pathlib import Path

import click

from leafspine.commands.compare import show
from leafspine.commands.options import json_option, out_option
from leafspine.commands.reproduce import show as show_reproduction
from leafspine.errors import refused


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

    DIR is what `leafspine compare --shard I/N` leaves, or the directory that all of them lie in;
    or that of `leafspine reproduce --shard I/N`. Nothing is run: a shard that is missing, not
    finished or of another comparison is refused.
    """
    from leafspine import merging, progress
    from leafspine.reproduce import sharing

    if merging.holds(sharing.KIND, directories[0]):
        if as_json:
            raise refused("--json", "for shards of a comparison", file="leafspine merge")
        with progress.of_copies() as copied:
            done = sharing.merge(directories, out, copied, draw=not no_plots)
        show_reproduction(done)
        return
    with progress.of_copies() as copied:
        comparison = merging.merge(directories, out, copied)
    show(comparison, plots=not no_plots, as_json=as_json)
