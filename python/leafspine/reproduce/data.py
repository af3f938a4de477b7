"""The numbers of a figure: what verdicts and plots are made from, and what is kept.

Runs are large and thrown away; these tables are small and stay in the repository, and with them
where each number is from.
"""

import contextlib
import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leafspine import files
from leafspine.engine import Point
from leafspine.errors import InputError
from leafspine.stats import Estimate, estimate

Values = npt.NDArray[np.float64]

FILE = "data.csv"
SERIES_FILE = "series.csv"
BATCHES_FILE = "batches.csv"
PLACE_HEADS = ["runs", "variant", "point", "seed"]
ORIGIN_HEADS = ["key", "version", "packet_hops", "trace_hash"]
KERNEL_HEAD = "kernel"
"""A column more where hosts of some runs are Linux kernels."""
SERIES_HEADS = [*PLACE_HEADS, "series", "x", "y"]
BATCHES_HEADS = [*PLACE_HEADS, "batch"]
HEADS = {
    FILE: [*PLACE_HEADS, *ORIGIN_HEADS],
    SERIES_FILE: SERIES_HEADS,
    BATCHES_FILE: BATCHES_HEADS,
}
UNDEFINED = "nan"
"""A metric without a value, as of a class without flows; one that was not read off is empty."""

Place = tuple[str, str, Point]
"""A set of runs, a variant and a point of the sweep."""

Sample = tuple[int, int]
"""A seed, and a batch of its flows; 0 where there is none but the whole run."""


@dataclass(frozen=True)
class Origin:
    """The run that numbers are from.

    ``key``: that of the resolved scenario and the seed (:attr:`leafspine.engine.Case.key`);
    ``version``: leafspine's; ``trace_hash``: who makes the run again with that version and gets it
    has the same packets; ``kernel``: version and hash of the Linux kernel that the hosts were, if
    they were one.
    """

    key: str
    version: str
    packet_hops: int
    trace_hash: str
    kernel: str = ""


