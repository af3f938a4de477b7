"""Runs as one array job of Slurm, submitted with ``sbatch``.

The job's folder lies beside that of the results, on a file system that the nodes share. Each
element of the array is a worker (``python -m leafspine.worker CASES ANSWERS``) with a file of cases
and a file for its answers; what it finishes is taken over here. So whoever waits needs nothing but
the folder and ``squeue``: no port is open, and a submitting process that is killed loses nothing.
Partition, time limit, account and whatever else the site wants are taken from the variables that
``sbatch`` itself knows (``SBATCH_PARTITION``, ``SBATCH_TIMELIMIT``, ``SBATCH_ACCOUNT``).
"""

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafspine import files, packing, results, worker
from leafspine.errors import InputError, RunError
from leafspine.tasks import ATTEMPTS, Event, Failure, Task, Watcher, fail, ignore, settle

ELEMENTS = 1000
"""Of an array, at most: one less than Slurm's default for MaxArraySize."""
POLL_SECONDS = 0.2
ASK_SECONDS = 2.0
"""Between two looks at the queue."""
GRACE_SECONDS = 15.0
"""How much later a file may show up here than its job has gone: NFS keeps attributes that long."""
JOB = "job"


@dataclass
class _Element:
    """One element of the array: its tasks in order, and how far its answers have been read."""

    number: int
    tasks: list[Task]
    cases: Path
    answers: Path
    offset: int = 0
    over: int = 0
    gone_at: float | None = None

    @property
    def is_over(self) -> bool:
        return self.over == len(self.tasks)

    def news(self) -> list[dict[str, Any]]:
        """Complete answers that were not read yet."""
        try:
            with self.answers.open("rb") as stream:
                stream.seek(self.offset)
                data = stream.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        # A worker that was lost may have left half a line.
        return [json.loads(line) for line in whole.splitlines() if line.endswith(b"}")]


