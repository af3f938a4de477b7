"""``paper.toml`` and ``figure.toml``: what belongs to a paper, what a figure runs and draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafspine.errors import InputError
from leafspine.nearest import nearest
from leafspine.reproduce import reading, run_sets, words
from leafspine.reproduce.claims import Claim, read_claims
from leafspine.reproduce.reading import Keys
from leafspine.reproduce.run_sets import FILE, Layer, RunSet, Settings

SCALES = ("quick", "paper")
KINDS = ("line", "bar", "cdf", "time", "points", "table")
DRAWN = {
    "line": ("metric", "series"),
    "cdf": ("series",),
    "time": ("series",),
    "points": ("series",),
}
"""What the kinds draw: one of these, all others a metric."""
LISTED = {
    "bar": ("runs", "metric"),
    "table": ("runs", "metric"),
    "time": ("series",),
    "cdf": ("series",),
}
"""Of what a panel may show several."""


@dataclass(frozen=True)
class Panel:
    """One plot or table of a figure: a metric over a swept key, or series at one point.

    Where it shows several sets of runs, metrics or series, there is one of these for each, with
    its ``label``; they have the name in common.
    """

    name: str
    title: str
    kind: str
    runs: str
    metric: str
    series: str
    x: str
    x_label: str
    unit: str
    log: bool
    variants: tuple[str, ...]
    at: Settings
    label: str = ""
    y_label: str = ""


@dataclass(frozen=True)
class Sensitivity:
    """Claims once more under another plausible value of what the paper does not state: sets of
    runs, ``layers`` on top of each, and the claims.

    ``at``: the point that its own runs are judged at where what a swept key means has changed (a
    load of other links); of the keys that it has, in the place of the claims'."""

    name: str
    runs: tuple[str, ...]
    layers: tuple[Layer, ...]
    claims: tuple[str, ...]
    at: Settings = field(default_factory=dict)

    def asks(self, claim: Claim) -> Claim:
        """What is judged of a claim."""
        return claim.about(*self.runs).moved(self.at)

    def run_set(self, runs: str) -> str:
        """The name that its runs on top of a set go by in the data."""
        return f"{runs}~{self.name}"


