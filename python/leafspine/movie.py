"""A page in which a run plays: links by use, queues, marks and drops, pauses, flows' paths.

Made from what the run's probes have seen, resampled to at most 200 frames, a byte a port, frame and
quantity, compressed: some megabytes for a thousand hosts. The page needs nothing but a browser.
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from leafspine import fabric, files, link_changes, night, quantities
from leafspine.probe_kinds import is_data, kind_of

Array = npt.NDArray[Any]

FRAMES = 200
LEVELS = 63
"""Steps in which a share or a queue is kept."""
MOST_SIGNALS = 15
"""Marks, and drops, of a port in a frame are kept as a power of two, up to two to this."""
MOST_BYTES = 5_000_000
FLOWS = 40
"""Flows whose paths can be followed: those with the most packets."""


class Run(Protocol):
    """What of a :class:`leafspine.Result` is shown."""

    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def ports(self) -> pa.Table: ...
    @property
    def flows(self) -> pa.Table: ...
    @property
    def probes(self) -> dict[str, pa.Table]: ...


@dataclass(frozen=True)
class Part:
    """A run with its name and colour, as they are in the plots."""

    name: str
    colour: str
    run: Run


def can_play(run: Run) -> bool:
    """Whether the run has what moves: use of links or queues, at more than one time."""
    return any(
        kind_of(table) in ("utilisation", "queue") and _times(table) > 2
        for table in run.probes.values()
    )


def _times(table: pa.Table) -> int:
    return int(pc.count_distinct(table["time_ps"]).as_py())


def render(parts: Sequence[Part], title: str, most: int = MOST_BYTES) -> str:
    """The page, of at most so many bytes: of too many runs the first, with fewer frames if need be.

    Runs on another fabric than the first are left out.
    """
    names = parts[0].run.ports["name"]
    shown = [part for part in parts if part.run.ports["name"].equals(names)]
    frames = min(FRAMES, max(_frames(part.run) for part in shown))
    while True:
        page = _page(shown, frames, title)
        if len(page.encode()) <= most or (len(shown) <= 1 and frames <= 2):
            return page
        if len(shown) > 2:
            shown = shown[:-1]
        else:
            frames = max(2, frames * 2 // 3)


def _frames(run: Run) -> int:
    sampled = ("utilisation", "queue", "signals", "pause")
    return max(_times(table) for kind in sampled for table in _tables(run, kind))


def _page(parts: Sequence[Part], frames: int, title: str) -> str:
    # A comparison without probes has no such page, and need not wait for this.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    end = max(int(part.run.summary["end_ps"]) for part in parts)
    ports = parts[0].run.ports
    names, graph = ports["name"].to_pylist(), fabric.of_ports(ports)
    frame = _Frames(frames, max(1, -(-end // frames)), names)
    most = max((_longest(part.run) for part in parts), default=0)
    followed = _followed([part.run for part in parts])
    show = _Drawn(frame, graph, fabric.hosts_of(ports), most, followed)
    data = {
        "frames": frames,
        "step": frame.step,
        "mostQueue": most,
        "levels": LEVELS,
        "ports": names,
        "nodes": [[n.name, n.tier, round(n.x, 4), round(n.y, 4)] for n in graph.nodes],
        "links": [[k.lower, k.upper, k.up, k.down, k.parallel] for k in graph.links],
        "runs": [_run(part, show) for part in parts],
    }
    environment = Environment(
        loader=PackageLoader("leafspine"), autoescape=True, undefined=StrictUndefined
    )
    # What ends a script may stand in a name.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return environment.get_template("fabric.html").render(title=title, data=text)


@dataclass(frozen=True)
class _Frames:
    """How many there are, how many picoseconds each is long, and the ports of each."""

    count: int
    step: int
    names: list[str]

    def of(self, times: Array) -> Array:
        """The frame in which a sample ends: it is of the time before it."""
        return np.clip(-(-times.astype(np.int64) // self.step) - 1, 0, self.count - 1)

    def cells(self, table: pa.Table) -> Array:
        """Of each row the place in a flat array of ports by frames."""
        coded = table["port"].combine_chunks().dictionary_encode()
        index = {name: at for at, name in enumerate(self.names)}
        known = np.array([index[name] for name in coded.dictionary.to_pylist()], dtype=np.int64)
        ports = known[coded.indices.to_numpy()]
        cells: Array = ports * self.count + self.of(table["time_ps"].to_numpy())
        return cells

    def total(self, table: pa.Table, column: str) -> Array:
        """The sum of a column's samples in each cell."""
        weights = table[column].to_numpy().astype(float)
        found: Array = np.bincount(self.cells(table), weights, len(self.names) * self.count)
        return found

    def mean(self, table: pa.Table, column: str) -> Array:
        """Their mean; of a cell without samples that of the one before."""
        count = np.bincount(self.cells(table), minlength=len(self.names) * self.count)
        return self._filled(self.total(table, column) / np.maximum(count, 1), count > 0)

    def largest(self, table: pa.Table, column: str) -> Array:
        """The largest of them; of a cell without samples that of the one before."""
        cells = self.cells(table)
        found = np.zeros(len(self.names) * self.count)
        np.maximum.at(found, cells, table[column].to_numpy().astype(float))
        seen = np.zeros(len(found), dtype=bool)
        seen[cells] = True
        return self._filled(found, seen)

    def _filled(self, values: Array, seen: Array) -> Array:
        rows, known = values.reshape(-1, self.count), seen.reshape(-1, self.count)
        times = np.where(known, np.arange(self.count), 0)
        last = np.maximum.accumulate(times, axis=1)
        # Beyond the last sample of all the run has ended, and nothing moves.
        held = np.take_along_axis(rows, last, axis=1)
        ended = np.arange(self.count) > np.flatnonzero(known.any(axis=0)).max(initial=0)
        held[:, ended] = 0
        flat: Array = held.ravel()
        return flat


