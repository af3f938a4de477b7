"""The JSON Schema of the scenario file.

Tables, keys, bounds and defaults are asked of the engine, and so are schemes and their parameters,
those from outside too; the sentences are those of the reference (``data/keys.json``, made of
``docs/scenario.md`` by ``docs/generate.py``).

A table whose keys depend on its kind has all of them as ``properties``, for editors to complete,
and an ``if`` for each kind that says which of them it has, for checks. Paths such as
``workload.load`` are what ``set`` and ``[sweep]`` hold: only their first part is checked.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from leafspine import engine
from leafspine.schema_values import Schema, as_written, one_quantity, quantity, value

DRAFT = "http://json-schema.org/draft-07/schema#"
PACKAGED = Path(__file__).parent / "data" / "scenario.schema.json"
"""The schema of leafspine's own schemes, as it ships."""

LISTS = ("workload", "probe", "variant", "topology.change", "topology.tier")
"""Lists of tables."""
ONCE = ("version", "name", "title", "variant", "sweep")
"""Keys of the top that do not vary."""
DEFAULT_KIND = {"workload": "poisson", "load_balancer": "ecmp", "transport": "dctcp"}
"""What a table is that does not say its kind; other tables must say it, or have no keys besides."""
DEFAULT_OF_KIND = {("transport", "dctcp"): ("tcp", True), ("transport", "dcqcn"): ("roce", False)}
"""Schemes that are meant where ``kind`` has this word and none is named; whether by default."""
OPTIONAL = {
    ("topology", "file"): ("host_link", "fabric_link"),
    ("topology", "clos"): ("fabric_link", "hosts_per_tor"),
    ("topology.tier", "clos"): ("switches",),
    ("workload", "collective"): ("bytes", "sizes"),
}
"""What must be given for other kinds alone, or unless another key says it."""
ALTERNATIVES = {
    "workload": {
        "poisson": (("load", "interarrival", "rate"), ("flows", "duration")),
        "collective": (("bytes", "sizes"),),
    }
}
"""Keys of which a kind needs exactly one."""

Known = dict[str, dict[str | None, dict[str, Any]]]


