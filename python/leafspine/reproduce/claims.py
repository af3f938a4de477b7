"""``claims.toml``: what a paper claims in numbers, and how each claim is tested."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafspine.reproduce import reading
from leafspine.reproduce.reading import Keys

TESTED = ("at", "upto", "range", "ratio", "abs", "order", "similar", "rise", "flat")
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
    claimed: float | tuple[float, float] | None = None
    or_more: bool = False
    below: float | None = None
    above: float | None = None
    bound: float | None = None
    at: Mapping[str, Any] | None = None
    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    along: str = ""

    def all_runs(self) -> tuple[str, ...]:
        """Every set of runs that it looks at."""
        return (self.runs, *self.more_runs, *filter(None, (self.runs_against,)))


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

    def about(self, runs: str) -> "Claim":
        """What it says of one set of runs."""
        return replace(self, tests=tuple(test for test in self.tests if test.runs == runs))


def read_claims(path: Path) -> tuple[Claim, ...]:
    """All claims of a file, in its order. Raises :class:`InputError`."""
    keys = Keys(reading.load(path), path)
    tables = enumerate(keys.need("claim", list))
    claims = tuple(_claim(table, path, number) for number, table in tables)
    keys.end()
    seen: set[str] = set()
    for number, claim in enumerate(claims):
        if claim.id in seen:
            table = Keys({}, path, ("claim", str(number)), claim.id)
            raise table.wrong("there is another claim of this id")
        seen.add(claim.id)
    return claims


def _claim(table: object, path: Path, number: int) -> Claim:
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
            _test(entry, kind, keys, at) for at, entry in enumerate(keys.get("test", list, []))
        ),
    )
    keys.end()
    if bool(claim.tests) == bool(claim.reason):
        raise keys.wrong("either a test, or the reason why there is none")
    return claim


def _test(table: object, kind: str, claim: Keys, at: int) -> Check:
    keys = Keys(table, claim.file, (*claim.path, "test", str(at)), f"{claim.name}.test")
    claimed = keys.get("claimed", (int, float, list))
    number = (int, float)
    test = Check(
        type=keys.word("type", TESTED, kind),
        metric=keys.need("metric", str),
        runs=keys.get("runs", str, "main"),
        runs_against=keys.get("runs_against", str, ""),
        more_runs=keys.texts("more_runs"),
        scheme=keys.get("scheme", str, ""),
        schemes=keys.texts("schemes"),
        against=keys.get("against", str, ""),
        less=keys.texts("less"),
        less_than=keys.texts("less_than"),
        more_than=keys.texts("more_than"),
        others=keys.texts("others"),
        advantage=keys.get("advantage", bool, False),
        average=keys.get("average", bool, False),
        claimed=tuple(claimed) if isinstance(claimed, list) else claimed,
        or_more=keys.get("or_more", bool, False),
        below=keys.get("below", number),
        above=keys.get("above", number),
        bound=keys.get("bound", number),
        at=keys.get("at", dict),
        start=keys.get("from", dict),
        end=keys.get("to", dict),
        along=keys.get("along", str, ""),
    )
    keys.end()
    _complete(test, keys)
    return test


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
        "similar": not (test.scheme and test.against),
        "rise": not (test.scheme or test.schemes),
        "flat": not (test.scheme or test.schemes),
    }[test.type]
    if missing:
        raise keys.wrong(f"a test of type {test.type!r} lacks a key (docs/reproducing.md)")
    if (test.others or test.more_runs) and test.type not in ("upto", "range"):
        raise keys.wrong("others and more_runs are for tests of type upto and range")


def _bounded(test: Check) -> bool:
    return (test.below, test.above) != (None, None)
