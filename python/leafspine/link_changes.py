"""When a run's links changed, from its summary: what figures over time mark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leafspine import quantities

MOST_FLAPS = 50
"""A link that flaps more often than this is marked at the first ones only."""


@dataclass(frozen=True)
class Change:
    """At ``time_ps`` the link got other properties, in words: ``leaf0-spine1 2 Gb/s``."""

    time_ps: int
    link: str
    what: str
    restores: bool = False
    """Whether the link is then as it was built."""

    @property
    def text(self) -> str:
        """For a figure."""
        return f"{self.link} {self.what}"


def of_run(summary: Mapping[str, Any]) -> list[Change]:
    """All changes of a run, by time; none of a kept result whose summary does not say them yet."""
    found: list[Change] = []
    for row in summary.get("link_changes", ()):
        words = _words(row)
        if words:
            found.append(Change(row["at_ps"], row["link"], ", ".join(words), row["restores"]))
        if row["flap"] is not None:
            found += _flaps(row["link"], row["at_ps"], row["flap"])
    return sorted(found, key=lambda change: change.time_ps)


def _words(row: Mapping[str, Any]) -> list[str]:
    words = [] if row["rate_bps"] is None else [quantities.rate(row["rate_bps"])]
    words += [] if row["delay_ps"] is None else [quantities.time(row["delay_ps"])]
    words += [] if row["loss"] is None else [f"loss {row['loss']:g}"]
    words += [] if row["up"] is None else ["up" if row["up"] else "down"]
    return words


def _flaps(link: str, start: int, flap: Mapping[str, int]) -> list[Change]:
    every, down_for = flap["every_ps"], flap["down_for_ps"]
    found = []
    for cycle in range(min(flap["times"], MOST_FLAPS)):
        begins = start + cycle * every
        found += [Change(begins, link, "down"), Change(begins + down_for, link, "up", True)]
    return found