@dataclass
class Data:
    """Values by place, metric and seed; series likewise; origins by place and seed; batches: the
    values of the parts of a run's flows. In the order of the runs."""

    values: dict[Place, dict[str, dict[int, float | None]]] = field(default_factory=dict)
    batches: dict[Place, dict[str, dict[Sample, float | None]]] = field(default_factory=dict)
    series: dict[Place, dict[str, dict[int, tuple[Values, Values]]]] = field(default_factory=dict)
    origins: dict[Place, dict[int, Origin]] = field(default_factory=dict)

    def put(self, place: Place, metric: str, seed: int, value: float | None) -> None:
        """Add one number; ``None`` where it is undefined."""
        self.values.setdefault(place, {}).setdefault(metric, {})[seed] = value

    def put_batches(
        self, place: Place, metric: str, seed: int, values: Sequence[float | None]
    ) -> None:
        """Add the numbers of the batches of one run, in their order."""
        found = self.batches.setdefault(place, {}).setdefault(metric, {})
        found.update({(seed, batch): value for batch, value in enumerate(values)})

    def put_series(self, place: Place, name: str, seed: int, x: Values, y: Values) -> None:
        """Add one curve."""
        self.series.setdefault(place, {}).setdefault(name, {})[seed] = (x, y)

    def put_origin(self, place: Place, seed: int, origin: Origin) -> None:
        """Say which run the numbers of a place and seed are from."""
        self.origins.setdefault(place, {})[seed] = origin

    def take(
        self,
        other: "Data",
        at: Place,
        place: Place,
        seed: int,
        metrics: Iterable[str],
        series: Iterable[str],
    ) -> None:
        """Copy the numbers of one run to a place, from other data that has them at ``at``."""
        for name in metrics:
            self.put(place, name, seed, other.values[at][name][seed])
            if values := other.batches_of(at, name, seed):
                self.put_batches(place, name, seed, values)
        for name in series:
            self.put_series(place, name, seed, *other.series[at][name][seed])
        self.put_origin(place, seed, other.origins[at][seed])

    def places_of(self, key: str) -> list[Place]:
        """Where numbers of the run of this key are."""
        return [
            place
            for place, seeds in self.origins.items()
            if any(origin.key == key for origin in seeds.values())
        ]

    def has(
        self, place: Place, seed: int, key: str, metrics: Iterable[str], series: Iterable[str]
    ) -> bool:
        """Whether all these numbers are there, and from the run of this key."""
        origin = self.origins.get(place, {}).get(seed)
        return (
            origin is not None
            and origin.key == key
            and all(seed in self.values.get(place, {}).get(name, {}) for name in metrics)
            and all(seed in self.series.get(place, {}).get(name, {}) for name in series)
        )

    def batches_of(self, place: Place, metric: str, seed: int) -> list[float | None]:
        """A metric's values in the batches of one run; empty if it is not known by batches."""
        found = self.batches.get(place, {}).get(metric, {})
        return [value for (of, _), value in found.items() if of == seed]

    def seed_counts(self) -> tuple[int, int]:
        """With how many seeds the places were run: the fewest and the most."""
        counts = [len(seeds) for seeds in self.origins.values()]
        return min(counts, default=0), max(counts, default=0)

    def batch_count(self) -> int:
        """Into how many batches the flows of a run were cut; 1 if they were not."""
        samples = (s for metrics in self.batches.values() for v in metrics.values() for s in v)
        return 1 + max((batch for _, batch in samples), default=0)

    def seeds(self, place: Place, metric: str) -> dict[int, float]:
        """The defined values of a metric by seed; empty if there are none."""
        found = self.values.get(place, {}).get(metric, {})
        return {seed: value for seed, value in found.items() if value is not None}

    def samples(self, place: Place, metric: str) -> dict[Sample, float]:
        """What intervals are over: the defined values of a metric by seed and batch, or by seed."""
        if found := self.batches.get(place, {}).get(metric):
            return {sample: value for sample, value in found.items() if value is not None}
        return {(seed, 0): value for seed, value in self.seeds(place, metric).items()}

    def mean(self, place: Place, metric: str) -> Estimate | None:
        """Mean over seeds and its interval, which is over batches where there are any."""
        mean = estimate(list(self.seeds(place, metric).values()))
        spread = estimate(list(self.samples(place, metric).values()))
        return replace(spread, mean=mean.mean) if mean and spread else mean

    def variants(self, runs: str) -> tuple[str, ...]:
        """Variants of a set of runs."""
        places = [*self.values, *self.series]
        return tuple(dict.fromkeys(place[1] for place in places if place[0] == runs))

    def points(self, runs: str, at: Mapping[str, Any] | None = None) -> tuple[Point, ...]:
        """Points of a set of runs that agree with ``at``."""
        places = [*self.values, *self.series]
        found = dict.fromkeys(place[2] for place in places if place[0] == runs)
        return tuple(point for point in found if matches(point, at or {}))

    def alike(self, runs: str, other: str) -> "Data":
        """With a set of runs cut to the points and seeds that another one has: a setting is often
        tried at the end of a sweep alone, where a claim on the whole sweep fares differently."""
        points = set(self.points(other))
        if not points <= set(self.points(runs)):
            return self
        seeds = {s for place in self.origins if place[0] == other for s in self.origins[place]}

        def cut(found: Mapping[Place, Mapping[str, Mapping[Any, Any]]], by_batch: bool) -> Any:
            def kept(sample: Any) -> bool:
                return (sample[0] if by_batch else sample) in seeds

            return {
                place: values
                if place[0] != runs
                else {name: {k: v for k, v in of.items() if kept(k)} for name, of in values.items()}
                for place, values in found.items()
                if place[0] != runs or place[2] in points
            }

        parts = {"values": cut(self.values, False), "batches": cut(self.batches, True)}
        return replace(self, **parts, series=cut(self.series, False))


def matches(point: Point, at: Mapping[str, Any]) -> bool:
    """Whether a point has the values given; ``0.8`` and ``"0.8"`` are alike."""
    values = dict(point)
    return all(key in values and same(values[key], value) for key, value in at.items())


def same(one: object, other: object) -> bool:
    """Whether two values of a sweep are alike, a number or its text."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return float(one) == float(other)
    return str(one) == str(other)


def write(data: Data, folder: Path) -> None:
    """Write ``data.csv``, a row a run, and, if there are any, ``batches.csv``, a row a batch, and
    ``series.csv``; if there are none, not those of before either."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name for metrics in data.values.values() for name in metrics))
    kernels = any(origin.kernel for seeds in data.origins.values() for origin in seeds.values())
    origin_heads = [*ORIGIN_HEADS, *([KERNEL_HEAD] * kernels)]
    rows = (
        _row(place, seed, _cells(data, place, seed, names), origin, origin_heads)
        for place, seeds in data.origins.items()
        for seed, origin in seeds.items()
    )
    _write(folder / FILE, [*PLACE_HEADS, *names, *origin_heads], rows)
    if data.batches:
        names = list(dict.fromkeys(name for metrics in data.batches.values() for name in metrics))
        parts = (
            (*_start(place), *sample, *(_cell(found.get(name, {}), sample) for name in names))
            for place, found in data.batches.items()
            for sample in dict.fromkeys(sample for values in found.values() for sample in values)
        )
        _write(folder / BATCHES_FILE, [*BATCHES_HEADS, *names], parts)
    else:
        (folder / BATCHES_FILE).unlink(missing_ok=True)
    curves = (
        (*_start(place), seed, name, f"{x:.6g}", f"{y:.6g}")
        for place, names in data.series.items()
        for name, seeds in names.items()
        for seed, (xs, ys) in seeds.items()
        for x, y in zip(xs, ys, strict=True)
    )
    if data.series:
        _write(folder / SERIES_FILE, SERIES_HEADS, curves)
    else:
        (folder / SERIES_FILE).unlink(missing_ok=True)


