"""``leafspine fit-qall``: fits for QALL's data-driven versions."""

from pathlib import Path

import click

from leafspine.commands.options import json_option, out_option, set_option
from leafspine.errors import InputError
from leafspine.qall import defaults as fit_defaults


@click.command("fit-qall")
@click.option(
    "--scenario",
    "scenario_file",
    metavar="FILE",
    help="The scenario to observe. [QALL's fabric and traffic under ECMP, which ships]",
)
@click.option("--train", type=int, default=fit_defaults.TRAIN, metavar="N", show_default=True)
@click.option("--test", type=int, default=fit_defaults.TEST, metavar="N", show_default=True)
@click.option(
    "--degrees",
    metavar="N,...",
    default=",".join(map(str, fit_defaults.DEGREES)),
    show_default=True,
    help="Degrees of the polynomials.",
)
@click.option(
    "--period",
    default=fit_defaults.PERIOD,
    metavar="TIME",
    show_default=True,
    help="A port gives a sample at the first dequeue after this: QALL's update_period.",
)
@click.option(
    "--tau",
    default=fit_defaults.TAU,
    metavar="TIME",
    show_default=True,
    help="Longest dequeue interval that counts: QALL's tau.",
)
@click.option(
    "--ports",
    metavar="PATTERN",
    help=f"The ports to observe. [those of the scenario's probe {fit_defaults.PROBE!r}, else "
    f"{fit_defaults.PORTS}]",
)
@out_option("out/fit-qall-<key of the fit>")
@set_option
@click.option("--seed", type=int, help="The first seed; the same as --set run.seed=N.")
@json_option
def fit_qall(
    scenario_file: str | None,
    train: int,
    test: int,
    degrees: str,
    period: str,
    tau: str,
    ports: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    seed: int | None,
    as_json: bool,
) -> None:
    """Fit egress traffic to queue behaviour, for QALL's data-driven versions.

    Runs a scenario with one seed after the other until there are enough samples of occupancy,
    dequeue interval and traffic, fits polynomials by least squares, prints how well each does, and
    leaves coefficients that a scenario can take.
    """
    from rich.console import Console

    from leafspine import api, results, scenario
    from leafspine.qall import fitting, requests, tables
    from leafspine.terminal import show_table

    chosen = scenario.seeded(scenario.parse_settings(settings), seed)
    request = requests.request(
        scenario.read(
            requests.default_scenario() if scenario_file is None else Path(scenario_file)
        ),
        chosen,
        train=train,
        test=test,
        degrees=[_degree(part) for part in degrees.split(",")],
        period=period,
        tau=tau,
        ports=ports,
    )
    found = api.fit(request, out or Path("out") / f"fit-qall-{request.key[:8]}", progress_bar=True)
    if as_json:
        click.echo(results.to_json(found.to_plain()), nl=False)
        return
    console = Console()
    for table in tables.of_fit(found):
        show_table(table, console, f"{found.directory}/{fitting.FIT}, or --json")
    click.echo(f"seeds:        {', '.join(map(str, found.seeds))}; {found.observed} samples seen")
    click.echo(f"coefficients: {found.directory}/{fitting.SNIPPET}, to paste into a scenario")
    click.echo(f"results:      {found.directory}")


def _degree(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"--degrees {text!r}: expected whole numbers with commas between, such as 1,2,3"
        ) from None
