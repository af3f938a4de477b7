"""Values of the scenario file in JSON Schema: quantities with units, numbers, words, lists."""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

_TIME = ("ps", "ns", "us", "µs", "μs", "ms", "s")
_BITS = ("bps", "b/s", "bit/s")
_RATE = tuple(f"{prefix}{unit}" for prefix in ("", "k", "M", "G", "T") for unit in _BITS)
_SIZE = ("B", "KB", "MB", "GB", "KiB", "MiB", "GiB")
UNITS: Mapping[str, Sequence[str]] = {
    "time": (*_TIME, "rtt"),
    "bytes": (*_SIZE, "bdp"),
    "rate": _RATE,
    "packets or bytes": ("pkt", *_SIZE, "bdp"),
    "packets": ("pkt", "bdp"),
    "packets, bytes or time": ("pkt", *_SIZE, "bdp", *_TIME, "rtt"),
}
"""The units of each kind of quantity, in every spelling."""
COMPARED: Mapping[str, Sequence[Sequence[str]]] = {
    "packets, bytes or time": (UNITS["packets or bytes"], UNITS["time"]),
}
"""Units of which ``max(..., ...)`` takes two, where these are not all of the kind."""

NUMBER = r"[0-9][0-9_]*(\.[0-9][0-9_]*)?"
QUOTED = r"^\s*[-+]?[0-9._]+([eE][-+]?[0-9]+)?\s*$"
"""A number in quotes: the reader takes it for the number."""

MOST = 2**63 - 1
"""The largest whole number of TOML: as a bound it is none."""


def one_quantity(kind: str) -> str:
    """The pattern of a number and its unit, to be put into another."""
    return _one_of(UNITS[kind])


def _one_of(units: Sequence[str]) -> str:
    return rf"\s*{NUMBER}\s*({'|'.join(units)})\s*"


def quantity(kind: str, *more: str) -> str:
    """The pattern of a quantity, of the larger of two, or of one of some words."""
    forms = [one_quantity(kind), *more]
    if kind != "rate":
        # Which of a size and a time is larger depends on the port: the engine compares like alone.
        for units in COMPARED.get(kind, (UNITS[kind],)):
            one = _one_of(units)
            forms.append(rf"max\({one},{one}\)")
    return f"^({'|'.join(forms)})$"


def value(key: Mapping[str, Any]) -> Schema:
    """What a key may be, from what the engine says of it: ``kind``, bounds, ``words``, ``or``."""
    kind, word = key["kind"], key["or"]
    if kind is None:
        return {}
    plain = kind.removesuffix(" or a word")
    plain = "packets or bytes" if plain == "packets, bytes" else plain
    if plain in UNITS:
        return _quantity(plain, word, key)
    if kind == "boolean":
        return {"type": "boolean"}
    if kind == "word":
        return {"enum": [*key["words"], *([word] if word else [])]}
    if kind == "numbers":
        return {"type": "array", "items": {"type": "number"}, "maxItems": key["high"]}
    found: Schema = {"type": [kind, "string"], "pattern": QUOTED, **_bounds(key)}
    if word:
        found["pattern"] = f"{QUOTED}|^{word}$"
    return found


def _quantity(kind: str, word: str | None, key: Mapping[str, Any]) -> Schema:
    pattern = quantity(kind, *([word] if word else []))
    if kind != "packets":
        return {"type": "string", "pattern": pattern}
    pattern = rf"^\s*[0-9]+\s*$|{pattern}"
    return {"type": ["integer", "string"], "pattern": pattern, **_bounds(key)}


def _bounds(key: Mapping[str, Any]) -> Schema:
    low, high = key["low"], key["high"]
    found: Schema = {}
    if low is not None:
        # The smallest positive number as a bound means: above zero.
        above = 0 < low < 1e-300
        found["exclusiveMinimum" if above else "minimum"] = 0 if above else low
    if high is not None and high < min(MOST, 1e300):
        found["maximum"] = high
    return found


def as_written(key: Mapping[str, Any], text: str) -> Any:
    """A default as the scenario file has it, from the engine's text."""
    kind = key["kind"]
    if kind == "boolean":
        return text == "true"
    if kind in ("integer", "packets") and text.isdigit():
        return int(text)
    if kind == "number":
        return float(text)
    if kind == "numbers":
        return [float(part) for part in text.strip("[] ").split(",") if part.strip()]
    return text
