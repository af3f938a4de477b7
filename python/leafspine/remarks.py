"""What the engine says of finished runs, in few lines: many say the same with other numbers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_PLURAL = re.compile(r"(# \w+(?: \w+)?)s\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?: (?:ps|ns|us|ms|s)\b)?")


def unfinished(flows: int, open_flows: int) -> list[str]:
    """That some flows have not ended, if so."""
    if not open_flows:
        return []
    return [
        f"{open_flows} of {flows} flows unfinished; means and percentiles are of the finished "
        "ones, so they are too low"
    ]


def cut_off(collectives: int, cut: int) -> list[str]:
    """That the run's end has cut off some collectives, if so."""
    if not cut:
        return []
    return [f"{cut} of {collectives} collectives cut off; means are of the complete ones"]


def nothing(hops: int) -> list[str]:
    """That a run has sent no packet, if so."""
    return [] if hops else ["no packet was sent: there is nothing that could be measured"]


def of_summary(summary: Mapping[str, Any]) -> list[str]:
    """What a reader of one run has to know: what its means are not of, and the engine's words."""
    flows, jobs = summary["classes"]["all"], summary.get("collectives", {})
    return [
        *nothing(summary["packet_hops"]),
        *unfinished(flows["flows"], flows["unfinished"]),
        *cut_off(jobs.get("collectives", 0), jobs.get("cut_off", 0)),
        *summary.get("warnings", []),
    ]


def grouped(said: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """One line for each kind of warning, of runs as pairs of a name and its warnings.

    Warnings that differ in their numbers alone are one kind: the first one is shown, with its run,
    and how many others there are. One that is the same everywhere is only counted.
    """
    runs = list(said)
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, warnings in runs:
        for warning in warnings:
            kinds.setdefault(_kind(warning), []).append((name, warning))
    return [_line(found, len(runs)) for found in kinds.values()]


def _kind(warning: str) -> str:
    """The warning without its numbers; ``1 flow`` and ``2 flows`` are of one kind."""
    return _PLURAL.sub(r"\1", _NUMBER.sub("#", warning))


def _line(found: Sequence[tuple[str, str]], total: int) -> str:
    name, text = found[0]
    count = len(found)
    if total == 1:
        return text
    if not _NUMBER.search(text):
        return f"{text} ({count} run{'s' if count > 1 else ''})"
    return f"{count} of {total} runs, such as {name}: {text}"
