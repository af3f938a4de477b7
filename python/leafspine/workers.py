"""Cases over worker processes: one that crashes does not affect the others.

Workers are plain child processes (``python -m leafspine.worker``) that write results to the disk
themselves, so nothing that is finished is ever lost, and a script that calls
:func:`leafspine.compare` needs no ``if __name__ == "__main__"``.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from leafspine.errors import WriteError
from leafspine.tasks import ATTEMPTS, Event, Failure, Task, Watcher, fail, ignore, settle
from leafspine.worker import to_message

POLL_SECONDS = 0.2


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """A worker process and the task it has."""

    def __init__(self) -> None:
        try:
            self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        except OSError as error:
            raise WriteError(f"cannot write a temporary file: {error.strerror or error}") from error
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leafspine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            # Its own process group: Ctrl-C in the terminal reaches the parent alone.
            start_new_session=True,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        os.set_blocking(self.stdout.fileno(), False)
        self.pending = b""
        self.task: Task | None = None

    def submit(self, task: Task, how: "Pool") -> None:
        self.task = task
        task.attempts += 1
        try:
            message = to_message(
                task.case,
                task.directory,
                csv=how.csv,
                check=how.check,
                most=how.most,
                threads=how.threads(),
            )
            self.stdin.write(message.encode())
            self.stdin.flush()
        except BrokenPipeError:
            pass  # it has exited: the end of its output follows

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """Complete answers so far, and whether the process has ended."""
        chunk = self.stdout.read()
        if chunk is None:
            return [], False
        *lines, self.pending = (self.pending + chunk).split(b"\n")
        return [json.loads(line) for line in lines], chunk == b""

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):  # what an exited worker has not read
            self.stdin.close()
        self.stdout.close()
        self.stderr.close()

    def exit_reason(self) -> str:
        """Why the process ended, in a few words."""
        code = self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1].strip()}" if lines else ""
        if code >= 0:
            return f"its worker process ended with code {code}{last}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (out of memory? try fewer --jobs)" if name == "SIGKILL" else ""
        return f"its worker process was killed by {name}{hint}{last}"


@dataclass
class Pool:
    """Runs tasks over ``jobs`` workers, each of which may hold ``most`` bytes.

    ``cores``: how many all of them may use. Where there are fewer runs left than cores, or room for
    fewer, a run gets several, as long as it lasts; or each run has ``each``.
    """

    jobs: int
    cores: int = 1
    each: int | None = None
    csv: bool = False
    check: bool = False
    most: int | None = None
    watcher: Watcher = ignore
    waiting: deque[Task] = field(default_factory=deque)
    workers: list[_Worker] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self, tasks: Sequence[Task]) -> list[Failure]:
        """See :meth:`leafspine.tasks.Place.run`."""
        self.waiting.extend(tasks)
        try:
            for _ in range(min(self.jobs, len(self.waiting))):
                self._start()
            while self.workers:
                for key, _ in self.selector.select(POLL_SECONDS):
                    self._receive(key.data)
        finally:
            for worker in list(self.workers):
                self._stop(worker)
            self.selector.close()
        return self.failures

    def threads(self) -> int:
        """Of a run that is about to begin: its worker has it already."""
        if self.each is not None:
            return self.each
        left = sum(worker.task is not None for worker in self.workers) + len(self.waiting)
        return max(1, self.cores // min(self.jobs, max(left, 1)))

    def _start(self) -> None:
        worker = _Worker()
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        self._next(worker)

    def _next(self, worker: _Worker) -> None:
        if not self.waiting:
            self._stop(worker)
            return
        task = self.waiting.popleft()
        self.watcher(Event("started", task.case))
        worker.submit(task, self)

    def _stop(self, worker: _Worker) -> None:
        self.selector.unregister(worker.stdout)
        self.workers.remove(worker)
        worker.stop()

    def _receive(self, worker: _Worker) -> None:
        answers, ended = worker.read()
        for answer in answers:
            self._answer(worker, answer)
        if ended and worker in self.workers:
            self._replace(worker)

    def _answer(self, worker: _Worker, answer: dict[str, Any]) -> None:
        task = worker.task
        assert task is not None
        if settle(answer, task, self.watcher, self.failures):
            worker.task = None
            self._next(worker)

    def _replace(self, worker: _Worker) -> None:
        """Retry the task of a worker that has ended, once, in a new one."""
        reason = worker.exit_reason()
        task = worker.task
        self._stop(worker)
        if task is not None and task.attempts < ATTEMPTS:
            self.watcher(Event("retry", task.case, message=reason))
            self.waiting.append(task)
        elif task is not None:
            fail(task, f"{reason}, {ATTEMPTS} times", self.watcher, self.failures)
        if self.waiting:
            self._start()