@dataclass
class Slurm:
    """Slurm, as a :class:`leafspine.tasks.Place`. ``jobs``: elements at a time, at most;
    ``most``: bytes that a run may take, else what is free."""

    folder: Path
    jobs: int | None = None
    check: bool = False
    most: int | None = None
    watcher: Watcher = ignore
    failures: list[Failure] = field(default_factory=list)
    elements: dict[int, _Element] = field(default_factory=dict)
    job: str = ""
    asked_at: float = 0.0

    def run(self, tasks: Sequence[Task]) -> list[Failure]:
        """See :meth:`leafspine.tasks.Place.run`."""
        self.failures = []
        missing = self._take_over(tasks)
        lost = False
        try:
            while missing:
                self._submit(missing)
                missing = self._wait()
            lost = bool(self.failures)
        except BaseException:
            lost = True
            raise
        finally:
            self._cancel()
            if not lost:  # else its logs say more
                shutil.rmtree(self.folder, ignore_errors=True)
        return self.failures

    def _take_over(self, tasks: Sequence[Task]) -> list[Task]:
        """What an earlier job finished is taken, if its caller did not live to do it; the others
        are left."""
        if (self.folder / JOB).is_file():
            self.job = self.job or (self.folder / JOB).read_text().strip()
            self._cancel()
        missing = []
        for task in tasks:
            made = [path.parent for path in self.folder.glob(f"runs/*/{task.case.key}/SHA256SUMS")]
            if made and results.is_finished(made[0], task.case, check=self.check):
                packing.move(made[0], task.directory)
                self.watcher(Event("done", task.case, 1.0))
            else:
                missing.append(task)
        return missing

    def _submit(self, tasks: Sequence[Task]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        files.make_directory(self.folder / "runs")
        count = min(len(tasks), ELEMENTS)
        self.elements = {}
        for number in range(count):
            dealt = list(tasks[number::count])
            element = _Element(
                number, dealt, self.folder / f"{number}.cases", self.folder / f"{number}.answers"
            )
            element.cases.write_text("".join(self._message(number, task) for task in dealt))
            self.elements[number] = element
        script = self.folder / "job.sh"
        script.write_text(self._script(count, tasks))
        said = _call("sbatch", "--parsable", str(script))
        # JOB, or JOB;CLUSTER
        self.job = said.strip().partition(";")[0]
        (self.folder / JOB).write_text(self.job)
        self.asked_at = time.monotonic()

    def _message(self, number: int, task: Task) -> str:
        task.attempts += 1
        directory = self._made(number, task).absolute()
        most = worker.FREE if self.most is None else self.most
        return worker.to_message(task.case, directory, check=self.check, most=most)

    def _made(self, number: int, task: Task) -> Path:
        """Where an element writes a task's result."""
        return self.folder / "runs" / str(number) / task.case.key

    def _script(self, count: int, tasks: Sequence[Task]) -> str:
        folder = self.folder.absolute()
        if re.search(r"\s|%", str(folder)):
            raise InputError(f"{folder}: --on slurm needs a path without blanks and %")
        at_once = f"%{self.jobs}" if self.jobs else ""
        megabytes = max(task.case.memory for task in tasks) // 10**6 + 1
        python = shlex.quote(sys.executable)
        place = shlex.quote(str(folder))
        return f"""#!/bin/sh
#SBATCH --job-name=leafspine
#SBATCH --array=0-{count - 1}{at_once}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem={megabytes}M
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={folder}/%a.log
exec {python} -m leafspine.worker \\
    {place}/$SLURM_ARRAY_TASK_ID.cases {place}/$SLURM_ARRAY_TASK_ID.answers
"""

    def _wait(self) -> list[Task]:
        """Take over what finishes until nothing is left of the job, and say what must be tried
        once more."""
        again: list[Task] = []
        while not all(element.is_over for element in self.elements.values()):
            for element in self.elements.values():
                self._read(element)
            if time.monotonic() - self.asked_at >= ASK_SECONDS:
                self._look(again)
                self.asked_at = time.monotonic()
            time.sleep(POLL_SECONDS)
        return again

    def _read(self, element: _Element) -> None:
        for answer in element.news():
            if element.is_over:
                return
            task = element.tasks[element.over]
            if answer["kind"] == "done":
                packing.move(self._made(element.number, task), task.directory)
            element.over += settle(answer, task, self.watcher, self.failures)

    def _look(self, again: list[Task]) -> None:
        """Give up elements that are in the queue no more, and whose answers do not come."""
        queued = _queued(self.job)
        for number, element in self.elements.items():
            if element.is_over or queued is None:
                continue
            if number in queued:
                element.gone_at = None
                continue
            element.gone_at = element.gone_at or time.monotonic()
            if time.monotonic() - element.gone_at < GRACE_SECONDS:
                continue
            reason = self._reason(number)
            for task in element.tasks[element.over :]:
                if task.attempts < ATTEMPTS:
                    self.watcher(Event("retry", task.case, message=reason))
                    again.append(task)
                else:
                    fail(task, f"{reason}, {ATTEMPTS} times", self.watcher, self.failures)
            element.over = len(element.tasks)

    def _reason(self, number: int) -> str:
        log = self.folder / f"{number}.log"
        with contextlib.suppress(OSError):
            if lines := log.read_text(errors="replace").strip().splitlines():
                return f"element {number} of Slurm's job {self.job} ended: {lines[-1].strip()}"
        return f"element {number} of Slurm's job {self.job} ended without a word"

    def _cancel(self) -> None:
        """End what is left of the job: its elements are of no use to anybody any more."""
        if self.job:
            with contextlib.suppress(Exception):
                subprocess.run(
                    ["scancel", "--quiet", self.job], capture_output=True, timeout=30, check=False
                )
        self.job = ""


def _call(*command: str) -> str:
    """What a command of Slurm says. Raises :class:`InputError` if it is not there or refuses."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        raise InputError(
            f"--on slurm: {command[0]} was not found: it works where Slurm's commands are"
        ) from None
    except subprocess.TimeoutExpired:
        raise RunError(f"{command[0]} did not answer within a minute") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise InputError(f"--on slurm: {command[0]} refused: {said}")
    return done.stdout


def _queued(job: str) -> set[int] | None:
    """The elements of an array job that wait or work; ``None`` if the queue does not tell."""
    try:
        done = subprocess.run(
            ["squeue", "--array", "--noheader", "--format=%K", f"--jobs={job}"],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        # Of jobs that ended some minutes ago it knows nothing any more.
        return set() if "Invalid job id" in done.stderr else None
    return {int(word) for word in done.stdout.split() if word.isdigit()}
