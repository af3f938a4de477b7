"""Captures of a comparison: of each variant the packets of one run, a folder a variant."""

from collections.abc import Sequence

from leafspine import engine, files, progress, results, workers
from leafspine.comparison import Comparison
from leafspine.engine import Case
from leafspine.labels import slug


def write(
    comparison: Comparison,
    ports: Sequence[str],
    *,
    check: bool = False,
    most: int | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    progress_bar: bool | None = None,
) -> None:
    """Make each variant's first run once more, and write what leaves by these ports.

    All points and seeds would be files beyond what anybody reads: one run shows what a scheme does
    with packets. It has ``threads``, or where none are asked for all cores that ``jobs`` allows.
    Raises as :func:`leafspine.run` does; captures that were there are replaced.
    """
    with files.adding(comparison.directory, files.CAPTURES) as target:
        for name, case in _first(comparison.cases).items():
            place = target / name
            place.mkdir()
            with progress.of_run(case.label(), show=progress.wanted(progress_bar)) as watch:
                results.run_case(
                    case,
                    watch,
                    check=check,
                    most=most,
                    threads=threads or jobs or workers.cores(),
                    captures=(tuple(ports), place),
                )


def check(cases: Sequence[Case], ports: Sequence[str]) -> None:
    """Raise :class:`leafspine.ScenarioError` for a port that some variant's fabric has not."""
    for case in _first(cases).values():
        engine.check_captures(case, ports)


def _first(cases: Sequence[Case]) -> dict[str, Case]:
    """Each variant's first case, by the name of its folder."""
    firsts: dict[str, Case] = {}
    for case in cases:
        firsts.setdefault(case.variant, case)
    found: dict[str, Case] = {}
    for variant, case in firsts.items():
        name = plain = slug(variant or "run")
        number = 2
        while name in found:
            name, number = f"{plain}-{number}", number + 1
        found[name] = case
    return found
