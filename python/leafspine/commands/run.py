"""``leafspine run``: one scenario."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leafspine.commands.options import (
    UNKNOWN,
    check_option,
    csv_option,
    json_option,
    memory_option,
    out_option,
    pcap_option,
    port_names,
    set_option,
)
from leafspine.errors import printable

if TYPE_CHECKING:
    from leafspine.results import Result


@click.command()
@click.argument("scenario_file", metavar="SCENARIO")
@out_option("out/<scenario>-<key of the result>")
@set_option
@click.option("--seed", type=int, help="Seed of all random streams; the same as --set run.seed=N.")
@csv_option
@check_option
@memory_option
@click.option(
    "--threads",
    type=int,
    metavar="N",
    help="How many threads may work on the run; the result is the same, and more than there are "
    "cores only slow it down. [all cores]",
)
@pcap_option("pcap/ in the results")
@json_option
def run(
    scenario_file: str,
    out: Path | None,
    settings: tuple[str, ...],
    seed: int | None,
    csv: bool,
    check: bool,
    memory: str | None,
    threads: int | None,
    pcap: str | None,
    as_json: bool,
) -> None:
    """Simulate one scenario and write what was measured."""
    from leafspine import files, results, running, scenario

    source = scenario.read(Path(scenario_file))
    result = running.run_source(
        source,
        scenario.seeded(scenario.parse_settings(settings), seed),
        lambda case: out or Path("out") / f"{source.stem}-{case.key[:8]}",
        csv=csv,
        check=check,
        memory=memory,
        threads=threads,
        pcap=port_names(pcap),
        progress_bar=True,
    )
    if as_json:
        click.echo(results.to_json(result.summary), nl=False)
    else:
        _show_run(result)
        if pcap is not None and result.directory is not None:
            click.echo(f"captures: {result.directory / files.CAPTURES}")


def _show_run(result: "Result") -> None:
    from rich.console import Console

    from leafspine import files, remarks, results, tables
    from leafspine.terminal import show_table

    console = Console()
    for table in tables.of_result(result):
        show_table(table, console, f"{result.directory}/{results.SUMMARY}, or --json")
    for path in files.unknown(result.directory) if result.directory else ():
        click.echo(f"warning: {path} {UNKNOWN}", err=True)
    for warning in remarks.of_summary(result.summary):
        click.echo(f"warning: {printable(warning)}", err=True)
    if not result.is_of_this_build:
        click.echo(
            "warning: this result was made by another build of the same version; to run it again, "
            f"remove {result.directory}",
            err=True,
        )
    click.echo(f"results: {result.directory}")
