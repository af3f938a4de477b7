"""The JSON Schema of the scenario file: it takes what the engine takes, and knows what it knows."""

import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from leafspine import schema
from leafspine.reproduce import layers
from test_docs import FABRIC, FLOWS, UNKNOWN, completed, expand, keys_shown, real
from test_engine import KERNELS, PAPERS, ROOT

COMMITTED = json.loads(schema.PACKAGED.read_text(encoding="utf-8"))
CHECK = Draft7Validator(COMMITTED)

SCENARIOS = sorted(
    [
        *PAPERS,
        *(
            path
            for folder in ("examples", "benches", "template")
            for path in (ROOT / folder).rglob("*.toml")
            if "workload" in tomllib.loads(path.read_text())
        ),
    ]
)


def complaints(found: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in CHECK.iter_errors(found)]


def test_the_schema_is_one() -> None:
    """Breaks if what is printed is no JSON Schema, or not the committed one."""
    Draft7Validator.check_schema(COMMITTED)
    assert json.loads(real("-m", "leafspine", "schema").stdout) == COMMITTED


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scenarios_that_run_are_taken(path: Path) -> None:
    """Breaks if an example, a bench or a paper's scenario does not fit the schema."""
    assert complaints(dict(layers.read(path).table)) == []


TAPLO = Path(sys.executable).parent / "taplo"
"""What editors check TOML with, VS Code's "Even Better TOML" among them."""


