"""A fit of :mod:`leafspine.fitting` for people."""

from leafspine import fitting
from leafspine.fitting import Fit
from leafspine.tables import MISSING
from leafspine.terminal import Table


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
        paper = fitting.PAPER.get(each.degree)
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
        fitting.PAPER_CORRELATION,
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
