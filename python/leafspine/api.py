"""The Python API: the command line's verbs, with Arrow tables for answers."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspine import arguments, captures, engine, places, progress, running, scenario, shards
from leafspine import comparison as comparing
from leafspine.comparison import Comparison
from leafspine.errors import refused
from leafspine.keywords import in_keywords
from leafspine.manifest import Keyed
from leafspine.places import How, On
from leafspine.qall import defaults as fit_defaults
from leafspine.qall import fitting, requests
from leafspine.qall.model import Fit
from leafspine.qall.requests import Request
from leafspine.results import Result
from leafspine.scenario import LOAD, Key, Scenario, Source

if TYPE_CHECKING:
    from leafspine.checking import Cost
    from leafspine.tuning.searching import Found


@in_keywords
def run(
    scenario_: Scenario,
    /,
    *,
    out: str | Path | None = None,
    csv: bool = False,
    check: bool = False,
    memory: str | None = None,
    threads: int | None = None,
    pcap: Sequence[str] = (),
    progress_bar: bool | None = None,
    seed: int | None = None,
    **settings: object,
) -> Result:
    """Simulate one scenario.

    ``scenario_`` is a path, TOML text or a mapping of the same shape. ``settings`` override keys:
    ``load_balancer__scheme="letflow"`` or ``**{"workload.0.load": 0.6}``; strings carry units
    (``"40pkt"``); ``workload__load`` is that of the only workload. ``seed`` is ``run__seed``, as on
    the command line. With ``out`` the result is written there, and read from there if it is
    finished already. Times in the result are picoseconds, sizes bytes.

    With ``check`` the run's invariants are checked (packets, bytes, queues, buffers); the result is
    the same, and a finished one that was not checked is run again. ``memory``: how much may be
    taken (``"64GB"``, or ``"unlimited"``) instead of what is free. ``threads``: how many may
    work on the run, all cores by default; the result is the same. ``pcap``: ports and hosts whose
    packets are written to ``out``'s folder ``pcap``, a file each (``["leaf0-spine1", "host3"]``,
    ``["leaf0-*"]``); the run is then made even if its result is there. ``progress_bar``: whether
    progress is shown; by default in notebooks alone.

    Raises :class:`leafspine.ScenarioError` for a bad scenario, :class:`leafspine.TooLargeError` for
    one that needs more memory than there is, :class:`leafspine.InputError` for any other argument
    that is wrong, or a directory that holds something else, of which
    :class:`leafspine.DamagedError` is a result that is not what was written;
    :class:`leafspine.WriteError` if the system refuses to write, :class:`leafspine.StuckError` if
    the run gets nowhere, :class:`leafspine.EngineError` for a fault of leafspine or a scheme, which
    are :class:`leafspine.RunError` as is whatever else makes it fail.
    """
    _check_common(scenario_, csv, check, progress_bar)
    arguments.count("--threads", threads)
    arguments.names("pcap", pcap)
    directory = arguments.directory("out", out)
    if pcap and directory is None:
        raise refused(
            "captures without a directory", "out=, the directory of the result", key="pcap"
        )
    scenario.refuse_options("run", settings)
    source, pairs = scenario.read(scenario_), scenario.to_settings(settings)
    return running.run_source(
        source,
        scenario.seeded(pairs, seed),
        lambda _case: directory,
        csv=csv,
        check=check,
        memory=memory,
        threads=threads,
        pcap=pcap,
        progress_bar=progress_bar,
    )


def _check_common(found: Scenario, csv: bool, check: bool, progress_bar: bool | None) -> None:
    arguments.scenario(found)
    arguments.flag("csv", csv)
    arguments.flag("check", check)
    arguments.flag("progress_bar", progress_bar, optional=True)


@in_keywords
def compare(
    scenario_: Scenario,
    /,
    *,
    lb: Sequence[str] = (),
    load: Sequence[float] = (),
    seeds: int | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    out: str | Path | Keyed | None = None,
    csv: bool = False,
    check: bool = False,
    memory: str | None = None,
    progress_bar: bool | None = None,
    command: str = "",
    on: str | None = None,
    store: str | None = None,
    shard: str | None = None,
    pcap: Sequence[str] = (),
    **settings: object,
) -> Comparison:
    """Run a scenario's variants and sweep side by side.

    ``lb`` (load balancers by name) replaces the file's variants, ``load`` (fractions) its sweep
    over the first workload's load, ``seeds`` (how many) its sweep over the seed. ``jobs``:
    cores to be used, default all: a process a run, and threads where fewer runs than cores are
    left. ``threads``: how many may work on each run, whatever is left, so that ``jobs`` cores do
    ``jobs / threads`` runs side by side. The results do not depend on either. Runs that are
    finished in ``out`` are not run again; a directory of another comparison is refused, unless this
    one has all of its variants and points. Without ``out`` results are in a temporary directory
    that is removed with the answer.

    ``check`` and ``memory`` are as for :func:`run`; where the memory is not enough for ``jobs``
    runs side by side, there are fewer.

    ``on``: where runs are done, ``"local"``, ``"slurm"`` or ``"dask://HOST:PORT"``; ``memory`` is
    then that of one run, and results are the same bytes. ``store``: a folder or URL of fsspec that
    dask's workers put results into. ``shard``: ``"3/8"`` does the third of eight parts, in a
    directory beside ``out``, which ``leafspine merge`` puts together; it cannot be without ``out``.

    ``pcap``: ports and hosts as for :func:`run`; what they send in each variant's first run, that
    of the first point and seed, is written to ``out``'s folder ``pcap``, a folder a variant. These
    runs are made here, once more; not with ``shard``.

    A run that fails does not stop the others: see :attr:`Comparison.failures`. Raises as
    :func:`run` does.
    """
    arguments.names("lb", lb)
    arguments.numbers("load", load)
    _check_comparison(scenario_, seeds, jobs, csv, check, progress_bar)
    arguments.count("--threads", threads)
    arguments.text("command", command, optional=False)
    arguments.text("on", on)
    arguments.text("store", store)
    scenario.refuse_options("compare", settings)
    over = {Key(LOAD, "--load"): tuple(load)} if len(load) else {}
    source = scenario.read(scenario_)
    pairs = scenario.to_settings(settings)
    pairs = scenario.comparing(source, pairs, lb=lb, over=over, seeds=seeds)
    part = shards.parse(shard)
    if part is not None and out is None:
        raise arguments.refuse("out", out, "a path, beside which the shard's directory lies")
    where = places.parse(on, store, jobs, threads)
    arguments.names("pcap", pcap)
    if pcap and (out is None or part is not None):
        found = "captures without a directory" if out is None else "captures of a shard"
        raise refused(found, "out=, the directory of the whole comparison", key="pcap")
    how = _How(jobs, csv, check, memory, progress_bar, command, where, part, pcap, threads)
    found_ = _compare(source, pairs, out, how)
    if pcap:
        captures.write(
            found_,
            pcap,
            check=check,
            most=running.most_bytes(memory),
            jobs=jobs,
            threads=threads,
            progress_bar=progress_bar,
        )
    return found_


@in_keywords
def sweep(
    scenario_: Scenario,
    over: Mapping[str, Sequence[Any]],
    /,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    out: str | Path | None = None,
    csv: bool = False,
    check: bool = False,
    memory: str | None = None,
    progress_bar: bool | None = None,
    **settings: object,
) -> Comparison:
    """Run a scenario at every combination of the values that ``over`` gives by key.

    ``leafspine.sweep("fabric.toml", {"aqm.threshold": ["20pkt", "65pkt"]}, seeds=5)``. The file's
    own variants are kept. The rest is as for :func:`compare`.
    """
    arguments.values("the sweep", over)
    _check_comparison(scenario_, seeds, jobs, csv, check, progress_bar)
    arguments.count("--threads", threads)
    scenario.refuse_options("sweep", settings)
    source = scenario.read(scenario_)
    pairs = scenario.to_settings(settings)
    pairs = scenario.comparing(source, pairs, over=over, seeds=seeds)
    how = _How(jobs, csv, check, memory, progress_bar, "", threads=threads)
    return _compare(source, pairs, out, how)


def _check_comparison(
    found: Scenario,
    seeds: int | None,
    jobs: int | None,
    csv: bool,
    check: bool,
    progress_bar: bool | None,
) -> None:
    _check_common(found, csv, check, progress_bar)
    arguments.count("--seeds", seeds)
    arguments.count("--jobs", jobs)


class _How(NamedTuple):
    """How a comparison is run, whatever it compares."""

    jobs: int | None
    csv: bool
    check: bool
    memory: str | None
    progress_bar: bool | None
    command: str
    on: On = places.HERE
    shard: shards.Shard | None = None
    pcap: Sequence[str] = ()
    threads: int | None = None


def _compare(
    source: Source,
    settings: Sequence[tuple[str, str]],
    out: str | Path | Keyed | None,
    how: _How,
) -> Comparison:
    wanted = None if isinstance(out, Keyed) else arguments.directory("out", out)
    # Elsewhere there is other memory than here: a worker looks what is free.
    most = running.most_bytes(how.memory) if how.on.is_here or how.memory is not None else None
    with progress.of_checks(show=progress.wanted(how.progress_bar)) as watch:
        cases = scenario.expand(source, settings, most, watch)
    if how.pcap:
        captures.check(cases, how.pcap)
    if isinstance(out, Keyed):
        wanted = out.directory(source, cases)
    if wanted is not None and how.shard is not None:
        wanted = how.shard.directory(wanted)
    keep = _Temporary() if wanted is None else None
    directory = wanted if wanted is not None else keep.path if keep else Path()
    with arguments.writing(directory):
        return comparing.compare(
            source,
            settings,
            directory,
            cases=cases,
            how=How(how.on, how.jobs, how.csv, how.check, most, how.threads),
            progress_bar=progress.wanted(how.progress_bar),
            command=how.command,
            keep=keep,
            shard=how.shard,
        )


@in_keywords
def check(scenario_: Scenario, /, **settings: object) -> "list[Cost]":
    """What a scenario would run, a variant an entry, without running it.

    Flows are drawn and counted; the first run of each variant goes for a moment, to see how many
    packet-hops a second this machine does with it. Nothing is written.

    Raises :class:`leafspine.ScenarioError` for a bad scenario, as :func:`compare` does.
    """
    from leafspine import checking

    arguments.scenario(scenario_)
    scenario.refuse_options("check", settings)
    cases = scenario.expand(scenario.read(scenario_), scenario.to_settings(settings))
    return checking.costs(cases)


@in_keywords
def tune(
    scenario_: Scenario,
    params: Sequence[str],
    /,
    *,
    lb: str | None = None,
    metric: str = "fct_p99",
    trials: int = 12,
    seeds: int = 8,
    held_out: int = 10,
    jobs: int | None = None,
    out: str | Path,
    check: bool = False,
    memory: str | None = None,
    on: str | None = None,
    store: str | None = None,
    progress_bar: bool | None = None,
    **settings: object,
) -> "Found":
    """Find the setting of parameters that is best for a metric.

    ``params``: ``"idle_time=64us..2ms"`` or ``"mode=fixed,flowlet-quality"``; keys without a dot
    are the load balancer's, which ``lb`` names. ``metric``: ``fct_p99`` of all flows,
    ``short.fct_p99``, ``drops``. At most ``trials`` settings, but every value of a list, are halved
    over ``seeds``; the best is compared with the default on ``held_out`` seeds more. The rest is as
    for :func:`compare`.

    Raises as :func:`compare` does.
    """
    _check_common(scenario_, False, check, progress_bar)
    arguments.names("params", params)
    for name, count in (("trials", trials), ("seeds", seeds), ("held_out", held_out)):
        arguments.count(name, count, optional=False)
    scenario.refuse_options("tune", settings)
    from leafspine.tuning import asking

    found, _, _ = asking.tuned(
        scenario.read(scenario_),
        scenario.to_settings(settings),
        params,
        lb=lb,
        metric=metric,
        trials=trials,
        seeds=seeds,
        held_out=held_out,
        place=asking.Where(jobs, check, memory, on, store),
        out=arguments.directory("out", out),
        progress_bar=progress_bar,
    )
    return found


@in_keywords
def fit_qall(
    scenario_: Scenario | None = None,
    /,
    *,
    train: int = fit_defaults.TRAIN,
    test: int = fit_defaults.TEST,
    degrees: Sequence[int] = fit_defaults.DEGREES,
    period: str = fit_defaults.PERIOD,
    tau: str = fit_defaults.TAU,
    ports: str | None = None,
    out: str | Path | None = None,
    progress_bar: bool | None = None,
    seed: int | None = None,
    **settings: object,
) -> Fit:
    """Fit ports' traffic to their queue's behaviour, for QALL's data-driven versions.

    Runs the scenario (default: the paper's) with one seed after the other until there are ``train``
    and ``test`` samples, then fits polynomials of ``degrees`` by least squares. ``period`` and
    ``tau`` are QALL's ``update_period`` and ``tau``, whole microseconds (``"1ms"``); ``ports``
    those that are watched (default: those of the scenario's probe ``fit-qall``, else the spines');
    ``seed`` the first seed.
    With ``out`` the fit is written there, and read from there if it is finished already (then
    without its samples).

    Raises as :func:`run` does; :class:`leafspine.RunError` also if there is nothing to fit.
    """
    _check_common({} if scenario_ is None else scenario_, False, False, progress_bar)
    arguments.count("train", train, optional=False)
    arguments.count("test", test, optional=False)
    arguments.counts("degrees", degrees)
    arguments.text("period", period, optional=False)
    arguments.text("tau", tau, optional=False)
    arguments.text("ports", ports)
    scenario.refuse_options("fit_qall", settings)
    directory = arguments.directory("out", out)
    source = scenario.read(requests.default_scenario() if scenario_ is None else scenario_)
    request = requests.request(
        source,
        scenario.seeded(scenario.to_settings(settings), seed),
        train=train,
        test=test,
        degrees=degrees,
        period=period,
        tau=tau,
        ports=ports,
    )
    with arguments.writing(directory):
        return fit(request, directory, progress_bar=progress_bar)


def fit(request: Request, directory: Path | None, *, progress_bar: bool | None = None) -> Fit:
    """What a checked request asks for."""
    show = progress.wanted(progress_bar)
    with progress.of_fit(request.split.train + request.split.test, show=show) as report:
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
    """The named flow-size distributions: mean and quantiles in bytes, and ``points``: pairs of
    bytes and cumulative probability, linear in between."""
    return engine.workloads()
