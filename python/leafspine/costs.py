"""``leafspine bench --schemes``: what each scheme costs on this machine.

Nanoseconds per decision on a mock switch, speed beside ECMP on the same kind of port
(the 128-host web-search case, in turns), and memory: per leaf, per entry of the flow table, per
port, and how full the table is. Each scheme is measured in a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from leafspine import catalogue, engine
from leafspine.errors import RunError
from leafspine.terminal import Table, show_table

DECISION = "from leafspine import native; import sys; print(native.decision_cost(*sys.argv[1:]))"
RUN = (
    "from leafspine import native; import json, sys; "
    "sets, flows, rounds = json.loads(sys.argv[1]); "
    "print(native.run_cost([tuple(pair) for pair in sets], flows, rounds))"
)
#: Places whose decisions are timed on their own.
TIMED = ("load_balancer", "aqm")
#: The system whose classes of flows have a service queue each.
CLASSES = "aq-car"
#: Bundles that are transports and nothing else.
TRANSPORTS = ("tcp", "dctcp")
#: Replays the paths of a trace, which the measured scenario does not have.
REPLAY = "pinned"


@dataclass(frozen=True)
class Case:
    """A scheme, and the keys that put it into the measured scenario."""

    place: str
    name: str
    sets: tuple[tuple[str, str], ...]
    header_bits: int | None = None
    queues: int | None = None


def cases() -> list[Case]:
    """Every scheme that acts at switches or hosts, then every system of several."""
    return list(_cases(engine.schemes()))


def _cases(entries: Sequence[dict[str, Any]]) -> Iterator[Case]:
    bundles = {entry["name"]: entry for entry in entries if entry["place"] == "scheme"}
    for entry in entries:
        place, name = entry["place"], entry["name"]
        if place == "transport" or name in (*TRANSPORTS, REPLAY):
            continue
        if place == "scheme":
            yield Case("system", name, (("scheme", name),))
            continue
        sets = [(f"{place}.scheme", name)]
        if place == "host_edge" and name in bundles:
            sets = [("scheme", name)]
        if entry["queues"] > 2:
            # A queue for each class of flows, as the system that has such classes sets them.
            sets += [
                (pair["key"], pair["value"])
                for pair in bundles[CLASSES]["keys"]
                if pair["key"].split(".")[0] in ("switch", "host_edge")
            ]
        elif entry["queues"] > 1:
            sets += [("switch.queues", str(entry["queues"])), ("switch.scheduler", "dwrr")]
        yield Case(place, name, tuple(sets), entry["header_bits"], entry["queues"])


def measure(name: str | None = None, *, smoke: bool = False) -> list[dict[str, Any]]:
    """Measure one scheme (in every place that it has) or all; ``smoke`` only sees that it works."""
    found = cases()
    if name is not None:
        catalogue.find("scheme", [{"name": case.name} for case in found], name)
        found = [case for case in found if case.name == name]
    elif smoke:
        first = {case.place: case for case in reversed(found)}
        found = [case for case in found if first[case.place] is case]
    flows, rounds = (100, 1) if smoke else (1000, 3)
    return [_one(case, flows, rounds) for case in found]


def _one(case: Case, flows: int, rounds: int) -> dict[str, Any]:
    row: dict[str, Any] = {"place": case.place, "name": case.name}
    row |= {"header_bits": case.header_bits, "queues": case.queues}
    if case.place in TIMED:
        row |= _ask(case, DECISION, case.place, case.name)
    return row | _ask(case, RUN, json.dumps([case.sets, flows, rounds]))


def _ask(case: Case, code: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(f"{case.place} {case.name}: {lines[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


#: Column titles, and how a row fills them.
COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "scheme": lambda row: row["name"],
    "ns/decision": lambda row: _number(row.get("ns_per_decision"), ".1f"),
    "of ECMP's speed": lambda row: f"{100 * row['share_of_ecmp']:.0f} %",
    "ports": lambda row: row["ports"],
    "state of a leaf": lambda row: _bytes(_leaf(row)),
    "per flow": lambda row: _bytes(row.get("bytes_per_flow")),
    "per port": lambda row: _bytes(row.get("bytes_per_port")),
    "header bits": lambda row: _number(row["header_bits"], "d"),
    "queues": lambda row: _number(row["queues"], "d"),
    "slots": lambda row: f"{row['slots']:,.0f}" if row["slots"] else "",
    "in use": lambda row: f"{row['occupied_mean']:.0f}" if row["slots"] else "",
    "flows": lambda row: f"{row['flows_mean']:.0f}" if row["slots"] else "",
    "sharing": lambda row: f"{row['sharing_mean']:.2f}" if row["slots"] else "",
}


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _leaf(row: dict[str, Any]) -> int | None:
    """A balancer's state at a leaf switch; other schemes live elsewhere."""
    return round(row["leaf_bytes"]) if row["place"] in ("load_balancer", "system") else None


def _bytes(value: int | None) -> str:
    return catalogue.size(value) if value else ""


def rows(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The measured costs as cells of :data:`COLUMNS`."""
    return [[fill(row) for fill in COLUMNS.values()] for row in found]


def show(found: Sequence[dict[str, Any]], console: Console) -> None:
    """Print a table for each place."""
    for place in dict.fromkeys(row["place"] for row in found):
        here = [row for row in found if row["place"] == place]
        cells = tuple(tuple(row) for row in rows(here))
        show_table(Table(place, "", tuple(COLUMNS), cells, framed=False), console, "--json")
        console.print()
