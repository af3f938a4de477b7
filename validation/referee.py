"""ns-3: compiles the referee, tells it what a resolved scenario says, and reads what it found."""

import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafspine.results import Result

SOURCES = Path(__file__).parent / "ns3"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
HEADER = Path("/usr/include/ns3/core-module.h")
UNTIL_PS = 100 * 10**12
# What ns-3 puts around a payload without timestamps: PPP 2, IP 20, TCP 20.
HEADER_BYTES = 42
# In picoseconds, bits per second, bytes; a packet is one.
UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
UNITS |= {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
UNITS |= {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "pkt": 1,
}


class RefereeError(Exception):
    """ns-3 is missing, the referee does not compile, or a scenario is not one that it knows."""


@dataclass(frozen=True)
class Refereed:
    """What ns-3 found: columns of flows and of ports (see ``ns3/referee.cc``)."""

    flows: dict[str, np.ndarray]
    ports: dict[str, np.ndarray]


def compiled(folder: Path) -> Path:
    """The program, compiled if it is not there or older than its sources."""
    program = folder / "referee"
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if program.is_file() and program.stat().st_mtime > newest:
        return program
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or not HEADER.is_file():
        raise RefereeError(
            "ns-3 or a C++ compiler is not installed: say make validate-tools "
            "(Debian: apt install g++ libns3-dev)"
        )
    folder.mkdir(parents=True, exist_ok=True)
    words = [compiler, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"]
    words += ["-o", str(program), str(SOURCES / "referee.cc")]
    words += [f"-lns3-{module}" for module in MODULES]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefereeError(f"the referee does not compile:\n{done.stderr}")
    return program


def run(program: Path, result: Result, trace: Path, folder: Path, control: str = "") -> Refereed:
    """ns-3's answer to a run of leafspine: same network, same trace, same window."""
    lines = spec(result)
    if control:
        lines["control"] = control
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "case.txt"
    told.write_text("".join(f"{key} {value}\n" for key, value in lines.items()), encoding="utf-8")
    out = folder / "flows.csv", folder / "ports.csv"
    words = [str(word) for word in (program, told, trace, *out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefereeError(f"{folder.name}: {done.stderr.strip() or 'the referee ended early'}")
    return Refereed(*(_columns(path) for path in out))


def _columns(path: Path) -> dict[str, np.ndarray]:
    head, *rows = (line.split(",") for line in path.read_text(encoding="utf-8").splitlines())
    cells = dict(zip(head, zip(*rows, strict=True), strict=True))
    kinds = {"name": str, "queue_mean_packets": float}
    return {name: np.array(found).astype(kinds.get(name, int)) for name, found in cells.items()}


def spec(result: Result) -> dict[str, Any]:
    """The lines of a case (``ns3/spec.h``) for a scenario that leafspine has resolved."""
    found = tomllib.loads(result.scenario)
    lines = {**_fabric(found["topology"]), **_port(found), **_transport(found["transport"])}
    lines["window_start"] = result.summary["window_start_ps"]
    lines["window_end"] = result.summary["window_end_ps"]
    lines["until"] = UNTIL_PS
    lines["seed"] = found["run"]["seed"]
    return lines


def _fabric(topology: dict[str, Any]) -> dict[str, Any]:
    kind = topology["kind"]
    if kind not in ("star", "leaf-spine") or topology.get("links_per_pair", 1) != 1:
        raise RefereeError(f"the referee knows no topology of kind {kind} with parallel links")
    star = kind == "star"
    link = topology["host_link"]
    lines = {
        "leaves": 1 if star else topology["leaves"],
        "spines": 0 if star else topology["spines"],
        "hosts_per_leaf": topology["hosts" if star else "hosts_per_leaf"],
        "host_rate": number(link["rate"]),
        "host_delay": number(link["delay"]) + number(topology["host_delay"]),
        "host_jitter": number(topology["host_jitter"]),
    }
    if not star:
        lines["fabric_rate"] = number(topology["fabric_link"]["rate"])
        lines["fabric_delay"] = number(topology["fabric_link"]["delay"])
    changes = topology.get("change", [])
    if len(changes) > 1 or any(set(each) != {"link", "at", "rate"} for each in changes):
        raise RefereeError("the referee knows one change at most, of a link's rate")
    for each in changes:
        if number(each["at"]) != 0:
            raise RefereeError("the referee's links do not change on the way")
        lines["slow"] = f"{each['link']} {number(each['rate'])}"
    return lines


def _port(found: dict[str, Any]) -> dict[str, Any]:
    switch, aqm = found["switch"], found["aqm"]
    buffer = switch["buffer"]
    packets = buffer.endswith("pkt")
    lines: dict[str, Any] = {"buffer": f"{number(buffer)}{'p' if packets else 'B'}"}
    if aqm["scheme"] == "ecn-threshold":
        if not aqm["threshold"].endswith("pkt") or aqm["at"] != "enqueue":
            raise RefereeError("the referee marks from a number of packets on, at enqueue")
        lines["mark_from"] = number(aqm["threshold"])
    elif aqm["scheme"] != "droptail":
        raise RefereeError(f"the referee knows no queue manager {aqm['scheme']}")
    return lines


def _transport(found: dict[str, Any]) -> dict[str, Any]:
    if found["header"] != HEADER_BYTES or found["max_cwnd"] != "none" or not found["handshake"]:
        raise RefereeError(f"ns-3 has {HEADER_BYTES} bytes of header, a handshake, no max_cwnd")
    if not found["handshake_ack"]:
        raise RefereeError("ns-3's third ACK is a packet of its own: handshake_ack = true")
    lines = {
        "control": found["scheme"],
        "mss": found["mss"],
        "init_cwnd": number(found["init_cwnd"]),
        "min_rto": number(found["min_rto"]),
        "initial_rto": number(found["initial_rto"]),
        "delayed_ack": 0 if found["delayed_ack"] == "off" else number(found["delayed_ack"]),
        "sack": int(found["sack"]),
        "limited_transmit": int(found["limited_transmit"]),
    }
    if found["scheme"] == "dctcp":
        lines |= {"alpha": found["initial_alpha"], "g": found["g"]}
    return lines


def number(text: str) -> int:
    """A quantity of a resolved scenario as picoseconds, bits per second, bytes or packets."""
    unit = text.lstrip("0123456789.")
    value = float(text[: len(text) - len(unit)]) * UNITS[unit]
    if value != round(value):
        raise RefereeError(f"{text} is no whole number")
    return round(value)
