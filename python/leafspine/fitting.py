"""Fits of egress traffic to queue behaviour, for QALL's data-driven versions.

Liu et al., QALL, IEEE TNSM 21(2), 2024. §III-B and Fig. 3: what ports send goes with their queue's
occupancy L and against the interval T between two dequeues. §V-A, eq. 7 and Table I: least squares
polynomials of L and T, of several degrees, all normalised by minimum and maximum.

A sample is what QALL's switch would return (Algorithm 3): at the first dequeue of a port after
``period`` has passed since the last sample, L in whole percent of the buffer, as the packet found
it when it was queued; T in whole microseconds since the dequeue before, at most ``tau``; and beside
them the traffic since the last sample. All are computed, exactly, from a ``packets`` probe.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leafspine import engine, files, results, scenario
from leafspine.engine import Case, Watch
from leafspine.errors import InputError, RunError
from leafspine.facts import Amount
from leafspine.fit_defaults import PORTS, PROBE
from leafspine.results import Result
from leafspine.scenario import Source
from leafspine.spelling import NUMBER_AND_UNIT, spelled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HIGHEST_DEGREE = 12

VARIANTS = {1: "linear", 2: "poly2", 3: "poly3"}
"""The variants of QALL that take coefficients, by degree."""

PAPER = {
    1: (0.5772, 0.3687),
    2: (0.6277, 0.2755),
    3: (0.6738, 0.2739),
    5: (0.7312, 0.2696),
    8: (0.7358, 0.2638),
    10: (0.7452, 0.2114),
}
"""Table I: R² and MRE by degree."""

PAPER_CORRELATION = (0.7824, -0.7308)
"""Fig. 3: of traffic with occupancy, and with the interval."""

FIT = "fit.json"
SNIPPET = "coefficients.toml"


def default_scenario() -> Path:
    """The scenario that ships: the paper's fabric and workloads under ECMP."""
    return Path(__file__).parent / "data" / "fit-qall.toml"


