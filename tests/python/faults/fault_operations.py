"""Fails every file operation there is, one after the other: run by ``test_operations.py``.

``python fault_operations.py ACTION KIND,... SCRATCH``, with the library of ``fault_shim.c``
preloaded and FAULT_UNDER the directory ``under`` in SCRATCH. For each number k a child process does
the action while its k-th file operation goes wrong. Then, undisturbed: what has a name is whole;
the action done again leaves what it always does; nothing temporary stays. Prints how many
operations were failed, as JSON. A kind ``KIND/N`` is tried at every N-th operation alone.
"""

import ctypes
import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fault_lab import SCENARIO, tree

from leafspine import api, files, folder, manifest, results, scenario, tables
from leafspine.errors import LeafspineError
from leafspine.manifest import MANIFEST
from leafspine.qall import fitting
from leafspine.qall.model import Fit

KINDS = {
    "full": (errno.ENOSPC, False),
    "full-for-good": (errno.ENOSPC, True),
    "io": (errno.EIO, False),
    "io-for-good": (errno.EIO, True),
    "permission-for-good": (errno.EACCES, True),
    "killed": (0, False),
    "torn": (-2, False),
    "short": (-1, True),
}

NO_MORE, NOTHING, STRUCK = 9, 8, 7
"""There are not so many operations; this one is no write; it went wrong."""

shim = ctypes.CDLL(None)


@dataclass
class Action:
    """``do`` is what is disturbed, in ``directory``; ``prepare`` comes before."""

    do: Callable[[Path], None]
    prepare: Callable[[Path], None] = lambda directory: directory.mkdir()
    is_whole: Callable[[Path], bool] = lambda _directory: True
    """What holds at any moment after, whatever happened."""


def actions(scratch: Path) -> dict[str, Action]:
    text = SCENARIO.replace("FLOWS", "40")
    out = scratch / "prepared"
    comparison = api.compare(text, out=out, jobs=1, seeds=1)
    source = scenario.read(text)
    case = comparison.cases[0]
    result = comparison.result(case)
    whole = tree(out / "runs" / case.key)

    checked = replace(result, timing={**result.timing, "checked": True})
    results.run_case = lambda *_, **__: checked  # no engine's threads in a process that forks

    def run(directory: Path) -> None:
        api.run(case.toml, out=directory / "new" / "runs" / "result")

    def is_run(directory: Path) -> bool:
        place = directory / "new" / "runs" / "result"
        return not place.exists() or tree(place) == whole

    def request(directory: Path) -> None:
        folder.claim(directory, comparison.cases)
        manifest.write(source, (), directory, comparison.cases, "command")

    def is_manifest(directory: Path) -> bool:
        path = directory / MANIFEST
        return not path.exists() or path.read_bytes().endswith(b"}\n")

    def old(directory: Path) -> None:
        directory.mkdir()
        tables.write(comparison, directory)
        (directory / "tables.md").write_text("old")

    def table(directory: Path) -> None:
        tables.write(comparison, directory)

    def is_table(directory: Path) -> bool:
        text = (directory / "tables.md").read_text()
        return text == "old" or text.endswith("|\n")

    def finished(directory: Path) -> None:
        shutil.copytree(out / "runs" / case.key, directory)

    def csv(directory: Path) -> None:
        found = results.Result.load(directory)
        assert found.flows.equals(result.flows), "something else was read"
        results.add_csv(found)

    def is_csv(directory: Path) -> bool:
        return results.is_finished(directory, case)

    def unchecked(directory: Path) -> None:
        results.write(replace(result, timing={}), directory)

    def check(directory: Path) -> None:
        api.run(case.toml, out=directory, check=True)
        assert results.timing(directory)["checked"]

    def of_another_build(directory: Path) -> None:
        other = {**result.summary, "events": 0}
        results.write(replace(result, summary=other, timing={}), directory)

    def is_run_there(directory: Path) -> bool:
        return tree(directory) == whole

    def is_old_or_new(directory: Path) -> bool:
        return not directory.exists() or bool(files.read(directory))

    def fit(directory: Path) -> None:
        fitting.write(a_fit(), directory / "fit")

    return {
        "result": Action(run, is_whole=is_run),
        "manifest": Action(request, is_whole=is_manifest),
        "tables": Action(table, old, is_table),
        "csv": Action(csv, finished, is_csv),
        "checked": Action(check, unchecked, is_run_there),
        "replaced": Action(check, of_another_build, is_old_or_new),
        "fit": Action(fit),
    }


def a_fit() -> Fit:
    from test_fitting import a_fit as made

    return made()


def disturb(action: Action, directory: Path, number: int, kind: tuple[int, bool]) -> int:
    """Do it in a child process whose ``number``-th operation fails, if it has so many."""
    child = os.fork()
    if child == 0:
        code = 0
        shim.fault_arm(number, kind[0], int(kind[1]))
        try:
            action.do(directory)
        except LeafspineError as error:
            code = 1 if "\n" not in str(error) else 2
        except BaseException as error:
            print(f"operation {number}, {kind}: {error!r}", file=sys.stderr)
            code = 2
        if shim.fault_seen() < number:
            os._exit(NO_MORE)
        os._exit(code if shim.fault_fired() else NOTHING)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended in (NO_MORE, NOTHING):
        return ended
    how = kind[0]
    allowed = {0: (0, -signal.SIGKILL), -2: (0, -signal.SIGKILL), -1: (0,)}.get(how, (0, 1))
    assert ended in allowed, f"operation {number}, {kind}: ended with {ended}"
    return STRUCK


def every(action: Action, under: Path, kind: tuple[int, bool], step: int) -> Iterator[int]:
    directory = under / "place"
    action.prepare(directory)
    action.do(directory)
    reference = tree(directory)
    for number in range(1, 10_000, step):
        shutil.rmtree(directory)
        action.prepare(directory)
        outcome = disturb(action, directory, number, kind)
        if outcome == NO_MORE:
            shutil.rmtree(directory)
            return
        if outcome == NOTHING:
            continue
        assert action.is_whole(directory), f"operation {number}, {kind}: half written"
        action.do(directory)
        have = tree(directory)
        assert have == reference, (number, kind, sorted(have.keys() ^ reference.keys()))
        yield number


def main() -> None:
    name, kinds, scratch = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    under = scratch / "under"
    under.mkdir()
    action = actions(scratch)[name]
    counts = {}
    for word in kinds.split(","):
        kind, _, step = word.partition("/")
        counts[kind] = sum(1 for _ in every(action, under, KINDS[kind], int(step or 1)))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
