"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 done; 1 failed, interrupted, or nowhere to write; 2 bad input, also a result that is
not what was written; 3 a fault of leafspine itself.
"""

import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leafspine.errors import (
    EngineError,
    InputError,
    Interrupted,
    LeafspineError,
    RunError,
    printable,
    refused,
)
from leafspine.interrupts import interruptible
from leafspine.qall import defaults as fit_defaults

# A verb imports what it needs: Arrow, NumPy and Rich take longer than an answer to --help.
if TYPE_CHECKING:
    from leafspine.comparison import Comparison
    from leafspine.results import Result

DEBUG = "LEAFSPINE_DEBUG"
UNKNOWN = "was not written by leafspine: left unchanged and not read"


def invoke(arguments: list[str]) -> int:
    """Run the command line; every error becomes one line on standard error and an exit code."""
    with interruptible():
        code = _invoke(arguments)
        return _flush() if code == 0 else code


def _flush() -> int:
    try:
        sys.stdout.flush()
    except OSError as error:
        return _no_output(error)
    return 0


def _no_output(error: OSError) -> int:
    """Standard output cannot be written."""
    _discard_stdout()
    if isinstance(error, BrokenPipeError):
        # The reader (head, less) has gone: not an error, and nothing more can be written.
        return 0
    return _report(f"cannot write standard output: {error.strerror or error}", 1)


def _invoke(arguments: list[str]) -> int:
    try:
        cli.main(args=arguments, prog_name="leafspine", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return 0
    except click.ClickException as error:
        return _report(error.format_message(), 2)
    except InputError as error:
        return _report(str(error), 2)
    except EngineError as error:
        return _report(str(error), 3)
    except LeafspineError as error:
        return _report(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        return _report("interrupted; what had finished is kept", 1)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            # Files have WriteError.
            return _no_output(error)
        text = " ".join(str(error).split()) or "no message"
        return _report(f"{type(error).__name__}: {text}", 1)
    return 0


def _discard_stdout() -> None:
    """Redirect standard output to nowhere, so that flushing it at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(message: str, code: int) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    click.echo(f"leafspine: {printable(' '.join(message.split()))}", err=True)
    return code


