"""The files that a run leaves behind, written all or nothing, and read again.

``DIR/scenario.toml`` is the resolved scenario, ``summary.json`` the run's totals and the metrics of
its flow classes, ``flows.parquet`` and ``ports.parquet`` one row a flow and a port, and each probe
has a file of its name. Of programs that hosts ran there is ``programs.parquet``, and of each what
it wrote to its standard output and error. The same scenario and seed give the same bytes in all of
them; wall time, which differs, is in ``timing.json``, and so is which build of the engine made the
result, and whether its invariants were checked. ``SHA256SUMS`` marks the directory as a result (see
:mod:`leafspine.files`).
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from leafspine import arguments, engine, files, frames, notebook, quantities
from leafspine.engine import Case, Watch
from leafspine.errors import InputError
from leafspine.keywords import another_directory
from leafspine.measures import (
    COLLECTIVES,
    FLOW_METRICS,
    NETWORK,
    NETWORK_METRICS,
    RECOVERY,
    Measured,
    after_warmup,
    measure,
)

if TYPE_CHECKING:
    import pandas
    import polars

    from leafspine.run_figures import RunFigures

UNFINISHED = np.uint64(2**64 - 1)
UNKNOWN = np.uint32(2**32 - 1)
"""A count of the inside of TCP where hosts are kernels, which do not tell it."""

SUMMARY = "summary.json"
TABLES = ("flows", "ports")
"""Those that every result has."""
JOB_TABLES = ("collectives", "ranks")
"""Those of a run with jobs; the others are probes."""
PROGRAMS = "programs"
"""The table of a run whose hosts ran programs."""
NO_MESSAGE = np.uint64(2**32 - 1)


@dataclass(frozen=True, repr=False)
class Result:
    """One finished run.

    ``flows``: one row a flow, times in picoseconds, sizes in bytes, ``fct_ps`` null where the flow
    had not ended; ``measured_flows``: those that statistics are of. ``ports``: one row a port,
    measured over the scenario's window. ``probes``: a table by the probe's name. ``jobs``: of a run
    with jobs, its ``collectives`` and ``ranks``. ``programs``: of a run whose hosts ran programs, a
    row each; ``written``: the files with what they wrote, by name. ``summary``: the run's totals,
    and ``classes`` and ``network`` with the metrics of :mod:`leafspine.measures`. ``scenario``: the
    resolved scenario, TOML. ``directory``: where the files are, if they were written.
    """

    scenario: str
    summary: dict[str, Any]
    flows: pa.Table = field(repr=False)
    ports: pa.Table = field(repr=False)
    probes: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    jobs: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    programs: pa.Table | None = field(default=None, repr=False)
    written: dict[str, bytes] = field(default_factory=dict, repr=False)
    timing: dict[str, Any] = field(default_factory=dict, compare=False)
    directory: Path | None = field(default=None, compare=False)

    @staticmethod
    def load(directory: str | Path) -> "Result":
        """Read a finished result.

        Raises :class:`InputError` when there is none, :class:`DamagedError` when one of its files
        is not what was written.
        """
        folder = arguments.directory("the result", directory) or Path()
        if not (folder / files.SUMS).exists():
            raise InputError(f"{folder} holds no finished result (no {files.SUMS})")
        contents = _contents(folder)
        tables = {
            name.removesuffix(".parquet"): _table(data)
            for name, data in contents.items()
            if name.endswith(".parquet")
        }
        return Result(
            scenario=contents[files.SCENARIO].decode(),
            summary=json.loads(contents[SUMMARY]),
            flows=tables.pop("flows"),
            ports=tables.pop("ports"),
            jobs={name: tables.pop(name) for name in JOB_TABLES if name in tables},
            programs=tables.pop(PROGRAMS, None),
            written={name: data for name, data in contents.items() if _is_written(name)},
            probes=tables,
            timing=timing(folder),
            directory=folder,
        )

    @property
    def is_of_this_build(self) -> bool:
        """Whether the engine that made it is the one that would make it now."""
        return self.timing.get("build") == engine.build()

    @property
    def measured_flows(self) -> pa.Table:
        """The flows that statistics are of: those that started after the warm-up, if any."""
        return after_warmup(self.flows, self.summary)

    def tables(self) -> dict[str, pa.Table]:
        """All tables by the name of their file."""
        programs = {} if self.programs is None else {PROGRAMS: self.programs}
        return {"flows": self.flows, "ports": self.ports, **self.jobs, **programs, **self.probes}

    @property
    def collectives(self) -> pa.Table:
        """One row a collective. Raises :class:`InputError` where there were no jobs."""
        return self._of_jobs("collectives")

    @property
    def ranks(self) -> pa.Table:
        """One row a rank of a job. Raises :class:`InputError` where there were no jobs."""
        return self._of_jobs("ranks")

    def _of_jobs(self, name: str) -> pa.Table:
        if name not in self.jobs:
            raise InputError(
                f"{name}: found a run without jobs; allowed: one with a [[workload]] "
                'of the kind "collective" or "pipeline"'
            )
        return self.jobs[name]

    def to_polars(self, table: str = "flows") -> "polars.DataFrame":
        """A table as a Polars frame: ``flows``, ``measured_flows``, ``ports`` or a probe's name.
        Raises :class:`InputError` without Polars, or for another name."""
        return frames.to_polars(self._frame(table))

    def to_pandas(self, table: str = "flows") -> "pandas.DataFrame":
        """The same as a pandas frame."""
        return frames.to_pandas(self._frame(table))

    def _frame(self, name: str) -> pa.Table:
        tables = self.tables()
        return frames.chosen({"measured_flows": self.measured_flows, **tables}, name)

    @property
    def plot(self) -> "RunFigures":
        """The figures of a run: ``result.plot.queue()`` is a Matplotlib figure."""
        from leafspine.run_figures import RunFigures

        return RunFigures(self)

    def __repr__(self) -> str:
        flows = self.summary["classes"]["all"] if "classes" in self.summary else {}
        ended = f"{flows.get('flows', 0)} flows, {flows.get('unfinished', 0)} unfinished"
        probes = f", probes {', '.join(self.probes)}" if self.probes else ""
        where = f", in {self.directory}" if self.directory else ""
        return f"<leafspine.Result seed {self.summary.get('seed')}: {ended}{probes}{where}>"

    def _repr_html_(self) -> str:
        metrics = [metric for metric in FLOW_METRICS if metric.importance >= 4]
        heads = ["class", *(quantities.with_unit(one.label, one.unit) for one in metrics)]
        rows = [
            [name, *("–" if (v := of[one.name]) is None else f"{v:.6g}" for one in metrics)]
            for name, of in self.summary["classes"].items()
        ]
        return notebook.page([repr(self)], heads, rows, 1, self.plot.cdf(), ".summary has all")


def run_case(
    case: Case,
    watch: Watch | None = None,
    *,
    check: bool = False,
    most: int | None = None,
    threads: int = 1,
    captures: tuple[Sequence[str], Path] | None = None,
) -> Result:
    """Simulate a case. Raises as :func:`leafspine.engine.simulate` does."""
    output = engine.simulate(
        case.toml,
        case.base_dir,
        watch,
        check=check,
        most=most,
        threads=threads,
        captures=captures,
    )
    flows = flow_table(output.flows())
    ports = column_table(output.ports())
    summary: dict[str, Any] = json.loads(output.summary())
    timing = {
        "wall_seconds": summary.pop("wall_seconds", None),
        "build": engine.build(),
        "checked": engine.is_checked(check),
    }
    jobs = {name: job_table(columns) for name, columns in output.jobs()}
    measured = measure(flows, ports, summary, case.classes, jobs)
    programs, written = program_table(*output.programs())
    return Result(
        scenario=case.text,
        summary=_summary(case, summary, measured),
        flows=flows,
        ports=ports,
        probes={name: column_table(columns) for name, _, columns in output.probes()},
        jobs=jobs,
        programs=programs,
        written=written,
        timing=timing,
    )


def _summary(case: Case, totals: Mapping[str, Any], measured: Measured) -> dict[str, Any]:
    classes: dict[str, dict[str, float | None]] = {}
    network: dict[str, float | None] = {}
    collectives: dict[str, float | None] = {}
    recovery: dict[str, float | None] = {}
    for (group, name), value in measured.items():
        if group == NETWORK:
            network[name] = value
        elif group == COLLECTIVES:
            collectives[name] = value
        elif group == RECOVERY:
            recovery[name] = value
        else:
            classes.setdefault(group, {})[name] = value
    return {
        "leafspine": engine.version(),
        "seed": case.seed,
        **totals,
        "classes": classes,
        "network": network,
        **({"collectives": collectives} if collectives else {}),
        **({"recovery": recovery} if recovery else {}),
    }


def measured(summary: Mapping[str, Any]) -> Measured:
    """The metrics that a finished result's summary holds, as they were measured."""
    # A result of before a metric was there has none.
    network = {**dict.fromkeys(metric.name for metric in NETWORK_METRICS), **summary["network"]}
    groups = {**summary["classes"], NETWORK: network}
    if "collectives" in summary:
        groups[COLLECTIVES] = summary["collectives"]
    if "recovery" in summary:
        groups[RECOVERY] = summary["recovery"]
    return {
        (group, name): value for group, found in groups.items() for name, value in found.items()
    }


