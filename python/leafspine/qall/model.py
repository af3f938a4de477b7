"""A fit: least squares polynomials of several degrees, with their accuracy and their bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leafspine import engine, scenario
from leafspine.errors import RunError
from leafspine.qall.polynomials import (
    Bounds,
    Polynomial,
    features,
    pearson,
    r_squared,
    relative_errors,
    terms,
)
from leafspine.qall.samples import Samples

VARIANTS = {1: "linear", 2: "poly2", 3: "poly3"}
"""The variants of QALL that take coefficients, by degree."""


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
class Split:
    """How many samples a fit is trained with and tested on, and its degrees, in rising order."""

    train: int
    test: int
    degrees: tuple[int, ...]


def least_squares(
    samples: Samples, split: Split, plain: dict[str, Any], seeds: Sequence[int], observed: int
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
    train, test = slice(split.train), slice(split.train, split.train + split.test)
    seen = samples.traffic[test]
    fits = []
    for degree in split.degrees:
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
