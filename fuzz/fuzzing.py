"""Runs the fuzz targets for a bounded time each, and writes down what came of it.

    python3 fuzz/fuzzing.py [--seconds 60] [--seed 0] [--out FILE] [TARGET...]
    python3 fuzz/fuzzing.py --keep      # what was found since, minimised, into fuzz/corpus

The targets are ordinary programs with libFuzzer linked in. What they count is asked of the compiler
by flags that the stable one has; no sanitizer is needed: the code is safe Rust, and has its sums
and assertions checked.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

FUZZ = Path(__file__).parent
TARGETS = (
    "scenario_toml",
    "scenario_run",
    "flow_csv",
    "decision_vectors",
    "packet_headers",
    "guest_messages",
    "job_files",
)
SPACE = Path(os.environ.get("CARGO_TARGET_DIR", FUZZ.parent / "target")).absolute()
RESULT = FUZZ.parent / "validation" / "results" / "fuzz.json"

# Counters at every edge, a table of their places, and the operands of comparisons.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
]

# An input that takes longer, or more memory, has found something.
LIMITS = ["-timeout=60", "-rss_limit_mb=2500"]


def build() -> Path:
    """Compiles all targets; the folder that has them."""
    about = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (.*)$", about, re.MULTILINE)
    assert host, about
    # With a target named, the flags are not for build scripts.
    options = ["--release", "--locked", "--target", host[1], "--target-dir", str(SPACE)]
    command = ["cargo", "build", "--quiet", *options]
    flags = os.environ | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(COVERAGE)}
    subprocess.run(command, cwd=FUZZ, env=flags, check=True)
    return SPACE / host[1] / "release"


def folder(kind: str, target: str) -> Path:
    """Where a target's inputs or failures are collected between runs."""
    path = SPACE / "fuzz" / kind / target
    path.mkdir(parents=True, exist_ok=True)
    return path


def dictionary(target: str) -> list[str]:
    path = FUZZ / "dictionaries" / f"{target}.dict"
    return [f"-dict={path}"] if path.exists() else []


def fuzz(program: Path, target: str, seconds: int, seed: int) -> dict[str, Any]:
    """One target for so many seconds: what it did."""
    failures = folder("failures", target)
    known = set(failures.iterdir())
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1", *LIMITS]
    options += [f"-artifact_prefix={failures}/", *dictionary(target)]
    inputs = [folder("corpus", target), FUZZ / "corpus" / target]
    done = subprocess.run([program, *options, *inputs], capture_output=True, check=False)
    log = done.stderr.decode(errors="replace")
    # A slow input is kept there, too, but it is right.
    new = set(failures.iterdir()) - known
    found = sorted(path for path in new if not path.name.startswith("slow-unit"))
    if done.returncode or found:
        print(f"fuzz: {target} has failed\n{log[-6000:]}", file=sys.stderr)
        for path in found:
            print(f"fuzz: {program} {path}", file=sys.stderr)
    return {
        "target": target,
        **numbers(log),
        "failures": max(len(found), int(done.returncode != 0)),
    }


def numbers(log: str) -> dict[str, Any]:
    """What libFuzzer says of a run."""

    def last(pattern: str) -> int:
        every = re.findall(pattern, log)
        return int(every[-1]) if every else 0

    return {
        "executions": last(r"number_of_executed_units:\s*(\d+)"),
        "edges": last(r"cov: (\d+)"),
        "edges_in_all": last(r"Loaded \d+ modules\s+\((\d+) "),
        "inputs": last(r"corp: (\d+)/"),
    }


def keep(program: Path, target: str) -> None:
    """Puts the fewest found inputs that reach every edge into the kept corpus."""
    kept = FUZZ / "corpus" / target
    with tempfile.TemporaryDirectory() as name:
        best = Path(name)
        # Those with names were written by hand, and stay.
        for path in written(kept):
            shutil.copy(path, best)
        # Edges alone: how often each is passed would keep ten times as much.
        options = ["-set_cover_merge=1", "-use_counters=0", *LIMITS]
        inputs = [best, folder("corpus", target), kept]
        subprocess.run([program, *options, *inputs], capture_output=True, check=True)
        names = {path.name for path in written(kept)}
        for path in set(kept.iterdir()) - set(written(kept)):
            path.unlink()
        for path in best.iterdir():
            if path.name not in names:
                shutil.copy(path, kept)
    print(f"{target}: {sum(1 for _ in kept.iterdir())} inputs")


def written(corpus: Path) -> list[Path]:
    """The inputs that were not named by libFuzzer, which takes a hash."""
    return [path for path in corpus.iterdir() if not re.fullmatch(r"[0-9a-f]{40}", path.name)]


def show(results: Iterable[dict[str, Any]], seconds: int) -> None:
    for row in results:
        print(
            f"{row['target']}: {row['executions']:,} executions in {seconds} s, "
            f"{row['edges']:,} of {row['edges_in_all']:,} edges, {row['failures']} failures"
        )


def main() -> int:
    """The command line; 1 if a target has failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="of the first mutation; 0: any")
    parser.add_argument("--out", type=Path, default=RESULT, help="the JSON file of numbers")
    parser.add_argument("--keep", action="store_true", help="minimise into the kept corpus")
    args = parser.parse_args()
    targets = args.targets or TARGETS
    programs = build()
    if args.keep:
        for target in targets:
            keep(programs / target, target)
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(fuzz, programs / target, target, args.seconds, args.seed)
            for target in targets
        ]
        results = [job.result() for job in jobs]
    show(results, args.seconds)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"seconds": args.seconds, "targets": results}, indent=1)
    args.out.write_text(text + "\n", encoding="utf-8")
    return int(any(row["failures"] for row in results))


if __name__ == "__main__":
    sys.exit(main())
