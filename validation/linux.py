"""Compares the model's hosts under the profile linux with Linux kernels, case by case.

    .venv/bin/python validation/linux.py           every case; the figures go to results/linux.json,
                                                   the kernels' runs to results/linux-runs.jsonl
    .venv/bin/python validation/linux.py --kept      against the runs that are kept; needs no kernel
    .venv/bin/python validation/linux.py --add       the same, but new or changed cases are run
    .venv/bin/python validation/linux.py --quick     the small ones, as CI does; nothing is written
    .venv/bin/python validation/linux.py NAME...     these only; nothing is written

Runs with kernels are kept in target/validation/linux and used again, as long as scenario and kernel
are the same; ``--rerun`` makes them again, which is needed where switches have changed.

A difference beyond a limit is *undecided* if the kernels may be one more run of the model: then
these seeds cannot tell.

Exit codes: 0 all is within the limits of linux.toml or undecided, 1 something is not, 2 there is no
kernel, what is kept is of another kernel or of other cases, or no such case.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cases
import figures
import kept
import leafspine
from cases import Case
from kept import Kept
from leafspine import scenario as scenarios
from leafspine.errors import refused
from leafspine.nearest import nearest
from leafspine.reproduce import plan
from leafspine.results import Result
from referee import number

HERE = Path(__file__).parent
CASES = HERE / "linux.toml"
RESULTS = HERE / "results" / "linux.json"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
FOLDERS = TARGET / "validation" / "linux"
MODEL = {"transport.profile": "linux"}
KERNELS = {"hosts.kind": "linux"}
# What a kernel counts of itself, and which of that are undone reductions.
COUNTERS = "/proc/net/netstat"
UNDOS = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
# Statistics of a probed queue.
QUANTILES = {"queue_p5": 5, "queue_p50": 50, "queue_p95": 95}
DELAY = "topology.host_link.delay"
# How often a case is run with the model to see how far it differs from itself. One more of the kind
# is below the lowest of 39, or above the highest, once in 20.
REPEATS = 39

Otherwise = Callable[[Case, int, str], Kept]


@dataclass(frozen=True)
class Modelled:
    """A seed of a case with the model's hosts. ``asked``: see ``kept.asked``."""

    asked: str
    sizes: np.ndarray
    fct_ps: np.ndarray
    totals: dict[str, float]
    seconds: float

    def beside(self, kernels: Kept) -> figures.Run:
        """Both, as the statistics want them."""
        return figures.Run(
            sizes=self.sizes,
            fct={"model": self.fct_ps, "linux": np.array(kernels.fct_ps)},
            totals={"model": self.totals, "linux": kernels.totals},
        )


def main(words: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="the model's hosts against Linux kernels")
    parser.add_argument("names", nargs="*", help="cases of linux.toml; default all")
    parser.add_argument("--quick", action="store_true", help="only the small cases")
    parser.add_argument("--kept", action="store_true", help="against kept runs; needs no kernel")
    parser.add_argument("--add", action="store_true", help="kernels run only what is not kept")
    parser.add_argument("--rerun", action="store_true", help="runs with kernels are made again")
    parser.add_argument("--jobs", type=int, default=1, help="processes; each run keeps to one CPU")
    given = parser.parse_args(words)
    if sum((given.kept, given.rerun, given.add)) > 1:
        parser.error("--kept, --add and --rerun exclude each other")
    try:
        if given.jobs < 1:
            raise refused(str(given.jobs), "1 or more", file="--jobs")
        chosen = choose(given.names, given.quick)
        return judge(chosen, given, writes=not given.quick and not given.names)
    except (kept.StaleError, leafspine.InputError) as error:
        print(f"validation: {error}", file=sys.stderr)
        return 2


def choose(names: Sequence[str], quick: bool) -> list[Case]:
    """The cases with these names, of the small ones or of all; without names these all."""
    found = {case.name: case for case in load() if case.quick or not quick}
    for name in names:
        if name not in found:
            raise refused(repr(name), ", ".join(found), key="case", nearest=nearest(name, found))
    return [case for name, case in found.items() if not names or name in names]


def judge(chosen: Sequence[Case], given: argparse.Namespace, writes: bool) -> int:
    """The cases' figures, kept if asked. Gives the exit code."""
    made, runs = kept.read() if given.kept or given.add else ({}, {})
    if not given.kept:
        # Before anything is thrown away.
        now = kernel()
        if made and made["kernel"] != now:
            what = f"{kept.RUNS.name} is of kernel {made['kernel']}, this one is {now}"
            raise kept.StaleError(what)
        made = made or made_with(now)
    if given.rerun:
        for case in chosen:
            for seed in range(1, case.seeds + 1):
                shutil.rmtree(FOLDERS / f"{case.name}-{seed}", ignore_errors=True)
    found, theirs = all_of(chosen, given.jobs, runs, kept.refuse if given.kept else with_kernels)
    if writes and not given.kept:
        kept.write(made, theirs)
    if writes:
        write(made, theirs, found)
    return 1 if any(row["open"] for row in found) else 0