@dataclass(frozen=True)
class Samples:
    """What ports were seen to do: one item a sample.

    ``occupancy`` in whole percent, ``interval`` in whole microseconds, ``traffic`` in kb/s.
    """

    occupancy: Ints
    interval: Ints
    traffic: Floats

    def __len__(self) -> int:
        return len(self.traffic)

    def take(self, which: Ints) -> "Samples":
        """The samples with these numbers."""
        return Samples(self.occupancy[which], self.interval[which], self.traffic[which])

    def table(self) -> pa.Table:
        """An Arrow table of the three columns."""
        return pa.table(
            {
                "occupancy_percent": self.occupancy,
                "interval_us": self.interval,
                "traffic_kbps": self.traffic,
            }
        )

    @staticmethod
    def joined(parts: Sequence["Samples"]) -> "Samples":
        """Those of several ports or runs, one after the other."""
        return Samples(
            np.concatenate([part.occupancy for part in parts]),
            np.concatenate([part.interval for part in parts]),
            np.concatenate([part.traffic for part in parts]),
        )


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value of the data set: 0 and 1 after normalisation."""

    low: float
    high: float

    @staticmethod
    def of(values: npt.NDArray[Any]) -> "Bounds":
        """Those of some values."""
        return Bounds(float(values.min()), float(values.max()))

    def normalise(self, values: npt.NDArray[Any]) -> Floats:
        """``(x - low) / (high - low)``."""
        return (values - self.low) / (self.high - self.low)

    def restore(self, values: Floats) -> Floats:
        """The inverse of :meth:`normalise`."""
        return values * (self.high - self.low) + self.low


@dataclass(frozen=True)
class Polynomial:
    """A fit of one degree and how well it predicts the test samples' traffic.

    ``terms``: exponents of L and T; ``coefficients``: one a term, of normalised values. ``r2``: 1
    minus the residual over the total sum of squares. ``mre``: mean of |fitted - seen| / seen, in
    kb/s, over the samples whose traffic is not zero; ``median_relative_error`` likewise.
    """

    degree: int
    terms: tuple[tuple[int, int], ...]
    coefficients: tuple[float, ...]
    r2: float
    mre: float
    median_relative_error: float


@dataclass(frozen=True)
class Fit:
    """What :func:`leafspine.fit_qall` found.

    ``correlation``: Pearson's, of the traffic with the occupancy and with the interval, over all
    samples (Fig. 3). ``occupancy``, ``interval``, ``traffic``: the data set's bounds in percent,
    microseconds and kb/s. ``zero_traffic``: test samples that the relative errors leave out.
    ``request``: the fit's scenario, seeds and options.
    """

    request: dict[str, Any]
    seeds: tuple[int, ...]
    observed: int
    correlation: tuple[float, float]
    occupancy: Bounds
    interval: Bounds
    traffic: Bounds
    zero_traffic: int
    fits: tuple[Polynomial, ...]
    samples: Samples | None = field(default=None, repr=False, compare=False)
    directory: Path | None = field(default=None, compare=False)

    def polynomial(self, degree: int) -> Polynomial:
        """The fit of that degree. Raises :class:`KeyError` if there is none."""
        for fit in self.fits:
            if fit.degree == degree:
                return fit
        raise KeyError(degree)

    def to_plain(self) -> dict[str, Any]:
        """What ``fit.json`` holds."""
        return {
            "leafspine": engine.version(),
            "request": self.request,
            "seeds": list(self.seeds),
            "observed": self.observed,
            "correlation": dict(zip(("occupancy", "interval"), self.correlation, strict=True)),
            "bounds": {
                "occupancy_percent": [self.occupancy.low, self.occupancy.high],
                "interval_us": [self.interval.low, self.interval.high],
                "traffic_kbps": [self.traffic.low, self.traffic.high],
            },
            "zero_traffic": self.zero_traffic,
            "fits": [
                {
                    "degree": fit.degree,
                    "terms": [list(term) for term in fit.terms],
                    "coefficients": list(fit.coefficients),
                    "r2": fit.r2,
                    "mre": fit.mre,
                    "median_relative_error": fit.median_relative_error,
                }
                for fit in self.fits
            ],
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any], directory: Path | None = None) -> "Fit":
        """The inverse of :meth:`to_plain`, without the samples."""
        bounds = plain["bounds"]
        correlation = plain["correlation"]
        return Fit(
            request=plain["request"],
            seeds=tuple(plain["seeds"]),
            observed=plain["observed"],
            correlation=(correlation["occupancy"], correlation["interval"]),
            occupancy=Bounds(*bounds["occupancy_percent"]),
            interval=Bounds(*bounds["interval_us"]),
            traffic=Bounds(*bounds["traffic_kbps"]),
            zero_traffic=plain["zero_traffic"],
            fits=tuple(
                Polynomial(
                    degree=fit["degree"],
                    terms=tuple((first, second) for first, second in fit["terms"]),
                    coefficients=tuple(fit["coefficients"]),
                    r2=fit["r2"],
                    mre=fit["mre"],
                    median_relative_error=fit["median_relative_error"],
                )
                for fit in plain["fits"]
            ),
            directory=directory,
        )

    def snippet(self) -> str:
        """Variants of QALL with these coefficients, TOML to paste into a scenario.

        Degrees 1, 2 and 3: those that QALL's switch evaluates. Without ``idle_growth``: intervals
        that grow while a queue's last occupancy stands are not in the data, and a polynomial may be
        anything there.
        """
        bounds = [self.occupancy.low, self.occupancy.high, self.interval.low, self.interval.high]
        normalise = scenario.to_value([int(bound) for bound in bounds])
        text = f"# Fitted by leafspine {engine.version()} fit-qall; seeds {_list(self.seeds)}.\n"
        for fit in self.fits:
            if fit.degree not in VARIANTS:
                continue
            variant = VARIANTS[fit.degree]
            coefficients = scenario.to_value([round(value, 6) for value in fit.coefficients])
            text += f"""
[[variant]]
name = "QALL-{variant}, refitted"

