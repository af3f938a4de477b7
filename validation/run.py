"""Compares leafspine with ns-3, case by case.

    .venv/bin/python validation/run.py             every case; the figures go to results/ns3.json
    .venv/bin/python validation/run.py --quick     the small ones, as CI does; nothing is written
    .venv/bin/python validation/run.py NAME...     these only; nothing is written

Exit codes: 0 all within the limits of cases.toml, 1 something is not, 2 ns-3 is missing.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import cases
import figures
import referee
from cases import Case
from leafspine.results import Result

RESULTS = Path(__file__).parent / "results" / "ns3.json"
BUILD = Path(__file__).parent.parent / "target" / "validation"


def main(words: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="leafspine against ns-3")
    parser.add_argument("names", nargs="*", help="cases of cases.toml; default all")
    parser.add_argument("--quick", action="store_true", help="only the small cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    asked = parser.parse_args(words)
    chosen = [case for case in cases.load() if case.quick or not asked.quick]
    if unknown := set(asked.names) - {case.name for case in chosen}:
        parser.error(f"no case {', '.join(sorted(unknown))}")
    chosen = [case for case in chosen if not asked.names or case.name in asked.names]
    try:
        program = referee.compiled(BUILD)
        found = all_of(chosen, program, asked.jobs)
    except referee.RefereeError as error:
        print(f"validation: {error}", file=sys.stderr)
        return 2
    if not asked.quick and not asked.names:
        write(found)
    return 1 if any(row["beyond"] and not row["explained"] for row in found) else 0


def all_of(chosen: Sequence[Case], program: Path, jobs: int | None) -> list[dict[str, Any]]:
    """The figures of all cases; a line for each goes to standard output."""
    found = []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as pool:
        # The longest first, so that none is left over at the end.
        waiting = {
            case.name: [
                pool.submit(compare, case, seed, program, Path(folder))
                for seed in range(1, case.seeds + 1)
            ]
            for case in sorted(chosen, key=lambda case: case.quick)
        }
        for case in chosen:
            runs = [each.result() for each in waiting[case.name]]
            row = {
                "name": case.name,
                "title": case.title,
                "seeds": case.seeds,
                "explained": case.explained,
                "seconds": {
                    name: round(sum(seconds[name] for _, seconds in runs), 2)
                    for name in figures.SIMULATORS
                },
                **figures.summary([run for run, _ in runs], case.offset_ps),
            }
            row["beyond"] = figures.beyond(row, case.limits)
            print(line(row), flush=True)
            found.append(row)
    return found


def compare(
    case: Case, seed: int, program: Path, folder: Path
) -> tuple[figures.Run, dict[str, float]]:
    """One seed of a case in both, and the seconds of processor time that they took."""
    place = folder / f"{case.name}-{seed}"
    place.mkdir()
    trace = place / "trace.csv"
    cases.write_trace(case, seed, trace)
    began = time.process_time()
    ours = cases.run_leafspine(case, seed, trace)
    between = time.process_time()
    children = _children()
    theirs = referee.run(program, ours, trace, place, case.control)
    seconds = {"leafspine": between - began, "ns3": _children() - children}
    fct = ours.flows["fct_ps"].cast("int64").fill_null(-1).to_numpy()
    run = figures.Run(
        sizes=ours.flows["bytes"].to_numpy(),
        fct={"leafspine": fct, "ns3": theirs.flows["fct_ps"]},
        totals={"leafspine": totals(ours), "ns3": their_totals(theirs, ours)},
    )
    return run, seconds


def _children() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def totals(result: Result) -> dict[str, float]:
    """Counts of the whole run, and the mean queue of all ports in the window, added up."""
    ports = result.ports
    return {
        "drops": result.summary["dropped"],
        "marks": sum(ports["marks"].to_pylist()),
        "retransmits": sum(result.flows["retransmits"].to_pylist()),
        "timeouts": sum(result.flows["timeouts"].to_pylist()),
        "queue_mean": sum(ports["queue_mean_packets"].to_pylist()),
    }


def their_totals(found: referee.Refereed, ours: Result) -> dict[str, float]:
    """The same of ns-3. Marks are those of the window in both."""
    names = set(ours.ports["name"].to_pylist())
    assert names == set(found.ports["name"].tolist()), "the ports are not the same"
    return {
        "drops": int(found.ports["all_drops"].sum()),
        "marks": int(found.ports["marks"].sum()),
        "retransmits": int(found.flows["retransmits"].sum()),
        "timeouts": int(found.flows["timeouts"].sum()),
        "queue_mean": float(found.ports["queue_mean_packets"].sum()),
    }


def line(row: dict[str, Any]) -> str:
    """A case in a few words."""
    every = row["classes"]["all"]
    parts = [f"{key} {every[key]['difference']:+.2%}" for key in figures.STATISTICS]
    parts.append(f"KS {every['two_sample']:.3f} (5 %: {every['critical']:.3f})")
    for key in figures.TOTALS:
        pair = row["totals"][key]
        parts.append(f"{key} {pair['leafspine']:.4g}/{pair['ns3']:.4g}")
    seconds = row["seconds"]
    parts.append(f"{seconds['leafspine']:.1f} s/{seconds['ns3']:.1f} s")
    verdict = "ok" if not row["beyond"] else "explained" if row["explained"] else "BEYOND"
    lines = [f"{verdict:9} {row['name']}: " + ", ".join(parts)]
    return "\n".join([*lines, *(f"          {missed}" for missed in row["beyond"])])


def write(found: list[dict[str, Any]]) -> None:
    """The figures, and what they were made with."""
    made = {
        "leafspine": cases.ours(),
        "ns3": _said("dpkg-query", "-W", "-f", "${Version}", "libns3-dev"),
        "compiler": _said("c++", "--version").splitlines()[0],
        "machine": cases.processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    text = json.dumps({"made": made, "cases": found}, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(f"written: {RESULTS}; docs/generate.py takes it into docs/validation.md")


def _said(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
