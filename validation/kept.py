"""What kernels gave, run by run: so the model's TCP is judged where there is no kernel, too.

The first line says what the runs were made with. Each other line is a run: case, seed, a digest of
what was asked, completion times in flow order (ps), counts, seconds of wall time, and whose
switches were between the kernels.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from cases import Case

RUNS = Path(__file__).parent / "results" / "linux-runs.jsonl"
# What the flows of a run are.
COLUMNS = ("start_ps", "src", "dst", "bytes")
# What is said of how all runs were made.
MADE = ("kernel", "machine", "python", "numpy")


class StaleError(Exception):
    """Kept runs are missing, or of another scenario than the one that there is."""


@dataclass(frozen=True)
class Kept:
    """A run with kernels as hosts: what the comparison needs of it.

    ``leafspine``: version and commit; empty in runs from before it was noted.
    """

    case: str
    seed: int
    asked: str
    fct_ps: list[int]
    totals: dict[str, float]
    seconds: float
    leafspine: str = ""


Runs = Mapping[tuple[str, int], Kept]
"""By case and seed."""


def asked(case: Case, flows: Mapping[str, Any]) -> str:
    """A digest of a case's scenario, of what changes it, and of the flows that a seed draws."""
    changes = {"set": case.set, "delay_step": case.delay_step, "undos": case.undos}
    parts = [case.scenario.read_text(encoding="utf-8"), json.dumps(changes, sort_keys=True)]
    parts += [str(flows[column].to_pylist()) for column in COLUMNS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def write(made: Mapping[str, str], runs: Iterable[Kept]) -> None:
    """Keeps all runs of a comparison."""
    rows = [asdict(run) for run in runs]
    lines = [made, *({key: row[key] for key in row if row[key] != ""} for row in rows)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    RUNS.write_text(text, encoding="utf-8")


def read() -> tuple[dict[str, str], Runs]:
    """What the runs were made with, and the runs; or :class:`StaleError`."""
    if not RUNS.is_file():
        raise StaleError(f"{RUNS} is not there: make validate-linux")
    try:
        head, *lines = map(json.loads, RUNS.read_text(encoding="utf-8").splitlines())
        made = {name: head[name] for name in MADE}
        runs = {(line["case"], line["seed"]): Kept(**line) for line in lines}
    except (KeyError, TypeError, ValueError) as error:
        raise StaleError(f"{RUNS} is damaged ({error}): make validate-linux") from None
    return made, runs


def refuse(case: Case, seed: int, asked: str) -> NoReturn:
    """Says that no run is kept of what is asked."""
    raise StaleError(
        f"{case.name}, seed {seed}: {RUNS.name} has none, or of another scenario or flows: "
        "validation/linux.py --add"
    )