[variant.set]
"load_balancer.scheme" = "qall"
"load_balancer.variant" = "{variant}"
"load_balancer.coefficients" = {coefficients}
"load_balancer.normalise" = {normalise}
"load_balancer.idle_growth" = false
"""
        return text


def _list(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


@dataclass(frozen=True)
class Request:
    """What to observe and fit. Spans in picoseconds."""

    source: Source
    settings: tuple[tuple[str, str], ...]
    train: int
    test: int
    degrees: tuple[int, ...]
    period: int
    tau: int
    ports: str | None

    @cached_property
    def first(self) -> Case:
        """The scenario's run with its own seed, and the probe."""
        return self._observed[0]

    def case(self, extra: int) -> Case:
        """The run with a seed that is so much higher than the first's."""
        first, source, settings = self._observed
        if extra == 0:
            return first
        return scenario.single(source, [*settings, (engine.SEED, str(first.seed + extra))])

    @cached_property
    def _observed(self) -> tuple[Case, Source, list[tuple[str, str]]]:
        """The scenario with a probe of packets: its own, if it has one of that name."""
        source, settings = self.source, list(self.settings)
        case = scenario.single(source, settings)
        own = case.facts.probe(PROBE)
        if own is not None and self.ports is None:
            return case, source, settings
        if own is not None:
            settings.append((f"probe.{own}.ports", _quoted(self.ports or PORTS)))
        else:
            text = source.text + (
                f"\n[[probe]]\nkind = {_quoted('packets')}\nname = {_quoted(PROBE)}\n"
                f"ports = {_quoted(self.ports or PORTS)}\n"
            )
            source = Source(text, source.name, source.base_dir)
        return scenario.single(source, settings), source, settings

    def plain(self, case: Case) -> dict[str, Any]:
        """Everything that decides what is found, for files."""
        return {
            "scenario": case.text,
            "train": self.train,
            "test": self.test,
            "degrees": list(self.degrees),
            "period_us": self.period // 10**6,
            "tau_us": self.tau // 10**6,
        }

    @property
    def key(self) -> str:
        """Name of the fit: the first 16 hex digits of SHA-256 over all that decides it."""
        return sha256(results.to_json(self.plain(self.first)).encode()).hexdigest()[:16]


def _quoted(text: str) -> str:
    return scenario.to_value(text)


def request(
    source: Source,
    settings: Sequence[tuple[str, str]],
    *,
    train: int,
    test: int,
    degrees: Sequence[int],
    period: str,
    tau: str,
    ports: str | None,
) -> Request:
    """Check the options. Raises :class:`InputError`."""
    chosen = tuple(sorted(set(degrees)))
    if not chosen or chosen[0] < 1 or chosen[-1] > HIGHEST_DEGREE:
        raise InputError(
            f"degrees {list(degrees)}: expected whole numbers from 1 to {HIGHEST_DEGREE}"
        )
    needed = len(terms(chosen[-1]))
    if train < needed:
        raise InputError(
            f"{train} training samples: degree {chosen[-1]} has {needed} coefficients and needs "
            f"at least as many"
        )
    if test < 2:
        raise InputError(f"{test} test samples: expected at least 2")
    return Request(
        source=source,
        settings=tuple(settings),
        train=train,
        test=test,
        degrees=chosen,
        period=_micros("period", period),
        tau=_micros("tau", tau),
        ports=ports,
    )


_PICOSECONDS = {"us": 10**6, "ms": 10**9, "s": 10**12}


def _micros(name: str, text: str) -> int:
    """Whole microseconds, in picoseconds."""
    match = NUMBER_AND_UNIT.fullmatch(text)
    unit = _PICOSECONDS.get(spelled(match[2]), 0) if match else 0
    span = Decimal(match[1]) * unit if match else Decimal(0)
    if span < 10**6 or span % 10**6:
        raise InputError(
            f"{name} {text!r}: expected a whole number of microseconds, such as 1ms (us, ms, s)"
        )
    return int(span)