def load() -> list[Case]:
    """The cases."""
    return cases.load(CASES, "linux", all_limits=True)


def all_of(
    chosen: Sequence[Case], jobs: int, runs: kept.Runs, otherwise: Otherwise
) -> tuple[list[dict[str, Any]], list[Kept]]:
    """The figures of all cases, and the kernels' sides; a line for each case is printed.

    ``runs``: the kernels' sides that are known; ``otherwise``: see :func:`compare`.
    """
    found, theirs = [], []
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {
            case.name: [
                pool.submit(compare, case, seed, runs.get((case.name, seed)), otherwise)
                for seed in range(1, case.seeds + 1)
            ]
            for case in chosen
        }
        for case in chosen:
            pairs = [each.result() for each in waiting[case.name]]
            row = row_of(case, pairs)
            if row["beyond"]:
                row["repeats"] = REPEATS
                row["chance"] = chance(case, jobs, [kernels for _, kernels in pairs])
            bounds = {**case.limits, **case.known}
            row["open"] = figures.beyond(row, bounds, row.get("chance", {}))
            print(line(row), flush=True)
            found.append(row)
            theirs += [kernels for _, kernels in pairs]
    return found, theirs


def row_of(case: Case, pairs: Sequence[tuple[Modelled, Kept]]) -> dict[str, Any]:
    """A case's figures over all its seeds."""
    row = {
        "name": case.name,
        "title": case.title,
        "seeds": case.seeds,
        "explained": case.explained,
        "seconds": {
            "model": round(sum(model.seconds for model, _ in pairs), 2),
            "linux": round(sum(kernels.seconds for _, kernels in pairs), 2),
        },
        **figures.summary([model.beside(kernels) for model, kernels in pairs]),
    }
    row["beyond"] = figures.beyond(row, case.limits)
    return row