def _tables(run: Run, kind: str) -> list[pa.Table]:
    """The tables of a kind of probe, without their samples at 0, which are of no time."""
    found = [table for table in run.probes.values() if kind_of(table) == kind]
    later = [table.filter(pc.greater(table["time_ps"], 0)) for table in found]
    return [table for table in later if table.num_rows]


def _longest(run: Run) -> int:
    """The longest queue that was seen, in packets."""
    found = [pc.max(table["packets"]).as_py() for table in _tables(run, "queue")]
    return int(max(found, default=0))


@dataclass(frozen=True)
class _Drawn:
    """What all runs of a page have in common: frames, the fabric and its hosts by number, the
    longest queue, the flows that can be followed."""

    frame: _Frames
    graph: fabric.Fabric
    hosts: list[str]
    most: int
    followed: Array


def _run(part: Part, show: _Drawn) -> dict[str, Any]:
    frame, most = show.frame, show.most
    use, queue, signals = (np.zeros(len(frame.names) * frame.count) for _ in range(3))
    for table in _tables(part.run, "utilisation"):
        use = np.maximum(use, np.round(LEVELS * np.clip(frame.mean(table, "utilisation"), 0, 1)))
    for table in _tables(part.run, "queue"):
        share = np.log1p(frame.largest(table, "packets")) / math.log1p(max(most, 1))
        queue = np.maximum(queue, np.ceil(LEVELS * share))
    for table in _tables(part.run, "signals"):
        marks, drops = (_powers(frame.total(table, name)) for name in ("marks", "drops"))
        signals = np.maximum(signals, 16 * drops + marks)
    watched = {
        kind: bool(_tables(part.run, kind))
        for kind in ("utilisation", "queue", "signals", "packets", "pause")
    }
    seen = [use, queue, signals, *([_paused(part.run, frame)] if watched["pause"] else [])]
    planes = np.concatenate(seen).astype(np.uint8)
    return {
        "name": part.name,
        "colour": part.colour,
        "dark": night.of_hex(part.colour),
        "end": int(part.run.summary["end_ps"]),
        "watched": watched,
        "planes": base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode(),
        "changes": [
            [change.time_ps, link, change.what, change.restores]
            for change in link_changes.of_run(part.run.summary)
            for link in _links(change.link, show)
        ],
        "flows": _paths(part.run, show),
    }


def _paused(run: Run, frame: _Frames) -> Array:
    """For what share of each frame each port was paused; the shortest pause is seen."""
    paused = np.zeros(len(frame.names) * frame.count)
    for table in _tables(run, "pause"):
        times = np.unique(table["time_ps"].to_numpy().astype(np.int64))
        every = float(np.median(np.diff(times, prepend=0)))
        share = np.clip(frame.mean(table, "paused_ps") / every, 0, 1)
        paused = np.maximum(paused, np.ceil(LEVELS * share))
    return paused