def column_table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns as the engine hands them over, as an Arrow table."""
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def flow_table(columns: Mapping[str, Any]) -> pa.Table:
    """The flows' columns as an Arrow table: null where not finished or where not known."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    fct = np.asarray(columns["fct_ps"])
    arrays["fct_ps"] = pa.array(fct, mask=fct == UNFINISHED)
    for name in ("undos", "tail_probes"):
        if name in columns and (unknown := np.asarray(columns[name]) == UNKNOWN).any():
            arrays[name] = pa.array(columns[name], mask=unknown)
    if "mean_window" in columns and (unknown := np.isnan(columns["mean_window"])).any():
        arrays["mean_window"] = pa.array(columns["mean_window"], mask=unknown)
    for name in ("job", "iteration", "phase", "channel"):
        if name in columns:  # flows that are no messages of a job have none of these
            values = np.asarray(columns[name])
            arrays[name] = pa.array(values, mask=values == NO_MESSAGE)
    return pa.table(arrays)


def job_table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns of collectives, ranks or programs as an Arrow table; what is not known is null."""
    arrays = {}
    for name, given in columns.items():
        if isinstance(given, list):  # texts
            arrays[name] = pa.array(given)
            continue
        values = np.asarray(given)
        unknown = np.isnan(values) if values.dtype.kind == "f" else values == UNFINISHED
        arrays[name] = pa.array(given, mask=unknown)
    return pa.table(arrays)


def program_table(
    columns: Mapping[str, Any], outputs: Sequence[tuple[bytes, bytes]]
) -> tuple[pa.Table | None, dict[str, bytes]]:
    """The table of programs, if there are some, and by name the files with what they wrote: one
    without anything in it for what a program did not write to."""
    if not outputs:
        return None, {}
    written = {}
    files_of: dict[str, list[str]] = {"stdout": [], "stderr": []}
    for number, (host, texts) in enumerate(zip(columns["host"], outputs, strict=True)):
        for stream, text in zip(files_of, texts, strict=True):
            name = f"program{number}-host{host}.{stream}"
            written[name] = text
            files_of[stream].append(name)
    commands = [shlex.join(words) for words in columns["command"]]
    return job_table({**columns, "command": commands, **files_of}), written


def _is_written(name: str) -> bool:
    return name.startswith("program") and name.endswith((".stdout", ".stderr"))


def is_finished(directory: Path, case: Case, *, check: bool = False) -> bool:
    """Whether a directory holds this very case's finished result; with ``check`` a checked one.

    Raises :class:`InputError` if it holds anything else.
    """
    if directory.is_symlink():
        raise InputError(f"{directory} is a symbolic link: name {directory.resolve()} itself")
    if not directory.exists():
        return False
    if not directory.is_dir():
        raise InputError(f"{directory} is a file: choose another directory for the result")
    files.sweep_leftovers(directory)
    names = {path.name for path in directory.iterdir() if not files.is_temporary(path.name)}
    if not names:
        return False
    if names.isdisjoint((files.SUMS, files.SCENARIO, SUMMARY)):
        raise InputError(
            f"{directory} is not empty and holds no result of leafspine: {another_directory()}"
        )
    scenario = _contents(directory)[files.SCENARIO]
    was_checked = _was_checked(directory)
    if scenario != case.text.encode():
        raise InputError(
            f"{directory} holds the result of another scenario, seed or version "
            f"(see {directory / files.SCENARIO}): {another_directory()}, or remove it"
        )
    return was_checked or not engine.is_checked(check)


def _was_checked(directory: Path) -> bool:
    return bool(timing(directory).get("checked"))


def _contents(directory: Path) -> dict[str, bytes]:
    """A result's files, every one of which is there and what was written."""
    contents = files.read(directory)
    for name in (files.SCENARIO, SUMMARY, *(f"{table}.parquet" for table in TABLES)):
        if name not in contents:
            raise files.damaged(directory, files.SUMS, f"does not name {name}")
    return contents


