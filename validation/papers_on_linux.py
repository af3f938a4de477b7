"""Runs the papers' figures with Linux kernels as hosts, and keeps the numbers beside them.

    .venv/bin/python validation/papers_on_linux.py              all figures with an [[on_linux]]
    .venv/bin/python validation/papers_on_linux.py qdaps/fig16    these only

A figure's ``[[on_linux]]`` says what is run; its numbers, of kernels and of the model's hosts at
the same size, go to ``papers/PAPER/FIGURE/linux/data.csv`` when all of its runs are made: of a
figure one of whose runs fails the numbers that were there stay. Runs are in
``target/papers-on-linux``, and used again as long as scenario and kernel are the same. Pages and
verdicts are made of the kept numbers, without a kernel (``leafspine reproduce --from-kept``).

Exit codes: 0 all figures have their numbers, 1 some have not, 2 no kernel, or no such figure.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import leafspine
from leafspine.places import How
from leafspine.reproduce import on_linux, plan, reproducing
from leafspine.reproduce.claims import Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Figure, papers
from leafspine.reproduce.plan import Plan, Wanted

ROOT = Path(__file__).parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

Asked = tuple[Figure, tuple[Claim, ...]]


def main(words: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="papers' figures with Linux kernels as hosts")
    parser.add_argument(
        "figures", nargs="*", help="such as qdaps/fig16; default all that ask for it"
    )
    parser.add_argument("--papers", type=Path, default=ROOT / "papers", help="the folder of papers")
    parser.add_argument("--jobs", type=int, default=None, help="runs at once; default one a core")
    parser.add_argument(
        "--out", type=Path, default=TARGET / "papers-on-linux", help="where runs are made"
    )
    given = parser.parse_args(words)
    try:
        asked = chosen(given.papers, given.figures)
        return make(asked, given.out, given.jobs)
    except leafspine.InputError as error:
        print(f"papers on linux: {error}", file=sys.stderr)
        return 2


def chosen(library: Path, names: Sequence[str]) -> list[Asked]:
    """The figures with their claims. Raises :class:`leafspine.InputError` for one that asks for
    nothing."""
    found = {
        figure.path: (figure, paper.claims_of(figure.name))
        for paper in papers(library)
        for figure in paper.figures
        if figure.on_linux
    }
    for name in names:
        if name not in found:
            raise leafspine.InputError(f"found {name!r}; allowed: {', '.join(found)}")
    return [entry for path, entry in found.items() if not names or path in names]


def make(asked: Sequence[Asked], out: Path, jobs: int | None) -> int:
    """Make the runs and keep what is whole; says what of it is new."""
    plans = {figure.path: needed(figure, claims) for figure, claims in asked}
    reproducing.claim(out)
    kept = {figure.path: on_linux.kept(figure) for figure, _ in asked}
    all_plans = [Plan(figure, claims, tuple(plans[figure.path])) for figure, claims in asked]
    failures = reproducing.run(all_plans, kept, out, How(jobs=jobs), True)
    for failure in failures:
        print(f"{failure.case.label()}: {failure.message}", file=sys.stderr)
    whole = True
    for figure, claims in asked:
        found: Data = plan.reduce(plans[figure.path], out / "runs", kept[figure.path])
        missing = on_linux.keep(figure, found, plans[figure.path])
        whole &= not missing
        for line in missing:
            print(f"{figure.path}: no numbers of {line}; what was kept stays", file=sys.stderr)
        for sides in on_linux.sides(figure, claims, on_linux.kept(figure)):
            print(f"{figure.path}: {sides.summary}")
    return 0 if whole else 1


def needed(figure: Figure, claims: Sequence[Claim]) -> list[Wanted]:
    """All runs of a figure, those with the model's hosts first: they say sooner what is wrong."""
    return [entry for who in on_linux.WHO for entry in on_linux.wanted(figure, claims, who)]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