def _links(pattern: str, show: _Drawn) -> list[str]:
    """The links that a change names, from either end, where ``*`` stands for any text: each by its
    lower end's port."""
    wanted = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    names, found = show.frame.names, []
    for link in show.graph.links:
        ends = [names[link.up], names[link.down]]
        ends += [] if link.parallel else [f"{name}#0" for name in ends]
        if any(wanted.fullmatch(name) for name in ends):
            found.append(names[link.up])
    return found


def _powers(counts: Array) -> Array:
    found: Array = np.minimum(np.ceil(np.log2(1 + counts)), MOST_SIGNALS)
    return found


def _data(run: Run) -> list[pa.Table]:
    return [table.filter(is_data(table)) for table in _tables(run, "packets")]


def _followed(runs: Sequence[Run]) -> Array:
    """The flows of which most was seen in all runs together: each is in every one."""
    seen = [table["flow"].to_numpy() for run in runs for table in _data(run)]
    if not seen:
        return np.array([], dtype=np.int64)
    numbers, counts = np.unique(np.concatenate(seen), return_counts=True)
    return np.sort(numbers[np.argsort(-counts, kind="stable")[:FLOWS]])


def _paths(run: Run, show: _Drawn) -> list[dict[str, Any]]:
    """What the flows are, and by which ports their data went in each frame."""
    tables, frame = _data(run), show.frame
    if not tables:
        return []
    flows = np.concatenate([table["flow"].to_numpy() for table in tables])
    cells = np.concatenate([frame.cells(table) for table in tables])
    chosen = pa.array(show.followed, run.flows["flow"].type)
    about = run.flows.filter(pc.is_in(run.flows["flow"], chosen))
    found, ways = [], _Ways(frame.names)
    for row in about.to_pylist():
        src, dst = show.hosts[row["src"]], show.hosts[row["dst"]]
        own = np.unique(cells[flows == row["flow"]])
        hops: dict[int, list[int]] = {}
        for cell in own.tolist():
            hops.setdefault(cell % frame.count, []).append(cell // frame.count)
        for ports in hops.values():
            ports += _certain(ways, src, dst, ports)
        text = f"{row['flow']}: {src} to {dst}, {quantities.size(row['bytes'])}"
        found.append({"text": text, "src": src, "dst": dst, "hops": hops})
    return found


class _Ways:
    """Ports by the nodes that they lead from and to, and each node's last neighbour: of a host,
    which has one port, its switch."""

    def __init__(self, names: Sequence[str]) -> None:
        self.between: dict[tuple[str, str], list[int]] = {}
        self.last: dict[str, str] = {}
        ends = fabric.ends_of(names)
        for at, (own, other, _) in enumerate(ends):
            self.between.setdefault((own, other), []).append(at)
            self.last[own] = other
        self.ends = [other for _, other, _ in ends]


def _certain(ways: _Ways, src: str, dst: str, seen: Sequence[int]) -> list[int]:
    """The ports without a probe that data must have taken as well: the hosts' own, and from where
    it was seen to go down to the receiver's switch, if there is one link."""
    first, last = ways.last.get(src, ""), ways.last.get(dst, "")
    beyond = [ways.ends[port] for port in seen]
    steps = [(src, first), (last, dst), *((node, last) for node in beyond if node != dst)]
    only = [ways.between.get(step, []) for step in steps]
    return sorted({ports[0] for ports in only if len(ports) == 1} - set(seen))


def write(parts: Sequence[Part], title: str, path: Path, key: str = "") -> None:
    """Write the page, unless it is there already, made from what ``key`` stands for."""
    if key and _key_of(path) == key:
        return
    page = render(parts, title)
    with files.replacing_file(path) as temporary:
        temporary.write_text(page + _stamp(page, key), encoding="utf-8")


def remove_old(path: Path, key: str) -> None:
    """Remove a page that was made from something else; one that somebody changed stays."""
    found = _key_of(path)
    if found and found != key:
        path.unlink()


def _stamp(page: str, key: str) -> str:
    return f"<!-- leafspine {key} {sha256(page.encode()).hexdigest()} -->\n"


def _key_of(path: Path) -> str:
    """What a page was made from; nothing if there is none, or it is not what was written."""
    if not path.is_file() or path.is_symlink():
        return ""
    page, mark, rest = path.read_text(encoding="utf-8", errors="replace").rpartition(
        "<!-- leafspine "
    )
    words = rest.split()
    if len(words) != 3 or mark + rest != _stamp(page, words[0]):
        return ""
    return words[0]