def _show_version(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        from leafspine import engine

        click.echo(f"leafspine {engine.version()}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """A laboratory for load balancing and queue management in datacentre networks."""


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


def out_option(default: str) -> Callable[[Any], Any]:
    """``--out`` with what happens without it."""
    return click.option(
        "--out", type=click.Path(path_type=Path), help=f"Directory of the results. [{default}]"
    )


@cli.command()
@click.argument("scenario_file", metavar="SCENARIO")
@out_option("out/<scenario>-<key of the result>")
@set_option
@click.option("--seed", type=int, help="Seed of all random streams; the same as --set run.seed=N.")
@csv_option
@check_option
@memory_option
@json_option
def run(
    scenario_file: str,
    out: Path | None,
    settings: tuple[str, ...],
    seed: int | None,
    csv: bool,
    check: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Simulate one scenario and write what was measured."""
    from leafspine import api, results, scenario

    source = scenario.read(Path(scenario_file))
    result = api.run_source(
        source,
        scenario.seeded(scenario.parse_settings(settings), seed),
        lambda case: out or Path("out") / f"{source.stem}-{case.key[:8]}",
        csv=csv,
        check=check,
        memory=memory,
        progress_bar=True,
    )
    if as_json:
        click.echo(results.to_json(result.summary), nl=False)
    else:
        _show_run(result)


def _show_run(result: "Result") -> None:
    from rich.console import Console

    from leafspine import files, results, tables
    from leafspine.terminal import show_table

    console = Console()
    for table in tables.of_result(result):
        show_table(table, console, f"{result.directory}/{results.SUMMARY}, or --json")
    for path in files.unknown(result.directory) if result.directory else ():
        click.echo(f"warning: {path} {UNKNOWN}", err=True)
    for warning in result.summary.get("warnings", []):
        click.echo(f"warning: {printable(warning)}", err=True)
    if not result.is_of_this_build:
        click.echo(
            "warning: this result was made by another build of the same version; to run it again, "
            f"remove {result.directory}",
            err=True,
        )
    click.echo(f"results: {result.directory}")


@cli.command()
@click.argument("scenario_file", metavar="SCENARIO")
@click.option("--lb", metavar="NAME,...", help="Load balancers, instead of the file's variants.")
@click.option("--load", metavar="LOAD,...", help="Loads, instead of those of the file's sweep.")
@click.option("--seeds", type=int, metavar="N", help="N seeds, counted from run.seed.")
@click.option("--jobs", type=int, metavar="N", help="Processes. [all cores]")
@out_option("out/<scenario>-<key of what is compared>")
@set_option
@csv_option
@check_option
@memory_option
@click.option("--no-plots", is_flag=True, help="Tables and a report without pictures.")
@json_option
def compare(
    scenario_file: str,
    lb: str | None,
    load: str | None,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    settings: tuple[str, ...],
    csv: bool,
    check: bool,
    memory: str | None,
    no_plots: bool,
    as_json: bool,
) -> None:
    """Run variants side by side, over the sweep's points and seeds.

    Leaves tables, plots and one HTML report. Finished runs are kept: the same command after an
    interruption goes on from there, and more seeds or loads run only what is new. Plots that show
    the same as before are not drawn again.
    """
    from leafspine import api, results, scenario
    from leafspine.manifest import Keyed

    path = Path(scenario_file)
    comparison = api.compare(
        path,
        lb=_names(lb),
        load=_numbers("--load", load),
        seeds=seeds,
        jobs=jobs,
        out=out or Keyed(Path("out")),
        csv=csv,
        check=check,
        memory=memory,
        progress_bar=True,
        command=shlex.join(["leafspine", *sys.argv[1:]]),
        **dict(scenario.parse_setting(text) for text in settings),
    )
    report = _write(comparison, plots=not no_plots)
    for path in comparison.unknown_files():
        click.echo(f"warning: {path} {UNKNOWN}", err=True)
    if as_json:
        click.echo(results.to_json(to_plain(comparison)), nl=False)
    else:
        _show_comparison(comparison, report, plots=not no_plots)
    if comparison.failures:
        count = len(comparison.failures)
        kind = EngineError if any(found.fault for found in comparison.failures) else LeafspineError
        raise kind(
            f"{count} of {len(comparison.cases)} runs failed, the first because "
            f"{comparison.failures[0].message}; the same command tries them again"
        )


def _write(comparison: "Comparison", *, plots: bool) -> Path:
    try:
        return comparison.write(plots=plots, progress_bar=True)
    except KeyboardInterrupt:
        done, cases = len(comparison.finished), len(comparison.cases)
        raise Interrupted(
            f"interrupted while tables and plots were written: {done} of {cases} runs are finished "
            f"and kept in {shlex.quote(str(comparison.directory / 'runs'))}; the same command goes "
            "on from there"
        ) from None


def _show_comparison(comparison: "Comparison", report: Path, *, plots: bool) -> None:
    from rich.console import Console

    from leafspine import tables

    tables.show(comparison, Console())
    for warning in comparison.warnings():
        click.echo(f"warning: {printable(warning)}", err=True)
    click.echo(f"tables: {comparison.directory / 'tables.md'}, tables.csv")
    click.echo(f"plots:  {comparison.directory / 'plots' if plots else 'left out (--no-plots)'}")
    click.echo(f"report: {report}")


def to_plain(comparison: "Comparison") -> dict[str, Any]:
    """What ``compare --json`` prints."""
    from leafspine import engine

    return {
        "leafspine": engine.version(),
        "directory": str(comparison.directory),
        "report": str(comparison.directory / "report.html"),
        "variants": list(comparison.variants),
        "seeds": list(comparison.seeds),
        "warnings": comparison.warnings(),
        "failures": [
            {"run": failure.case.label(), "message": failure.message}
            for failure in comparison.failures
        ],
        "rows": comparison.table().to_pylist(),
    }


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--lb {text!r}: expected names with commas between, such as ecmp,letflow")
    if len(set(names)) < len(names):
        raise InputError(f"--lb {text!r}: a name is there twice")
    return names


def _numbers(option: str, text: str | None) -> list[float]:
    if text is None:
        return []
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"{option} {text!r}: expected numbers with commas between, such as 0.2,0.4"
        ) from None
    if len(set(numbers)) < len(numbers):
        raise InputError(f"{option} {text!r}: a number is there twice")
    return numbers


@cli.command("fit-qall")
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


@cli.command()
@click.argument("name", required=False)
@json_option
def schemes(name: str | None, as_json: bool) -> None:
    """List the schemes, or show one: its paper, its parameters and defaults."""
    from leafspine import engine

    _catalogue("scheme", engine.schemes(), name, as_json)


@cli.command()
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


@cli.command()
@click.argument("names", nargs=-1, metavar="[all | PAPER | PAPER/FIGURE]...")
@click.option(
    "--scale",
    default="quick",
    metavar="quick|paper",
    help="quick: fewer flows, few seeds; paper: the paper's size. [quick]",
)
@out_option("reproduction")
@click.option("--jobs", type=int, help="Processes. [all cores]")
@click.option(
    "--from-kept", is_flag=True, help="Pages from the results kept in papers/, without a run."
)
@click.option(
    "--keep", is_flag=True, help="Complete the numbers kept in papers/: run what they lack."
)
@click.option(
    "--no-run", is_flag=True, help="Pages from the runs that are finished, and no more of them."
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
    from_kept: bool,
    keep: bool,
    no_run: bool,
    no_plots: bool,
    library: Path | None,
) -> None:
    """Reproduce figures of papers, with a verdict on every claim. Without a name: what there is."""
    from leafspine.reproduce import figures

    if not names:
        for paper in figures.papers(library):
            click.echo(f"{paper.name}: {paper.title} ({len(paper.claims)} claims)")
            for figure in paper.figures:
                click.echo(f"  {figure.path}: {figure.title}")
        return
    if keep and scale != "paper":
        raise refused(f"--scale {scale}", "paper (what is kept is of one)", file="--keep")
    from rich.console import Console

    from leafspine.reproduce import pages, reproducing
    from leafspine.terminal import Table, show_table

    chosen = reproducing.choose(names, library)
    directory = out or Path("reproduction")
    if from_kept:
        done = reproducing.from_kept(chosen, directory, draw=not no_plots)
    else:
        keep_in = (library or figures.library()) if keep else None
        done = reproducing.reproduce(
            chosen,
            scale,
            directory,
            jobs=jobs,
            progress_bar=True,
            keep_in=keep_in,
            make_runs=not no_run,
            draw=not no_plots,
        )
    heads, rows = pages.counts(done.chapters)
    claims = Table("Claims", "", heads, tuple(rows))
    show_table(claims, Console(), str(done.report))
    for failure in done.failures:
        click.echo(f"warning: no result for {failure.case.label()}: {failure.message}", err=True)
    click.echo(f"report: {done.report}")
    if done.failures:
        raise RunError(f"{len(done.failures)} runs failed; their numbers are missing")


@cli.command()
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
    found = costs.measure(scheme, smoke=smoke) if of_schemes else benchmark.run(name, smoke=smoke)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif of_schemes:
        costs.show(found, Console())
    else:
        benchmark.show(found, Console())
