"""Tasks, and what becomes of them, wherever they are done.

A place where runs are done (:class:`Place`) is this machine's processes (:mod:`leafspine.workers`),
a dask cluster (:mod:`leafspine.dask_cluster`) or Slurm (:mod:`leafspine.slurm`). In all of them
:mod:`leafspine.worker` does the work, and answers in the same words, which are read here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leafspine.engine import Case
from leafspine.errors import InputError, ScenarioError, WriteError

ATTEMPTS = 2


@dataclass
class Task:
    """A case and where its result goes."""

    case: Case
    directory: Path
    attempts: int = 0


@dataclass(frozen=True)
class Failure:
    """A case that has no result, and why, in one line."""

    case: Case
    message: str
    fault: bool = False
    """Whether it is a bug of leafspine or a scheme: an :class:`leafspine.EngineError`."""


@dataclass(frozen=True)
class Event:
    """For the watcher: ``kind`` is ``started``, ``progress``, ``done``, ``retry`` or ``failed``.

    ``share`` is the part of the run's flows that have ended, in 0..1, where it is known;
    ``message`` why it failed, or for ``progress`` what is being built.
    """

    kind: str
    case: Case
    share: float = 0.0
    message: str = ""


Watcher = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """A watcher that looks at nothing."""


class Place(Protocol):
    """Where runs are done."""

    def run(self, tasks: Sequence[Task]) -> list[Failure]:
        """Run all tasks; those that failed come back with a reason.

        A task whose worker is lost is tried once more elsewhere. Raises :class:`ScenarioError` as
        soon as the engine refuses a case, since that is bad input, :class:`InputError` for a
        worker that would make other results, and :class:`WriteError` as soon as a result cannot be
        written, since the next would be lost as well. However this call ends, Ctrl-C included,
        nothing goes on working.
        """


def settle(answer: dict[str, Any], task: Task, watcher: Watcher, failures: list[Failure]) -> bool:
    """Take a worker's answer, and say whether the task is over. Raises as :meth:`Place.run`."""
    kind = answer["kind"]
    if kind == "progress":
        share = answer["finished"] / answer["total"] if answer["total"] else 0.0
        watcher(Event("progress", task.case, min(share, 1.0), answer.get("building", "")))
        return False
    if kind == "refused":
        error = ScenarioError(answer["message"], **answer["parts"])
        error.case = task.case.key
        raise error
    if kind == "other-engine":
        raise InputError(answer["message"])
    if kind == "unwritable":
        raise WriteError(answer["message"])
    if kind == "done":
        watcher(Event("done", task.case, 1.0))
    else:
        fail(task, answer["message"], watcher, failures, fault=answer.get("fault", False))
    return True


def fail(
    task: Task,
    message: str,
    watcher: Watcher,
    failures: list[Failure],
    *,
    fault: bool = False,
) -> None:
    """Give a task up."""
    failures.append(Failure(task.case, message, fault))
    watcher(Event("failed", task.case, message=message))
