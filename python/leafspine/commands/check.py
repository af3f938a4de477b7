"""``leafspine check``: what a scenario would run."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leafspine.commands.options import json_option, set_option
from leafspine.errors import printable

if TYPE_CHECKING:
    from leafspine.checking import Cost


@click.command("check")
@click.argument("scenario_file", metavar="SCENARIO")
@set_option
@json_option
def check(scenario_file: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Check a scenario, and say what it would run, how long, and in how much memory.

    Nothing is written. Flows are drawn and counted; a run of each variant goes for a moment, to see
    how fast this machine is with it.
    """
    from leafspine import checking, scenario

    source = scenario.read(Path(scenario_file))
    cases = scenario.expand(source, scenario.parse_settings(settings))
    found = checking.costs(cases)
    plain = _plain(cases[0].title, found)
    for key, schemes in _skipped(cases).items():
        click.echo(f"warning: {key} is not a parameter of {', '.join(schemes)}", err=True)
    if as_json:
        click.echo(json.dumps(plain, indent=2))
    else:
        sets = [word for setting in settings for word in ("--set", setting)]
        _show(shlex.join(["leafspine", plain["verb"], source.name, *sets]), plain, found)


def _skipped(cases: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in cases:
        for key, scheme in case.skipped:
            if scheme not in found.setdefault(key, []):
                found[key].append(scheme)
    return found


def _plain(title: str, found: "list[Cost]") -> dict[str, Any]:
    """What ``--json`` prints."""
    from leafspine import memory, workers

    runs = sum(cost.runs for cost in found)
    seconds = [cost.seconds for cost in found]
    free = memory.available()
    most = max(cost.memory for cost in found)
    jobs = max(1, min(workers.cores(), runs))
    if free is not None:
        jobs = max(1, min(jobs, free // most))
    known = [each for each in seconds if each is not None]
    return {
        "title": title,
        "runs": runs,
        "verb": "run" if runs == 1 else "compare",
        "flows": sum(cost.flows for cost in found),
        "messages": sum(cost.messages for cost in found),
        "packet_hops": sum(cost.packet_hops for cost in found),
        "at_most": any(cost.at_most for cost in found),
        "memory_of_a_run": most,
        "memory_free": free,
        "jobs": jobs,
        "seconds": sum(known) / jobs if len(known) == len(seconds) else None,
        "variants": [
            {
                "variant": cost.variant,
                "runs": cost.runs,
                "flows": cost.flows,
                "messages": cost.messages,
                "packet_hops": cost.packet_hops,
                "memory": cost.memory,
                "packet_hops_per_second": cost.speed,
                "seconds": cost.seconds,
            }
            for cost in found
        ],
    }


def _show(command: str, plain: dict[str, Any], found: "list[Cost]") -> None:
    from rich.console import Console

    from leafspine import memory
    from leafspine.terminal import Table, show_table

    if plain["title"]:
        click.echo(printable(plain["title"]))
        click.echo()
    messages = plain["messages"]
    flows = "messages" if messages and messages == plain["flows"] else "flows"
    heads = ("variant", "runs", flows, "packet-hops", "memory a run", "hops/s", "core time")
    rows = tuple(
        (
            cost.variant or "-",
            f"{cost.runs:,}",
            f"{cost.flows:,}",
            count(cost.packet_hops),
            memory.show(cost.memory),
            "?" if cost.speed is None else count(cost.speed),
            "?" if cost.seconds is None else duration(cost.seconds),
        )
        for cost in found
    )
    show_table(Table("", "", heads, rows, framed=False), Console(), "--json")
    click.echo()
    one = "one run" if plain["runs"] == 1 else f"{plain['runs']:,} runs"
    processes = "one process" if plain["jobs"] == 1 else f"{plain['jobs']} processes"
    seconds = plain["seconds"]
    takes = "too short to tell how long" if seconds is None else duration(seconds)
    about = "about " if seconds is not None and seconds >= 1 else ""
    click.echo(f"good: {one}, {about}{takes} in {processes}")
    if messages and flows == "flows":
        click.echo(f"of the flows {messages:,} are messages of jobs")
    if plain["at_most"]:
        click.echo("an upper bound: run.until cuts off what flows have not sent by then")
    free = plain["memory_free"]
    if free is not None and plain["memory_of_a_run"] > free:
        needs, has = memory.show(plain["memory_of_a_run"]), memory.show(free)
        click.echo(f"warning: a run needs {needs} of memory, and {has} are free", err=True)
    click.echo(f"run it: {printable(command)}")


def count(number: float) -> str:
    """A large number for people: ``12.3 M``."""
    for unit, scale in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """A length of time for people, of one or two units."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.0f} days"
