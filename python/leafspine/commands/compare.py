"""``leafspine compare``: variants side by side."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leafspine.commands.options import (
    UNKNOWN,
    check_option,
    csv_option,
    json_option,
    memory_option,
    on_option,
    out_option,
    pcap_option,
    port_names,
    set_option,
    show_shard,
    store_option,
)
from leafspine.errors import (
    EngineError,
    InputError,
    Interrupted,
    LeafspineError,
    printable,
    refused,
)

if TYPE_CHECKING:
    from leafspine.comparison import Comparison


@click.command()
@click.argument("scenario_file", metavar="SCENARIO")
@click.option("--lb", metavar="NAME,...", help="Load balancers, instead of the file's variants.")
@click.option("--load", metavar="LOAD,...", help="Loads, instead of those of the file's sweep.")
@click.option("--seeds", type=int, metavar="N", help="N seeds, counted from run.seed.")
@click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Cores to use, a run each (with --threads N, a run for N). [all]",
)
@click.option(
    "--threads",
    type=int,
    metavar="N",
    help="How many threads may work on each run; results are the same. [the cores that are left]",
)
@on_option
@store_option
@click.option(
    "--shard", metavar="I/N", help="Only the I-th of N parts, for `leafspine merge`. [all]"
)
@out_option("out/<scenario>-<key of what is compared>")
@set_option
@csv_option
@check_option
@memory_option
@pcap_option("pcap/<variant>/ in the results; of each variant the first point and seed")
@click.option("--no-plots", is_flag=True, help="Tables and a report without pictures.")
@json_option
def compare(
    scenario_file: str,
    lb: str | None,
    load: str | None,
    seeds: int | None,
    jobs: int | None,
    threads: int | None,
    on: str | None,
    store: str | None,
    shard: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    csv: bool,
    check: bool,
    memory: str | None,
    pcap: str | None,
    no_plots: bool,
    as_json: bool,
) -> None:
    """Run variants side by side, over the sweep's points and seeds.

    Leaves tables, plots and one HTML report. Finished runs are kept: the same command after an
    interruption goes on from there, and more seeds or loads run only what is new. Plots that show
    the same as before are not drawn again.
    """
    from leafspine import api, files, scenario
    from leafspine.manifest import Keyed

    if shard is not None and as_json:
        raise refused("--json", "without it: a shard has no tables", file="--shard")
    path = Path(scenario_file)
    comparison = api.compare(
        path,
        lb=_names(lb),
        load=_numbers("--load", load),
        seeds=seeds,
        jobs=jobs,
        threads=threads,
        out=out or Keyed(Path("out")),
        csv=csv,
        check=check,
        memory=memory,
        progress_bar=True,
        command=shlex.join(["leafspine", *without_place(sys.argv[1:])]),
        on=on,
        store=store,
        shard=shard,
        pcap=port_names(pcap),
        **dict(scenario.parse_settings(settings)),
    )
    if shard is not None:
        done, of = len(comparison.finished), len(comparison.cases)
        show_shard(shard, done, of, comparison.directory)
        _tell_failures(comparison)
        return
    show(comparison, plots=not no_plots, as_json=as_json)
    if pcap is not None and not as_json:
        click.echo(f"captures: {comparison.directory / files.CAPTURES}")
    _tell_failures(comparison)


PLACE = ("--on", "--store", "--shard")


def without_place(words: Sequence[str]) -> list[str]:
    """A command without what says only where its runs are done: the rest makes the same results."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word.partition("=")[0] in PLACE:
            skip = not skip and word in PLACE
        else:
            kept.append(word)
    return kept


def show(comparison: "Comparison", *, plots: bool, as_json: bool) -> None:
    """Write tables, plots and the report, and print what there is."""
    from leafspine import results

    report = _write(comparison, plots=plots)
    for path in comparison.unknown_files():
        click.echo(f"warning: {path} {UNKNOWN}", err=True)
    if as_json:
        click.echo(results.to_json(to_plain(comparison)), nl=False)
    else:
        _show_comparison(comparison, report, plots=plots)


def _tell_failures(comparison: "Comparison") -> None:
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

    from leafspine import comparison_movie, tables

    tables.show(comparison, Console())
    for warning in comparison.warnings():
        click.echo(f"warning: {printable(warning)}", err=True)
    click.echo(f"tables: {comparison.directory / 'tables.md'}, tables.csv")
    click.echo(f"plots:  {comparison.directory / 'plots' if plots else 'left out (--no-plots)'}")
    click.echo(f"report: {report}")
    moves = comparison.directory / comparison_movie.NAME
    if plots and moves.is_file():
        click.echo(f"the fabric moves: {moves}")


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