def chance(case: Case, jobs: int, theirs: Sequence[Kept]) -> dict[str, tuple[float, float]]:
    """Of all that has a limit: the lowest and the highest of the model's figures, as differences
    from the kernels', over many runs of all seeds whose hosts' links differ by nanoseconds.

    Nothing is presumed of how figures spread: some hang on a few waits of a second.
    """
    seeds = [each.seed for each in theirs]
    found: dict[str, list[float]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for shift in range(REPEATS):
            again = pool.map(partial(modelled, case, shift_ns=shift), seeds)
            runs = [model.beside(kernels) for model, kernels in zip(again, theirs, strict=True)]
            for what, each in figures.against(figures.summary(runs), case.limits).items():
                if what != figures.FURTHEST and each.value is not None:
                    found.setdefault(what, []).append(each.value)
    return {what: (min(each), max(each)) for what, each in found.items() if len(each) == REPEATS}


def compare(
    case: Case, seed: int, known: Kept | None, otherwise: Otherwise
) -> tuple[Modelled, Kept]:
    """One seed of a case with the model, and with kernels. ``otherwise``: whence the kernels' side,
    if what is known is of another scenario, or nothing is."""
    ours = modelled(case, seed)
    if known is None or known.asked != ours.asked:
        return ours, otherwise(case, seed, ours.asked)
    return ours, known


def modelled(case: Case, seed: int, shift_ns: int = 0) -> Modelled:
    """One seed of a case with the model's hosts, their links some nanoseconds longer."""
    words = {**settings(case, seed, shift_ns), **MODEL}
    began = time.monotonic()
    result = leafspine.run(case.scenario, **words)
    seconds = time.monotonic() - began
    return Modelled(
        asked=kept.asked(case, result.flows),
        sizes=result.flows["bytes"].to_numpy(),
        fct_ps=times(result),
        totals=totals(case, result),
        seconds=seconds,
    )


def settings(case: Case, seed: int, shift_ns: int = 0) -> dict[str, Any]:
    """What a seed of a case changes in its scenario, its hosts' links some nanoseconds longer."""
    words = {**case.set, "run.seed": seed}
    longer = 1000 * shift_ns + (seed - 1) * number(case.delay_step or "0ps")
    if longer:
        topology = tomllib.loads(case.scenario.read_text(encoding="utf-8"))["topology"]
        delay = words.get(DELAY, topology["host_link"]["delay"])
        words[DELAY] = f"{number(delay) + longer}ps"
    return words


def with_kernels(case: Case, seed: int, asked: str) -> Kept:
    """The same with kernels; a kept result of another scenario or kernel is made again."""
    out = FOLDERS / f"{case.name}-{seed}"
    words = {**settings(case, seed), **KERNELS}
    what = with_counters(case) if case.undos else case.scenario
    try:
        result = leafspine.run(what, out=out, **words)
    except leafspine.InputError:
        if not out.is_dir():
            raise
        shutil.rmtree(out)
        result = leafspine.run(what, out=out, **words)
    assert asked == kept.asked(case, result.flows), f"{case.name}: the flows are not the same"
    timing = json.loads((out / "timing.json").read_text(encoding="utf-8"))
    return Kept(
        case=case.name,
        seed=seed,
        asked=asked,
        fct_ps=times(result).tolist(),
        totals=totals(case, result),
        seconds=timing["wall_seconds"],
        leafspine=plan.made_by(result.summary, timing),
    )


def times(result: Result) -> np.ndarray:
    """Completion times in picoseconds, -1 for a flow that did not end."""
    return np.asarray(result.flows["fct_ps"].cast("int64").fill_null(-1))


def with_counters(case: Case) -> str:
    """The scenario with a program in the senders that says, when all flows are over, what their
    kernels have counted."""
    text = tomllib.loads(case.scenario.read_text(encoding="utf-8"))
    asks = {"kind": "program", "command": ["cat", COUNTERS], "hosts": case.undos, "start": "10s"}
    return scenarios.to_toml({**text, "workload": [*text["workload"], asks]})


def undone(result: Result) -> float:
    """Reductions of the window that were undone: the model's column, or what kernels counted."""
    if result.programs is None:
        return float(sum(result.flows["undos"].to_pylist()))
    found = 0
    for name, text in result.written.items():
        if name.endswith(".stdout"):
            names, values = (
                line.split()[1:]
                for line in text.decode().splitlines()
                if line.startswith("TcpExt:")
            )
            counted = dict(zip(names, map(int, values), strict=True))
            found += sum(counted[undo] for undo in UNDOS)
    return float(found)


def totals(case: Case, result: Result) -> dict[str, float]:
    """Counts of the whole run, the mean queue of all switches' ports in the window, added up, and
    the mean FCT in milliseconds of flows that waited for no timeout.

    A host's queue is in its kernel, in which no run looks.
    """
    ports = result.ports
    switches = np.array(ports["tier"].to_pylist()) > 0
    found = {
        "drops": float(result.summary["dropped"]),
        "marks": float(sum(ports["marks"].to_pylist())),
        "queue_mean": float(np.array(ports["queue_mean_packets"].to_pylist())[switches].sum()),
    }
    for column in ("retransmits", "timeouts", "spurious_retransmits", "reordered"):
        found[column] = float(sum(result.flows[column].to_pylist()))
    waited = np.array(result.flows["timeouts"].to_pylist()) > 0
    fct = result.flows["fct_ps"].cast("float64").fill_null(np.nan).to_numpy()
    others = fct[~waited]
    found["fct_without_timeouts"] = float(np.nanmean(others)) / 1e9 if others.size else np.nan
    if "queue" in result.probes:
        begin, end = result.summary["window_start_ps"], result.summary["window_end_ps"]
        probed = result.probes["queue"]
        at_ps = probed["time_ps"].to_numpy()
        queue = probed["packets"].to_numpy()[(at_ps >= begin) & (at_ps < end)]
        found |= {name: float(np.percentile(queue, at)) for name, at in QUANTILES.items()}
    if case.undos:
        found["undos"] = undone(result)
        # The program that asks kernels for them makes the run longer, and so its mean another one.
        del found["queue_mean"]
    return found


def line(row: dict[str, Any]) -> str:
    """A case in a few words."""
    every = row["classes"]["all"]
    parts = [f"{key} {every[key]['difference']:+.2%}" for key in figures.STATISTICS]
    parts.append(f"KS {every['two_sample']:.3f} (5 %: {every['critical']:.3f})")
    parts.append(f"worst {row['largest_difference']:.2%}")
    for key, pair in row["totals"].items():
        parts.append(f"{key} {pair['model']:.4g}/{pair['linux']:.4g}")
    parts.append(f"{row['seconds']['model']:.1f} s/{row['seconds']['linux']:.1f} s")
    lines = [f"{verdict(row):9} {row['name']}: " + ", ".join(parts)]
    lines += [f"          {missed}" for missed in row["beyond"]]
    lines += [
        f"          {REPEATS} runs of the model: {low:+.1%} to {high:+.1%} ({what})"
        for what, (low, high) in row.get("chance", {}).items()
    ]
    return "\n".join(lines)


def verdict(row: dict[str, Any]) -> str:
    """What is to be said of a case."""
    if row["open"]:
        return "BEYOND"
    if not row["beyond"]:
        return "ok"
    return "explained" if row["explained"] else "undecided"


def kernel() -> str:
    """The kernel that hosts are here, by version and hash. Raises :class:`InputError`."""
    case = load()[0]
    words = scenarios.to_settings({**case.set, **KERNELS})
    resolved = tomllib.loads(scenarios.single(scenarios.read(case.scenario), words).toml)
    return str(resolved["hosts"]["kernel"])


def made_with(now: str) -> dict[str, str]:
    """Where the runs of this kernel are made."""
    return {
        "kernel": now,
        "machine": cases.processor(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def write(made: Mapping[str, str], theirs: Sequence[Kept], found: list[dict[str, Any]]) -> None:
    """The figures, and what they were made with."""
    switches = sorted({run.leafspine for run in theirs})
    of = {**made, "model": cases.ours(), "switches": switches}
    text = json.dumps({"made": of, "cases": found}, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(f"written: {RESULTS}; docs/generate.py takes it into docs/validation.md")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
