"""``own`` metrics of fits of egress traffic to queue behaviour (QALL, Fig. 3 and Table I; see
:mod:`leafspine.qall`): each run is a data set of its own."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leafspine.errors import RunError
from leafspine.qall.defaults import DEGREES
from leafspine.qall.model import Fit, Split, least_squares
from leafspine.qall.polynomials import terms
from leafspine.qall.samples import observe
from leafspine.reproduce.metrics import Run, metric
from leafspine.reproduce.series import Curve, curve

PERIOD = 10**9
"""Between two samples of a port: QALL's T_b of 1 ms, in ps."""

TAU = 10**10
"""The longest dequeue interval: 10 ms, in ps."""

TEST = 4
"""One sample in so many is kept to test the fit, as in the paper (50,000 of 200,000)."""

BINS = 40
STEP = 4.0

Floats = npt.NDArray[np.float64]

_LAST: dict[str, Fit | None] = {}
"""The fits of the last run: all metrics of a run are read one after the other."""


def fit_of(run: Run) -> Fit | None:
    """The fits of a run's samples, of all degrees of Table I; none if nothing varied."""
    if run.case.key not in _LAST:
        _LAST.clear()
        _LAST[run.case.key] = _fit(run)
    return _LAST[run.case.key]


def _fit(run: Run) -> Fit | None:
    samples = observe(run.case, run.result, period=PERIOD, tau=TAU)
    # Samples of one port follow each other.
    order = np.random.default_rng(run.case.seed).permutation(len(samples))
    test = len(samples) // TEST
    split = Split(len(samples) - test, test, DEGREES)
    if test < 2:
        return None
    try:
        return least_squares(samples.take(order), split, {}, [run.case.seed], len(samples))
    except RunError:  # occupancy or interval was the same in all samples
        return None


def _register(name: str, label: str, read: Callable[[Fit], float]) -> None:
    """A metric that is one number of the fits."""

    @metric(name, "", label)
    def _value(run: Run) -> float | None:
        found = fit_of(run)
        return None if found is None else float(read(found))


def _by_degree(degree: int) -> None:
    """R² and mean relative error of the fit of a degree, on the test samples."""
    _register(f"fit_r2_{degree}", f"R², degree {degree}", lambda fit: fit.polynomial(degree).r2)
    _register(
        f"fit_mre_{degree}",
        f"mean relative error, degree {degree}",
        lambda fit: fit.polynomial(degree).mre,
    )


def _coefficient(degree: int, place: int, powers: tuple[int, int]) -> None:
    """A coefficient of the fit of a degree: ``LLT`` is that of L²T, ``1`` the constant."""
    name = "L" * powers[0] + "T" * powers[1] or "1"
    _register(
        f"fit_coefficient_{degree}_{name}",
        f"coefficient of {name}, degree {degree}",
        lambda fit: fit.polynomial(degree).coefficients[place],
    )


_register(
    "fit_pearson_occupancy",
    "traffic and occupancy, Pearson's r",
    lambda fit: fit.correlation[0],
)
_register(
    "fit_pearson_interval",
    "traffic and dequeue interval, Pearson's r",
    lambda fit: fit.correlation[1],
)
for _degree in DEGREES:
    _by_degree(_degree)
for _degree in (1, 2, 3):
    for _place, _powers in enumerate(terms(_degree)):
        _coefficient(_degree, _place, _powers)
# From one of Table I's degrees to the next; above 0, the fit gets better throughout.
_register(
    "fit_r2_least_step",
    "smallest gain of R² by a step of the degree",
    lambda fit: min(np.diff([entry.r2 for entry in fit.fits])),
)
_register(
    "fit_mre_least_step",
    "smallest fall of the relative error by a step of the degree",
    lambda fit: min(-np.diff([entry.mre for entry in fit.fits])),
)
_register(
    "fit_r2_after_cubic",
    "gain of R² after the cubic fit",
    lambda fit: fit.fits[-1].r2 - fit.polynomial(3).r2,
)


@curve("fit_r2", "degree of the fit", "R²")
def _r2(run: Run, argument: str) -> Curve:
    """R² on the test samples against the degree."""
    return _against_degree(run, "r2")


@curve("fit_mre", "degree of the fit", "mean relative error")
def _mre(run: Run, argument: str) -> Curve:
    """Mean relative error on the test samples against the degree."""
    return _against_degree(run, "mre")


def _against_degree(run: Run, name: str) -> Curve:
    fits = found.fits if (found := fit_of(run)) else ()
    degrees = np.array([fit.degree for fit in fits], dtype=float)
    return degrees, np.array([getattr(fit, name) for fit in fits], dtype=float)


@curve("fit_occupancy", "queue occupancy (%)", "egress traffic (Mb/s)")
def _occupancy(run: Run, argument: str) -> Curve:
    """Mean egress traffic of samples whose occupancy lies within the same ``STEP`` percent."""
    found = fit_of(run)
    if found is None or found.samples is None:
        return np.zeros(0), np.zeros(0)
    values = found.samples.occupancy.astype(float)
    return binned(values, found.samples.traffic / 1e3, np.floor(values / STEP).astype(int))


@curve("fit_interval", "dequeue interval (us)", "egress traffic (Mb/s)")
def _interval(run: Run, argument: str) -> Curve:
    """Mean egress traffic of ``BINS`` groups of equally many samples, by their dequeue interval."""
    found = fit_of(run)
    if found is None or found.samples is None:
        return np.zeros(0), np.zeros(0)
    values = found.samples.interval.astype(float)
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, BINS + 1)))
    group = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    return binned(values, found.samples.traffic / 1e3, group)


def binned(values: Floats, traffic: Floats, group: npt.NDArray[np.int64]) -> Curve:
    """Mean value and mean traffic of each group, in the order of the groups."""
    kept = np.unique(group)
    x = np.array([values[group == one].mean() for one in kept])
    return x, np.array([traffic[group == one].mean() for one in kept])
