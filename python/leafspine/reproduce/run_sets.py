"""Sets of runs in a ``figure.toml``: a scenario and what is changed of it, or another set of runs
and what is changed of that. Variants are chosen and changed by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafspine.nearest import nearest
from leafspine.reproduce import reading
from leafspine.reproduce.reading import Keys

Settings = Mapping[str, Any]

FILE = "figure.toml"
"""Of a figure's folder: what describes it."""


@dataclass(frozen=True)
class Layer:
    """What one table changes: ``settings`` replace keys, ``sweep`` swept keys; ``quick_...`` those
    of the quick scale on top. ``variants``: keys on top of those of the variant of that name, or a
    new one's, ``like`` another. ``only``: the variants that are run, in this order."""

    settings: Settings = field(default_factory=dict)
    sweep: Settings = field(default_factory=dict)
    quick_settings: Settings = field(default_factory=dict)
    quick_sweep: Settings = field(default_factory=dict)
    variants: Mapping[str, Settings] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    over: Path | None = None
    """A scenario's file on top of the scenario, where keys cannot say the change."""
    keys: Keys | None = field(default=None, compare=False)
    """Where it stands, for errors."""


@dataclass(frozen=True)
class RunSet:
    """Runs of one scenario, changed by one layer after the other."""

    name: str
    scenario: Path
    layers: tuple[Layer, ...] = ()
    title: str = ""
    """What pages call it, where that is not its name."""
    also: tuple[Settings, ...] = ()
    """At the paper's size: sweeps on top of the sweep, whose points come after its own. Of these
    runs alone, not of others on top of them."""

    def at(self, scale: str) -> tuple[Settings, Settings]:
        """Settings and sweep at a scale: a later layer's replace those of the layers that it is
        on, at the quick scale also their quick ones. No values: the key is swept no more."""
        settings: dict[str, Any] = {}
        sweep: dict[str, Any] = {}
        for layer in self.layers:
            steps = [(layer.settings, layer.sweep)]
            if scale == "quick":
                steps.append((layer.quick_settings, layer.quick_sweep))
            for changed, swept in steps:
                # One value in the place of a sweep, or the other way round.
                settings = {k: v for k, v in settings.items() if k not in swept} | dict(changed)
                sweep = {k: v for k, v in sweep.items() if k not in changed} | dict(swept)
        return settings, {key: values for key, values in sweep.items() if values != []}

    @property
    def files(self) -> tuple[Path, ...]:
        """The scenario, and those on top of it."""
        return (self.scenario, *(layer.over for layer in self.layers if layer.over is not None))

    def on_top(self, name: str, layers: Iterable[Layer]) -> "RunSet":
        """These runs, changed further, under another name."""
        return replace(self, name=name, layers=(*self.layers, *layers), title="", also=())

    def parts(self, scale: str) -> tuple["RunSet", ...]:
        """The sweep, and each that comes after it, as sets of runs of their own."""
        more = self.also if scale == "paper" else ()
        own = replace(self, also=())
        return (own, *(own.on_top(self.name, [Layer(sweep=swept)]) for swept in more))

    def variants(self, given: Sequence[Settings]) -> list[Settings] | None:
        """The variants that are run, of those that the scenario gives; ``None`` if no layer names
        one. Raises :class:`InputError` for a name that there is not."""
        if not any(layer.variants or layer.only for layer in self.layers):
            return None
        return chosen(given, self.layers)


def chosen(given: Sequence[Settings], layers: Iterable[Layer]) -> list[Settings]:
    """Variants (``name`` and ``set``) after the changes and choices of layers."""
    found = {str(entry["name"]): dict(entry.get("set", {})) for entry in given}
    for layer in layers:
        for name, changes in layer.variants.items():
            found[name] = _changed(found, name, changes, layer)
        if layer.only:
            found = {name: found[_known(name, found, layer, "only")] for name in layer.only}
    return [{"name": name, "set": settings} for name, settings in found.items()]


