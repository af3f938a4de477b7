"""Which place runs are done at: what ``--on`` and ``--store`` say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leafspine import memory
from leafspine.engine import Case
from leafspine.errors import InputError, refused
from leafspine.keywords import option
from leafspine.nearest import nearest
from leafspine.tasks import Place, Task, Watcher
from leafspine.workers import Pool, cores

LOCAL = "local"
SLURM = "slurm"
DASK = "dask://"


@dataclass(frozen=True)
class On:
    """What was asked for, and is checked: ``local``, ``slurm`` or ``dask``; with dask the
    scheduler's address, and where results go if not back to here."""

    kind: str = LOCAL
    address: str = ""
    store: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether runs take this machine's memory."""
        return self.kind == LOCAL


HERE = On()


@dataclass(frozen=True)
class How:
    """How cases are run: none of it changes a result. ``jobs``: how many side by side, at most;
    ``most``: bytes that they may take here together, elsewhere each. ``threads``: those of a run
    here, where ``jobs`` is how many all of them may have."""

    on: On = HERE
    jobs: int | None = None
    csv: bool = False
    check: bool = False
    most: int | None = None
    threads: int | None = None


SIMPLY = How()


def parse(
    on: str | None, store: str | None = None, jobs: int | None = None, threads: int | None = None
) -> On:
    """The place that ``--on`` names. Raises :class:`InputError`."""
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs}: at least 1 is needed")
    chosen = on or LOCAL
    found = re.fullmatch(r"dask://([^/:\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})/?", chosen)
    if found is None and chosen not in (LOCAL, SLURM):
        allowed = f"{LOCAL}, {SLURM}, {DASK}HOST:PORT"
        raise refused(repr(chosen), allowed, file="--on", nearest=nearest(chosen, [LOCAL, SLURM]))
    if threads is not None and chosen != LOCAL:
        raise InputError(f"--threads {threads}: a run that is not done here has one; leave it out")
    if threads is not None and jobs is not None and threads > jobs:
        raise InputError(
            f"--threads {threads}: at most {jobs}, since {option('jobs')} is for all runs"
        )
    if store is not None and found is None:
        raise InputError(f"--store {store}: only the place dask://HOST:PORT has a store")
    if found is None:
        return On(chosen)
    if jobs is not None:
        raise InputError(
            f"--jobs {jobs}: on {DASK}... it is the cluster's workers that say how many"
        )
    return On("dask", f"{found[1]}:{found[2]}", store)


def choose(how: How, directory: Path, tasks: Sequence[Task], watcher: Watcher) -> Place:
    """The place for tasks whose results go below a directory."""
    if how.on.kind == "dask":
        from leafspine.dask_cluster import DaskCluster

        return DaskCluster(
            how.on.address, check=how.check, most=how.most, store=how.on.store, watcher=watcher
        )
    if how.on.kind == SLURM:
        from leafspine.slurm import Slurm

        beside = directory.with_name(f"{directory.name}.slurm")
        return Slurm(beside, jobs=how.jobs, check=how.check, most=how.most, watcher=watcher)
    workers, _ = _workers(how, tasks)
    most = how.most and how.most // workers
    every = how.jobs or cores()
    return Pool(
        workers,
        every,
        each=how.threads,
        csv=how.csv,
        check=how.check,
        most=most,
        watcher=watcher,
    )


def remark(how: How, tasks: Sequence[Task]) -> str:
    """What is to be said of the place before it is used, if anything."""
    return _workers(how, tasks)[1] if how.on.is_here else ""


def _workers(how: How, tasks: Sequence[Task]) -> tuple[int, str]:
    jobs = (how.jobs or cores()) // (how.threads or 1)
    return side_by_side(jobs, [task.case for task in tasks], how.most)


def side_by_side(jobs: int, cases: Sequence[Case], most: int | None) -> tuple[int, str]:
    """How many of ``jobs`` workers the memory is enough for, and a remark if it is not for all.

    Each has to have room for the largest case; one there is always, since every case fits alone.
    """
    wanted = max(min(jobs, len(cases)), 1)
    largest = max((case.memory for case in cases), default=0)
    if most is None or largest * wanted <= most:
        return wanted, ""
    fitting = max(most // largest, 1)
    return fitting, (
        f"{fitting} of {wanted} workers: a run takes up to {memory.show(largest)}, and "
        f"{memory.show(most)} of memory are free"
    )