def checked_by_taplo(*paths: Path) -> str:
    """What it says of these files; nothing if each fits the schema that its first line names."""
    done = subprocess.run(
        [TAPLO, "check", "--no-auto-config", *paths],
        env={"RUST_LOG": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_editors_take_the_examples() -> None:
    """Breaks if an example's first line leads to no schema that taplo reads, or it underlines a
    line there."""
    assert checked_by_taplo(*sorted((ROOT / "examples").glob("*.toml"))) == ""


def test_editors_underline_a_wrong_name(tmp_path: Path) -> None:
    """Breaks if taplo does not find the schema of an example, and so takes anything."""
    text = (ROOT / "examples" / "quickstart.toml").read_text()
    directive, rest = text.split("\n", 1)
    assert directive.startswith("#:schema ../")
    wrong = rest.replace('scheme = "dctcp"', 'scheme = "dctpc"')
    (tmp_path / "wrong.toml").write_text(f"#:schema {schema.PACKAGED}\n{wrong}")
    assert '"dctpc" is not one of ["newreno","dctcp",' in checked_by_taplo(tmp_path / "wrong.toml")


def test_there_are_scenarios_to_take() -> None:
    """Breaks if the files are no longer found, and so no longer tested."""
    assert len(SCENARIOS) > 40


def test_what_is_resolved_is_taken() -> None:
    """Breaks if a value that the engine writes out is refused: then a rule is too narrow."""
    examples = [path for path in SCENARIOS if path.parent.name == "examples"]
    texts = [completed(path.read_text()) for path in examples if path not in KERNELS]
    for answer in expand(*((text, ()) for text in texts), folder=ROOT / "examples"):
        for text in answer["toml"]:
            assert complaints(tomllib.loads(text)) == []


GOOD = [
    '[switch]\nbuffer = " 10_000 pkt"\n',
    '[switch]\nshared_buffer = "9 MiB"\ndt_alpha = 8\n',
    '[load_balancer]\nscheme = "letflow"\ngap = "max(1 µs, 2.5rtt)"\n',
    '[aqm]\nscheme = "ecn-threshold"\nthreshold = "max(1rtt, 10 us)"\n',
    '[aqm]\nscheme = "ecn-threshold"\nthreshold = "max(20pkt, 1bdp)"\n',
    '[transport]\nmax_cwnd = "none"\ntlp = "off"\ndupack_threshold = "1e3"\n',
    '[aqm]\nscheme = "balancer"\n[load_balancer]\nscheme = "tam"\n',
    '[measure]\nwindow = ["1ms", "2ms"]\n',
    '[classes]\nsmall = "0..10KB"\nrest = "10KB.."\n',
    '[sweep]\nrun.seed = [1, 2]\n"workload.load" = [0.1, 0.2]\n',
    '[[variant]]\nname = "a"\nset = { scheme = "presto", "host_edge.reassemble" = true }\n',
]


@pytest.mark.parametrize("more", GOOD)
def test_ways_to_write_it_are_taken(more: str) -> None:
    """Breaks if a spelling that the engine reads is underlined in an editor."""
    text = FABRIC + FLOWS + more
    (answer,) = expand((text, ()))
    assert "toml" in answer, answer
    assert complaints(tomllib.loads(text)) == []


def changed(old: str, new: str) -> str:
    text = FABRIC + FLOWS
    assert old in text
    return text.replace(old, new, 1)


WRONG = {
    "an unknown section": FABRIC + FLOWS + "[swich]\nbuffer = 1\n",
    "no workload": FABRIC,
    "no topology": FLOWS,
    "an unknown kind": changed('"leaf-spine"', '"leaf-spin"'),
    "another kind's key": changed("spines = 4", "spines = 4\nk = 4"),
    "a count too few": changed("spines = 4\n", ""),
    "a count of text": changed("leaves = 4", 'leaves = "many"'),
    "a count of none": changed("leaves = 4", "leaves = 0"),
    "a rate without a unit": changed('rate = "10Gbps"', "rate = 10"),
    "a rate in bytes": changed('rate = "10Gbps"', 'rate = "10GB"'),
    "a link without a delay": changed(', delay = "2us"', ""),
    "a key that a link has not": changed('"2us" }', '"2us", mtu = 1 }'),
    "an unknown distribution": changed('"web-search"', '"web-serch"'),
    "a load in words": changed("0.5", '"half"'),
    "a load of nothing": changed("0.5", "0"),
    "a percentage": changed("0.5", "50"),
    "two ways to say the load": changed("load = 0.5", 'load = 0.5\nrate = "1Gbps"'),
    "no number of flows": changed("flows = 10\n", ""),
    "an incast's key": changed("flows = 10", "flows = 10\nrounds = 2"),
    "an unknown scheme": FABRIC + FLOWS + '[load_balancer]\nscheme = "letflo"\n',
    "a scheme's key without it": FABRIC + FLOWS + '[load_balancer]\ngap = "1us"\n',
    "another scheme's key": FABRIC + FLOWS + '[load_balancer]\nscheme = "rps"\ngap = "1us"\n',
    "a gap in bytes": FABRIC + FLOWS + '[load_balancer]\nscheme = "letflow"\ngap = "1KB"\n',
    "an unknown bundle": 'scheme = "prestoo"\n' + FABRIC + FLOWS,
    "an unknown switch of TCP": FABRIC + FLOWS + "[transport]\nfack = true\n",
    "a flag in words": FABRIC + FLOWS + '[transport]\nsack = "yes"\n',
    "an unknown profile": FABRIC + FLOWS + '[transport]\nprofile = "bsd"\n',
    "too many queues": FABRIC + FLOWS + '[switch]\nqueues = 65\nscheduler = "wrr"\n',
    "no flow of negative size": changed('"web-search"', '{ kind = "fixed", bytes = "-1B" }'),
    "a probe without a kind": FABRIC + FLOWS + '[[probe]]\nports = "*"\n',
    "a probe without a period": FABRIC + FLOWS + '[[probe]]\nkind = "queue"\nports = "*"\n',
    "ports of windows": FABRIC + FLOWS + '[[probe]]\nkind = "window"\nevery = "1us"\nports = "*"\n',
    "a change of nothing known": FABRIC
    + '[[topology.change]]\nlink = "leaf0-spine0"\nstat = "up"\n'
    + FLOWS,
    "a flap without an end": FABRIC
    + '[[topology.change]]\nlink = "leaf0-spine0"\n'
    + 'flap = { every = "2us", down_for = "1us" }\n'
    + FLOWS,
    "an open class": FABRIC + FLOWS + '[classes]\nshort = "small"\n',
    "one point in a sweep": FABRIC + FLOWS + '[sweep]\n"run.seed" = 1\n',
    "a sweep of nothing": FABRIC + FLOWS + '[sweep]\n"seeds" = [1]\n',
    "a variant without a name": FABRIC + FLOWS + "[[variant]]\nset = {}\n",
    "a variant of the sweep": FABRIC + FLOWS + '[[variant]]\nname = "a"\nset = { sweep = 1 }\n',
    "a seed below zero": FABRIC + FLOWS + "[run]\nseed = -1\n",
    "the larger of a size and a time": FABRIC
    + FLOWS
    + '[aqm]\nscheme = "ecn-threshold"\nthreshold = "max(20pkt, 10us)"\n',
    "the larger of a time and a size": FABRIC
    + FLOWS
    + '[aqm]\nscheme = "ecn-threshold"\nthreshold = "max(1rtt, 1bdp)"\n',
    "a window of one time": FABRIC + FLOWS + '[measure]\nwindow = ["1ms"]\n',
}


@cache
def answers() -> dict[str, Any]:
    return dict(zip(WRONG, expand(*((text, ()) for text in WRONG.values())), strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(name: str) -> None:
    """Breaks if the schema takes what the engine refuses, or if the engine takes it."""
    assert "error" in answers()[name]
    assert complaints(tomllib.loads(WRONG[name])) != []


# Keys


def table(section: str) -> dict[str, Any]:
    """The schema of a section of the reference."""
    found: dict[str, Any] = COMMITTED
    if section.startswith("workload.sizes"):
        named, _, law, _, mix = COMMITTED["definitions"]["sizes"]["anyOf"]
        assert named
        return mix["items"] if section.endswith("0") else law
    for part in () if section == "top" else section.split("."):
        found = found["properties"][part]
        found = found.get("items", found)
    return found


def allowed(section: str, found: dict[str, Any]) -> set[str]:
    """The keys that a table with this content may have."""
    keys = set(table(section)["properties"])
    for rule in table(section).get("allOf", ()):
        if Draft7Validator(rule["if"]).is_valid(found):
            keys &= set(rule["then"]["propertyNames"]["enum"])
    return keys


def at(section: str, found: Any) -> Any:
    """What stands in a section; of a list its first table."""
    for part in () if section == "top" else section.split("."):
        if isinstance(found, list):
            found = found[0]
        found = found if part == "0" else found.get(part, {})
    return found[0] if isinstance(found, list) else found


def test_every_key_of_the_reader_is_there() -> None:
    """Breaks if the reader learns a key that the survey does not see: its messages list them."""
    queries = [(section, text) for section, texts in UNKNOWN.items() for text in texts]
    replies = expand(*((text, ()) for _, text in queries))
    for (section, text), answer in zip(queries, replies, strict=True):
        known = set(answer["allowed"].split(", "))
        found = at(section, tomllib.loads(text))
        # What is given decides which alternatives a message still lists.
        assert known <= allowed(section, found), (section, text)


def test_every_kind_of_the_reader_is_there() -> None:
    """Breaks if the schema lacks a kind of topology, workload, probe or sizes, or a scheme."""
    texts = {
        "topology": changed('"leaf-spine"', '"zzz"'),
        "workload": changed("[[workload]]", '[[workload]]\nkind = "zzz"'),
        "workload.sizes": changed('"web-search"', '{ kind = "zzz" }'),
        "probe": FABRIC + FLOWS + '[[probe]]\nkind = "zzz"\n',
        **{
            place: FABRIC + FLOWS + f'[{place}]\nscheme = "zzz"\n'
            for place in ("load_balancer", "aqm", "hold", "host_edge", "transport")
        },
    }
    pairs = FABRIC + FLOWS + '[transport]\nkind = "roce"\nscheme = "zzz"\n'
    queries = [*texts.items(), ("transport", pairs)]
    words: dict[str, set[str]] = {}
    replies = expand(*((text, ()) for _, text in queries))
    for (section, _), answer in zip(queries, replies, strict=True):
        found = {word.strip('"') for word in answer["allowed"].split(", ")}
        words.setdefault(section, set()).update(found)
    for section, found in words.items():
        of = "scheme" if "scheme" in table(section)["properties"] else "kind"
        assert set(table(section)["properties"][of]["enum"]) == found, section


def test_every_key_says_what_it_is() -> None:
    """Breaks if a key has no description: an editor then shows nothing of it."""
    for section in keys_shown():
        for name, key in table(section)["properties"].items():
            texts = [key, *key.get("anyOf", ())]
            assert any(each.get("description") for each in texts), f"{section}.{name}"


@pytest.mark.parametrize(
    ("transport", "taken"),
    [
        ({"kind": "roce"}, True),
        ({"kind": "roce", "scheme": "dcqcn", "dcqcn_g": 0.1}, True),
        ({"kind": "roce", "scheme": "line-rate"}, True),
        ({"kind": "roce", "dcqcn_g": 0.1}, True),
        ({"kind": "tcp"}, True),
        ({"kind": "tcp", "scheme": "cubic"}, True),
        ({"init_cwnd": "1bdp"}, True),
        ({"scheme": "dcqcn"}, False),
        ({"scheme": "line-rate"}, False),
        ({"kind": "tcp", "scheme": "dcqcn"}, False),
        ({"kind": "roce", "scheme": "cubic"}, False),
        ({"kind": "roce", "scheme": "dctcp"}, False),
        ({"kind": "roce", "init_cwnd": "1bdp"}, False),
        ({"recovery": "irn"}, False),
        ({"kind": "roce", "scheme": "line-rate", "dcqcn_g": 0.1}, False),
    ],
)
def test_a_transport_has_its_own_schemes(transport: dict[str, Any], taken: bool) -> None:
    """Breaks if RoCE is not DCQCN's where no scheme is named, as TCP is DCTCP's, or if a scheme or
    a key of one transport is taken beside the other."""
    table = {**COMMITTED["properties"]["transport"], "definitions": COMMITTED["definitions"]}
    assert Draft7Validator(table).is_valid(transport) == taken
