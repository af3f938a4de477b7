"""``leafspine schemes`` and ``workloads``: what there is."""

import json
from typing import Any

import click

from leafspine.commands.options import json_option


@click.command()
@click.argument("name", required=False)
@json_option
def schemes(name: str | None, as_json: bool) -> None:
    """List the schemes, or show one: its paper, its parameters and defaults."""
    from leafspine import engine

    _catalogue("scheme", engine.schemes(), name, as_json)


@click.command()
@click.argument("name", required=False)
@json_option
def workloads(name: str | None, as_json: bool) -> None:
    """List the named flow-size distributions, or show one: mean and quantiles."""
    from leafspine import engine

    _catalogue("workload", engine.workloads(), name, as_json)


def _catalogue(what: str, entries: list[dict[str, Any]], name: str | None, as_json: bool) -> None:
    from rich.console import Console

    from leafspine import catalogue

    if name is not None:
        entries = catalogue.find(what, entries, name)
    if as_json:
        click.echo(json.dumps(entries, indent=2))
        return
    console = Console()
    show = catalogue.show_list if name is None else catalogue.show_entries
    show(what, entries, console)
