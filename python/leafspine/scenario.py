"""From what the user gives (a path, TOML text, a mapping) to the cases that are run."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspine import arguments, engine, plain
from leafspine.engine import SEED, Building, Case, FlowClass
from leafspine.errors import InputError, refused
from leafspine.labels import point_label

Scenario = str | Path | Mapping[str, Any]

LOAD = "workload.0.load"
LARGEST = 64 << 20
"""Bytes of a scenario file: a hundred thousand runs written out one by one have fewer."""


class Key(str):
    """A key that an option of its own sets: errors blame that option, and not ``--set``."""

    option: str

    def __new__(cls, key: str, option: str) -> "Key":
        """The key with its option."""
        made = super().__new__(cls, key)
        made.option = option
        return made


@dataclass(frozen=True)
class Source:
    """A scenario's text, what to call it in errors, and the directory that its paths start from."""

    text: str
    name: str
    base_dir: str

    @property
    def stem(self) -> str:
        """A short name for directories and titles."""
        return Path(self.name).stem or "scenario"


def read(scenario: Scenario) -> Source:
    """Read a scenario: a path, a mapping, or TOML text (a string with a line break)."""
    arguments.scenario(scenario)
    if isinstance(scenario, Mapping):
        return Source(_without_end("the scenario", to_toml, scenario), "scenario", str(Path.cwd()))
    if isinstance(scenario, str) and "\n" in scenario:
        return Source(scenario, "scenario", str(Path.cwd()))
    path = Path(scenario)
    arguments.unicode("the current directory", str(Path.cwd()))
    try:
        text = plain.decode(path, plain.read(path, LARGEST))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", file=str(path)) from None
    except IsADirectoryError:
        what = "is a directory, not a scenario file"
        raise InputError(f"{path}: {what}", file=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", file=str(path)) from None
    return Source(text, str(path), str(path.resolve().parent))


def to_settings(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Keyword settings as the engine takes them: ``a__b`` is ``a.b``, values as TOML.

    A string stays as it is, so that ``"40pkt"`` needs no second pair of quotes.
    """
    return [
        (
            arguments.unicode("a setting", key.replace("__", ".")),
            arguments.unicode(key, _without_end(key, _setting, value)),
        )
        for key, value in settings.items()
    ]


_INSTEAD = {
    ("run", "load"): "workload__load=0.5, or compare(..., load=[0.3, 0.5]) for several",
    ("run", "lb"): 'load_balancer__scheme="letflow", or compare(..., lb=["ecmp", "letflow"])',
    ("run", "seeds"): "seed=3, or compare(..., seeds=5) for five",
    ("compare", "seed"): "seeds=5 for five seeds from run.seed on, or run__seed=3 for this one",
    ("sweep", "seed"): "seeds=5 for five seeds from run.seed on, or run__seed=3 for this one",
    ("sweep", "load"): 'a sweep over {"workload.load": [0.3, 0.5]}, or workload__load=0.5',
    (
        "sweep",
        "lb",
    ): 'a sweep over {"load_balancer.scheme": ["ecmp", "letflow"]}, or compare(..., lb='
    '["ecmp", "letflow"])',
    ("fit_qall", "load"): "workload__load=0.5",
    ("fit_qall", "lb"): 'load_balancer__scheme="letflow"',
    ("fit_qall", "seeds"): "seed=3, the first of as many seeds as it takes",
}
"""What is meant by an option of the command line, or of another function, that one has not."""


def refuse_options(verb: str, settings: Mapping[str, object]) -> None:
    """Refuse a keyword that is an option elsewhere, and say what does it here."""
    for name in settings:
        if instead := _INSTEAD.get((verb, name)):
            raise refused(f"an argument that {verb} does not have", instead, key=name)


def _setting(value: object) -> str:
    return value if isinstance(value, str) else to_value(value)


def _without_end(name: str, write: Callable[[Any], str], value: Any) -> str:
    """What ``write`` makes of ``value``, which may contain itself, but should not."""
    try:
        return write(value)
    except RecursionError:
        raise arguments.refuse(name, type(value), "values that do not contain themselves") from None


def parse_settings(texts: Sequence[str]) -> list[tuple[str, str]]:
    """All ``key=value`` of ``--set``. Raises :class:`InputError` for two values of one key."""
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        key, value = parse_setting(text)
        before = found.setdefault(_plain_key(key), (key, value))[1]
        if not _alike(before, value):
            raise refused(f"{before} and {value}", "one value", file=f"--set {key}")
    return list(found.values())


def _alike(one: str, other: str) -> bool:
    """Whether two texts are one value: ``0.3`` and ``0.30``, ``rps`` and ``"rps"``."""
    return one == other or _parsed(one) == _parsed(other)


def _parsed(text: str) -> tuple[str, Any]:
    """A value of ``--set`` and its kind; what is in quotes may be a number all the same."""
    try:
        (value,) = tomllib.loads(f"value = {text}").values()
    except (ValueError, RecursionError):
        return "text", text
    if isinstance(value, str) and value != text:
        return _parsed(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    return type(value).__name__, value


def _plain_key(key: str) -> str:
    """A key without the number of its only workload or probe, which may be left out."""
    return ".".join(part.strip('"') for part in key.split(".") if part != "0")


def _keys_set(key: str, value: Any) -> Iterator[str]:
    """The keys that a setting sets: its own and, of a table, those of what is in it."""
    yield _plain_key(key)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _keys_set(f"{key}.{name}", inner)


def refuse_both(option: str, keys: Sequence[str], settings: Sequence[tuple[str, str]]) -> None:
    """Refuse an option beside a setting of one of the keys that it sets: one of the two would do
    nothing. Raises :class:`InputError`."""
    set_by_option = {_plain_key(key) for key in keys}
    for key, value in settings:
        by = getattr(key, "option", "--set")
        if by != option and not set_by_option.isdisjoint(_keys_set(key, _parsed(value)[1])):
            raise refused(f"{key} beside it", "one of the two", file=option)


def parse_setting(text: str) -> tuple[str, str]:
    """``key=value`` of ``--set``."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r}: expected key=value, such as --set aqm.threshold=40pkt")
    return key.strip(), value.strip()


def seeded(settings: Sequence[tuple[str, str]], seed: int | None) -> list[tuple[str, str]]:
    """Settings and the seed of all random streams, if it is given."""
    arguments.count("--seed", seed, least=0)
    if seed is not None:
        refuse_both("--seed", [SEED, f"sweep.{SEED}"], settings)
    return [*settings, *([] if seed is None else [(Key(SEED, "--seed"), str(seed))])]


def expand(
    source: Source,
    settings: Sequence[tuple[str, str]] = (),
    most: int | None = None,
    watch: Building | None = None,
) -> list[Case]:
    """All cases of a scenario. Raises :class:`ScenarioError`.

    And :class:`TooLargeError` if one needs more than ``most`` bytes of memory. ``watch`` gets
    what is being built.
    """
    cases = engine.expand(source.text, source.name, source.base_dir, settings, most, watch)
    refuse_two_ranges(cases, source.name)
    return cases


def refuse_two_ranges(cases: Sequence[Case], name: str) -> None:
    """Refuse a flow class that is one range of sizes here and another there: its numbers would
    stand side by side as if they were of the same flows. Raises :class:`InputError`."""
    known: dict[str, tuple[FlowClass, Case]] = {}
    for case in cases:
        for entry in case.classes:
            first, other = known.setdefault(entry.name, (entry, case))
            if first != entry:
                found = [
                    f"{one.describe()} ({' '.join((of.variant, point_label(of.point))).strip()})"
                    for one, of in ((first, other), (entry, case))
                ]
                raise refused(
                    " and ".join(found),
                    "one range of sizes for all runs; give the other a name of its own",
                    file=name,
                    key=f"classes.{entry.name}",
                )


def single(
    source: Source,
    settings: Sequence[tuple[str, str]] = (),
    most: int | None = None,
    watch: Building | None = None,
) -> Case:
    """The one case of a scenario without variants and sweeps."""
    cases = expand(source, settings, most, watch)
    if len(cases) != 1:
        raise InputError(
            f"{source.name}: describes {len(cases)} runs (its variants and sweep); `leafspine run` "
            f"does one: use `leafspine compare {source.name}`"
        )
    return cases[0]


def comparing(
    source: Source,
    settings: Sequence[tuple[str, str]],
    *,
    lb: Sequence[str] = (),
    over: Mapping[Any, Sequence[Any]] | None = None,
    seeds: int | None = None,
) -> list[tuple[str, str]]:
    """Settings that make a comparison of a scenario.

    ``lb``: load balancers or bundles, which replace the file's variants. ``over``: values by key,
    each of which replaces the file's sweep over that key. ``seeds``: so many, counted from
    ``run.seed``.
    """
    if seeds is not None and not 1 <= seeds <= MOST:
        bound = "at least 1 is needed" if seeds < 1 else f"at most {MOST} runs"
        raise InputError(f"--seeds {seeds}: {bound}")
    chosen = list(settings)
    if lb:
        refuse_both("--lb", ["load_balancer.scheme", "variant"], settings)
        variants = [{"name": name, "set": {balancing(name): name}} for name in lb]
        chosen.append((Key("variant", "--lb"), to_value(variants)))
    for key, values in (over or {}).items():
        if not values:
            raise InputError(f"{key}: no values to sweep over")
        refuse_both(getattr(key, "option", f"a sweep over {key}"), [key, f"sweep.{key}"], settings)
        written = _without_end(key, to_value, list(values))
        swept = arguments.unicode("a key of the sweep", f"sweep.{key}")
        chosen.append((Key(swept, getattr(key, "option", "the sweep")), written))
    if seeds is not None:
        refuse_both("--seeds", [f"sweep.{SEED}"], settings)
        refuse_both("--seeds", [SEED], [(Key(key, "a sweep over"), "") for key in over or {}])
        first = engine.first_seed(source.text, source.name, chosen)
        chosen = [setting for setting in chosen if setting[0] != SEED]
        swept = Key(f"sweep.{SEED}", "--seeds")
        chosen.append((swept, to_value(range(first, first + seeds))))
    return chosen


MOST = 100_000
"""Runs that a scenario may describe."""


def balancing(name: str) -> str:
    """The key that a balancer's name belongs to: a system of several parts is a bundle.

    A wrong name is the engine's to refuse; here that of a bundle, which it would not look for.
    """
    bundles, balancers = [], []
    for entry in engine.schemes():
        if entry["place"] == "load_balancer":
            balancers.append(str(entry["name"]))
        elif entry["place"] == "scheme" and "load_balancer.scheme" in {
            setting["key"] for setting in entry["keys"]
        }:
            bundles.append(str(entry["name"]))
    if name in bundles:
        return "scheme"
    meant = [known for known in bundles if known.lower() == name.lower()]
    if name not in balancers and meant and meant[0] not in balancers:
        allowed = ", ".join(f'"{known}"' for known in dict.fromkeys([*balancers, *bundles]))
        raise refused(f'"{name}"', allowed, file="--lb", nearest=meant[0])
    return "load_balancer.scheme"


def to_toml(mapping: Mapping[str, Any]) -> str:
    """A mapping of tables, lists of tables and values as TOML."""
    lines = [
        f"{_key(name)} = {to_value(value)}"
        for name, value in mapping.items()
        if not isinstance(value, Mapping) and not _is_tables(value)
    ]
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(name)}]", *_pairs(value)]
        elif _is_tables(value):
            for entry in value:
                lines += ["", f"[[{_key(name)}]]", *_pairs(entry)]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {to_value(value)}" for name, value in table.items()]


def _is_tables(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise arguments.refuse("a key of the scenario", name, "text")
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else to_value(name)


def to_value(value: object) -> str:
    """One TOML value; tables become inline ones."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        plain = arguments.unicode("a value of the scenario", value)
        return '"' + "".join(_escape(letter) for letter in plain) + '"'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {to_value(entry)}" for name, entry in value.items())
        return "{ " + inside + " }" if inside else "{}"
    if isinstance(value, list | tuple | range):
        return "[" + ", ".join(to_value(entry) for entry in value) + "]"
    if hasattr(value, "item"):  # a NumPy scalar
        return to_value(value.item())
    allowed = "text, numbers, true and false, lists and tables"
    raise arguments.refuse("a value of the scenario", value, allowed)


def _escape(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if ord(letter) < 0x20 or ord(letter) == 0x7F:
        return f"\\u{ord(letter):04x}"
    return letter
