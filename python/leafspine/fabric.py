"""The graph of a fabric from the table of its ports, and where to draw its nodes.

A port is named ``<its own end>-<the other end>``, with ``#n`` for parallel links, and has the tier
of its own end (docs/measurements.md). Nothing else is known of a kind of topology. In a result that
is older than the column, a node's tier is its distance from the hosts: those called
``host<number>``, or else the nodes with one port.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

_HOST = re.compile(r"host\d+")
_NODE = re.compile(r"([a-z]+)(\d+)")


@dataclass(frozen=True)
class Node:
    """A switch or host: its tier (0: hosts), and its place, both coordinates from 0 to 1, with the
    hosts at the bottom (``y`` 0)."""

    name: str
    tier: int
    x: float
    y: float


@dataclass(frozen=True)
class Link:
    """A link by its ports' indices in the list that the graph was made from: that of the lower end,
    and that of the upper one; between nodes, by their indices. ``parallel`` counts from 0."""

    up: int
    down: int
    lower: int
    upper: int
    parallel: int


@dataclass(frozen=True)
class Fabric:
    """Nodes and links, each once."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def tiers(self) -> int:
        """How many tiers there are, that of the hosts included."""
        return 1 + max((node.tier for node in self.nodes), default=0)


def of_ports(ports: pa.Table) -> Fabric:
    """The graph of a run's ports. A port whose other end has none is no link."""
    found = ends_of(ports["name"].to_pylist())
    ends = {end: index for index, end in enumerate(found) if end[1]}
    near: dict[str, list[str]] = {}
    for own, other in dict.fromkeys(pair for a, b, _ in ends for pair in ((a, b), (b, a))):
        near.setdefault(own, []).append(other)
    tiers = _tiers(near) | _told(ports, found)
    places = _places(near, tiers)
    order = {name: at for at, name in enumerate(places)}
    links = []
    for (own, other, parallel), port in ends.items():
        back = ends.get((other, own, parallel))
        if back is not None and (tiers[own], order[own]) < (tiers[other], order[other]):
            links.append(Link(port, back, order[own], order[other], parallel))
    nodes = tuple(Node(name, tiers[name], *place) for name, place in places.items())
    return Fabric(nodes, tuple(links))


def ends_of(names: Sequence[str]) -> list[tuple[str, str, int]]:
    """Each port's own end, other end and number among parallel links.

    Names of nodes may have dashes: a port is parted where its halves, turned round, are a port."""
    known, found = set(names), []
    for name in names:
        both, mark, number = name.partition("#")
        halves = [(both[:at], both[at + 1 :]) for at, sign in enumerate(both) if sign == "-"]
        whole = [(own, other) for own, other in halves if f"{other}-{own}{mark}{number}" in known]
        own, other = [*whole, *halves, (both, "")][0]
        found.append((own, other, int(number) if number.isdecimal() else 0))
    return found


def hosts_of(ports: pa.Table) -> list[str]:
    """The hosts' names, by the numbers that flows have for them."""
    ends = ends_of(ports["name"].to_pylist())
    tiers = _told(ports, ends)
    if tiers:
        return [name for name, tier in tiers.items() if tier == 0]
    return sorted(_called_so(own for own, _, _ in ends), key=_number)


def are_hosts(ports: pa.Table) -> list[bool]:
    """Which ports are those of hosts."""
    hosts = set(hosts_of(ports))
    return [own in hosts for own, _, _ in ends_of(ports["name"].to_pylist())]


def between_switches(ports: pa.Table) -> list[bool]:
    """Which ports have a switch at both ends of their link."""
    hosts = set(hosts_of(ports))
    ends = ends_of(ports["name"].to_pylist())
    return [own not in hosts and other not in hosts for own, other, _ in ends]


def _told(ports: pa.Table, ends: Sequence[tuple[str, str, int]]) -> dict[str, int]:
    """Each node's tier as the engine gives it, without gaps; nothing in an older result."""
    if "tier" not in ports.column_names:
        return {}
    tiers = ports["tier"].to_pylist()
    rank = {tier: at for at, tier in enumerate(sorted({0, *tiers}))}
    return {own: rank[tier] for (own, _, _), tier in zip(ends, tiers, strict=True)}


def _called_so(owners: Iterable[str]) -> dict[str, int]:
    """The hosts among the owners of ports: those called so, or else those with one port."""
    ports = Counter(owners)
    named = {name: 1 for name in ports if _HOST.fullmatch(name)}
    return named or {name: 1 for name, count in ports.items() if count == 1}


def _tiers(near: dict[str, list[str]]) -> dict[str, int]:
    """Each node's distance from the nearest host."""
    hosts = _called_so(own for own, others in near.items() for _ in others)
    front = [name for name in near if name in hosts] or list(near)[:1]
    found: dict[str, int] = {}
    for tier in range(len(near)):
        found |= dict.fromkeys(front, tier)
        beyond = dict.fromkeys(other for name in front for other in near[name])
        front = [other for other in beyond if other not in found]
    return {name: found.get(name, 0) for name in near}


def _places(near: dict[str, list[str]], tiers: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Where nodes are drawn: each tier a row in the order of numbers, hosts below their switch."""
    top = max(tiers.values(), default=0)
    rows: dict[int, list[str]] = {}
    for name in sorted(near, key=_number):
        rows.setdefault(tiers[name], []).append(name)
    found: dict[str, tuple[float, float]] = {}
    for tier, row in sorted(rows.items()):
        for at, name in enumerate(row):
            found[name] = ((at + 0.5) / len(row), tier / max(top, 1))
    # A switch with hosts is above the middle of them.
    for name in rows.get(1, ()):
        hosts = [found[other][0] for other in near[name] if tiers[other] == 0]
        if hosts:
            found[name] = (sum(hosts) / len(hosts), found[name][1])
    return found


def _number(name: str) -> tuple[str, int]:
    match = _NODE.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)
