"""``leafspine tune``: the best setting of a scheme's parameters."""

from pathlib import Path

import click

from leafspine.commands.options import (
    check_option,
    json_option,
    memory_option,
    on_option,
    out_option,
    set_option,
    store_option,
)


@click.command()
@click.argument("scenario_file", metavar="SCENARIO")
@click.option("--lb", metavar="NAME", help="The load balancer. [the scenario's]")
@click.option(
    "--param",
    "params",
    multiple=True,
    required=True,
    metavar="KEY=FROM..TO",
    help="What is tuned, such as idle_time=64us..2ms, or mode=fixed,flowlet-quality. May be "
    "repeated; a key without a dot is the load balancer's.",
)
@click.option(
    "--metric",
    default="fct_p99",
    show_default=True,
    metavar="[CLASS.]NAME",
    help="What is made small (or large, where more is better).",
)
@click.option(
    "--trials", default=12, show_default=True, metavar="N", help="Settings to try; of a list all."
)
@click.option("--seeds", default=8, show_default=True, metavar="N", help="Seeds of the search.")
@click.option(
    "--held-out", default=10, show_default=True, metavar="N", help="Seeds of the last comparison."
)
@click.option("--jobs", type=int, metavar="N", help="Cores to use, a run each. [all]")
@on_option
@store_option
@out_option("out/tune-<scenario>-<key of the search>")
@set_option
@check_option
@memory_option
@json_option
def tune(
    scenario_file: str,
    lb: str | None,
    params: tuple[str, ...],
    metric: str,
    trials: int,
    seeds: int,
    held_out: int,
    jobs: int | None,
    on: str | None,
    store: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    check: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Find the setting of parameters that is best for a metric.

    Successive halving over paired seeds, then the best against the scenario's own setting with
    seeds that were kept back. Says so where the gain is not significant. Finished runs are kept:
    the same command after an interruption goes on from there.
    """
    from rich.console import Console

    from leafspine import results, scenario
    from leafspine.errors import printable
    from leafspine.terminal import show_table
    from leafspine.tuning import asking, pages

    found, directory, figures = asking.tuned(
        scenario.read(Path(scenario_file)),
        scenario.parse_settings(settings),
        params,
        lb=lb,
        metric=metric,
        trials=trials,
        seeds=seeds,
        held_out=held_out,
        place=asking.Where(jobs, check, memory, on, store),
        out=out,
        progress_bar=True,
    )
    if as_json:
        click.echo(results.to_json(pages.to_plain(found)), nl=False)
        return
    show_table(pages.table(found), Console(), f"{directory / pages.TEXT}, or --json")
    for line in (*found.failed, *found.warnings):
        click.echo(f"warning: {printable(line)}", err=True)
    for line in pages.verdict(found):
        click.echo(line)
    for path in figures:
        click.echo(f"plot:    {path}, {path.with_suffix('.png').name}")
    click.echo(f"results: {directory}")
