"""Whether intervals over batches of a run's flows are as wide as those over seeds.

``python validation/batches.py OUT PAPER quick|paper`` reads finished runs of several seeds that
``leafspine reproduce`` has left under OUT/runs. For each pair of variants at each point of each set
of runs it computes the log of the ratio of their mean FCTs, for each run and for each of five
batches of its flows. If batches knew nothing of each other, the variance of the runs' would be the
batches' over five: the printed quotient would be 1 on average. Above 1, intervals over batches are
too narrow, by its root.
"""

import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from leafspine.reproduce import figures, metrics, plan
from leafspine.results import SUMMARY, Result

BATCHES = 5
FEWEST_SEEDS = 3

Parts = dict[str, list[float | None]]
"""By metric: the whole run's value, then those of its batches."""


def main() -> None:
    """Print a line for each flow class."""
    out, paper, scale = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    (book,) = (book for book in figures.papers() if book.name == paper)
    quotients = defaultdict(list)
    for metric, quotient in compared(book, scale, out / "runs"):
        quotients[metric].append(quotient)
    for metric, found in quotients.items():
        mean, median = np.mean(found), np.median(found)
        print(f"{metric}: {len(found)} comparisons, mean {mean:.2f}, median {median:.2f}")


def compared(book: figures.Paper, scale: str, runs: Path) -> Iterator[tuple[str, float]]:
    """The quotient of the variances for each metric, point and pair of variants."""
    by_place: dict[object, dict[str, dict[int, Parts]]] = defaultdict(lambda: defaultdict(dict))
    seen = set()
    for figure in book.figures:
        for entry in plan.plan(figure, book.claims_of(figure.name), scale).wanted:
            case = entry.case
            if case.key not in seen and (runs / case.key / SUMMARY).is_file():
                seen.add(case.key)
                place = (figure.name, entry.runs, case.point)
                by_place[place][case.variant][case.seed] = parts(entry, runs / case.key)
    for variants in by_place.values():
        for one, other in itertools.combinations(variants.values(), 2):
            seeds = [seed for seed in one if seed in other]
            if len(seeds) >= FEWEST_SEEDS:
                for metric in one[seeds[0]]:
                    pairs = [(one[seed][metric], other[seed][metric]) for seed in seeds]
                    if (found := quotient(pairs)) is not None:
                        yield metric, found


def parts(entry: plan.Wanted, folder: Path) -> Parts:
    """Mean completion times of a run and of its batches, by flow class."""
    flows, classes = Result.load(folder).flows, entry.case.classes
    names = [f"{name}.fct_mean" for name in ("all", *(each.name for each in classes))]
    whole = metrics.of_batches(flows, classes, names, 1)
    batches = metrics.of_batches(flows, classes, names, BATCHES)
    return {name: whole[name] + batches[name] for name in names}


def quotient(pairs: list[tuple[list[float | None], list[float | None]]]) -> float | None:
    """Variance over runs by the variance that batches predict; ``None`` for an empty class."""
    logs = []
    for one, other in pairs:
        if not all(one) or not all(other):
            return None
        logs.append([math.log((x or 1) / (y or 1)) for x, y in zip(one, other, strict=True)])
    found = np.array(logs)
    predicted = np.var(found[:, 1:], axis=1, ddof=1).mean() / BATCHES
    return float(np.var(found[:, 0], ddof=1) / predicted) if predicted > 0 else None


if __name__ == "__main__":
    main()
