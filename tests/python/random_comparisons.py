"""Random scenarios over one worker and over three, with probes and without.

    python random_comparisons.py FOLDER SEED

Run with the real engine by ``test_random_comparisons.py``; a failed assertion says what differs.
"""

import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import leafspine
from leafspine import engine
from leafspine.errors import ScenarioError

CASES = 24

BASE = """\
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_link = { rate = "1Gbps", delay = "3us" }
fabric_link = { rate = "1Gbps", delay = "3us" }

[transport]
min_rto = "1ms"

[[workload]]
load = 0.7
flows = 20
sizes = { kind = "uniform", low = "1B", high = "40KB" }

[run]
until = "200ms"
"""

PROBES = """
[[probe]]
kind = "queue"
ports = "*"
every = "150us"

[[probe]]
kind = "packets"
ports = "leaf0-*"

[[probe]]
kind = "window"
every = "400us"
"""

VALUES: dict[str, list[Any]] = {
    "topology.leaves": [2, 3, 4],
    "topology.links_per_pair": [1, 2],
    "topology.fabric_link.rate": ["300Mbps", "937Mbps", "10Gbps"],
    "topology.host_link.loss": [0, 0.01],
    "topology.host_jitter": ["0us", "2us"],
    "topology.change.0": [{"link": "leaf0-spine1", "rate": "100Mbps"}],
    "switch.buffer": ["5pkt", "30KB", "256pkt"],
    "switch.queues": [1, 3],
    "switch.classifier": ["hash", "stage", "dscp"],
    "transport.mss": [536, 1460, 8960],
    "transport.sack": [True, False],
    "transport.delayed_ack": ["off", "200us"],
    "transport.handshake": [True, False],
    "transport.profile": ["rfc", "linux", "ns-2", "ns-3"],
    "transport.rack": [True, False],
    "workload.0.kind": ["poisson", "poisson", "permutation"],
    "workload.0.load": [0.2, 1.2],
    "workload.0.duration": ["300us", "1ms"],
    "measure.warmup": ["0us", "50us"],
    "run.seed": [2, 3, 4],
}


def settings(chance: random.Random) -> dict[str, Any]:
    """One scenario, as what it changes of the base; it may be one that makes no sense."""
    found: dict[str, Any] = {}
    for place in ("load_balancer", "aqm", "hold", "host_edge", "transport"):
        names = [entry["name"] for entry in leafspine.schemes() if entry["place"] == place]
        if chance.random() < (0.9 if place == "load_balancer" else 0.4):
            found[f"{place}.scheme"] = chance.choice(names)
    for key in chance.sample(sorted(VALUES), 4):
        found[key] = chance.choice(VALUES[key])
    if found.get("switch.queues") == 3:
        found["switch.scheduler"] = chance.choice(["wrr", "dwrr", "strict"])
    return found


def written(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {written(inner)}" for key, inner in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


def variant(number: int, found: dict[str, Any]) -> str:
    pairs = ", ".join(f'"{key}" = {written(value)}' for key, value in found.items())
    return f'\n[[variant]]\nname = "{number}"\nset = {{ {pairs} }}\n'


def accepted(text: str) -> bool:
    try:
        engine.expand(text, "random.toml", ".", [])
    except ScenarioError:
        return False
    return True


def comparison(folder: Path, name: str, text: str, jobs: int) -> dict[str, bytes]:
    """The bytes of all files that a comparison leaves but the wall time's."""
    out = folder / name
    path = folder / "random.toml"
    path.write_text(text)
    done = leafspine.compare(path, jobs=jobs, out=out)
    done.write()
    assert len(done.finished) + len(done.failures) == CASES, name
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name != "timing.json"
    }


def flows(files: dict[str, bytes]) -> list[bytes]:
    """Every run's flows and ports; in an order that does not depend on the runs' names."""
    return sorted(
        content
        for name, content in files.items()
        if name.endswith(("flows.parquet", "ports.parquet"))
    )


def same(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert one.keys() == other.keys(), sorted(one.keys() ^ other.keys())
    differ: Iterable[str] = (name for name in one if one[name] != other[name])
    assert not (names := sorted(differ)), f"other bytes: {names}"


def main(folder: Path, seed: int) -> None:
    """Compare the comparisons."""
    chance = random.Random(seed)
    text, number, tried = BASE, 0, 0
    while number < CASES:
        tried += 1
        assert tried < 50 * CASES, "hardly any scenario is accepted"
        one = variant(number, settings(chance))
        if accepted(BASE + one):
            text, number = text + one, number + 1
    alone = comparison(folder, "one", text, jobs=1)
    same(alone, comparison(folder, "three", text, jobs=3))
    probed = comparison(folder, "probed", text + PROBES, jobs=2)
    assert flows(alone) == flows(probed), "another run with probes"
    print(f"{number} of {tried} scenarios, {len(flows(alone)) // 2} runs finished")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
