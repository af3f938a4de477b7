"""The Python API: the command line's verbs, with Arrow tables for answers."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspine import comparison as comparing
from leafspine import engine, fitting, progress, results, scenario
from leafspine.comparison import Comparison
from leafspine.errors import RunError
from leafspine.fitting import Fit
from leafspine.results import Result
from leafspine.scenario import LOAD, Scenario, Source


def run(
    scenario_: Scenario,
    /,
    *,
    out: str | Path | None = None,
    csv: bool = False,
    progress_bar: bool = False,
    **settings: object,
) -> Result:
    """Simulate one scenario.

    ``scenario_`` is a path, TOML text or a mapping of the same shape. ``settings`` override keys:
    ``load_balancer__scheme="letflow"`` or ``**{"workload.0.load": 0.6}``; strings carry units
    (``"40pkt"``). With ``out`` the result is written there, and read from there if it is finished
    already. Times in the result are picoseconds, sizes bytes.

    Raises :class:`leafspine.ScenarioError` for a bad scenario, :class:`leafspine.InputError` for a
    directory that holds something else, :class:`leafspine.RunError` if the run fails.
    """
    case = scenario.single(scenario.read(scenario_), scenario.to_settings(settings))
    directory = None if out is None else Path(out)
    if directory is not None and results.is_finished(directory, case):
        result = Result.load(directory)
    else:
        with progress.of_run(case.label(), show=progress_bar) as watch:
            result = _guarded(case, watch)
        if directory is not None:
            result = results.write(result, directory, csv=csv)
    if csv:
        results.add_csv(result)
    return result


def _guarded(case: engine.Case, watch: engine.Watch | None) -> Result:
    try:
        return results.run_case(case, watch)
    except RuntimeError as error:
        raise RunError(str(error)) from error


def compare(
    scenario_: Scenario,
    /,
    *,
    lb: Sequence[str] = (),
    load: Sequence[float] = (),
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    csv: bool = False,
    progress_bar: bool = False,
    command: str = "",
    **settings: object,
) -> Comparison:
    """Run a scenario's variants and sweep side by side.

    ``lb`` (load balancers by name) replaces the file's variants, ``load`` (fractions) its sweep
    over the first workload's load, ``seeds`` (how many) its sweep over the seed. ``jobs``:
    processes, default all cores; the results do not depend on it. Runs that are finished in ``out``
    are not run again; without ``out`` results live in a temporary directory for as long as the
    answer does.

    A run that fails does not stop the others: see :attr:`Comparison.failures`. Raises as
    :func:`run` does.
    """
    over = {LOAD: tuple(load)} if load else {}
    source = scenario.read(scenario_)
    pairs = scenario.to_settings(settings)
    pairs = scenario.comparing(source, pairs, lb=lb, over=over, seeds=seeds)
    return _compare(source, pairs, jobs, out, csv, progress_bar, command)


def sweep(
    scenario_: Scenario,
    over: Mapping[str, Sequence[Any]],
    /,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    csv: bool = False,
    progress_bar: bool = False,
    **settings: object,
) -> Comparison:
    """Run a scenario at every combination of the values that ``over`` gives by key.

    ``leafspine.sweep("fabric.toml", {"aqm.threshold": ["20pkt", "65pkt"]}, seeds=5)``. The file's
    own variants are kept. The rest is as for :func:`compare`.
    """
    source = scenario.read(scenario_)
    pairs = scenario.to_settings(settings)
    pairs = scenario.comparing(source, pairs, over=over, seeds=seeds)
    return _compare(source, pairs, jobs, out, csv, progress_bar, "")


def _compare(
    source: Source,
    settings: Sequence[tuple[str, str]],
    jobs: int | None,
    out: str | Path | None,
    csv: bool,
    progress_bar: bool,
    command: str,
) -> Comparison:
    cases = scenario.expand(source, settings)
    keep = _Temporary() if out is None else None
    directory = Path(str(out)) if keep is None else keep.path
    return comparing.compare(
        source,
        settings,
        directory,
        cases=cases,
        jobs=jobs,
        csv=csv,
        progress_bar=progress_bar,
        command=command,
        keep=keep,
    )


def fit_qall(
    scenario_: Scenario | None = None,
    /,
    *,
    train: int = fitting.TRAIN,
    test: int = fitting.TEST,
    degrees: Sequence[int] = fitting.DEGREES,
    period: str = fitting.PERIOD,
    tau: str = fitting.TAU,
    ports: str | None = None,
    out: str | Path | None = None,
    progress_bar: bool = False,
    **settings: object,
) -> Fit:
    """Fit ports' traffic to their queue's behaviour, for QALL's data-driven versions.

    Runs the scenario (default: the paper's) with one seed after the other until there are ``train``
    and ``test`` samples, then fits polynomials of ``degrees`` by least squares. ``period`` and
    ``tau`` are QALL's ``update_period`` and ``tau``, whole microseconds (``"1ms"``); ``ports``
    those that are watched (default: those of the scenario's probe ``fit-qall``, else the spines').
    With ``out`` the fit is written there, and read from there if it is finished already (then
    without its samples).

    Raises as :func:`run` does; :class:`leafspine.RunError` also if there is nothing to fit.
    """
    source = scenario.read(fitting.default_scenario() if scenario_ is None else scenario_)
    request = fitting.request(
        source,
        scenario.to_settings(settings),
        train=train,
        test=test,
        degrees=degrees,
        period=period,
        tau=tau,
        ports=ports,
    )
    return fit(request, None if out is None else Path(out), progress_bar=progress_bar)


def fit(request: fitting.Request, directory: Path | None, *, progress_bar: bool = False) -> Fit:
    """What a checked request asks for."""
    with progress.of_fit(request.train + request.test, show=progress_bar) as report:
        return fitting.fit(request, directory, report)


class _Temporary:
    """A directory that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="leafspine-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def schemes() -> list[dict[str, Any]]:
    """The schemes that there are: name, role, paper, parameters with defaults."""
    return engine.schemes()


def workloads() -> list[dict[str, Any]]:
    """The named flow-size distributions: mean and quantiles in bytes."""
    return engine.workloads()
