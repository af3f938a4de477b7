"""``claims.toml``: what a paper claims in numbers, and how each claim is tested."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafspine.nearest import nearest
from leafspine.reproduce import contradictions, reading
from leafspine.reproduce.contradictions import Contradiction
from leafspine.reproduce.reading import Keys
from leafspine.reproduce.words import Word

TESTED = ("at", "upto", "range", "ratio", "abs", "order", "similar", "rise", "flat", "slows")
UNTESTED = ("cost", "bg")
TYPES = TESTED + UNTESTED


@dataclass(frozen=True)
class Check:
    """One comparison of numbers. Which fields matter depends on ``type``."""

    type: str
    metric: str
    runs: str = "main"
    runs_against: str = ""
    more_runs: tuple[str, ...] = ()
    scheme: str = ""
    schemes: tuple[str, ...] = ()
    against: str = ""
    less: tuple[str, ...] = ()
    less_than: tuple[str, ...] = ()
    more_than: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    advantage: bool = False
    average: bool = False
    every: bool = False
    """Whether it has to hold at each point, not in the mean over all of them."""
    claimed: float | tuple[float, float] | None = None
    or_more: bool = False
    below: float | None = None
    above: float | None = None
    bound: float | None = None
    better: str = ""
    """Whether "less" or "more" is better, where the claim praises one of the paper's own systems by
    a value, or by being near another scheme."""
    praises: bool = False
    """Whether it claims an effect in favour of one of the paper's own systems."""
    by: float = 0.0
    """By how many percent of their mean at least the two of an order, or both ends of a rise,
    differ."""
    at: Mapping[str, Any] | None = None
    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    along: str = ""
    titles: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What its figure calls sets of runs that are not called by their names."""

    def called(self, runs: str) -> str:
        """What a reader is told of a set of runs."""
        return self.titles.get(runs, runs)

    def all_runs(self) -> tuple[str, ...]:
        """Every set of runs that it looks at."""
        return (self.runs, *self.more_runs, *filter(None, (self.runs_against,)))


@dataclass(frozen=True)
class Known:
    """What claims may refer to: words with a bound, and the paper's own systems."""

    words: Mapping[str, Word]
    systems: tuple[str, ...]


@dataclass(frozen=True)
class Open:
    """What is known of a claim that is not reproduced: a sentence each.

    ``hinges_as`` and ``settles_as``: the other claims whose sentence is this one's, too; before it
    comes its own, if it has one.
    """

    tried: str
    hinges: str = ""
    settles: str = ""
    hinges_as: str = ""
    settles_as: str = ""

    @property
    def text(self) -> str:
        """The three in one line."""
        return f"{self.tried} {_sentence(self.hinges)} Would settle it: {self.settles}"


def _sentence(hinges: str) -> str:
    """``On SACK.`` as a sentence of its own; others are ones already."""
    first, _, rest = hinges.partition(" ")
    return f"It hinges {first.lower()} {rest}" if first in ("On", "In", "For") else hinges


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that states a number, an order or a trend."""

    id: str
    place: str
    figure: str
    type: str
    says: str
    reason: str
    tests: tuple[Check, ...]
    contradictions: tuple[Contradiction, ...] = ()
    open: Open | None = None
    """Shown while the claim is not reproduced."""

    def about(self, *runs: str) -> "Claim":
        """What it says of these sets of runs."""
        return replace(self, tests=tuple(test for test in self.tests if test.runs in runs))

    def moved(self, at: Mapping[str, Any]) -> "Claim":
        """The same at another point, whose keys are among those of each test's."""
        if not at:
            return self
        return replace(
            self, tests=tuple(replace(test, at={**(test.at or {}), **at}) for test in self.tests)
        )


def read_claims(
    path: Path, words: Mapping[str, Word] | None = None, systems: Sequence[str] = ()
) -> tuple[Claim, ...]:
    """All claims of a file, in its order. ``words``: those whose bounds tests may use. ``systems``:
    the variants that are the paper's own.

    Raises :class:`InputError`.
    """
    keys = Keys(reading.load(path), path)
    tables = enumerate(keys.need("claim", list))
    known = Known(words or {}, tuple(systems))
    claims = tuple(_claim(table, path, number, known) for number, table in tables)
    keys.end()
    seen: set[str] = set()
    for number, claim in enumerate(claims):
        if claim.id in seen:
            table = Keys({}, path, ("claim", str(number)), claim.id)
            raise table.wrong("there is another claim of this id")
        seen.add(claim.id)
    return _resolved(claims, path)