def _changed(
    found: Mapping[str, Settings], name: str, changes: Settings, layer: Layer
) -> dict[str, Any]:
    """A variant's settings with the changes on top. As everywhere, another scheme drops the
    parameters of the one before."""
    base = changes.get("like", name)
    settings = dict(found[_known(base, found, layer, "variants")])
    for key, value in changes.items():
        if key.endswith(".scheme") and settings.get(key) != value:
            place = key.removesuffix("scheme")
            settings = {k: v for k, v in settings.items() if not k.startswith(place)}
    settings.update({key: value for key, value in changes.items() if key != "like"})
    return settings


def _known(name: str, found: Mapping[str, Settings], layer: Layer, key: str) -> str:
    if name not in found:
        keys = layer.keys or Keys({}, Path(), ())
        raise keys.refuse(key, repr(name), ", ".join(found), nearest(name, list(found)))
    return name


def layer(keys: Keys, *, with_quick: bool = False) -> Layer:
    """The keys of a layer out of a table that may have others. ``with_quick``: a quick scale is
    among them; what is run at the paper's size alone has none."""
    settings, sweep = keys.get("set", dict, {}), _sweep(keys)
    over = keys.get("over", str)
    changed = keys.get("quick", dict, {}) if with_quick else {}
    quick = Keys(changed, keys.file, (*keys.path, "quick"))
    quick_settings, quick_sweep = quick.get("set", dict, {}), _sweep(quick)
    quick.end()
    named = by_name(keys)
    return replace(
        named,
        settings=settings,
        sweep=sweep,
        quick_settings=quick_settings,
        quick_sweep=quick_sweep,
        over=None if over is None else keys.file.parent / over,
    )


def _sweep(keys: Keys) -> Settings:
    found: Settings = keys.get("sweep", dict, {})
    _are_lists(keys, "sweep", found)
    return found


def _are_lists(keys: Keys, name: str, swept: Settings) -> None:
    for key, values in swept.items():
        if not isinstance(values, list):
            raise keys.refuse(f"{name}.{key}", repr(values), "a list of values")


def by_name(keys: Keys) -> Layer:
    """Only ``variants`` and ``only`` of a table."""
    variants = keys.get("variants", dict, {})
    for name, changes in variants.items():
        if not isinstance(changes, Mapping):
            raise keys.refuse(f"variants.{name}", repr(changes), "a table of keys and values")
    return Layer(variants=variants, only=keys.texts("only"), keys=keys)


def read(folder: Path, table: Mapping[str, object]) -> tuple[RunSet, ...]:
    """All sets of runs of the figure in a folder: its file's table ``runs``."""
    return tuple(_read(name, folder, table, ()) for name in table)


def _read(
    name: str, folder: Path, table: Mapping[str, object], above: tuple[tuple[Path, str], ...]
) -> RunSet:
    """One of them, with those that it extends. ``above``: that led here, each with its folder."""
    keys = Keys(table[name], folder / FILE, ("runs", name))
    scenario, extends = keys.get("scenario", str), keys.get("extends", str)
    title = keys.get("title", str, "")
    own, also = layer(keys, with_quick=True), _also(keys)
    keys.end()
    if extends is None:
        return RunSet(name, folder / (scenario or "scenario.toml"), (own,), title, also)
    if scenario is not None:
        raise keys.wrong("a set of runs has a scenario, or extends another one that has")
    figure, _, base = extends.rpartition("/")
    where = folder.parent / figure if figure else folder
    if figure:
        table = reading.load_figure(where / FILE).get("runs", {})
    if base not in table:
        raise keys.refuse("extends", repr(extends), ", ".join(table), nearest(base, list(table)))
    if (where, base) in (*above, (folder, name)):
        raise keys.wrong(f"extends {extends!r}, which extends it")
    below = _read(base, where, table, (*above, (folder, name)))
    # The same runs under another name have the same points.
    also = also or (below.also if own == Layer(keys=keys) else ())
    return replace(below.on_top(name, (own,)), title=title, also=also)


def _also(keys: Keys) -> tuple[Settings, ...]:
    found = keys.get("also", list, [])
    for swept in found:
        if not isinstance(swept, Mapping) or not swept or [] in swept.values():
            raise keys.refuse("also", repr(swept), "a list of tables such as that of sweep")
        _are_lists(keys, "also", swept)
    return tuple(found)
