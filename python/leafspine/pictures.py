"""The figures of a comparison as files: what there is already is not drawn again.

``plots/figures.json`` says what the figures beside it were drawn from, and has their sums. A figure
is taken as it is only if nothing that any figure depends on has changed, and its files are what
was written; else it is drawn. Nothing here needs Matplotlib unless there is something to draw.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from leafspine import engine, files, progress, results
from leafspine.comparison_data import ComparisonData
from leafspine.errors import LeafspineError
from leafspine.saved import Saved

FOLDER = "plots"
RECORD = "figures.json"
PACKAGE = Path(__file__).parent

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True)
class _Record:
    """What ``figures.json`` says: what was drawn, and each file's sum by its name."""

    key: str = ""
    figures: tuple[Saved, ...] = ()
    sums: dict[str, str] = field(default_factory=dict)


def write(
    comparison: ComparisonData, directory: Path, *, progress_bar: bool = False
) -> list[Saved]:
    """Have every figure in ``directory/plots``; only what is not there yet is drawn."""
    folder = directory / FOLDER
    key = digest(comparison)
    old = _read(folder)
    kept = {
        saved.name: saved
        for saved in old.figures
        if old.key == key and all(_is_whole(path, old) for path in saved.files)
    }
    if kept and len(kept) == len(old.figures):
        return list(old.figures)
    # Drawing needs Matplotlib, which worker processes and commands that draw nothing do without.
    from leafspine import plots

    with progress.of_drawing(show=progress_bar) as watch:
        found = plots.write(comparison, directory, kept, watch)
    _remove(old, but=found)
    _write(folder, key, found)
    return found


def leave_out(comparison: ComparisonData, directory: Path) -> None:
    """Draw nothing; figures of other numbers than this comparison's are removed, as they would
    be taken for its own."""
    old = _read(directory / FOLDER)
    if old.figures and old.key != digest(comparison):
        with files.writing(directory / FOLDER):
            _remove(old, but=())
            (directory / FOLDER / RECORD).unlink()


def unknown(directory: Path) -> list[Path]:
    """Files in ``plots`` that are no figures of the comparison."""
    folder = directory / FOLDER
    known = {RECORD, *_read(folder).sums}
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.name not in known and not files.is_temporary(path.name)
    )


def digest(comparison: ComparisonData) -> str:
    """SHA-256 over all that the figures depend on: every number of every run, what the runs are
    called, and what draws them.

    One for all figures, as each depends on all runs: they decide on units and styles.
    """
    found = sha256()
    for part in _parts(comparison):
        found.update(f"{len(part)} ".encode() + part)
    return found.hexdigest()


def _parts(comparison: ComparisonData) -> Iterator[bytes]:
    yield f"{engine.version()} {_drawn_by()}".encode()
    for case in comparison.cases:
        yield repr((case.variant, case.point, case.seed, case.classes, case.toml)).encode()
        finished = case in comparison.finished
        run = comparison.directory / "runs" / case.key
        yield files.read_plain(run, files.SUMS) if finished else b""


@cache
def _drawn_by() -> str:
    """What tells any change of how figures look: Matplotlib's version, and leafspine's own code."""
    found = sha256()
    with contextlib.suppress(metadata.PackageNotFoundError):
        found.update(metadata.version("matplotlib").encode())
    kinds = ("*.py", "data/letters/*", "templates/fabric.html")
    for path in sorted(path for kind in kinds for path in PACKAGE.glob(kind)):
        found.update(f"\n{path.name} ".encode() + sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _is_whole(path: Path, record: _Record) -> bool:
    """Whether a file is what was written, and a plain one."""
    try:
        contents = files.read_plain(path.parent, path.name)
    except LeafspineError:
        return False
    return sha256(contents).hexdigest() == record.sums[path.name]


def _remove(record: _Record, but: Sequence[Saved]) -> None:
    """Remove figures that were drawn, unless they have been changed since."""
    stay = {path for saved in but for path in saved.files}
    for saved in record.figures:
        for path in saved.files:
            if path not in stay and _is_whole(path, record):
                path.unlink()


def _write(folder: Path, key: str, found: Sequence[Saved]) -> None:
    figures = [
        {
            "name": saved.name,
            "title": saved.title,
            "caption": saved.caption,
            "wide": saved.wide,
            "panels": [[round(edge, 5) for edge in box] for box in saved.panels],
            "size": list(saved.size),
            "files": {path.name: sha256(path.read_bytes()).hexdigest() for path in saved.files},
        }
        for saved in found
    ]
    record = {"drawn_from": key, "figures": figures}
    record |= {"sum": _sum(record)}
    with files.replacing_file(folder / RECORD) as path:
        path.write_text(results.to_json(record), encoding="utf-8")


def _read(folder: Path) -> _Record:
    """The record; an empty one if there is none, or none that can be made sense of."""
    try:
        return _parsed(folder, json.loads(files.read_plain(folder, RECORD)))
    except (LeafspineError, ValueError, TypeError, KeyError):
        return _Record()


def _sum(record: dict[str, Any]) -> str:
    """Of the record itself: one that has been changed is ignored."""
    return sha256(results.to_json(record).encode()).hexdigest()


def _parsed(folder: Path, record: dict[str, Any]) -> _Record:
    if _sum({key: record[key] for key in ("drawn_from", "figures")}) != record["sum"]:
        raise ValueError("not what was written")
    figures: list[Saved] = []
    sums: dict[str, str] = {}
    for entry in record["figures"]:
        name = entry["name"]
        if not _NAME.fullmatch(name):
            raise ValueError(name)
        pdf, png = folder / f"{name}.pdf", folder / f"{name}.png"
        title, caption = str(entry["title"]), str(entry["caption"])
        panels = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in entry["panels"])
        size = int(entry["size"][0]), int(entry["size"][1])
        dark = folder / f"{name}-dark.png"
        found = Saved(
            name, title, caption, pdf, png, bool(entry["wide"]), panels, size,
            dark if dark.name in entry["files"] else None,
        )  # fmt: skip
        figures.append(found)
        sums |= {path.name: str(entry["files"][path.name]) for path in found.files}
    return _Record(record["drawn_from"], tuple(figures), sums)
