"""What a fit observes: a scenario with a probe of packets, and the options, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from leafspine import engine, results, scenario
from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.qall.defaults import PORTS, PROBE
from leafspine.qall.model import Split
from leafspine.qall.polynomials import terms
from leafspine.scenario import Source
from leafspine.spelling import NUMBER_AND_UNIT, spelled

HIGHEST_DEGREE = 12


def default_scenario() -> Path:
    """The scenario that ships: the paper's fabric and workloads under ECMP."""
    return Path(__file__).parent.parent / "data" / "fit-qall.toml"


@dataclass(frozen=True)
class Request:
    """What to observe and fit. Spans in picoseconds."""

    source: Source
    settings: tuple[tuple[str, str], ...]
    split: Split
    period: int
    tau: int
    ports: str | None

    @cached_property
    def first(self) -> Case:
        """The scenario's run with its own seed, and the probe."""
        return self._observed[0]

    def case(self, extra: int) -> Case:
        """The run with a seed that is so much higher than the first's."""
        first, source, settings = self._observed
        if extra == 0:
            return first
        return scenario.single(source, [*settings, (engine.SEED, str(first.seed + extra))])

    @cached_property
    def _observed(self) -> tuple[Case, Source, list[tuple[str, str]]]:
        """The scenario with a probe of packets: its own, if it has one of that name."""
        source, settings = self.source, list(self.settings)
        case = scenario.single(source, settings)
        own = case.facts.probe(PROBE)
        if own is not None and self.ports is None:
            return case, source, settings
        if own is not None:
            settings.append((f"probe.{own}.ports", _quoted(self.ports or PORTS)))
        else:
            text = source.text + (
                f"\n[[probe]]\nkind = {_quoted('packets')}\nname = {_quoted(PROBE)}\n"
                f"ports = {_quoted(self.ports or PORTS)}\n"
            )
            source = Source(text, source.name, source.base_dir)
        return scenario.single(source, settings), source, settings

    def plain(self, case: Case) -> dict[str, Any]:
        """Everything that decides what is found, for files."""
        return {
            "scenario": case.text,
            "train": self.split.train,
            "test": self.split.test,
            "degrees": list(self.split.degrees),
            "period_us": self.period // 10**6,
            "tau_us": self.tau // 10**6,
        }

    @property
    def key(self) -> str:
        """Name of the fit: the first 16 hex digits of SHA-256 over all that decides it."""
        return sha256(results.to_json(self.plain(self.first)).encode()).hexdigest()[:16]


def _quoted(text: str) -> str:
    return scenario.to_value(text)


def request(
    source: Source,
    settings: Sequence[tuple[str, str]],
    *,
    train: int,
    test: int,
    degrees: Sequence[int],
    period: str,
    tau: str,
    ports: str | None,
) -> Request:
    """Check the options. Raises :class:`InputError`."""
    chosen = tuple(sorted(set(degrees)))
    if not chosen or chosen[0] < 1 or chosen[-1] > HIGHEST_DEGREE:
        raise InputError(
            f"degrees {list(degrees)}: expected whole numbers from 1 to {HIGHEST_DEGREE}"
        )
    needed = len(terms(chosen[-1]))
    if train < needed:
        raise InputError(
            f"{train} training samples: degree {chosen[-1]} has {needed} coefficients and needs "
            f"at least as many"
        )
    if test < 2:
        raise InputError(f"{test} test samples: expected at least 2")
    return Request(
        source=source,
        settings=tuple(settings),
        split=Split(train, test, chosen),
        period=_micros("period", period),
        tau=_micros("tau", tau),
        ports=ports,
    )


_PICOSECONDS = {"us": 10**6, "ms": 10**9, "s": 10**12}


def _micros(name: str, text: str) -> int:
    """Whole microseconds, in picoseconds."""
    match = NUMBER_AND_UNIT.fullmatch(text)
    unit = _PICOSECONDS.get(spelled(match[2]), 0) if match else 0
    span = Decimal(match[1]) * unit if match else Decimal(0)
    if span < 10**6 or span % 10**6:
        raise InputError(
            f"{name} {text!r}: expected a whole number of microseconds, such as 1ms (us, ms, s)"
        )
    return int(span)
