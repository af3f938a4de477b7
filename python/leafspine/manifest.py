"""``comparison.json``: which comparison a directory holds.

A directory is one comparison's. Another may add seeds, variants and points to it, since then all
that is there is a part of the other; anything else would leave runs beside tables without them.
"""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from leafspine import engine, files, results
from leafspine.engine import Case
from leafspine.errors import DamagedError, InputError
from leafspine.keywords import another_directory
from leafspine.scenario import Source
from leafspine.shards import Shard

MANIFEST = "comparison.json"


@dataclass(frozen=True)
class Keyed:
    """A directory in ``parent``, named after what is compared, whatever the seeds."""

    parent: Path

    def directory(self, source: Source, cases: Sequence[Case]) -> Path:
        """``<scenario>-<first 8 hex digits of the key>``."""
        compared = list(dict.fromkeys((case.variant, case.family) for case in cases))
        key = sha256(json.dumps(compared).encode()).hexdigest()
        return self.parent / f"{source.stem}-{key[:8]}"


def write(
    source: Source,
    settings: Sequence[tuple[str, str]],
    directory: Path,
    cases: Sequence[Case],
    command: str,
    shard: Shard | None = None,
) -> None:
    """Write the request: scenario, settings, all runs; ``shard``: which of them are made here."""
    manifest: dict[str, Any] = {
        "leafspine": engine.version(),
        "name": Path(source.name).name,
        "scenario": source.text,
        "settings": [list(setting) for setting in settings],
        "command": command,
        "runs": [
            {
                "key": case.key,
                "family": case.family,
                "variant": case.variant,
                "point": dict(case.point),
                "seed": case.seed,
            }
            for case in cases
        ],
    }
    if shard is not None:
        manifest["shard"] = [shard.number, shard.count]
        manifest["source"] = source.name
    put(manifest, directory)


def put(found: dict[str, Any], directory: Path) -> None:
    """Write a request as it was read."""
    with files.replacing_file(directory / MANIFEST) as path:
        path.write_text(results.to_json(found), encoding="utf-8")


def read(directory: Path) -> dict[str, Any]:
    """The request that a directory's manifest holds. Raises :class:`DamagedError`."""
    _runs(directory)
    found: dict[str, Any] = json.loads((directory / MANIFEST).read_bytes())
    if not isinstance(found.get("scenario"), str):
        raise DamagedError(f"{directory / MANIFEST} has no scenario: it is not read")
    return found


def refuse_another(directory: Path, cases: Sequence[Case]) -> None:
    """Raise :class:`InputError` if a directory holds runs that are none of these, seeds apart."""
    if not os.path.lexists(directory / MANIFEST):
        return
    held = _runs(directory)
    keys = {case.key for case in cases}
    families = {(case.variant, case.family) for case in cases}
    for run in held:
        # Earlier versions wrote no family: then only the very same run will do.
        if run["key"] not in keys and (run["variant"], run.get("family")) not in families:
            raise InputError(
                f"{directory} holds another comparison ({_in_words(held)}; see "
                f"{directory / MANIFEST}): {_missing(run, cases)}; "
                f"{another_directory()}, or remove it: rm -r {shlex.quote(str(directory))}"
            )


def _missing(run: dict[str, Any], cases: Sequence[Case]) -> str:
    label = " ".join([run["variant"], *(f"{key}={value}" for key, value in run["point"].items())])
    names = {(case.variant, case.point) for case in cases}
    what = "has other settings" if (run["variant"], _point(run)) in names else "is missing"
    return f"{label.strip() or 'its run'} {what} in this one"


def _point(run: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(run["point"].items())


def _in_words(held: Sequence[dict[str, Any]]) -> str:
    """Variants, the values of each swept key, how many seeds."""
    parts = [", ".join(dict.fromkeys(run["variant"] for run in held if run["variant"]))]
    for key in dict.fromkeys(key for run in held for key in run["point"]):
        values = dict.fromkeys(str(run["point"][key]) for run in held if key in run["point"])
        parts.append(f"{key} {', '.join(values)}")
    seeds = len({run["seed"] for run in held})
    parts.append(f"{seeds} seeds" if seeds != 1 else "one seed")
    return "; ".join(part for part in parts if part)


def _runs(directory: Path) -> list[dict[str, Any]]:
    """The runs of a directory's manifest; another program's file would be overwritten."""
    path = directory / MANIFEST
    try:
        plain = path.is_file() and not path.is_symlink()
        found = json.loads(path.read_bytes()) if plain else None
    except ValueError:
        found = None
    if isinstance(found, dict) and "leafspine" in found and _are_runs(found.get("runs")):
        runs: list[dict[str, Any]] = found["runs"]
        return runs
    raise DamagedError(
        f"{path} is truncated or not leafspine's: it is not read; if {directory} holds a "
        f"comparison, go on without it: rm -r {shlex.quote(str(path))}"
    )


def _are_runs(found: object) -> bool:
    if not isinstance(found, list):
        return False
    kinds = {"key": str, "variant": str, "point": dict, "seed": int}
    return all(
        isinstance(run, dict) and all(isinstance(run.get(key), kinds[key]) for key in kinds)
        for run in found
    )
