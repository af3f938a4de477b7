"""Compares the model's hosts under the profile linux with Linux kernels, case by case.

    .venv/bin/python validation/linux.py           every case; the figures go to results/linux.json
    .venv/bin/python validation/linux.py --quick     the small ones, as CI does; nothing is written
    .venv/bin/python validation/linux.py NAME...     these only; nothing is written

Runs with kernels are kept in target/validation/linux and used again, as long as scenario and kernel
are the same; ``--anew`` makes them again, which is needed where switches have changed.

Exit codes: 0 all within the limits of linux.toml, 1 something is not, 2 there is no kernel.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import cases
import figures
import leafspine
from cases import Case
from leafspine import scenario as scenarios
from leafspine.results import Result

HERE = Path(__file__).parent
CASES = HERE / "linux.toml"
RESULTS = HERE / "results" / "linux.json"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
KEPT = TARGET / "validation" / "linux"
# What makes a scenario one of the model's hosts, or of kernels.
WHO: dict[str, dict[str, Any]] = {
    "model": {"transport.profile": "linux"},
    "linux": {"hosts.kind": "linux"},
}
# What a kernel counts of itself, and which of that are undone reductions.
COUNTERS = "/proc/net/netstat"
UNDOS = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
# Statistics of a probed queue.
QUANTILES = {"queue_p5": 5, "queue_p50": 50, "queue_p95": 95}


def main(words: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="the model's hosts against Linux kernels")
    parser.add_argument("names", nargs="*", help="cases of linux.toml; default all")
    parser.add_argument("--quick", action="store_true", help="only the small cases")
    parser.add_argument("--anew", action="store_true", help="runs with kernels are made again")
    parser.add_argument("--jobs", type=int, default=1, help="processes; each run keeps to one CPU")
    asked = parser.parse_args(words)
    chosen = [case for case in load() if case.quick or not asked.quick]
    if unknown := set(asked.names) - {case.name for case in chosen}:
        parser.error(f"no case {', '.join(sorted(unknown))}")
    chosen = [case for case in chosen if not asked.names or case.name in asked.names]
    if asked.anew:
        for case in chosen:
            for seed in range(1, case.seeds + 1):
                shutil.rmtree(KEPT / f"{case.name}-{seed}", ignore_errors=True)
    try:
        found = all_of(chosen, asked.jobs)
    except leafspine.ScenarioError as error:
        if "make linux" not in str(error):
            raise
        print(f"validation: {error}", file=sys.stderr)
        return 2
    if not asked.quick and not asked.names:
        write(found)
    return 1 if any(row["open"] for row in found) else 0


def load() -> list[Case]:
    """The cases."""
    return cases.load(CASES, "linux", all_limits=True)


def all_of(chosen: Sequence[Case], jobs: int) -> list[dict[str, Any]]:
    """The figures of all cases; a line for each goes to standard output."""
    found = []
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {
            case.name: [pool.submit(compare, case, seed) for seed in range(1, case.seeds + 1)]
            for case in chosen
        }
        for case in chosen:
            runs = [each.result() for each in waiting[case.name]]
            row = {
                "name": case.name,
                "title": case.title,
                "seeds": case.seeds,
                "explained": case.explained,
                "seconds": {
                    name: round(sum(seconds[name] for _, seconds in runs), 2) for name in WHO
                },
                **figures.summary([run for run, _ in runs]),
            }
            row["beyond"] = figures.beyond(row, case.limits)
            row["open"] = figures.beyond(row, {**case.limits, **case.known})
            print(line(row), flush=True)
            found.append(row)
    return found


def compare(case: Case, seed: int) -> tuple[figures.Run, dict[str, float]]:
    """One seed of a case with both, and the seconds that they took when they were made."""
    results, seconds = {}, {}
    for who, how in WHO.items():
        out = KEPT / f"{case.name}-{seed}" if who == "linux" else None
        began = time.monotonic()
        results[who] = run(case, {**how, "run.seed": seed}, out, who == "linux")
        seconds[who] = time.monotonic() - began
        if out is not None:
            timing = json.loads((out / "timing.json").read_text(encoding="utf-8"))
            seconds[who] = timing["wall_seconds"]
    ours, theirs = (results[who].flows for who in WHO)
    for column in ("start_ps", "src", "dst", "bytes"):
        assert ours[column].equals(theirs[column]), f"{case.name}: the flows are not the same"
    fct = {
        who: each.flows["fct_ps"].cast("int64").fill_null(-1).to_numpy()
        for who, each in results.items()
    }
    counted = {who: totals(each) for who, each in results.items()}
    for who, each in results.items() if case.undos else ():
        counted[who]["undos"] = undone(each)
        # The program that asks for them makes the run longer, and so its mean another one.
        del counted[who]["queue_mean"]
    return figures.Run(sizes=ours["bytes"].to_numpy(), fct=fct, totals=counted), seconds


def run(case: Case, settings: dict[str, Any], out: Path | None, kernels: bool) -> Result:
    """A case's scenario; a kept result of another scenario or kernel is made again."""
    words = {**case.set, **settings}
    what = with_counters(case) if kernels and case.undos else case.scenario
    try:
        return leafspine.run(what, out=out, **words)
    except leafspine.InputError:
        if out is None or not out.is_dir():
            raise
        shutil.rmtree(out)
        return leafspine.run(what, out=out, **words)


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


def totals(result: Result) -> dict[str, float]:
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
    found["fct_without_timeouts"] = float(np.nanmean(fct[~waited])) / 1e9
    if "queue" in result.probes:
        begin, end = result.summary["window_start_ps"], result.summary["window_end_ps"]
        probed = result.probes["queue"]
        times = probed["time_ps"].to_numpy()
        queue = probed["packets"].to_numpy()[(times >= begin) & (times < end)]
        found |= {name: float(np.percentile(queue, at)) for name, at in QUANTILES.items()}
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
    verdict = "BEYOND" if row["open"] else "explained" if row["beyond"] else "ok"
    lines = [f"{verdict:9} {row['name']}: " + ", ".join(parts)]
    return "\n".join([*lines, *(f"          {missed}" for missed in row["beyond"])])


def write(found: list[dict[str, Any]]) -> None:
    """The figures, and what they were made with."""
    kernel = leafspine.run(load()[0].scenario, out=KEPT / f"{load()[0].name}-1", **_first())
    made = {
        "leafspine": leafspine.__version__,
        "kernel": next(
            line.split('"')[1] for line in kernel.scenario.splitlines() if line.startswith("kernel")
        ),
        "machine": cases.processor(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    text = json.dumps({"made": made, "cases": found}, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(f"written: {RESULTS}; docs/generate.py takes it into docs/validation.md")


def _first() -> dict[str, Any]:
    return {**load()[0].set, **WHO["linux"], "run.seed": 1}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