@cache
def sentences() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """What the reference says of keys, by table and key: ``default`` and ``meaning``."""
    path = Path(__file__).parent / "data" / "keys.json"
    found: dict[str, dict[str, dict[str, str]]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def schema() -> Schema:
    """The schema of what this engine reads, with its schemes from outside."""
    known = _known()
    tables = {name: _table(name, kinds) for name, kinds in known.items() if name != "top"}
    top = {name: _key("top", key) for name, key in known["top"][None].items()}
    for name, table in _nested(tables).items():
        top[name] = {**top.get(name, {}), **table}
    top["classes"] |= _classes()
    top["sweep"] |= _paths(_swept())
    top["scheme"] |= _names("scheme")
    return {
        "$schema": DRAFT,
        "title": "A scenario of leafspine",
        "type": "object",
        "properties": top,
        "required": _required("top", top),
        "additionalProperties": False,
        "definitions": {
            "swept": {"anyOf": [_values(), _paths(_swept(), top=False)]},
            **_sizes(tables),
        },
    }


def text() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _known() -> Known:
    """Keys by table and by kind (``None``: of all kinds)."""
    found: Known = defaultdict(dict)
    discriminated = {"topology", "workload", "workload.sizes", "probe"} | {
        entry["place"] for entry in engine.schemes() if entry["place"] != "scheme"
    }
    for entry in engine.known_keys():
        table = entry["table"]
        kind = entry["of"][1] if entry["of"] and table in discriminated else None
        keys = found[table].setdefault(kind, {})
        # A table within tables of several kinds is the same in all of them.
        found[table][kind] = {key["name"]: key for key in entry["keys"]} | keys
    return found


def _table(name: str, kinds: Mapping[str | None, Mapping[str, Any]]) -> Schema:
    """A table: all of its keys, and which of them each kind has."""
    of = "scheme" if name in _places() else "kind"
    properties: Schema = {}
    for kind, keys in kinds.items():
        for key in keys.values():
            made = _key(name, key, kind if of == "scheme" else None)
            _add(properties, key["name"], made)
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if None in kinds:
        return {**found, "required": _required(name, properties)}
    properties[of] = {**properties.get(of, {}), **_kinds(name, of, list(kinds))}
    known = [kind for kind in kinds if kind is not None]
    if of == "kind" and name not in DEFAULT_KIND:
        found["required"] = [of]
    return {**found, "allOf": [_of_kind(name, of, kind, kinds[kind]) for kind in known]}


def _of_kind(name: str, of: str, kind: str, keys: Mapping[str, Any]) -> Schema:
    """What holds for a table of one kind."""
    is_it: Schema = {"properties": {of: {"const": kind}}}
    if DEFAULT_KIND.get(name) != kind:
        is_it["required"] = [of]
    if (name, kind) in DEFAULT_OF_KIND:
        protocol, default = DEFAULT_OF_KIND[name, kind]
        is_meant: Schema = {"properties": {"kind": {"const": protocol}}}
        if not default:
            is_meant["required"] = ["kind"]
        is_it = {"properties": is_it["properties"], "anyOf": [{"required": [of]}, is_meant]}
    own = {key["name"]: _key(name, key, kind if of == "scheme" else None) for key in keys.values()}
    then: Schema = {"propertyNames": {"enum": list(own)}}
    if of == "scheme":
        then["properties"] = {key: _bare(made) for key, made in own.items() if key != of}
    optional = OPTIONAL.get((name, kind), ())
    if needed := [key for key in _required(name, own) if key not in (of, *optional)]:
        then["required"] = needed
    if name == "transport":
        _see_to_protocol(then, _protocols().get(kind, "tcp"))
    choices = ALTERNATIVES.get(name, {}).get(kind, ())
    if choices:
        then["allOf"] = [{"oneOf": [{"required": [key]} for key in keys]} for keys in choices]
    return {"if": is_it, "then": then}


def _see_to_protocol(then: Schema, protocol: str) -> None:
    """A scheme is one beside the ``kind`` of its protocol alone, which is TCP if none is named."""
    then["properties"]["kind"] = {"const": protocol}
    if protocol != "tcp":
        then["required"] = [*then.get("required", []), "kind"]


@cache
def _protocols() -> Mapping[str, str]:
    """The protocol of each scheme of ``[transport]`` that is not TCP's."""
    return {entry["of"][1]: entry["protocol"] for entry in engine.known_keys() if entry["protocol"]}


def _bare(made: Schema) -> Schema:
    """What is checked, without what is told."""
    return {key: held for key, held in made.items() if key not in ("description", "default")}


def _add(properties: Schema, name: str, made: Schema) -> None:
    """Puts a key among those of its table; where kinds differ, any of what they have."""
    before = properties.get(name)
    if before is None:
        properties[name] = made
    elif before != made:
        choices = before.get("anyOf", [before])
        if made not in choices:
            properties[name] = {"anyOf": [*choices, made]}


def _kinds(name: str, of: str, kinds: Iterable[str | None]) -> Schema:
    """The words of the key that says a table's kind."""
    words = [kind for kind in kinds if kind is not None]
    if of == "scheme":
        # "none", "balancer" and the rate controls of queue pairs are no schemes of the catalogue.
        return _names(name, words)
    return {"enum": words}


def _names(place: str, more: Iterable[str] = ()) -> Schema:
    """The names of a place's schemes, or of the bundles, with a sentence each."""
    found = {
        entry["name"]: entry["summary"] for entry in engine.schemes() if entry["place"] == place
    }
    found = dict.fromkeys(more, "") | found
    return {"enum": list(found), "x-taplo": {"docs": {"enumValues": list(found.values())}}}


@cache
def _places() -> tuple[str, ...]:
    places = dict.fromkeys(entry["place"] for entry in engine.schemes())
    return tuple(place for place in places if place != "scheme")


@cache
def _parameters() -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    """Parameters of schemes, by place, scheme and name."""
    return {
        (entry["place"], entry["name"], param["name"]): param
        for entry in engine.schemes()
        for param in entry.get("params", ())
    }


def _key(table: str, key: Mapping[str, Any], scheme: str | None = None) -> Schema:
    """What a key may be, and what it means."""
    name = key["name"]
    found: Schema = RICH.get((table, name), value)(key)
    param = _parameters().get((table, scheme or "", name))
    said = sentences().get(table, {}).get(name)
    meaning = param["doc"] if param else said["meaning"] if said else ""
    default = key["default"]
    lines = [f"{meaning[:1].upper()}{meaning[1:]}"]
    if key["allowed"] and "enum" not in found:
        lines.append(f"Allowed: {key['allowed']}" + (f', or "{key["or"]}"' if key["or"] else ""))
    if said and said["default"] and not param:
        lines.append(f"Default: {said['default']}")
    elif default is not None:
        lines.append(f"Default: {default}")
    if param or (said and said["default"] == default):
        default = param["default"] if param else default
        if default is not None:
            found["default"] = as_written(key, default)
    if text := "\n\n".join(line for line in lines if line):
        found["description"] = text
    return found


def _required(table: str, keys: Iterable[str]) -> list[str]:
    """The keys of which the reference says that they must be given."""
    said = sentences().get(table, {})
    return [key for key in keys if said.get(key, {}).get("default") == "must be given"]


def _nested(tables: Mapping[str, Schema]) -> dict[str, Schema]:
    """The tables of the top, each with those within it."""
    found = {}
    for name in sorted(tables, key=lambda name: -name.count(".")):
        table = tables[name]
        for inner, made in tables.items():
            if inner.rpartition(".")[0] == name and not name.startswith("workload"):
                last = inner.rpartition(".")[2]
                table["properties"][last] = {**table["properties"].get(last, {}), **made}
        if name in LISTS:
            # Python's `tables` refer to the made one: its parents take it from there.
            described = table.pop("description", None)
            items = dict(table)
            table.clear()
            table |= {"type": "array", "items": items}
            if described:
                table["description"] = described
        if "." not in name:
            found[name] = table
    return found


def _sizes(tables: Mapping[str, Schema]) -> Schema:
    """Flow sizes, which may hold flow sizes."""
    law, part = tables["workload.sizes"], tables["workload.sizes.0"]
    point = {
        "type": "array",
        "items": [{"type": ["number", "string"]}, {"type": ["number", "string"]}],
        "minItems": 2,
        "maxItems": 2,
    }
    rows = {"type": "array", "items": point, "minItems": 1}
    law["properties"]["points"] |= {"$ref": "#/definitions/points"}
    names = [entry["name"] for entry in engine.workloads()]
    docs = [entry["source"] for entry in engine.workloads()]
    named = {"enum": names, "x-taplo": {"docs": {"enumValues": docs}}}
    file = {"type": "string", "pattern": r"[/\\]|\.csv$|\.csv\."}
    mix = {"type": "array", "items": part, "minItems": 1}
    return {"sizes": {"anyOf": [named, file, law, rows, mix]}, "points": rows}


def _values() -> Schema:
    return {"type": "array", "minItems": 1}


def _swept() -> Schema:
    return {"$ref": "#/definitions/swept"}


def _paths(held: Schema, *, top: bool = True) -> Schema:
    """A table of dotted keys."""
    found: Schema = {"type": "object", "additionalProperties": held}
    if top:
        names = "|".join(
            key["name"] for key in _known()["top"][None].values() if key["name"] not in ONCE
        )
        found["propertyNames"] = {"pattern": rf"^({names})(\..+)?$"}
    return found


def _classes() -> Schema:
    bound = f"(0|{one_quantity('bytes')})"
    range_of = {"type": "string", "pattern": rf"^\s*{bound}\s*\.\.\s*({bound})?\s*$"}
    return {
        "type": "object",
        "additionalProperties": range_of,
        "propertyNames": {"not": {"const": "all"}},
    }


def _text(_key: object) -> Schema:
    return {"type": "string"}


def _span(_key: object) -> Schema:
    return {"type": "string", "pattern": quantity("time")}


def _hosts(_key: object) -> Schema:
    """Sets of hosts."""
    number = {"type": "integer", "minimum": 0}
    first = {
        "type": "object",
        "properties": {"first": {"type": "integer", "minimum": 1}},
        "required": ["first"],
        "additionalProperties": False,
    }
    words = {"type": "string", "pattern": "^(all|a random half|the rest|[a-z]+[0-9]+)$"}
    hosts = {"type": "array", "items": number, "minItems": 1}
    return {"anyOf": [words, {"type": "integer", "minimum": 1}, hosts, first]}


def _whole(least: int, most: int | None = None) -> Callable[[object], Schema]:
    """A list of whole numbers, from ``least`` on."""
    item: Schema = {"type": "integer", "minimum": least}
    if most is not None:
        item["maximum"] = most
    return lambda _key: {"type": "array", "items": item}


def _window(_key: object) -> Schema:
    times = {"type": "array", "items": _span(None), "minItems": 2, "maxItems": 2}
    return {"anyOf": [{"enum": ["arrivals", "all"]}, times]}


def _anything(_key: object) -> Schema:
    return {}


_RATIO: Schema = {"type": "number", "minimum": 0.01, "maximum": 100}
RICH: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Schema]] = {
    ("top", "name"): _text,
    ("top", "title"): _text,
    ("top", "version"): _text,
    ("top", "scheme"): _anything,
    ("topology", "path"): _text,
    ("topology", "checksum"): _text,
    ("topology", "oversubscription"): lambda _: {
        "anyOf": [_RATIO, {"type": "array", "items": _RATIO}]
    },
    ("topology.tier", "name"): lambda _: {"type": "string", "pattern": "^[a-z]+$"},
    ("topology.change", "link"): lambda _: {"type": "string", "pattern": "-"},
    ("switch", "weights"): _whole(1, 1_000_000),
    ("switch", "stage_queues"): _whole(0, 63),
    ("workload", "sizes"): lambda _: {"$ref": "#/definitions/sizes"},
    ("workload.sizes.0", "sizes"): lambda _: {"$ref": "#/definitions/sizes"},
    ("workload", "senders"): _hosts,
    ("workload", "receivers"): _hosts,
    ("workload", "hosts"): _hosts,
    ("workload", "start"): _span,
    ("workload", "path"): _text,
    ("workload", "checksum"): _text,
    ("workload", "folder"): _text,
    ("workload", "command"): lambda _: {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
    },
    ("workload", "environment"): lambda _: {
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    },
    ("workload.sizes", "name"): _text,
    ("measure", "window"): _window,
    ("measure", "warmup"): _span,
    ("probe", "name"): lambda _: {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
    ("probe", "ports"): lambda _: {"type": "string", "minLength": 1},
    ("probe", "flows"): _whole(0),
    ("variant", "name"): lambda _: {"type": "string", "minLength": 1},
    ("variant", "set"): lambda _: _paths({}),
}
"""What is more than a value: the engine says no more of it than that it is there."""
