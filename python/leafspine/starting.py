"""A scenario to start from: a small fabric, some traffic, and what could be set besides.

What may be chosen is what the engine knows; parameters and their defaults are written from its
registry, as comments.
"""

import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from leafspine import engine
from leafspine.errors import refused
from leafspine.nearest import nearest
from leafspine.schema import PACKAGED

WIDTH = 90

TOPOLOGIES: Mapping[str, str] = {
    "leaf-spine": """\
leaves = 4
spines = 4
hosts_per_leaf = 8""",
    "fat-tree": """\
k = 4                       # ports of a switch: k^3/4 hosts""",
    "tree": """\
tors = 4
hosts_per_tor = 8""",
    "clos": """\
tiers = 3                   # 2 to 4, of switches with so many ports each; or counts:
radix = 8                   # hosts_per_tor, and a [[topology.tier]] for each tier
oversubscription = 3        # at the lowest tier: hosts' rate to uplinks' rate""",
    "star": """\
hosts = 16""",
}
"""Counts of small fabrics, by kind."""

FILE = "file"
LINKS_OF_FILE = """\
source,target,rate,delay
web-1,rack-a,10Gbps,500ns
web-2,rack-a,10Gbps,500ns
web-3,rack-a,10Gbps,500ns
web-4,rack-a,10Gbps,500ns
db-1,rack-b,25Gbps,500ns
db-2,rack-b,25Gbps,500ns
cache-1,rack-c,10Gbps,500ns
cache-2,rack-c,10Gbps,500ns
cache-3,rack-c,10Gbps,500ns
cache-4,rack-c,10Gbps,500ns
rack-a,top-1,10Gbps,1us
rack-a,top-2,10Gbps,1us
rack-b,top-1,10Gbps,1us
rack-b,top-1,10Gbps,1us
rack-b,top-2,10Gbps,1us
rack-c,top-1,10Gbps,1us
rack-c,top-2,10Gbps,1us
"""
"""Three racks: nodes with one link are hosts, two equal rows are parallel links."""
FILE_KEYS = """\
# A row a link: source,target,rate,delay. Names are yours; nodes with one link are hosts. Or a JSON
# file, as NetworkX's node_link_data gives it.
path = "{links}"
# host_link = { rate = "10Gbps", delay = "500ns" }    # of links without a rate or delay
# fabric_link = { rate = "10Gbps", delay = "1us" }"""
FILE_CHANGE = """\
# A link that is slow, or fails, from some time on; both links of rack-b to top-1:
# [[topology.change]]
# link = "rack-b-top-1*"
# at = "10ms"
# rate = "2Gbps"              # or state = "down\""""

WORKLOADS: Mapping[str, str] = {
    "poisson": """\
sizes = "web-search"        # `leafspine workloads` lists the distributions
load = 0.5                  # of what the leaves' links to the spines carry
# load_basis = "host"       # ... or of what the senders' links carry
duration = "250ms"          # or flows = 10_000""",
    "incast": """\
sizes = { kind = "fixed", bytes = "64KB" }
receivers = [0]             # host 0; the others answer it all at once
senders = "the rest"
rounds = 10
every = "10ms\"""",
    "long-flows": """\
sizes = { kind = "fixed", bytes = "10MB" }
count = 8""",
    "permutation": """\
sizes = { kind = "fixed", bytes = "10MB" }""",
    "all-to-all": """\
sizes = { kind = "fixed", bytes = "1MB" }""",
}
"""Traffic that suits any of these fabrics, by kind."""

ON_A_STAR: Mapping[str, Sequence[tuple[str, str]]] = {
    "poisson": (
        ("# of what the leaves' links to the spines carry", "# of what the senders' links carry"),
        (
            '# load_basis = "host"       # ... or of what the senders\' links carry',
            'load_basis = "host"',
        ),
    ),
}
"""What is other where there is no fabric between the leaves."""


REPLAY = "pinned"
"""The balancer that goes by paths which only a trace or a host edge gives."""

FIRST_SWITCH: Mapping[str, str] = {
    "fat-tree": "edge0",
    "tree": "tor0",
    "clos": "tor0",
    "star": "switch0",
    FILE: "rack-a",
}


def text(name: str, topology: str, workload: str, lb: str) -> str:
    """A scenario that runs as it is. Raises :class:`InputError` for names that there are not."""
    _known("--topology", topology, (*TOPOLOGIES, FILE))
    _known("--workload", workload, tuple(WORKLOADS))
    schemes = {(entry["place"], entry["name"]): entry for entry in engine.schemes()}
    places = ("load_balancer", "scheme")
    systems = [who for place, who in schemes if place in places and who != REPLAY]
    _known("--lb", lb, systems)
    bundle = schemes.get(("scheme", lb))
    parts = [
        f"#:schema {PACKAGED.as_uri()}",
        _head(name),
        *([_bundle(bundle)] if bundle else []),
        _topology(topology, links_name(name)),
        *([] if bundle else [_balancing(schemes["load_balancer", lb])]),
        *([] if bundle and _sets_transport(bundle) else [TRANSPORT]),
        QUEUES,
        f'[[workload]]\nkind = "{workload}"\n{_traffic(topology, workload)}',
        REST.replace("PORTS", FIRST_SWITCH.get(topology, "leaf0") + "-*"),
    ]
    return "\n\n".join(parts) + "\n"


