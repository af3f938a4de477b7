"""Polynomials of occupancy and interval, normalised, and how well they predict traffic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leafspine.qall.samples import Floats


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
