"""Options that several verbs have."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

UNKNOWN = "was not written by leafspine: left unchanged and not read"
"""What is said of other files in a directory of results."""

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the scenario, such as aqm.threshold=40pkt. May be repeated.",
)
csv_option = click.option("--csv", is_flag=True, help="Write CSV files beside the Parquet ones.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
check_option = click.option(
    "--check",
    is_flag=True,
    help="Check invariants while running: packets, bytes, queues, buffers. Results are the same.",
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="How much memory may be taken, such as 64GB, or unlimited. [what is free]",
)
on_option = click.option(
    "--on",
    metavar="PLACE",
    help="Where runs are done: local, slurm, or dask://HOST:PORT. [local]",
)
store_option = click.option(
    "--store",
    metavar="URL",
    help="A folder or object store that dask's workers put results into. [back to here]",
)


def given(name: str) -> bool:
    """Whether the command line has this option, of which the default does not tell."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def out_option(default: str) -> Callable[[Any], Any]:
    """``--out`` with what happens without it."""
    return click.option(
        "--out", type=click.Path(path_type=Path), help=f"Directory of the results. [{default}]"
    )


def pcap_option(where: str) -> Callable[[Any], Any]:
    """``--pcap`` with where the captures go."""
    return click.option(
        "--pcap",
        metavar="PORT,...",
        help=f"Write what leaves by these ports, such as leaf0-spine1 or leaf0-*, to {where}, "
        "for Wireshark; host3: both directions of its link.",
    )


def port_names(text: str | None) -> list[str]:
    """What ``--pcap`` names. Raises :class:`InputError`."""
    from leafspine.errors import InputError

    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(
            f"--pcap {text!r}: expected ports and hosts with commas between, such as "
            "leaf0-spine1,host3"
        )
    return names


def show_shard(shard: str, done: int, of: int, directory: Path) -> None:
    """Say what of a shard is there, and what comes next."""
    click.echo(f"shard {shard}: {done} of {of} runs are finished in {directory}")
    beside = shlex.quote(str(directory.parent))
    click.echo(f"when all shards are there: leafspine merge {beside}")
