"""``leafspine bench``: speed and cost on this machine."""

import json

import click

from leafspine.commands.options import json_option
from leafspine.errors import InputError


@click.command()
@click.option("--case", "name", metavar="NAME", help="One case. [all]")
@click.option("--schemes", is_flag=True, help="What each scheme costs: time, speed, memory.")
@click.option("--scheme", metavar="NAME", help="What one scheme costs.")
@click.option("--smoke", is_flag=True, help="The smallest case only: does the bench work?")
@json_option
def bench(name: str | None, schemes: bool, scheme: str | None, smoke: bool, as_json: bool) -> None:
    """Measure packet-hops per second and peak memory on this machine."""
    from rich.console import Console

    from leafspine import benchmark, costs

    of_schemes = schemes or scheme is not None
    if of_schemes and name is not None:
        raise InputError("--case and --schemes: one of the two")
    if smoke and name is not None:
        raise InputError("--case and --smoke: one of the two")
    found = costs.measure(scheme, smoke=smoke) if of_schemes else benchmark.run(name, smoke=smoke)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif of_schemes:
        costs.show(found, Console())
    else:
        benchmark.show(found, Console())
