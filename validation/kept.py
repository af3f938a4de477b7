"""What kernels gave, run by run: so the model's TCP is judged where there is no kernel, too.

The first line says what the runs were made with. Each other line is a run: case, seed, a digest of
what was asked, completion times in flow order (ps), counts, and seconds of wall time.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cases import Case

RUNS = Path(__file__).parent / "results" / "linux-runs.jsonl"
# What the flows of a run are.
COLUMNS = ("start_ps", "src", "dst", "bytes")


class StaleError(Exception):
    """Kept runs are missing, or of another scenario than the one that there is."""


@dataclass(frozen=True)
class Kept:
    """A run with kernels as hosts: what the comparison needs of it."""

    case: str
    seed: int
    asked: str
    fct_ps: list[int]
    totals: dict[str, float]
    seconds: float


def asked(case: Case, flows: Mapping[str, Any]) -> str:
    """A digest of a case's scenario, of what changes it, and of the flows that a seed draws."""
    changes = {"set": case.set, "delay_step": case.delay_step, "undos": case.undos}
    parts = [case.scenario.read_text(encoding="utf-8"), json.dumps(changes, sort_keys=True)]
    parts += [str(flows[column].to_pylist()) for column in COLUMNS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def write(made: Mapping[str, str], runs: Iterable[Kept]) -> None:
    """Keeps all runs of a comparison."""
    lines = [made, *(asdict(run) for run in runs)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    RUNS.write_text(text, encoding="utf-8")


Runs = Callable[[Case, int], Kept]


def read() -> tuple[dict[str, str], Runs]:
    """What the runs were made with, and the run of a case and a seed; or :class:`StaleError`."""
    if not RUNS.is_file():
        raise StaleError(f"{RUNS} is not there: make validate-linux")
    try:
        made, *lines = map(json.loads, RUNS.read_text(encoding="utf-8").splitlines())
        runs = {(line["case"], line["seed"]): Kept(**line) for line in lines}
    except (KeyError, TypeError, ValueError) as error:
        raise StaleError(f"{RUNS} is damaged ({error}): make validate-linux") from None

    def of(case: Case, seed: int) -> Kept:
        if (case.name, seed) not in runs:
            raise StaleError(
                f"{RUNS.name} has no {case.name} with seed {seed}: make validate-linux"
            )
        return runs[case.name, seed]

    return made, of
