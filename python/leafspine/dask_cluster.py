"""Runs on a dask cluster: each is one task, which any of its workers may do.

Results come back to the client, or go to a store that both reach (:mod:`leafspine.packing`). The
scheduler gives the runs of a worker that is lost to another one.
"""

import contextlib
import json
import logging
import queue
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leafspine import engine, packing, worker
from leafspine.engine import Case
from leafspine.errors import InputError, LeafspineError
from leafspine.packing import Store
from leafspine.tasks import Event, Failure, Task, Watcher, fail, ignore, settle

TOPIC = "leafspine-progress"
CONNECT_SECONDS = 10.0
RESULT_SECONDS = 60.0
TELL_SECONDS = 0.5
POLL_SECONDS = 0.1
CLOSE_SECONDS = 0.5


class Cancelled(Exception):
    """This run is not needed any more."""


class DaskCluster:
    """The workers of a dask scheduler, as a :class:`leafspine.tasks.Place`."""

    def __init__(
        self,
        address: str,
        *,
        check: bool = False,
        most: int | None = None,
        store: str | None = None,
        watcher: Watcher = ignore,
    ) -> None:
        """``address``: ``HOST:PORT``; ``most``: bytes that a run may take, else what is free.

        Raises :class:`InputError` if dask is not installed, or the store is none.
        """
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError(
                "--on dask://... needs dask, which is not installed: pip install 'leafspine[dask]'"
            ) from None
        self.address = address
        self.check = engine.is_checked(check)
        self.most = most
        self.store = store and Store(store)
        self.watcher = watcher
        self.tasks: dict[str, Task] = {}
        self.futures: dict[str, Any] = {}
        self.workers: dict[str, str] = {}
        self.failures: list[Failure] = []
        self.news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def run(self, tasks: Sequence[Task]) -> list[Failure]:
        """See :meth:`leafspine.tasks.Place.run`."""
        self.failures = []
        self.tasks = {self._name(task.case): task for task in self._fetch(tasks)}
        if not self.tasks:
            return []
        # A worker that is lost is told of by this place, and in its own words.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        client = self._connect()
        try:
            client.subscribe_topic(TOPIC, lambda event: self.news.put(("progress", event[1])))
            self._submit(client)
            while self.tasks:
                with contextlib.suppress(queue.Empty):
                    self._receive(*self.news.get(timeout=POLL_SECONDS))
        finally:
            with contextlib.suppress(Exception):
                client.cancel(list(self.futures.values()), force=True)
            with contextlib.suppress(Exception):
                client.close(timeout=CLOSE_SECONDS)
        return self.failures

    def _name(self, case: Case) -> str:
        """What the dashboard calls a run; the same for two clients that want the same result."""
        checked = "-checked" if self.check else ""
        return f"{case.variant or 'run'}-{case.key}-{engine.build()}{checked}"

    def _fetch(self, tasks: Sequence[Task]) -> list[Task]:
        """Take what is in the store already; the others are left."""
        missing = []
        for task in tasks:
            if self.store and self.store.has(task.case.key, checked=self.check):
                self._take(task, self.store.get(task.case.key, checked=self.check))
            else:
                missing.append(task)
        return missing

    def _connect(self) -> Any:
        import distributed

        try:
            connect: Any = distributed.Client
            return connect(f"tcp://{self.address}", timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"--on dask://{self.address}: no dask scheduler answers there "
                f"({type(error).__name__}); start one with: dask scheduler"
            ) from None

    def _submit(self, client: Any) -> None:
        url = self.store.url if self.store else None
        for name, task in self.tasks.items():
            most = worker.FREE if self.most is None else self.most
            message = worker.to_message(task.case, Path(), check=self.check, most=most)
            future = client.submit(work, name, message, url, key=name, pure=True)
            self._listen(future)
            self.futures[name] = future

    def _listen(self, future: Any) -> None:
        future.add_done_callback(lambda found: self.news.put(("end", found)))

    def _receive(self, kind: str, what: Any) -> None:
        if kind == "progress":
            self._progress(what)
        elif what.key in self.tasks and self._end(self.tasks[what.key], what):
            del self.tasks[what.key]
            # Else its worker keeps the result, and another one makes it again if that is lost.
            self.futures.pop(what.key).release()

    def _end(self, task: Task, future: Any) -> bool:
        """What became of a run that was reported to have ended; whether it has."""
        status = future.status
        if status in ("error", "cancelled"):
            fail(task, self._reason(future, status), self.watcher, self.failures)
            return True
        try:
            if status == "finished":
                self._finish(task, future)
                return True
        except TimeoutError:
            if future.status == "finished":
                slow = f"its result did not come within {RESULT_SECONDS:.0f} s (try --store)"
                fail(task, slow, self.watcher, self.failures)
                return True
        # Its worker was lost before the result came here: another one makes it again.
        self._listen(future)
        return False

    def _finish(self, task: Task, future: Any) -> None:
        answer, packed = future.result(timeout=RESULT_SECONDS)
        if answer["kind"] != "done":
            settle(answer, task, self.watcher, self.failures)
            return
        if packed is None and self.store:
            packed = self.store.get(task.case.key, checked=self.check)
        self._take(task, packed)

    def _take(self, task: Task, packed: bytes) -> None:
        packing.unpack(packed, task.directory)
        self.watcher(Event("done", task.case, 1.0))

    def _progress(self, news: dict[str, Any]) -> None:
        task = self.tasks.get(news["name"])
        if task is None:
            return
        before = self.workers.setdefault(news["name"], news["worker"])
        if before != news["worker"]:
            self.workers[news["name"]] = news["worker"]
            self.watcher(Event("retry", task.case, message=f"its worker {before} was lost"))
        settle(news["answer"], task, self.watcher, self.failures)

    def _reason(self, future: Any, status: str) -> str:
        """Why a task has no answer, in one line; a worker without leafspine ends all."""
        if status == "cancelled":
            return "it was cancelled at the scheduler"
        error = future.exception(timeout=CONNECT_SECONDS)
        text = " ".join(str(error).split())
        if isinstance(error, ImportError):
            raise InputError(
                f"--on dask://{self.address}: a worker cannot import leafspine {engine.version()} "
                f"({text}): install the same wheel there"
            )
        if type(error).__name__ == "KilledWorker":
            return "its worker was lost again and again (out of memory? give workers more)"
        return f"{type(error).__name__}: {text}"


def work(name: str, message: str, store: str | None) -> tuple[dict[str, Any], bytes | None]:
    """One run, at a dask worker: what became of it, and the packed result if there is no store."""
    import distributed

    here = distributed.get_worker()
    found = json.loads(message)

    def tell(answer: dict[str, Any]) -> None:
        state = here.state.tasks.get(name)
        if state is None or state.state in ("cancelled", "released", "forgotten"):
            raise Cancelled
        here.log_event(TOPIC, {"name": name, "worker": here.address, "answer": answer})

    tell({"kind": "progress", "finished": 0, "total": None})
    with tempfile.TemporaryDirectory(prefix="leafspine-") as folder:
        found["directory"] = str(Path(folder) / "result")
        answer = worker.carry_out(found, tell, every=TELL_SECONDS)
        if answer["kind"] != "done":
            return answer, None
        packed = packing.pack(Path(found["directory"]))
    if store is None:
        return answer, packed
    try:
        Store(store).put(found["key"], packed, checked=found["check"])
    except (OSError, LeafspineError) as error:
        return {"kind": "unwritable", "message": f"{store}: {' '.join(str(error).split())}"}, None
    return answer, None