def observe_port(
    starts: Ints,
    waited: Ints,
    sizes: Ints,
    *,
    period: int,
    tau: int,
    buffer: Amount,
    since: int = 0,
) -> Samples:
    """Samples of one port from its packets: starts of transmission, in order, and waits, in ps.

    ``sizes`` in bytes on the wire; ``period`` and ``tau`` in ps. The first sample's traffic and
    interval are not known: it is left out. Nothing before ``since`` is in any sample.
    """
    behind = returns(starts, period)
    behind = behind[starts[behind] >= since]
    which, before = behind[1:], behind[:-1]
    # What began no later than this packet came no longer waited.
    gone = np.searchsorted(starts, starts[which] - waited[which], side="right")
    bytes_before = np.concatenate([[0], np.cumsum(sizes)])
    waiting = bytes_before[which] - bytes_before[gone] if buffer.in_bytes else which - gone
    waiting = np.maximum(waiting, 0)
    interval = np.minimum(starts[which] - starts[which - 1], tau) // 10**6
    sent = (bytes_before[which] - bytes_before[before]) * 8
    # Bits in picoseconds, as kb/s.
    traffic = sent / (starts[which] - starts[before]) * 1e9
    return Samples(np.minimum(waiting * 100 // buffer.count, 100), interval, traffic)


def returns(starts: Ints, period: int) -> Ints:
    """Which packets' dequeues return state: the first more than ``period`` after the last."""
    found: list[int] = []
    last = 0
    while True:
        at = int(np.searchsorted(starts, last + period, side="right"))
        if at == len(starts):
            return np.array(found, dtype=np.int64)
        found.append(at)
        last = int(starts[at])


def observe(case: Case, result: Result, *, period: int, tau: int) -> Samples:
    """Samples of all ports that a run's probe has watched after its warm-up, port by port."""
    table = result.probes[PROBE]
    port = table["port"].combine_chunks()
    if not isinstance(port, pa.DictionaryArray):
        port = port.dictionary_encode()
    numbers = port.indices.to_numpy()
    buffer = case.facts.buffer
    if buffer is None:
        raise RunError(f"{case.label()}: the engine does not say how large buffers are")
    since = result.summary.get("warmup_ps", 0)
    columns = [table[name].to_numpy().astype(np.int64) for name in ("time_ps", "waited_ps", "size")]
    parts = []
    for code in range(int(numbers.max(initial=-1)) + 1):
        own = np.flatnonzero(numbers == code)
        starts, waited, sizes = (column[own] for column in columns)
        parts.append(
            observe_port(starts, waited, sizes, period=period, tau=tau, buffer=buffer, since=since)
        )
    return Samples.joined(parts) if parts else _nothing()


def _nothing() -> Samples:
    none = np.zeros(0, dtype=np.int64)
    return Samples(none, none, none.astype(np.float64))


def terms(degree: int) -> tuple[tuple[int, int], ...]:
    """Exponents of L and T of all terms up to a degree, in the order of eqs. 9 and 10.

    All cross terms: 1; L, T; L², LT, T²; L³, L²T, LT², T³; and so on.
    """
    return tuple((total - t, t) for total in range(degree + 1) for t in range(total + 1))


def features(occupancy: Floats, interval: Floats, degree: int) -> Floats:
    """The terms' values, a row a sample: what eq. 7 calls X."""
    first = np.vander(occupancy, degree + 1, increasing=True)
    second = np.vander(interval, degree + 1, increasing=True)
    columns = [first[:, i] * second[:, j] for i, j in terms(degree)]
    return np.stack(columns, axis=1)


def least_squares(
    samples: Samples, request: Request, plain: dict[str, Any], seeds: Sequence[int], observed: int
) -> Fit:
    """Fit every degree to the first ``train`` samples and judge it by the ``test`` after them."""
    bounds = [Bounds.of(v) for v in (samples.occupancy, samples.interval, samples.traffic)]
    for name, bound in zip(("occupancy", "interval", "traffic"), bounds, strict=True):
        if bound.low == bound.high:
            raise RunError(
                f"the {name} was {bound.low:g} in all {len(samples)} samples, so there is nothing "
                "to fit: observe a busier scenario"
            )
    occupancy, interval, traffic = bounds
    x = occupancy.normalise(samples.occupancy), interval.normalise(samples.interval)
    y = traffic.normalise(samples.traffic)
    train, test = slice(request.train), slice(request.train, request.train + request.test)
    seen = samples.traffic[test]
    fits = []
    for degree in request.degrees:
        matrix = features(x[0][train], x[1][train], degree)
        coefficients = np.linalg.lstsq(matrix, y[train], rcond=None)[0]
        fitted = traffic.restore(features(x[0][test], x[1][test], degree) @ coefficients)
        relative = relative_errors(seen, fitted)
        fits.append(
            Polynomial(
                degree=degree,
                terms=terms(degree),
                coefficients=tuple(float(value) for value in coefficients),
                r2=r_squared(seen, fitted),
                mre=float(np.mean(relative)) if len(relative) else 0.0,
                median_relative_error=float(np.median(relative)) if len(relative) else 0.0,
            )
        )
    return Fit(
        request=plain,
        seeds=tuple(seeds),
        observed=observed,
        correlation=(
            pearson(samples.traffic, samples.occupancy),
            pearson(samples.traffic, samples.interval),
        ),
        occupancy=occupancy,
        interval=interval,
        traffic=traffic,
        zero_traffic=int(np.count_nonzero(seen == 0)),
        fits=tuple(fits),
        samples=samples,
    )


def r_squared(seen: Floats, fitted: Floats) -> float:
    """Goodness of fit: 1 - residual / total sum of squares; 0 if all that was seen is alike."""
    total = float(np.sum((seen - seen.mean()) ** 2))
    return 1.0 - float(np.sum((seen - fitted) ** 2)) / total if total > 0 else 0.0


def relative_errors(seen: Floats, fitted: Floats) -> Floats:
    """|fitted - seen| / seen where something was seen: the paper does not say what zero does."""
    some = seen > 0
    return np.abs(fitted[some] - seen[some]) / seen[some]


def pearson(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Pearson's correlation coefficient."""
    return float(np.corrcoef(first, second)[0, 1])


Report = Callable[[int, str], Watch | None]
"""Called with the samples so far and the next run's label; returns what watches that run."""


def collect(request: Request, first: Case, report: Report) -> tuple[Samples, list[int]]:
    """Run the scenario with one seed after the other until there are enough samples."""
    wanted = request.train + request.test
    parts: list[Samples] = []
    seeds: list[int] = []
    have = 0
    while have < wanted:
        case = request.case(len(seeds)) if seeds else first
        part = _run(request, case, report(have, case.label()))
        if len(part) == 0:
            raise RunError(
                f"{case.label()}: no port that was watched sent packets over more than two periods "
                f"of {request.period // 10**6} us: nothing to observe"
            )
        parts.append(part)
        seeds.append(case.seed)
        have += len(part)
    return Samples.joined(parts), seeds


def _run(request: Request, case: Case, watch: Watch | None) -> Samples:
    try:
        result = results.run_case(case, watch)
    except RuntimeError as error:
        raise RunError(str(error)) from error
    return observe(case, result, period=request.period, tau=request.tau)


def fit(request: Request, directory: Path | None, report: Report) -> Fit:
    """Observe, fit, write; or read what the same request has left in ``directory``."""
    first = request.first
    plain = request.plain(first)
    if directory is not None:
        files.sweep_leftovers(directory.parent)
        if _is_finished(directory, plain):
            return load(directory)
        files.refuse_unwritable(directory)
    samples, seeds = collect(request, first, report)
    # Which are for training is drawn by the scenario's seed: samples of one port follow each other.
    order = np.random.default_rng(first.seed).permutation(len(samples))
    chosen = samples.take(order[: request.train + request.test])
    found = least_squares(chosen, request, plain, seeds, len(samples))
    return found if directory is None else write(found, directory)


def _is_finished(directory: Path, plain: Mapping[str, Any]) -> bool:
    if directory.is_symlink():
        raise InputError(f"{directory} is a symbolic link: name {directory.resolve()} itself")
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return False
    if not (directory / FIT).exists() and not (directory / files.SUMS).exists():
        raise InputError(
            f"{directory} holds something else than a fit of leafspine: choose another directory"
        )
    if load(directory).request != plain:
        raise InputError(
            f"{directory} holds the fit of another scenario, seed, version or number of samples: "
            "choose another directory, or remove it"
        )
    return True


def load(directory: str | Path) -> Fit:
    """Read a fit that was written, without its samples.

    Raises :class:`InputError`: :class:`DamagedError` if a file is not what was written.
    """
    folder = Path(directory)
    contents = files.read(folder)
    try:
        return Fit.from_plain(json.loads(contents[FIT]), folder)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} holds no fit that can be read ({error})") from None


def write(found: Fit, directory: Path) -> Fit:
    """Write a fit's files to ``directory``, all or nothing."""
    with files.replacing(directory) as folder:
        for name, text in _files(found):
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        if found.samples is not None:
            results.write_parquet(found.samples.table(), folder / "samples.parquet")
    return Fit(**{**vars(found), "directory": directory})


def _files(found: Fit) -> Iterator[tuple[str, str]]:
    yield "scenario.toml", found.request["scenario"]
    yield SNIPPET, found.snippet()
    yield FIT, results.to_json(found.to_plain())
