"""Hundreds of faults, of every kind, on the real engine: ``make faults``.

Writes how many of each kind struck, and how many a comparison survived: that is, nothing finished
was lost, the same command completed afterwards, and what it left was byte for byte what it always
leaves. ``--only KIND --seed N`` tries one again.
"""

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fault_kinds import KINDS, Unavailable, World
from fault_lab import HERE, Lab, build_shim

ROOT = HERE.parent.parent.parent
ACTIONS = {
    "result": "writing a result",
    "csv": "reading one and writing CSV files",
    "checked": "a checked result over the same",
    "replaced": "a checked result over another build's",
    "manifest": "taking a directory and writing comparison.json",
    "tables": "writing tables.md and tables.csv over older ones",
    "fit": "writing a fit",
}
OPERATION_KINDS = "full,full-for-good,io,io-for-good,permission-for-good,killed,torn"

_world: World | None = None


def set_up(root: str) -> None:
    """A world of this process's own."""
    global _world
    home = Path(tempfile.mkdtemp(dir=root))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    lab = Lab(home, environment, slow="", flows=20_000)
    _world = World(lab, lab.prepare(), build_shim(home))


def strike(name: str, seed: str) -> tuple[str, str, str]:
    """One fault: its kind, how it went, and why if not well."""
    assert _world is not None
    try:
        struck = KINDS[name][1](_world, random.Random(seed))
    except Unavailable as reason:
        return name, "unavailable", str(reason)
    except Exception:
        return name, "failed", f"{seed}: {traceback.format_exc()}"
    return name, "survived" if struck else "missed", ""


def operations(root: str, action: str) -> dict[str, int]:
    """Fail every file operation of an action in every way; how many there were."""
    scratch = Path(tempfile.mkdtemp(dir=root))
    shim = build_shim(scratch)
    if isinstance(shim, str):
        raise SystemExit(shim)
    words = [sys.executable, HERE / "fault_operations.py", action, OPERATION_KINDS]
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "LD_PRELOAD": str(shim),
        "FAULT_UNDER": str(scratch.resolve() / "under"),
    }
    done = subprocess.run([*words, scratch], env=environment, check=True, stdout=subprocess.PIPE)
    counts: dict[str, int] = json.loads(done.stdout)
    print(f"{action}: {sum(counts.values())} operations failed and recovered", file=sys.stderr)
    return counts


def soak(pool: ProcessPoolExecutor, names: list[str], each: int, seed: int) -> list[dict[str, Any]]:
    """``each`` faults of every kind that struck in time; at most three times as many are tried."""
    rows = {name: {"survived": 0, "failed": 0, "missed": 0, "why": []} for name in names}
    for attempt in range(3 * each):
        wanted = [
            name
            for name in names
            if rows[name]["survived"] + rows[name]["failed"] < each
            and "unavailable" not in rows[name]
        ]
        # Other kinds beside each other in time, so that they meet the machine in other states.
        jobs = [pool.submit(strike, name, f"{seed} {name} {attempt}") for name in wanted]
        for job in jobs:
            name, outcome, why = job.result()
            if outcome == "unavailable":
                rows[name]["unavailable"] = why
            else:
                rows[name][outcome] += 1
            if outcome == "failed":
                rows[name]["why"].append(why)
                print(why, file=sys.stderr, flush=True)
        print(f"round {attempt + 1}: {len(wanted)} faults", file=sys.stderr, flush=True)
    return [
        {
            "kind": name,
            "what": KINDS[name][0],
            "faults": row["survived"] + row["failed"],
            "survived": row["survived"],
            "missed": row["missed"],
            **({"unavailable": row["unavailable"]} if "unavailable" in row else {}),
            **({"why": row["why"]} if row["why"] else {}),
        }
        for name, row in rows.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--each", type=int, default=10, help="faults of a kind [10]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time [2]")
    parser.add_argument("--only", choices=list(KINDS), help="one kind")
    parser.add_argument("--out", type=Path, help="where the counts go, as JSON")
    options = parser.parse_args()
    begin = time.monotonic()
    names = [options.only] if options.only else list(KINDS)
    with tempfile.TemporaryDirectory(prefix="leafspine-faults-") as root:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, context, set_up, (root,)) as pool:
            kinds = soak(pool, names, options.each, options.seed)
        failed = {} if options.only else {name: operations(root, name) for name in ACTIONS}
    found = {
        "made_by": "make faults",
        "seed": options.seed,
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "kinds": kinds,
        "operations": [
            {"action": name, "what": ACTIONS[name], "failed": counts}
            for name, counts in failed.items()
        ],
    }
    text = json.dumps(found, indent=2) + "\n"
    if options.out is None:
        print(text, end="")
    else:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
    bad = sum(row["faults"] - row["survived"] for row in kinds)
    print(f"{sum(row['survived'] for row in kinds)} survived, {bad} not", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
