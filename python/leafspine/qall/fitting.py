"""Observe, fit, write: what a request of ``fit-qall`` does, and the files that it leaves."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leafspine import files, results
from leafspine.engine import Case, Watch
from leafspine.errors import InputError, RunError
from leafspine.qall.model import Fit, least_squares
from leafspine.qall.requests import Request
from leafspine.qall.samples import Samples, observe

FIT = "fit.json"
SNIPPET = "coefficients.toml"


Report = Callable[[int, str], Watch | None]
"""Called with the samples so far and the next run's label; returns what watches that run."""


def collect(request: Request, first: Case, report: Report) -> tuple[Samples, list[int]]:
    """Run the scenario with one seed after the other until there are enough samples."""
    wanted = request.split.train + request.split.test
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
    chosen = samples.take(order[: request.split.train + request.split.test])
    found = least_squares(chosen, request.split, plain, seeds, len(samples))
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
