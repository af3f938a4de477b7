"""When a run's links changed, from its resolved scenario: what figures over time mark."""

import tomllib
from dataclasses import dataclass
from typing import Any

from leafspine.quantities import number, shown
from leafspine.spelling import NUMBER_AND_UNIT, spelled

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


def of_scenario(text: str) -> list[Change]:
    """All changes of a resolved scenario, by time."""
    found: list[Change] = []
    topology = tomllib.loads(text).get("topology", {})
    for entry in topology.get("change", []):
        start = _ps(entry.get("at", "0us"))
        words = [_amount(entry[key]) for key in ("rate", "delay") if key in entry]
        words += [f"loss {entry['loss']:g}"] if entry.get("loss") else []
        words += [str(entry["state"])] if "state" in entry else []
        if words:
            found.append(Change(start, entry["link"], ", ".join(words), _as_built(entry, topology)))
        if "flap" in entry:
            found += _flaps(entry["link"], start, entry["flap"])
    return sorted(found, key=lambda change: change.time_ps)


def _as_built(entry: dict[str, Any], topology: dict[str, Any]) -> bool:
    """Whether all that a change sets is what the link was built with."""
    built = {"loss": 0.0, **_built(entry["link"], topology), "state": "up"}
    keys = [key for key in ("rate", "delay", "loss", "state") if key in entry]
    return all(_same(entry[key], built.get(key)) for key in keys) and "flap" not in entry


def _built(link: str, topology: dict[str, Any]) -> dict[str, Any]:
    """What a link was built with, where the scenario itself says it: a tier's, or that of all."""
    if topology.get("kind") == "file":
        found = {}  # the file says it, link by link
    elif "host" in link:
        found = topology.get("host_link", {})
    else:
        tiers = {tier["name"]: tier.get("link", {}) for tier in topology.get("tier", [])}
        ends = {end.rstrip("0123456789*") for end in link.partition("#")[0].split("-")}
        upper = [name for name in tiers if name in ends]
        found = tiers[upper[-1]] if upper else topology.get("fabric_link", {})
    return dict(found)


def _same(one: object, other: object) -> bool:
    size, unit = number(one)
    return one == other or (size, unit) == number(other)


def _flaps(link: str, start: int, flap: dict[str, Any]) -> list[Change]:
    every, down_for = _ps(flap["every"]), _ps(flap["down_for"])
    found = []
    for cycle in range(min(int(flap["times"]), MOST_FLAPS)):
        begins = start + cycle * every
        found += [Change(begins, link, "down"), Change(begins + down_for, link, "up", True)]
    return found


def _ps(time: str) -> int:
    return round(number(time)[0])


def _amount(text: str) -> str:
    match = NUMBER_AND_UNIT.fullmatch(text)
    return f"{match[1]} {shown(spelled(match[2]))}" if match else text
