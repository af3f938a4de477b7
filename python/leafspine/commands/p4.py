"""``leafspine p4``: what a P4 switch's control plane writes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leafspine.commands.options import set_option

if TYPE_CHECKING:
    from leafspine.engine import Case


@click.command("p4")
@click.argument("scenario_file", metavar="SCENARIO")
@set_option
@click.option("--variant", metavar="NAME", help="Which of the scenario's variants. [the first]")
@click.option("--switch", type=int, metavar="N", help="One switch alone, by its number. [all]")
def p4(
    scenario_file: str, settings: tuple[str, ...], variant: str | None, switch: int | None
) -> None:
    """Print the table entries and registers of the P4 programs in hardware/p4, as JSON.

    For every switch of a scenario with load_balancer qall, qdaps or tam and arithmetic = "p4": the
    program, what it is compiled with, the port of each uplink, entries of tables (without a match:
    the default action) and registers. Routes are those of the fabric at the start.
    """
    from leafspine import engine, scenario

    source = scenario.read(Path(scenario_file))
    case = _case(scenario.expand(source, scenario.parse_settings(settings)), variant)
    planes = engine.control_planes(case)
    _require(case, planes)
    click.echo(json.dumps(_chosen(planes, switch), indent=2))


def _case(cases: "list[Case]", variant: str | None) -> "Case":
    from leafspine.errors import refused

    names = list(dict.fromkeys(case.variant for case in cases))
    for case in cases:
        if variant in (None, case.variant):
            return case
    allowed = ", ".join(f'"{name}"' for name in names)
    raise refused(f'"{variant}"', f"{allowed}, the scenario's variants", key="--variant")


def _require(case: "Case", planes: dict[int, dict[str, Any]]) -> None:
    """A scheme that has no program has no control plane either."""
    from leafspine.errors import refused

    if not planes:
        scheme = case.facts.load_balancer
        name = scheme.name if scheme else "none"
        raise refused(
            f'"{name}" that decides otherwise than a P4 program',
            '"qall", "qdaps" or "tam" with arithmetic = "p4"',
            key="load_balancer",
        )


def _chosen(planes: dict[int, dict[str, Any]], switch: int | None) -> dict[int, dict[str, Any]]:
    from leafspine.errors import refused

    if switch is None:
        return planes
    if switch not in planes:
        numbers = f"a switch from {min(planes)} to {max(planes)}"
        raise refused(str(switch), numbers, key="--switch")
    return {switch: planes[switch]}
