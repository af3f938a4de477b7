"""What is on disk, read again: a run's directory, or a comparison's.

Nothing is run, and nothing needs the files that a scenario was made from. A comparison that another
version of leafspine made is read as well: the names of its runs are those that it has.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspine import arguments, files, kept_scenario, manifest, plain, scenario
from leafspine.comparison import Comparison
from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.manifest import MANIFEST
from leafspine.results import Result
from leafspine.scenario import Source
from leafspine.tasks import Failure

NO_RESULT = "it has not been run, or did not finish"


@dataclass(frozen=True, repr=False)
class _Kept(Case):
    """A case of a directory: its name there, and the text that its ``scenario.toml`` has."""

    kept_key: str = ""
    kept_text: str = ""

    @property
    def text(self) -> str:
        return self.kept_text

    @property
    def key(self) -> str:
        return self.kept_key


def load(directory: str | Path) -> Result | Comparison:
    """Read what ``run`` or ``compare`` left in a directory.

    Raises :class:`leafspine.InputError` if it holds neither, :class:`leafspine.DamagedError` if a
    file is not what was written. Runs of a comparison that did not finish are its ``failures``.
    """
    folder = arguments.directory("the directory", directory) or Path()
    if (folder / MANIFEST).exists():
        return comparison(folder)
    if (folder / files.SUMS).exists():
        return Result.load(folder)
    what = "no such directory" if not folder.exists() else "no finished run and no comparison"
    raise InputError(
        f"{folder}: {what} (neither {files.SUMS} nor {MANIFEST}); "
        "`leafspine run` and `leafspine compare` print where theirs are"
    )


def comparison(folder: Path) -> Comparison:
    """The comparison that a directory holds."""
    found = manifest.read(folder)
    known: dict[str, Case] = {}
    title = str(tomllib.loads(found["scenario"]).get("title", ""))
    cases, failures = [], []
    for run in found["runs"]:
        directory = folder / "runs" / run["key"]
        if not (directory / files.SUMS).is_file():
            cases.append(_labelled(Case("", (), 0, "", (), ""), run, "", title))
            failures.append(Failure(cases[-1], NO_RESULT))
            continue
        path = directory / files.SCENARIO
        text = plain.decode(path, files.read_one(directory, files.SCENARIO))
        cases.append(_labelled(_described(run["variant"], text, known), run, text, title))
    if len(failures) == len(cases):
        raise InputError(f"{folder}: none of its {len(cases)} runs has finished")
    # Of an earlier version, which took them.
    scenario.refuse_two_ranges(cases, str(folder))
    source = Source(found["scenario"], found.get("name") or f"{folder.name}.toml", str(folder))
    settings = tuple((str(key), str(value)) for key, value in found.get("settings", ()))
    command = str(found.get("command", ""))
    return Comparison(source, tuple(cases), folder, tuple(failures), command, settings)


def _labelled(case: Case, run: Mapping[str, Any], text: str, title: str) -> Case:
    """A case as the manifest calls it."""
    return _Kept(
        variant=run["variant"],
        point=tuple(run["point"].items()),
        seed=run["seed"],
        toml=text.partition("\n")[2],
        classes=case.classes,
        base_dir="",
        title=title,
        facts=case.facts,
        kept_key=run["key"],
        kept_text=text,
    )


def _described(variant: str, text: str, known: dict[str, Case]) -> Case:
    """What the engine says of a run's schemes and classes; once for those that have the same."""
    name = json.dumps([variant, kept_scenario.parts(text)], sort_keys=True, default=str)
    if name not in known:
        known[name] = kept_scenario.case(text)
    return known[name]