def _row(
    place: Place, seed: int, cells: Iterable[str], origin: Origin, origin_heads: Iterable[str]
) -> tuple[Any, ...]:
    """The numbers of a run, between where they stand and where they are from."""
    return *_start(place), seed, *cells, *(getattr(origin, head) for head in origin_heads)


def _cells(data: Data, place: Place, seed: int, names: Iterable[str]) -> Iterator[str]:
    found = data.values.get(place, {})
    for name in names:
        yield _cell(found.get(name, {}), seed)


def _cell(values: Mapping[Any, float | None], key: int | Sample) -> str:
    value = values.get(key)
    return "" if key not in values else UNDEFINED if value is None else f"{value:.9g}"


def _start(place: Place) -> tuple[str, str, str]:
    runs, variant, point = place
    return runs, variant, json.dumps(dict(point))


def _write(path: Path, heads: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    with files.replacing_file(path) as temporary, temporary.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)


def read(folder: Path) -> Data:
    """What :func:`write` has written. Raises :class:`InputError`."""
    data = Data()
    for line, row in _rows(folder / FILE):
        with _naming(folder / FILE, line):
            _put_row(data, row)
    if (folder / BATCHES_FILE).is_file():
        for line, row in _rows(folder / BATCHES_FILE):
            with _naming(folder / BATCHES_FILE, line):
                _put_batch(data, row)
    if (folder / SERIES_FILE).is_file():
        curves: dict[tuple[Place, str, int], tuple[list[float], list[float]]] = {}
        for line, row in _rows(folder / SERIES_FILE):
            with _naming(folder / SERIES_FILE, line):
                key = (_place(row), row["series"], int(row["seed"]))
                x, y = float(row["x"]), float(row["y"])
            xs, ys = curves.setdefault(key, ([], []))
            xs.append(x)
            ys.append(y)
        for (place, name, seed), (xs, ys) in curves.items():
            data.put_series(place, name, seed, np.array(xs), np.array(ys))
    return data


def _put_row(data: Data, row: Mapping[str, str]) -> None:
    place, seed = _place(row), int(row["seed"])
    for name, value in _cells_of(row, (*PLACE_HEADS, *ORIGIN_HEADS, KERNEL_HEAD)):
        data.put(place, name, seed, value)
    hops, kernel = int(row["packet_hops"]), row.get(KERNEL_HEAD) or ""
    origin = Origin(row["key"], row["version"], hops, row["trace_hash"], kernel)
    data.put_origin(place, seed, origin)


def _put_batch(data: Data, row: Mapping[str, str]) -> None:
    place, sample = _place(row), (int(row["seed"]), int(row["batch"]))
    for name, value in _cells_of(row, BATCHES_HEADS):
        data.batches.setdefault(place, {}).setdefault(name, {})[sample] = value


def _cells_of(row: Mapping[str, str], heads: Sequence[str]) -> Iterator[tuple[str, float | None]]:
    """The metrics of a row that were read off."""
    for name, text in row.items():
        if text and name not in heads:
            yield name, None if text == UNDEFINED else float(text)


@contextlib.contextmanager
def _naming(path: Path, line: int) -> Iterator[None]:
    """A row that is cut off or changed is bad input, named with its line."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}, line {line}: cut off or changed: {error}") from None


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    needed = HEADS[path.name]
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            found = reader.fieldnames or []
            if missing := [head for head in needed if head not in found]:
                raise InputError(
                    f"{path}: found columns {', '.join(found)}; missing: {', '.join(missing)}"
                )
            return [(reader.line_num, row) for row in reader]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file: this figure has no kept results") from None


def _place(row: Mapping[str, str]) -> Place:
    return row["runs"], row["variant"], tuple(json.loads(row["point"]).items())