def _traffic(topology: str, workload: str) -> str:
    found = WORKLOADS[workload]
    if topology == "star":
        for old, new in ON_A_STAR.get(workload, ()):
            found = found.replace(old, new)
    return found


def _sets_transport(bundle: Mapping[str, Any]) -> bool:
    return any(pair["key"].startswith("transport.") for pair in bundle["keys"])


def example(name: str) -> str:
    """One of the examples that ship, with the schema that ships."""
    folder = PACKAGED.parent / "examples"
    _known("--example", name, sorted(path.stem for path in folder.glob("*.toml")))
    _, _, rest = (folder / f"{name}.toml").read_text(encoding="utf-8").partition("\n")
    return f"#:schema {PACKAGED.as_uri()}\n{rest}"


def beside(name: str) -> dict[str, bytes]:
    """The files that an example names, by their paths from its folder: traces, programs."""
    folder = PACKAGED.parent / "examples"
    words = _texts(tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")))
    return {word: (folder / word).read_bytes() for word in words if (folder / word).is_file()}


def _texts(node: object) -> Iterator[str]:
    """All texts among a scenario's values."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        yield from (text for value in node.values() for text in _texts(value))
    elif isinstance(node, list):
        yield from (text for value in node for text in _texts(value))


def _known(option: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        unique = list(dict.fromkeys(names))
        raise refused(repr(name), ", ".join(unique), key=option, nearest=nearest(name, unique))


HEAD = """\
# What stands here is a run of seconds. Lines with a # before a key are what could be set besides.
#
"""


def _head(name: str) -> str:
    file = "scenario.toml" if name == "-" else name
    told = {
        f"leafspine check {file}": "what it would run, and how long",
        f"leafspine run {file}": "one run",
        f"leafspine compare {file} --lb ecmp,letflow": "side by side, with a report",
        "leafspine schemes": "what else there is",
    }
    width = max(map(len, told))
    lines = [f"#   {command:<{width}}   {what}" for command, what in told.items()]
    return HEAD + "\n".join(lines) + '\n\ntitle = "My first scenario"'


LINKS = """\
host_link = { rate = "10Gbps", delay = "2us" }      # each direction; delay is one way
fabric_link = { rate = "10Gbps", delay = "2us" }"""

CHANGE = """\
# A link that is slow, or fails, from some time on:
# [[topology.change]]
# link = "leaf0-spine1"
# at = "10ms"
# rate = "2Gbps"              # or state = "down\""""


def links_name(name: str) -> str:
    """What the file of links beside a scenario is called."""
    return f"{PurePath(name).stem}-links.csv"


def _topology(kind: str, beside: str) -> str:
    if kind == FILE:
        keys = FILE_KEYS.replace("{links}", beside)
        return f'[topology]\nkind = "{FILE}"\n{keys}\n\n{FILE_CHANGE}'
    links = LINKS if kind != "star" else LINKS.splitlines()[0]
    lines = ["[topology]", f'kind = "{kind}"', TOPOLOGIES[kind], links]
    if kind == "leaf-spine":
        lines += ["", CHANGE]
    return "\n".join(lines)


def _balancing(entry: Mapping[str, Any]) -> str:
    """The balancer, and its parameters as comments."""
    what = "# Which of several paths a packet takes."
    lines = [what, "[load_balancer]", f'scheme = "{entry["name"]}"']
    for param in entry["params"]:
        lines += textwrap.wrap(param["doc"], WIDTH, initial_indent="# ", subsequent_indent="# ")
        lines.append(f"# {param['name']} = {_toml(param)}")
    return "\n".join(lines)


def _bundle(entry: Mapping[str, Any]) -> str:
    """A system of several schemes, and what it stands for."""
    what = textwrap.wrap(entry["summary"], WIDTH, initial_indent="# ", subsequent_indent="# ")
    keys = [f"#   {pair['key']} = {pair['value']}" for pair in entry["keys"]]
    return "\n".join([*what, "# It stands for:", *keys, f'scheme = "{entry["name"]}"'])


def _toml(param: Mapping[str, Any]) -> str:
    """A default as the scenario has it."""
    plain = param["kind"] in ("integer", "number", "boolean", "numbers")
    return str(param["default"]) if plain else f'"{param["default"]}"'


TRANSPORT = """\
# Queues mark at a threshold under DCTCP, and drop what does not fit under the others.
[transport]
scheme = "dctcp"            # "newreno", "cubic"
# profile = "linux"         # TCP as Linux runs it; "rfc" is the default"""

QUEUES = """\
# [switch]
# buffer = "max(256pkt, 4bdp)"      # at each port; "256pkt" counts packets, "375KB" bytes

# [aqm]
# scheme = "ecn-threshold"
# threshold = "65pkt\""""

REST = """\
[measure]
warmup = "0us"              # flows that start before this are in no statistic

[run]
seed = 1                    # the same seed, the same packets
# until = "100ms"           # by default a run ends with its last flow

# What a port's queue does, every 10 us: result-queue.parquet, and `leafspine plot`.
# [[probe]]
# kind = "queue"
# ports = "PORTS"
# every = "10us"

# What `leafspine compare` puts side by side, at every point of the sweep.
# [[variant]]
# name = "ECMP"
# set = { "load_balancer.scheme" = "ecmp" }
#
# [[variant]]
# name = "LetFlow"
# set = { "load_balancer.scheme" = "letflow", "load_balancer.gap" = "100us" }
#
# [sweep]
# "run.seed" = [1, 2, 3]"""