def _table(data: bytes) -> pa.Table:
    # Half the time of read_table, which looks for a dataset; tables of a run are small.
    return pa_parquet.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def has_probes(directory: Path) -> bool:
    """Whether a result's directory has tables of probes, without reading any."""
    own = {f"{name}.parquet" for name in (*TABLES, *JOB_TABLES, PROGRAMS)}
    return any(path.name not in own for path in directory.glob("*.parquet"))


def summary(directory: Path) -> dict[str, Any]:
    """A finished result's summary alone, without its tables."""
    found: dict[str, Any] = json.loads(files.read_one(directory, SUMMARY))
    return found


def timing(directory: Path) -> dict[str, Any]:
    """How long a finished result took and which build made it; nothing if that was removed."""
    if not os.path.lexists(directory / files.TIMING):
        return {}
    try:
        found = json.loads(files.read_plain(directory, files.TIMING))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise files.damaged(directory, files.TIMING, "is truncated or changed (no JSON object)")
    return found


def write(result: Result, directory: Path, *, csv: bool = False) -> Result:
    """Write a result's files to ``directory``, all or nothing.

    The files are made in a sibling directory which then takes the name; a process that is killed
    leaves no half result. A finished one that is already there stays, unless this one was checked
    and that one was not: then it is replaced as a whole.
    """
    checked = result.timing.get("checked") and (directory / SUMMARY).is_file()
    with files.replacing(directory, over=bool(checked) and not _was_checked(directory)) as folder:
        _write_text(folder / files.SCENARIO, result.scenario)
        for name, table in result.tables().items():
            write_parquet(table, folder / f"{name}.parquet")
            if csv:
                write_csv(table, folder / f"{name}.csv")
        for name, text in result.written.items():
            (folder / name).write_bytes(text)
        _write_text(folder / files.TIMING, to_json(result.timing))
        _write_text(folder / SUMMARY, to_json(result.summary))
    return replace(result, directory=directory)


def add_csv(result: Result) -> None:
    """Write a finished result's CSV files, in the place of any that are there."""
    if result.directory is None:
        return
    for name, table in result.tables().items():
        with files.replacing_file(result.directory / f"{name}.csv") as temporary:
            write_csv(table, temporary)


def to_json(value: Any) -> str:
    """JSON with a final newline. Keys keep their order, which is that of tables."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table's Parquet file."""
    # By way of memory: Arrow writes a few bytes at a time, and tells of a full disk more than once.
    stream = pa.BufferOutputStream()
    pa_parquet.write_table(table, stream, compression="zstd")
    path.write_bytes(stream.getvalue())


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a table's CSV file."""
    with path.open("wb") as stream:
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(quoting_style="needed"))