@dataclass(frozen=True)
class OnLinux:
    """Claims once more with hosts that are Linux kernels (:mod:`leafspine.reproduce.on_linux`): a
    set of runs, a ``layer`` that makes it of a size that takes minutes, and the claims.

    ``size``: that in words; ``notes``: what the kernels have otherwise than the figure's hosts."""

    runs: str
    layer: Layer
    claims: tuple[str, ...]
    size: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Ideal:
    """For which sets of runs, at which points, there is an ideal fabric, and with which variants'
    hosts and flows (:mod:`leafspine.reproduce.ideal`)."""

    runs: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    at: tuple[Settings, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper."""

    paper: str
    name: str
    folder: Path
    title: str
    place: str
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    runs: tuple[RunSet, ...]
    panels: tuple[Panel, ...]
    sensitivities: tuple[Sensitivity, ...]
    ideal: Ideal = Ideal()
    batches: int = 1
    """Into how many parts, by the order of starts, the flows of a run of the paper's size are cut
    for intervals; 1: intervals are over seeds alone."""
    on_linux: tuple[OnLinux, ...] = ()

    @property
    def path(self) -> str:
        """``paper/figure``, as on the command line."""
        return f"{self.paper}/{self.name}"

    @property
    def file(self) -> Path:
        """Where it is described."""
        return self.folder / FILE

    def by_name(self) -> tuple[tuple[Panel, ...], ...]:
        """The panels as they are seen: those of one name are one."""
        found: dict[str, list[Panel]] = {}
        for panel in self.panels:
            found.setdefault(panel.name, []).append(panel)
        return tuple(tuple(parts) for parts in found.values())

    def all_runs(self) -> tuple[RunSet, ...]:
        """The sets of runs, and those of the sensitivities."""
        named = {entry.name: entry for entry in self.runs}
        more = tuple(
            named[runs].on_top(other.run_set(runs), other.layers)
            for other in self.sensitivities
            for runs in other.runs
        )
        return self.runs + more


@dataclass(frozen=True)
class Paper:
    """A paper with its figures and claims."""

    name: str
    title: str
    authors: str
    folder: Path
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]

    def claims_of(self, figure: str) -> tuple[Claim, ...]:
        """The claims that a figure's runs are to judge."""
        return tuple(claim for claim in self.claims if claim.figure == figure)


def library() -> Path:
    """The papers that ship with leafspine."""
    return Path(__file__).parent.parent / "data" / "papers"


def papers(folder: Path | None = None) -> tuple[Paper, ...]:
    """All papers of a folder, in the order of their names. Raises :class:`InputError`."""
    where = library() if folder is None else folder
    found = tuple(read_paper(path.parent) for path in sorted(where.glob("*/paper.toml")))
    if not found:
        raise InputError(f"{where}: holds no paper (a folder with paper.toml)")
    return found


def read_paper(folder: Path) -> Paper:
    """One paper's folder."""
    path = folder / "paper.toml"
    keys = Keys(reading.load(path), path)
    title, authors = keys.need("title", str), keys.get("authors", str, "")
    names, systems = keys.texts("figures"), keys.texts("systems")
    batches = keys.get("batches", int, 1)
    if batches < 1:
        raise keys.refuse("batches", str(batches), "1 or more")
    changes = _changes(keys.get("changes", dict, {}), path)
    groups = Keys(keys.get("groups", dict, {}), path, ("groups",))
    for name in groups.table:
        groups.texts(name)
    shared = {name: _shared(keys, name) for name in SHARED}
    keys.end()
    figures = tuple(
        replace(read_figure(folder / name, folder.name, changes, shared), batches=batches)
        for name in names
    )
    bounds = words.of(folder.parent, library())
    claims = read_claims(folder / "claims.toml", bounds, systems)
    _agree(folder, figures, claims)
    claims = tuple(_with_titles(claim, figures) for claim in claims)
    return Paper(folder.name, title, authors, folder, figures, claims)


def _with_titles(claim: Claim, figures: Sequence[Figure]) -> Claim:
    """A claim that calls sets of runs as its figure does."""
    sets = [entry for figure in figures if figure.name == claim.figure for entry in figure.runs]
    titles = {entry.name: entry.title for entry in sets if entry.title}
    tests = tuple(replace(test, titles=titles) for test in claim.tests) if titles else claim.tests
    return replace(claim, tests=tests)


def _changes(tables: Mapping[str, object], path: Path) -> dict[str, Layer]:
    """What sensitivities of several figures change alike, by name."""
    found: dict[str, Layer] = {}
    for name, table in tables.items():
        keys = Keys(table, path, ("changes", name))
        found[name] = run_sets.layer(keys)
        keys.end()
    return found


def _agree(folder: Path, figures: tuple[Figure, ...], claims: tuple[Claim, ...]) -> None:
    """Claims name figures and sets of runs that there are; sensitivities name claims."""
    by_name = {figure.name: figure for figure in figures}
    for number, claim in enumerate(claims):
        keys = Keys({}, folder / "claims.toml", ("claim", str(number)), claim.id)
        if claim.tests and claim.figure not in by_name:
            near = nearest(claim.figure, by_name)
            raise keys.refuse("figure", repr(claim.figure), ", ".join(by_name), near)
        for test in claim.tests:
            sets = tuple(entry.name for entry in by_name[claim.figure].runs)
            for name in test.all_runs():
                if name not in sets:
                    raise keys.refuse("runs", repr(name), ", ".join(sets), nearest(name, sets))
    for figure in figures:
        own = {claim.id: claim for claim in claims if claim.figure == figure.name}
        asked: list[tuple[str, int, str, tuple[str, ...], tuple[str, ...]]] = [
            ("sensitivity", number, f"sensitivity {other.name!r}", other.runs, other.claims)
            for number, other in enumerate(figure.sensitivities)
        ]
        asked += [
            ("on_linux", number, "", (other.runs,), other.claims)
            for number, other in enumerate(figure.on_linux)
        ]
        for table, number, title, runs, names in asked:
            keys = Keys({}, figure.file, (table, str(number)), title)
            for name in names:
                if name not in own:
                    raise keys.wrong(f"this figure has no claim {name!r}")
                if not own[name].about(*runs).tests:
                    words = ", ".join(map(repr, runs))
                    raise keys.wrong(f"{name} says nothing of the runs {words}")
        for number, other in enumerate(figure.sensitivities):
            keys = Keys({}, figure.file, ("sensitivity", str(number)))
            for name in other.claims:
                tests = own[name].about(*other.runs).tests
                for key in other.at:
                    if not all(key in (test.at or {}) for test in tests):
                        raise keys.wrong(f"at has {key!r}, but {name} names no point of it")


def read_figure(
    folder: Path,
    paper: str,
    changes: Mapping[str, Layer] | None = None,
    shared: Mapping[str, Mapping[str, str]] | None = None,
) -> Figure:
    """One figure's folder. ``changes`` and ``shared``: the paper's, that its sensitivities and its
    assumptions and notes name."""
    path = folder / FILE
    keys = Keys(reading.load_figure(path), path)
    title, place = keys.need("title", str), keys.need("place", str)
    assumptions, notes = (_texts(keys, name, (shared or {}).get(name, {})) for name in SHARED)
    sets = keys.get("runs", dict, {})
    runs = run_sets.read(folder, sets)
    groups = [_panel(table, path, at) for at, table in enumerate(keys.get("panel", list, []))]
    panels = tuple(panel for group in groups for panel in group)
    ideal = _ideal(keys.get("ideal", dict, {}), path)
    tables = enumerate(keys.get("sensitivity", list, []))
    others = tuple(_sensitivity(table, path, at, changes or {}) for at, table in tables)
    linux_tables = enumerate(keys.get("on_linux", list, []))
    on_linux = tuple(_on_linux(table, path, at) for at, table in linux_tables)
    keys.end()
    names = tuple(entry.name for entry in runs)
    wanted: list[tuple[tuple[str, ...], str]] = [
        (("panel", str(at)), panel.runs) for at, group in enumerate(groups) for panel in group
    ]
    wanted += [
        (("sensitivity", str(at)), name) for at, other in enumerate(others) for name in other.runs
    ]
    wanted += [(("on_linux", str(at)), other.runs) for at, other in enumerate(on_linux)]
    wanted += [(("ideal",), name) for name in ideal.runs]
    for where, name in wanted:
        if name not in names:
            table = Keys({}, path, where)
            key = "extends" if where[0] in ("sensitivity", "on_linux") else "runs"
            raise table.refuse(key, repr(name), ", ".join(names), nearest(name, names))
    titles = [group[0].name for group in groups]
    for at, name in enumerate(titles):
        if name in titles[:at]:
            raise Keys({}, path, ("panel", str(at))).wrong(f"two panels have the name {name!r}")
    return Figure(
        paper,
        folder.name,
        folder,
        title,
        place,
        assumptions,
        notes,
        runs,
        panels,
        others,
        ideal,
        on_linux=on_linux,
    )


SHARED = ("assumptions", "notes")
"""Texts that figures of a paper may have in common, under a name in its ``paper.toml``."""


def _shared(paper: Keys, name: str) -> dict[str, str]:
    texts = Keys(paper.get(name, dict, {}), paper.file, (name,))
    return {text: texts.need(text, str) for text in texts.table}


def _texts(keys: Keys, name: str, shared: Mapping[str, str]) -> tuple[str, ...]:
    """The texts; in the place of ``{ shared = NAME }`` the paper's of that name."""
    value = keys.get(name, (str, list), [])
    found = []
    for at, entry in enumerate([value] if isinstance(value, str) else value):
        if not isinstance(entry, str):
            one = Keys(entry, keys.file, (name, str(at)))
            if "shared" in one.table and not shared:
                named = f"{one.table['shared']!r}, where the paper shares none"
                raise one.refuse("shared", named, f"a name under [{name}] in its paper.toml")
            entry = shared[one.word("shared", tuple(shared))]
            one.end()
        found.append(entry)
    return tuple(found)


def _on_linux(table: object, path: Path, number: int) -> OnLinux:
    keys = Keys(table, path, ("on_linux", str(number)))
    found = OnLinux(
        keys.get("extends", str, "main"),
        run_sets.layer(keys),
        keys.texts("claims"),
        keys.need("size", str),
        keys.texts("notes"),
    )
    keys.end()
    return found


def _ideal(table: Settings, path: Path) -> Ideal:
    if not table:
        return Ideal()
    keys = Keys(table, path, ("ideal",))
    at = keys.get("at", (dict, list), {})
    found = Ideal(
        keys.texts("runs") or ("main",),
        keys.texts("variants"),
        tuple(at) if isinstance(at, list) else (at,),
    )
    keys.end()
    if not found.variants:
        raise keys.refuse("variants", "none", "those whose hosts and queues the fabric has")
    return found


def _panel(table: object, path: Path, number: int) -> tuple[Panel, ...]:
    """A panel: one, or one for each of the runs, the metrics or the series that it lists."""
    keys = Keys(table, path, ("panel", str(number)))
    name = keys.need("name", str)
    keys.name = f"panel {name!r}"
    lists = {key: keys.texts(key) or ("",) for key in ("runs", "metric", "series")}
    labels = keys.texts("labels")
    panel = Panel(
        name=name,
        title=keys.get("title", str, ""),
        kind=keys.word("kind", KINDS, "line"),
        runs=lists["runs"][0] or "main",
        metric=lists["metric"][0],
        series=lists["series"][0],
        x=keys.get("x", str, ""),
        x_label=keys.get("x_label", str, ""),
        unit=keys.get("unit", str, ""),
        log=keys.get("log", bool, False),
        variants=keys.texts("variants"),
        at=keys.get("at", dict, {}),
        y_label=keys.get("y_label", str, ""),
    )
    keys.end()
    drawn = DRAWN.get(panel.kind, ("metric",))
    if tuple(key for key in ("metric", "series") if lists[key] != ("",)) not in {
        (d,) for d in drawn
    }:
        raise keys.wrong(f"a {panel.kind} needs {' or '.join(drawn)}")
    listed = [key for key, values in lists.items() if len(values) > 1]
    count = max(len(values) for values in lists.values())
    if not listed:
        return (replace(panel, label=_labels(labels, 1, keys)[0]),)
    key = listed[0]
    if listed[1:] or key not in LISTED.get(panel.kind, ()):
        raise keys.wrong(f"a {panel.kind} cannot list {' and '.join(listed)}")
    if key == "series" and len(panel.variants) != 1:
        raise keys.wrong("several series are those of one variant: name it in variants")
    pairs: list[dict[str, Any]] = [
        {key: value, "label": label}
        for value, label in zip(lists[key], _labels(labels, count, keys), strict=True)
    ]
    return tuple(replace(panel, **pair) for pair in pairs)


def _labels(found: tuple[str, ...], count: int, keys: Keys) -> tuple[str, ...]:
    if not found and count == 1:
        return ("",)
    if len(found) != count:
        raise keys.refuse("labels", f"{len(found)} labels", str(count))
    return found


def _sensitivity(
    table: object, path: Path, number: int, changes: Mapping[str, Layer]
) -> Sensitivity:
    keys = Keys(table, path, ("sensitivity", str(number)))
    runs, change = keys.texts("extends") or ("main",), keys.get("change", str, "")
    name = keys.get("name", str, change) or keys.need("name", str)
    if change and change not in changes:
        raise keys.refuse("change", repr(change), ", ".join(changes), nearest(change, changes))
    shared = (changes[change],) if change else ()
    layers = (*shared, run_sets.layer(keys))
    found = Sensitivity(name, runs, layers, keys.texts("claims"), keys.get("at", dict, {}))
    keys.end()
    return found
