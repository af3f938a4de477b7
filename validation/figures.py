"""Statistics of a case: two sets of completion times and counts, over all seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Flow sizes in bytes, above the lower and up to the upper, as [classes] of a scenario has them.
CLASSES = {
    "all": (0, np.inf),
    "short": (0, 100_000),
    "medium": (100_000, 1_000_000),
    "long": (1_000_000, np.inf),
}
TOTALS = ("drops", "marks", "retransmits", "timeouts", "queue_mean")
FURTHEST = "the flow furthest apart"
SIMULATORS = ("leafspine", "ns3")


@dataclass(frozen=True)
class Run:
    """One seed, of ours and of what it is held against, in this order.

    Times are picoseconds; a flow that did not end has -1. ``totals``: by simulator.
    """

    sizes: np.ndarray
    fct: Mapping[str, np.ndarray]
    totals: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Difference:
    """Ours over theirs, less one (none where only theirs is 0), and the limit for it."""

    value: float | None
    limit: float

    @property
    def missed(self) -> bool:
        """Whether it is beyond the limit."""
        return self.value is None or abs(self.value) > self.limit


def percentile(values: np.ndarray, percent: float) -> float:
    """By nearest rank, as leafspine's tables have it."""
    ordered = np.sort(values)
    return float(ordered[max(0, int(np.ceil(percent / 100 * len(ordered))) - 1)])


STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda values: float(np.mean(values)),
    "p50": lambda values: percentile(values, 50),
    "p99": lambda values: percentile(values, 99),
}


def two_sample(first: np.ndarray, second: np.ndarray) -> float:
    """Kolmogorov and Smirnov's statistic: the largest distance of two distribution functions."""
    points = np.sort(np.concatenate([first, second]))
    below = [
        np.searchsorted(np.sort(each), points, "right") / len(each) for each in (first, second)
    ]
    return float(np.max(np.abs(below[0] - below[1])))


def critical(first: int, second: int) -> float:
    """What the statistic exceeds once in twenty if both samples have one law (asymptotic)."""
    return float(1.358 * np.sqrt((first + second) / (first * second)))


def difference(ours: float, theirs: float) -> float | None:
    """Ours over theirs, less one; none where theirs is 0 and ours is not."""
    if theirs == 0:
        return 0.0 if ours == 0 else None
    return ours / theirs - 1


def summary(runs: Sequence[Run], offset_ps: int | None = None) -> dict[str, Any]:
    """All figures of a case, its seeds pooled.

    ``offset_ps``: by how much our completion times are known to differ from theirs.
    """
    names = ours, theirs = tuple(runs[0].fct)
    sizes = np.concatenate([run.sizes for run in runs])
    fct = {name: np.concatenate([run.fct[name] for run in runs]) for name in names}
    ended = (fct[ours] >= 0) & (fct[theirs] >= 0)
    apart = np.abs(fct[ours][ended] / fct[theirs][ended] - 1)
    classes = {}
    for name, (low, high) in CLASSES.items():
        chosen = ended & (sizes > low) & (sizes <= high)
        if chosen.any() and (name == "all" or not chosen[ended].all()):
            classes[name] = _class(names, *(fct[each][chosen] for each in names))
    row: dict[str, Any] = {} if offset_ps is None else {"offset_ps": offset_ps}
    if offset_ps is not None:
        row["at_offset"] = int((fct[ours] - fct[theirs] == offset_ps).sum())
    return row | {
        "flows": len(sizes),
        "unfinished": {name: int((fct[name] < 0).sum()) for name in names},
        "largest_difference": float(apart.max()),
        "within_1_percent": float((apart <= 0.01).mean()),
        "classes": classes,
        "totals": {key: _total(runs, key) for key in runs[0].totals[ours]},
    }


def _class(names: tuple[str, ...], ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    rows: dict[str, Any] = {"flows": len(ours)}
    for key, statistic in STATISTICS.items():
        pair = statistic(ours) / 1e6, statistic(theirs) / 1e6
        rows[key] = {**dict(zip(names, pair, strict=True)), "difference": difference(*pair)}
    rows["two_sample"] = two_sample(ours, theirs)
    rows["critical"] = critical(len(ours), len(theirs))
    return rows


def _total(runs: Sequence[Run], key: str) -> dict[str, Any]:
    """A count's mean over the seeds, per run."""
    pair = {name: float(np.mean([run.totals[name][key] for run in runs])) for name in runs[0].fct}
    return {**pair, "difference": difference(*pair.values())}


def against(found: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, Difference]:
    """What a case's limits are for, by name: how far apart the two are, and how far they may be.

    A class of flows counts if its two samples can be told apart at all: the 99th percentile of 300
    flows is that of three, and wanders by more than the limits from one draw to the next.
    """
    rows = {
        f"{name}: {key} FCT": Difference(row[key]["difference"], limits[key])
        for name, row in found["classes"].items()
        if name == "all" or row["two_sample"] > row["critical"]
        for key in STATISTICS
        if key in limits
    }
    rows |= {
        key: Difference(row["difference"], limits[key])
        for key, row in found["totals"].items()
        if key in limits
    }
    if "flow" in limits:
        rows[FURTHEST] = Difference(found["largest_difference"], limits["flow"])
    return rows


def beyond(
    found: Mapping[str, Any],
    limits: Mapping[str, float],
    chance: Mapping[str, Sequence[float]] | None = None,
) -> list[str]:
    """Where a case misses its limits, in words.

    ``chance``: of figures, the lowest and the highest difference of many runs of ours. Where theirs
    lies among them, it is left out.
    """
    if "at_offset" in found and found["at_offset"] != found["flows"]:
        others = found["flows"] - found["at_offset"]
        return [f"{others} flows differ by something else than {found['offset_ps']} ps"]
    missed = [
        f"{what} {_percent(row.value)}, limit {row.limit:.0%}"
        for what, row in against(found, limits).items()
        if row.missed and not is_chance((chance or {}).get(what))
    ]
    return missed + [
        f"{count} flows of {name} did not end"
        for name, count in found["unfinished"].items()
        if count
    ]


def is_chance(entry: Sequence[float] | None) -> bool:
    """Whether theirs may be one more run of ours: see ``beyond``."""
    return entry is not None and entry[0] <= 0 <= entry[1]


def _percent(value: float | None) -> str:
    return "one is 0, the other is not" if value is None else f"{value:+.1%}"
