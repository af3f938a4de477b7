"""``leafspine bench``: packet-hops per second and peak memory on fixed scenarios.

Each case runs in a process of its own, so that its peak memory is its own.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from leafspine import catalogue, engine
from leafspine.errors import RunError
from leafspine.terminal import Table, show_table

RUN_ONE = "import sys; from leafspine import engine; print(engine.bench(sys.argv[1]))"


def run(case: str | None = None, *, smoke: bool = False) -> list[dict[str, Any]]:
    """Run one case or all; ``smoke`` runs the shortest there is. One answer a case."""
    names = engine.bench_cases()
    if case is not None:
        catalogue.find("bench case", [{"name": name} for name in names], case)
        names = [case]
    elif smoke:
        names = [engine.SMOKE]
    else:
        names = [name for name in names if name != engine.SMOKE]
    return [_one(name) for name in names]


def _one(name: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUN_ONE, name], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(f"bench case {name}: {lines[-1]}")
    answer: dict[str, Any] = {"case": name, **json.loads(done.stdout)}
    return answer


def show(found: Sequence[dict[str, Any]], console: Console) -> None:
    """Print a line for each case."""
    columns = list(dict.fromkeys(name for entry in found for name in entry))
    cells = tuple(tuple(_cell(entry.get(name)) for name in columns) for entry in found)
    show_table(Table("", "", tuple(columns), cells, framed=False), console, "--json")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
