"""A fit as tables, beside the paper's."""

from leafspine.qall.model import Fit
from leafspine.tables import MISSING
from leafspine.terminal import Table

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


def of_fit(fit: Fit) -> list[Table]:
    """A fit's accuracy by degree beside the paper's Table I, and the correlations of its Fig. 3."""
    heads: tuple[str, ...] = (
        "degree",
        "terms",
        "R²",
        "paper's R²",
        "MRE",
        "paper's MRE",
        "median rel. error",
    )
    rows = []
    for each in fit.fits:
        paper = PAPER.get(each.degree)
        theirs = (MISSING, MISSING) if paper is None else tuple(f"{x:.4f}" for x in paper)
        found = (f"{each.r2:.4f}", theirs[0], f"{each.mre:.4f}", theirs[1])
        last = f"{each.median_relative_error:.4f}"
        rows.append((str(each.degree), str(len(each.terms)), *found, last))
    tested, trained = fit.request["test"], fit.request["train"]
    note = f"On {tested} test samples, fitted to {trained} others; relative errors of kb/s."
    if fit.zero_traffic:
        note += f" {fit.zero_traffic} without traffic are left out of these."
    importance = (9, 1, 8, 4, 7, 3, 2)
    accuracy = Table("Fitting accuracy", note, heads, tuple(rows), importance=importance)
    pairs = zip(
        ("queue occupancy", "dequeue interval"),
        fit.correlation,
        PAPER_CORRELATION,
        (fit.occupancy, fit.interval),
        ("%", "µs"),
        strict=True,
    )
    correlations = tuple(
        (name, f"{r:.4f}", f"{paper:.4f}", f"{bounds.low:g} to {bounds.high:g} {unit}")
        for name, r, paper, bounds, unit in pairs
    )
    heads = ("egress traffic with", "Pearson's r", "paper's", "observed")
    note = f"Traffic {fit.traffic.low:.4g} to {fit.traffic.high:.4g} kb/s."
    return [Table("Correlation", note, heads, correlations, importance=(0, 3, 2, 1)), accuracy]
