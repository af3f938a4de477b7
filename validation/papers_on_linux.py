"""Runs the papers' figures with Linux kernels as hosts, and keeps the numbers beside them.

    .venv/bin/python validation/papers_on_linux.py              all figures with an [[on_linux]]
    .venv/bin/python validation/papers_on_linux.py qdaps/fig16    these only
    .venv/bin/python validation/papers_on_linux.py --kept         beside the kernels' numbers that
                                                                  are kept; needs no kernel
    .venv/bin/python validation/papers_on_linux.py --rerun         runs with kernels are made again

A figure's ``[[on_linux]]`` says what is run; its numbers, of kernels and of the model's hosts at
the same size (with the paper's TCP, and with Linux's settings), go to
``papers/PAPER/FIGURE/linux/data.csv`` when all of its runs are made: of a
figure one of whose runs fails the numbers that were there stay. Runs are in
``target/papers-on-linux``. Those with kernels are not made again as long as scenario and kernel are
the same, so after a change to switches, queues or balancers ``--rerun`` is needed: a run's key does
not tell one build of leafspine from another. Those with the model's hosts, which take a minute in
all, are made again each time. Pages and verdicts are made of the kept numbers, without a kernel
(``leafspine reproduce --from-kept``).

Exit codes: 0 all figures have their numbers, 1 some have not, 2 no kernel, or no such figure.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import leafspine
from leafspine.errors import refused
from leafspine.nearest import nearest
from leafspine.places import How
from leafspine.reproduce import on_linux, plan, reproducing
from leafspine.reproduce.claims import Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Figure, papers
from leafspine.reproduce.plan import Plan, Wanted

ROOT = Path(__file__).parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

Chosen = tuple[Figure, tuple[Claim, ...]]


def main(words: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="papers' figures with Linux kernels as hosts")
    parser.add_argument(
        "figures", nargs="*", help="such as qdaps/fig16; default all that ask for it"
    )
    kernels = parser.add_mutually_exclusive_group()
    kernels.add_argument(
        "--kept",
        action="store_true",
        help="only the model's hosts; kernels' numbers are those that are kept",
    )
    kernels.add_argument("--rerun", action="store_true", help="runs with kernels are made again")
    parser.add_argument("--papers", type=Path, default=ROOT / "papers", help="the folder of papers")
    parser.add_argument("--jobs", type=int, default=None, help="runs at once; default one a core")
    parser.add_argument(
        "--out", type=Path, default=TARGET / "papers-on-linux", help="where runs are made"
    )
    given = parser.parse_args(words)
    try:
        asked = chosen(given.papers, given.figures)
        return make(asked, given.out, given.jobs, by_kept=given.kept, rerun=given.rerun)
    except leafspine.InputError as error:
        print(f"papers on linux: {error}", file=sys.stderr)
        return 2


def chosen(library: Path, names: Sequence[str]) -> list[Chosen]:
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
            near = nearest(name, found)
            raise refused(repr(name), ", ".join(found), key="figures", nearest=near)
    return [entry for path, entry in found.items() if not names or path in names]


def make(
    asked: Sequence[Chosen], out: Path, jobs: int | None, *, by_kept: bool, rerun: bool
) -> int:
    """Make the runs and keep what is whole; says what of it is new. ``by_kept``: none with
    kernels; ``rerun``: also those with kernels that are kept."""
    before = {figure.path: on_linux.kept(figure) for figure, _ in asked}
    needed = {
        figure.path: on_linux.all_wanted(
            figure, claims, kernel(figure, before[figure.path]) if by_kept else ""
        )
        for figure, claims in asked
    }
    reproducing.claim(out)
    forget(out, [e for found in needed.values() for e in (found if rerun else of_model(found))])
    made = {path: of_model(found) if by_kept else found for path, found in needed.items()}
    kept = {path: Data() if rerun else on_linux.of_kernels(each) for path, each in before.items()}
    for path, entries in needed.items():
        say_kept(path, entries, kept[path])
    plans = [Plan(figure, claims, tuple(made[figure.path])) for figure, claims in asked]
    for failure in reproducing.run(plans, kept, out, How(jobs=jobs), True):
        print(f"{failure.case.label()}: {failure.message}", file=sys.stderr)
    whole = True
    for figure, claims in asked:
        found = plan.reduce(needed[figure.path], out / "runs", kept[figure.path])
        whole &= keep(figure, claims, found, needed[figure.path])
    return 0 if whole else 1


def kernel(figure: Figure, found: Data) -> str:
    """The kernel of a figure's kept numbers. Raises :class:`leafspine.InputError`."""
    if not (known := on_linux.kernel_of(found)):
        raise leafspine.InputError(
            f"{figure.path}: no numbers of a kernel are kept: make papers-on-linux"
        )
    return known


def of_model(needed: Sequence[Wanted]) -> list[Wanted]:
    """Those of a figure's runs that need no kernel."""
    return [entry for entry in needed if not on_linux.is_of_kernels(entry.runs)]


def say_kept(path: str, needed: Sequence[Wanted], kept: Data) -> None:
    """Say how many of a figure's runs with kernels are not made, and whose switches they had."""
    entries = [entry for entry in needed if on_linux.is_of_kernels(entry.runs)]
    found = [kept.origins[e.place][e.case.seed] for e in entries if e.kept_in(kept)]
    if found:
        versions = ", ".join(dict.fromkeys(origin.version for origin in found))
        print(
            f"{path}: {len(found)} of {len(entries)} runs with kernels are kept ones, with "
            f"leafspine's switches of {versions}; --rerun makes them again"
        )


def forget(out: Path, made_again: Sequence[Wanted]) -> None:
    """Remove finished runs: they may be another build's."""
    for entry in made_again:
        shutil.rmtree(out / "runs" / entry.case.key, ignore_errors=True)


def keep(figure: Figure, claims: Sequence[Claim], found: Data, needed: Sequence[Wanted]) -> bool:
    """Keep a figure's numbers if they are whole, and say what has come of them."""
    missing = on_linux.keep(figure, found, needed)
    for line in missing:
        print(f"{figure.path}: no numbers of {line}; what was kept stays", file=sys.stderr)
    for sides in on_linux.sides(figure, claims, on_linux.kept(figure)):
        print(f"{figure.path}: {sides.summary}")
    return not missing


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
