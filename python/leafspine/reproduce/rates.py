"""Rates of flows that go on until a run ends, by workload: queue pairs that share links."""

import numpy as np

from leafspine.reproduce.metrics import Run, metric


def _rate(run: Run, workload: int) -> float | None:
    """Mean rate of a workload's flows from start to end of the run: the payload that arrived."""
    flows = run.flows
    own = flows["workload"].to_numpy() == workload
    if not own.any():
        return None
    packets = flows["packets"].to_numpy()[own].astype(float)
    spans = int(run.result.summary["end_ps"]) - flows["start_ps"].to_numpy()[own]
    return float(np.mean(packets * run.case.facts.mss * 8e3 / spans))


@metric("rate_first", "Gb/s", "rate of the first workload's flows")
def _rate_first(run: Run) -> float | None:
    """Mean rate of the first workload's flows."""
    return _rate(run, 0)


@metric("rate_second", "Gb/s", "rate of the second workload's flows")
def _rate_second(run: Run) -> float | None:
    """Mean rate of the second workload's flows."""
    return _rate(run, 1)


@metric("second_over_first", "", "rate of the second workload's flows over the first's")
def _second_over_first(run: Run) -> float | None:
    """By how many times a flow of the second workload is faster than one of the first."""
    first, second = _rate(run, 0), _rate(run, 1)
    return second / first if first and second is not None else None
