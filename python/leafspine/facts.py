"""What a resolved scenario says, typed: with a case at hand, nobody parses its text to learn of it.

The engine hands it over with every case (``crates/py/src/facts.rs``). Times are picoseconds, sizes
bytes, rates bits per second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Amount:
    """So many packets, or so many bytes."""

    count: int
    in_bytes: bool = False


@dataclass(frozen=True)
class Scheme:
    """A scheme by its name in the catalogue, and all its parameters; an amount is an
    :class:`Amount`."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """A time series to record: its name, what of (``queue``, ``packets``, ...), at which ports."""

    name: str
    kind: str
    ports: str


@dataclass(frozen=True)
class Facts:
    """Schemes by their place, ``None`` where there is none; ``buffer``: of a port, or what the
    ports of a switch share; ``family``: all that decides the run but its seed and the version, as
    one text; ``mss``: bytes of payload of a segment; ``pauses``: whether switches have flow
    control; ``recovery``: whether recoveries from faults are measured; ``until``: when the run is
    ended, if not by its last flow; ``kernel``: that of hosts with Linux."""

    load_balancer: Scheme | None = None
    aqm: Scheme | None = None
    hold: Scheme | None = None
    host_edge: Scheme | None = None
    transport: Scheme | None = None
    buffer: Amount | None = None
    probes: tuple[Probe, ...] = ()
    family: str = ""
    mss: int = 0
    pauses: bool = False
    recovery: bool = False
    until: int | None = None
    kernel: str | None = None

    def probe(self, name: str) -> int | None:
        """The number, from 0, of the probe of this name."""
        names = [probe.name for probe in self.probes]
        return names.index(name) if name in names else None


def of_engine(found: Mapping[str, Any]) -> Facts:
    """The facts of a case as the engine hands them over."""
    return Facts(
        load_balancer=_scheme(found["load_balancer"]),
        aqm=_scheme(found["aqm"]),
        hold=_scheme(found["hold"]),
        host_edge=_scheme(found["host_edge"]),
        transport=_scheme(found["transport"]),
        buffer=_amount(found["buffer"]),
        probes=tuple(Probe(**probe) for probe in found["probes"]),
        family=found["family"],
        mss=found["mss"],
        pauses=found["pauses"],
        recovery=found["recovery"],
        until=found["until"],
        kernel=found["kernel"],
    )


def _scheme(found: Mapping[str, Any] | None) -> Scheme | None:
    if found is None:
        return None
    params = {
        key: _amount(value) if isinstance(value, tuple) else value
        for key, value in found["params"].items()
    }
    return Scheme(found["scheme"], params)


def _amount(found: tuple[int, str]) -> Amount:
    count, unit = found
    return Amount(count, unit == "bytes")
