"""Types of a compiled engine (crates/py)."""

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

class _Class(TypedDict):
    name: str
    low: int | None
    high: int | None
    low_inclusive: bool
    high_inclusive: bool

class _Scheme(TypedDict):
    scheme: str
    params: dict[str, Any]

class _Probe(TypedDict):
    name: str
    kind: str
    ports: str

class _Facts(TypedDict):
    load_balancer: _Scheme
    aqm: _Scheme
    hold: _Scheme | None
    host_edge: _Scheme | None
    transport: _Scheme
    buffer: tuple[int, str]
    probes: list[_Probe]
    family: str
    mss: int
    until: int | None
    kernel: str | None

class _Case(TypedDict):
    variant: str
    point: dict[str, Any]
    seed: int
    toml: str
    classes: list[_Class]
    name: str
    title: str
    memory: dict[str, int]
    skipped: list[tuple[str, str]]
    facts: _Facts

class _Work(TypedDict):
    flows: int
    messages: int
    bytes: int
    packets: int
    packet_hops: int
    last_start_ps: int
    exact: bool

class ScenarioError(ValueError):
    """Bad input; ``str()`` is the one-line message."""

    file: str | None
    line: int | None
    key: str | None
    found: str | None
    allowed: str | None
    nearest: str | None

class Cancelled(Exception):
    """The run was cancelled through its :class:`Progress`."""

class Stuck(Exception):
    """The run got nowhere and was stopped."""

class GuestFailed(Exception):
    """A kernel that is a host has died, hangs, or reports that something failed."""

class OutOfMemory(Exception):
    """The run held more memory than it may."""

class EngineError(Exception):
    """A fault of the engine or of a scheme: a panic, or a violated invariant."""

class Progress:
    """Read by one thread while another simulates."""

    def __init__(self) -> None: ...
    def read(self) -> tuple[int, int | None, int, int]:
        """Flows finished, flows in all (if known), simulated time in ps, packet-hops."""
    def building(self) -> tuple[str, int] | None:
        """The part of the fabric that is being made, and how many percent of it are."""
    def cancel(self) -> None: ...

class Output:
    """What a finished run measured."""

    def flows(self) -> dict[str, npt.NDArray[np.generic]]: ...
    def ports(self) -> dict[str, Any]: ...
    def probes(self) -> list[tuple[str, str, dict[str, Any]]]: ...
    def jobs(self) -> list[tuple[str, dict[str, Any]]]: ...
    def programs(self) -> tuple[dict[str, Any], list[tuple[bytes, bytes]]]: ...
    def summary(self) -> str: ...

def version() -> str: ...
def sources() -> str: ...
def extension() -> str | None: ...
def expand(
    text: str,
    file_name: str,
    base_dir: str,
    sets: list[tuple[str, str]],
    memory: int | None = None,
    progress: Progress | None = None,
    options: list[str] | None = None,
) -> list[_Case]: ...
def first_seed(
    text: str, file_name: str, sets: list[tuple[str, str]], options: list[str]
) -> int: ...
def line_of(text: str, parts: list[str]) -> int | None: ...
def simulate(
    toml: str,
    base_dir: str,
    progress: Progress | None = None,
    check: bool = False,
    memory: int | None = None,
    threads: int = 1,
    captures: tuple[list[str], str] | None = None,
) -> Output: ...
def check_captures(toml: str, base_dir: str, patterns: list[str]) -> None: ...
def schemes() -> str: ...
def workloads() -> str: ...
def keys() -> str: ...
def work(toml: str, base_dir: str) -> _Work: ...
def control_planes(toml: str, base_dir: str) -> list[tuple[int, str]]: ...
def bench(case: str) -> str: ...
def bench_cases() -> list[str]: ...
def decision_cost(place: str, name: str) -> str: ...
def run_cost(sets: list[tuple[str, str]], flows: int, rounds: int) -> str: ...
