"""``leafspine reproduce``: figures of papers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leafspine.commands.options import given, on_option, out_option, show_shard, store_option
from leafspine.errors import RunError, refused

if TYPE_CHECKING:
    from leafspine.places import How
    from leafspine.reproduce.reproducing import Chosen, Reproduction
    from leafspine.shards import Shard
    from leafspine.tasks import Failure


_ALONE = {
    "from_kept": ("keep", "cost", "jobs", "on", "store"),
    "cost": ("keep", "no_run", "shard", "out", "no_plots", "jobs", "on", "store"),
    "verify": ("from_kept", "keep", "no_run", "cost", "shard", "scale", "out", "on", "no_plots"),
    "shard": ("no_plots",),
    "no_run": ("jobs", "on", "store"),
}
"""Options beside which others would do nothing."""
_OF_FIGURES = (
    *("from_kept", "keep", "no_run", "cost", "shard", "scale", "out", "verify"),
    *("no_plots", "jobs", "on", "store"),
)


@click.command()
@click.argument("names", nargs=-1, metavar="[all | PAPER | PAPER/FIGURE]...")
@click.option(
    "--scale",
    default="quick",
    metavar="quick|paper",
    help="quick: fewer flows, few seeds; paper: the paper's size. [quick]",
)
@out_option("reproduction")
@click.option("--jobs", type=int, help="Processes. [all cores]")
@on_option
@store_option
@click.option(
    "--shard", metavar="I/N", help="Only the I-th of N parts, for `leafspine merge`. [all]"
)
@click.option(
    "--from-kept", is_flag=True, help="Pages from the results kept in papers/, without a run."
)
@click.option(
    "--keep", is_flag=True, help="Complete the numbers kept in papers/: run what they lack."
)
@click.option(
    "--no-run", is_flag=True, help="Pages from the runs that are finished, and no more of them."
)
@click.option(
    "--cost",
    type=int,
    metavar="CORES",
    help="Only say what it would cost on so many cores; nothing is run.",
)
@click.option(
    "--verify",
    type=float,
    metavar="HOPS",
    help="Only make kept runs again and compare: of each figure, set of runs and scheme the "
    "cheapest, if it has at most so many packet-hops.",
)
@click.option("--no-plots", is_flag=True, help="Pages without pictures.")
@click.option(
    "--papers",
    "library",
    type=click.Path(path_type=Path),
    help="Folder of papers. [those that come with leafspine]",
)
def reproduce(
    names: tuple[str, ...],
    scale: str,
    out: Path | None,
    jobs: int | None,
    on: str | None,
    store: str | None,
    shard: str | None,
    from_kept: bool,
    keep: bool,
    no_run: bool,
    cost: int | None,
    verify: float | None,
    no_plots: bool,
    library: Path | None,
) -> None:
    """Reproduce figures of papers, with a verdict on every claim. Without a name: what there is."""
    from leafspine.reproduce import figures

    for option, others in _ALONE.items():
        for other in (name for name in others if given(option) and given(name)):
            found, file = (f"--{name.replace('_', '-')}" for name in (other, option))
            raise refused(found, "one of the two", file=file)
    if not names:
        for option in filter(given, _OF_FIGURES):
            file = f"--{option.replace('_', '-')}"
            raise refused("no figure", "all, PAPER or PAPER/FIGURE", file=file)
        for paper in figures.papers(library):
            click.echo(f"{paper.name}: {paper.title} ({len(paper.claims)} claims)")
            for figure in paper.figures:
                click.echo(f"  {figure.path}: {figure.title}")
        return
    if from_kept and given("scale") and scale != "paper":
        raise refused(
            f"--scale {scale}", "paper (results are kept at the paper's scale)", file="--from-kept"
        )
    if keep and scale != "paper":
        raise refused(
            f"--scale {scale}", "paper (results are kept at the paper's scale)", file="--keep"
        )
    from leafspine import places, shards
    from leafspine.places import How
    from leafspine.reproduce import reproducing

    how = How(places.parse(on, store, jobs), jobs)
    chosen = reproducing.choose(names, library)
    if cost is not None:
        click.echo(reproducing.cost(chosen, scale).in_words(cost))
        return
    if verify is not None:
        if not verify > 0:
            raise refused(f"{verify:g}", "a number of packet-hops above 0", file="--verify")
        from leafspine.reproduce import again

        verified = again.verify(chosen, verify, how, progress_bar=True)
        click.echo(verified.in_words())
        _tell_failures(verified.failures)
        if verified.differences:
            raise RunError(f"{len(verified.differences)} numbers differ from the kept ones")
        if not verified.runs:
            raise RunError("no kept run was made again")
        return
    directory = out or Path("reproduction")
    if (part := shards.parse(shard)) is not None:
        for option, asked in (
            ("--from-kept", from_kept), ("--keep", keep), ("--no-run", no_run),
        ):  # fmt: skip
            if asked:
                raise refused(option, "with what is merged, not with a shard", file="--shard")
        _make_shard(chosen, scale, directory, part, how, library)
        return
    if from_kept:
        done = reproducing.from_kept(chosen, directory, draw=not no_plots)
    else:
        keep_in = (library or figures.library()) if keep else None
        done = reproducing.reproduce(
            chosen,
            scale,
            directory,
            how=how,
            progress_bar=True,
            keep_in=keep_in,
            make_runs=not no_run,
            draw=not no_plots,
        )
    show(done)
    _tell_failures(done.failures)


def show(done: "Reproduction") -> None:
    """Print how many claims of each paper got which verdict, and where the pages are."""
    from rich.console import Console

    from leafspine.reproduce import pages
    from leafspine.terminal import Table, show_table

    heads, rows = pages.counts(done.chapters)
    claims = Table("Claims", "", heads, tuple(rows))
    show_table(claims, Console(), str(done.report))
    click.echo(f"report: {done.report}")


def _tell_failures(failures: "Sequence[Failure]") -> None:
    for failure in failures:
        click.echo(f"warning: no result for {failure.case.label()}: {failure.message}", err=True)
    if failures:
        raise RunError(f"{len(failures)} runs failed; their numbers are missing")


def _make_shard(
    chosen: "Sequence[Chosen]",
    scale: str,
    directory: Path,
    shard: "Shard",
    how: "How",
    library: Path | None,
) -> None:
    from leafspine.reproduce import sharing

    done, of, failures = sharing.run(
        chosen, scale, directory, shard, how=how, library=library, progress_bar=True
    )
    show_shard(str(shard), done, of, shard.directory(directory))
    _tell_failures(failures)
