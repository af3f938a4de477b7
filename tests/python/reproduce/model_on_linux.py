"""What a process with the real engine makes of runs that stand beside those with real hosts: JSON.

Of each figure and side of the model's hosts the shortest run, with its trace hash as it is kept
and as it is now.
"""

import json
from collections.abc import Iterator

from leafspine import engine
from leafspine.reproduce import figures, on_linux
from leafspine.reproduce.data import Data, Origin
from leafspine.reproduce.plan import Wanted


def shortest(needed: Iterator[Wanted], kept: Data) -> tuple[Wanted, Origin]:
    """That of these runs with the fewest packet-hops."""
    pairs = [(entry, kept.origins[entry.place][entry.case.seed]) for entry in needed]
    return min(pairs, key=lambda pair: pair[1].packet_hops)


def main() -> None:
    found: dict[str, tuple[str, str]] = {}
    for paper in figures.papers():
        for figure in filter(lambda each: each.on_linux, paper.figures):
            for who in on_linux.OF_MODEL:
                needed = on_linux.wanted(figure, paper.claims_of(figure.name), who)
                entry, origin = shortest(needed, on_linux.kept(figure))
                output = engine.simulate(entry.case.toml, entry.case.base_dir)
                now = json.loads(output.summary())["trace_hash"]
                found[f"{figure.path}, {entry.runs}, {entry.case.label()}"] = origin.trace_hash, now
    print(json.dumps(found))


if __name__ == "__main__":
    main()
