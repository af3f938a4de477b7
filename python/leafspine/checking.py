"""What a scenario would run, and what that would cost, without running it.

Flows are drawn as the run will draw them and counted. How fast this machine is with each variant is
measured: its first run goes for a moment and is thrown away.
"""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leafspine import engine, interrupts
from leafspine.engine import Case

if TYPE_CHECKING:
    from leafspine import _engine as native
else:
    from leafspine import native

MOMENT = 0.4
"""Seconds that a variant is tried for."""
TRIED = 12
"""Variants that are tried; others are taken to be as fast as the mean of these."""
LEAST = 1e-4
"""Seconds of a run that tells anything."""
DRAWN = 200
"""Points whose flows are drawn; of more, every so many-th."""


@dataclass(frozen=True)
class Cost:
    """What a variant costs: all its runs, at every point of the sweep."""

    variant: str
    runs: int
    flows: int
    packet_hops: int
    """Of all its runs; retransmissions and probes of schemes come on top."""
    memory: int
    """Bytes that the largest of its runs takes, about."""
    speed: float | None = None
    """Packet-hops per second of one run on one core; ``None``: no run was long enough to tell."""
    messages: int = 0
    """Of the flows: messages of jobs."""
    at_most: bool = False
    """Whether ``run.until`` ends a run of it: flows count whole, so that this is the most."""

    @property
    def seconds(self) -> float | None:
        """Time of all its runs, one after the other."""
        return None if self.speed is None else self.packet_hops / self.speed


def costs(cases: Sequence[Case]) -> list[Cost]:
    """The costs of each variant. Raises :class:`ScenarioError` for what only flows can tell."""
    found = []
    every = max(1, len(cases) // DRAWN)
    for variant in dict.fromkeys(case.variant for case in cases):
        own = [case for case in cases if case.variant == variant]
        drawn = [engine.work(case) for case in own[::every]]
        share = len(own) / len(drawn)
        found.append(
            Cost(
                variant=variant,
                runs=len(own),
                flows=round(share * sum(work["flows"] for work in drawn)),
                messages=round(share * sum(work["messages"] for work in drawn)),
                packet_hops=round(share * sum(work["packet_hops"] for work in drawn)),
                memory=max(case.memory for case in own),
                at_most=any(case.facts.until is not None for case in own),
            )
        )
    return _with_speeds(found, cases)


def _with_speeds(found: Sequence[Cost], cases: Sequence[Case]) -> list[Cost]:
    speeds: dict[str, float] = {}
    for cost in found[:TRIED]:
        first = next(case for case in cases if case.variant == cost.variant)
        if (speed := _speed(first)) is not None:
            speeds[cost.variant] = speed
    mean = sum(speeds.values()) / len(speeds) if speeds else None
    return [replace(cost, speed=speeds.get(cost.variant, mean)) for cost in found]


def _speed(case: Case) -> float | None:
    """Packet-hops per second of a run: of its first moment, or of all of it if it is shorter."""
    progress = native.Progress()
    outputs: list[native.Output] = []
    failures: list[BaseException] = []
    # As in engine.py: a thread that is joined is lost to Ctrl-C.
    ended = threading.Event()

    def work() -> None:
        try:
            outputs.append(native.simulate(case.toml, case.base_dir, progress, False, None, 1))
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    threading.Thread(target=work, name=interrupts.THREAD, daemon=True).start()
    begin = first = hops = 0.0
    try:
        while not ended.wait(0.005) and not (hops and time.monotonic() - begin > MOMENT):
            hops = progress.read()[3]
            if hops and not first:
                # What is built before is no part of the speed.
                begin, first = time.monotonic(), hops
        took = time.monotonic() - begin
        cut_off = not ended.is_set()
    finally:
        progress.cancel()
    ended.wait()
    if failures and not cut_off:
        # Not for having been cut off here: a run of it would fail, too.
        raise failures[0]
    if outputs:
        summary = json.loads(outputs[0].summary())
        seconds = summary["wall_seconds"]
        return summary["packet_hops"] / seconds if seconds > LEAST else None
    return (hops - first) / took if hops > first else None