def _resolved(claims: Sequence[Claim], path: Path) -> tuple[Claim, ...]:
    """Each with the sentences of the claims that it refers to."""
    said = {claim.id: claim.open for claim in claims if claim.open is not None}

    def whole(part: str, chain: tuple[str, ...]) -> str:
        """The last claim's own sentence, and the one that it refers to."""
        own, other = (getattr(said[chain[-1]], name) for name in (part, f"{part}_as"))
        if not other:
            return str(own)
        if other not in said or other in chain:
            number = [claim.id for claim in claims].index(chain[-1])
            at = ("claim", str(number), "open", f"{part}_as")
            keys = Keys({}, path, at, f"{chain[-1]}.open")
            raise keys.wrong(f"{part}_as: {other} has no such sentence of its own")
        return f"{own} {whole(part, (*chain, other))}".lstrip()

    def one(claim: Claim) -> Claim:
        if claim.open is None:
            return claim
        found = {}
        for part in ("hinges", "settles"):
            other = getattr(claim.open, f"{part}_as")
            found[part] = whole(part, (claim.id,)) + (f" (As {other}.)" if other else "")
        return replace(claim, open=replace(claim.open, **found))

    return tuple(map(one, claims))


def _claim(table: object, path: Path, number: int, known: Known) -> Claim:
    keys = Keys(table, path, ("claim", str(number)))
    name = keys.need("id", str)
    keys.name = name
    kind = keys.word("type", TYPES)
    claim = Claim(
        id=name,
        place=keys.need("place", str),
        figure=keys.get("figure", str, ""),
        type=kind,
        says=keys.need("says", str),
        reason=keys.get("reason", str, ""),
        tests=tuple(
            _test(one, kind, keys, at, known)
            for at, entry in enumerate(keys.get("test", list, []))
            for one in _each(entry)
        ),
        contradictions=tuple(
            contradictions.read(
                Keys(entry, path, ("claim", str(number), "contradiction", str(at)), name)
            )
            for at, entry in enumerate(keys.get("contradiction", list, []))
        ),
        open=_open(keys.get("open", dict), keys),
    )
    keys.end()
    if bool(claim.tests) == bool(claim.reason):
        raise keys.wrong("either a test, or the reason why there is none")
    return claim


def _open(table: dict[str, Any] | None, claim: Keys) -> Open | None:
    if table is None:
        return None
    keys = Keys(table, claim.file, (*claim.path, "open"), f"{claim.name}.open")
    found = Open(keys.need("tried", str), *(keys.get(name, str, "") for name in OPEN_KEYS))
    keys.end()
    for part in ("hinges", "settles"):
        if not getattr(found, part) and not getattr(found, f"{part}_as"):
            keys.need(part, str)
    return found


OPEN_KEYS = ("hinges", "settles", "hinges_as", "settles_as")


LISTED = ("metric", "runs", "runs_against", "scheme", "against")
"""Of what a test may list several: it is one for each, of each of the others."""

ITSELF = "itself"
"""In ``less_than`` and ``more_than``: the test's own scheme, in other runs."""


def _each(table: object) -> Iterator[object]:
    """The tests that one with lists stands for."""
    if not isinstance(table, Mapping):
        return iter((table,))
    lists = {key: table[key] for key in LISTED if isinstance(table.get(key), list)}
    chosen = itertools.product(*lists.values())
    return ({**table, **dict(zip(lists, values, strict=True))} for values in chosen)


def _test(table: object, kind: str, claim: Keys, at: int, known: Known) -> Check:
    keys = Keys(table, claim.file, (*claim.path, "test", str(at)), f"{claim.name}.test")
    claimed = keys.get("claimed", (int, float, list))
    number = (int, float)
    scheme = keys.get("scheme", str, "")
    less_than, more_than = (
        tuple(scheme if name == ITSELF else name for name in keys.texts(key))
        for key in ("less_than", "more_than")
    )
    test = Check(
        type=keys.word("type", TESTED, kind),
        metric=keys.need("metric", str),
        runs=keys.get("runs", str, "main"),
        runs_against=keys.get("runs_against", str, ""),
        more_runs=keys.texts("more_runs"),
        scheme=scheme,
        schemes=keys.texts("schemes"),
        against=keys.get("against", str, ""),
        less=keys.texts("less"),
        less_than=less_than,
        more_than=more_than,
        others=keys.texts("others"),
        advantage=keys.get("advantage", bool, False),
        average=keys.get("average", bool, False),
        every=keys.get("every", bool, False),
        claimed=tuple(claimed) if isinstance(claimed, list) else claimed,
        or_more=keys.get("or_more", bool, False),
        below=keys.get("below", number),
        above=keys.get("above", number),
        bound=keys.get("bound", number),
        at=keys.get("at", dict),
        start=keys.get("from", dict),
        end=keys.get("to", dict),
        along=keys.get("along", str, ""),
        better=keys.word("better", ("", "less", "more"), ""),
    )
    own = {test.scheme, test.against} & set(known.systems)
    test = replace(test, praises=bool(own) and test.type in EFFECTS)
    if word := keys.get("word", str, ""):
        test = _worded(test, word, keys, known.words)
    keys.end()
    _complete(test, keys)
    if test.better and test.scheme not in known.systems:
        raise keys.wrong("better is for what a claim praises one of the paper's own systems for")
    return test


EFFECTS = ("at", "upto", "range", "ratio")
"""Tests that claim how far apart two schemes are."""

BOUNDS = ("bound", "below", "above", "by")
"""What bounds of a test are called, those of words and its own."""

SENSES = {
    ("within", "similar"): "bound",
    ("within", "flat"): "bound",
    ("within", "abs"): "below",
    ("beyond", "order"): "by",
    ("beyond", "rise"): "by",
    ("below", "abs"): "below",
    ("above", "abs"): "above",
}
"""Which bound of a test a word of a kind sets, by the test's type. A share is of ``whole``, what
all of it is in the metric's unit."""


def _worded(test: Check, name: str, keys: Keys, words: Mapping[str, Word]) -> Check:
    """A test with the bound of its word."""
    if name not in words:
        raise keys.refuse("word", repr(name), ", ".join(words), nearest(name, list(words)))
    word = words[name]
    field = SENSES.get((word.kind, test.type))
    if field is None:
        raise keys.wrong(f"{name!r} is no word for a test of type {test.type!r}")
    if field in keys.table:
        raise keys.wrong(f"{name!r} has a bound: {field} would be another")
    if test.type == "rise" and test.against:
        raise keys.wrong(f"{name!r} is no word for the rise of an advantage")
    whole = keys.get("whole", (int, float), 100) if test.type == "abs" else 100
    bound: dict[str, Any] = {field: word.percent * whole / 100}
    return replace(test, **bound)


def _complete(test: Check, keys: Keys) -> None:
    """What each type cannot do without."""
    compared = bool(test.against) != bool(test.others)
    missing = {
        "at": not (test.scheme and test.against)
        or isinstance(test.claimed, int | float) == _bounded(test),
        "upto": not (test.scheme and compared and isinstance(test.claimed, int | float)),
        "range": not (test.scheme and compared and isinstance(test.claimed, tuple)),
        "ratio": not (
            test.scheme
            and (test.against or (test.start and test.end))
            and isinstance(test.claimed, int | float)
            and test.claimed > 0
        ),
        "abs": not test.scheme
        or (test.claimed, test.below, test.above) == (None, None, None)
        or (test.claimed == 0 and test.below is None),
        "order": not (
            len(test.less) > 1
            or (test.scheme and (test.less_than or test.more_than))
            or (test.advantage and test.scheme and test.against and test.runs_against)
        ),
        "similar": test.bound is None
        or not ((test.scheme and test.against) or len(test.schemes) > 1),
        "rise": not (test.scheme or test.schemes),
        "flat": not ((test.scheme or test.schemes) and test.bound is not None),
        "slows": not (test.scheme or test.schemes),
    }[test.type]
    if missing:
        raise keys.wrong(f"a test of type {test.type!r} lacks a key (docs/reproducing.md)")
    if test.better and not (test.type == "similar" or (test.type == "abs" and test.claimed)):
        raise keys.wrong("better is for tests of type similar, and abs with a claimed value")
    if (test.others or test.more_runs) and test.type not in ("upto", "range"):
        raise keys.wrong("others and more_runs are for tests of type upto and range")
    if test.every and test.type not in ("order", "similar", "abs"):
        raise keys.wrong("every is for tests of type order, similar and abs")


def _bounded(test: Check) -> bool:
    return (test.below, test.above) != (None, None)
