"""The files that a run leaves behind, written all or nothing, and read again.

``DIR/scenario.toml`` is the resolved scenario, ``summary.json`` the run's totals and the metrics of
its flow classes, ``flows.parquet`` and ``ports.parquet`` one row a flow and a port, and each probe
has a file of its name. The same scenario and seed give the same bytes in all of them; wall time,
which differs, is in ``timing.json``, and so is which build of the engine made the result, and
whether its books were checked.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from leafspine import arguments, engine
from leafspine.engine import Case, Watch
from leafspine.errors import InputError
from leafspine.measures import Measured, measure

UNFINISHED = np.uint64(2**64 - 1)

SCENARIO = "scenario.toml"
SUMMARY = "summary.json"
TIMING = "timing.json"


@dataclass(frozen=True)
class Result:
    """One finished run.

    ``flows``: one row a flow, times in picoseconds, sizes in bytes, ``fct_ps`` null where the flow
    had not ended. ``ports``: one row a port, measured over the scenario's window. ``probes``: a
    table by the probe's name. ``summary``: the run's totals, and ``classes`` and ``network`` with
    the metrics of :mod:`leafspine.measures`. ``scenario``: the resolved scenario, TOML.
    ``directory``: where the files are, if they were written.
    """

    scenario: str
    summary: dict[str, Any]
    flows: pa.Table = field(repr=False)
    ports: pa.Table = field(repr=False)
    probes: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    timing: dict[str, Any] = field(default_factory=dict, compare=False)
    directory: Path | None = field(default=None, compare=False)

    @staticmethod
    def load(directory: str | Path) -> "Result":
        """Read a finished result. Raises :class:`InputError` when there is none."""
        folder = arguments.directory("the result", directory) or Path()
        if not (folder / SUMMARY).is_file() or not (folder / SCENARIO).is_file():
            raise InputError(f"{folder} holds no finished result (no {SUMMARY} and {SCENARIO})")
        timing = folder / TIMING
        return Result(
            scenario=(folder / SCENARIO).read_text(encoding="utf-8"),
            summary=json.loads((folder / SUMMARY).read_text(encoding="utf-8")),
            flows=pa_parquet.read_table(folder / "flows.parquet"),
            ports=pa_parquet.read_table(folder / "ports.parquet"),
            probes={
                path.stem: pa_parquet.read_table(path)
                for path in sorted(folder.glob("*.parquet"))
                if path.stem not in ("flows", "ports")
            },
            timing=json.loads(timing.read_text(encoding="utf-8")) if timing.is_file() else {},
            directory=folder,
        )

    @property
    def is_of_this_build(self) -> bool:
        """Whether the engine that made it is the one that would make it now."""
        return self.timing.get("build") == engine.build()

    def tables(self) -> dict[str, pa.Table]:
        """All tables by the name of their file."""
        return {"flows": self.flows, "ports": self.ports, **self.probes}


def run_case(
    case: Case, watch: Watch | None = None, *, check: bool = False, most: int | None = None
) -> Result:
    """Simulate a case. Raises as :func:`leafspine.engine.simulate` does."""
    output = engine.simulate(case.toml, case.base_dir, watch, check=check, most=most)
    flows = flow_table(output.flows())
    ports = column_table(output.ports())
    summary: dict[str, Any] = json.loads(output.summary())
    timing = {
        "wall_seconds": summary.pop("wall_seconds", None),
        "build": engine.build(),
        "checked": engine.is_checked(check),
    }
    measured = measure(flows, ports, summary, case.classes)
    return Result(
        scenario=case.text,
        summary=_summary(case, summary, measured),
        flows=flows,
        ports=ports,
        probes={name: column_table(columns) for name, _, columns in output.probes()},
        timing=timing,
    )


def _summary(case: Case, totals: Mapping[str, Any], measured: Measured) -> dict[str, Any]:
    classes: dict[str, dict[str, float | None]] = {}
    network: dict[str, float | None] = {}
    for (group, name), value in measured.items():
        if group == "network":
            network[name] = value
        else:
            classes.setdefault(group, {})[name] = value
    return {
        "leafspine": engine.version(),
        "seed": case.seed,
        **totals,
        "classes": classes,
        "network": network,
    }


def column_table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns as the engine hands them over, as an Arrow table."""
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def flow_table(columns: Mapping[str, Any]) -> pa.Table:
    """The flows' columns as an Arrow table; an unfinished flow has a null ``fct_ps``."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    fct = np.asarray(columns["fct_ps"])
    arrays["fct_ps"] = pa.array(fct, mask=fct == UNFINISHED)
    return pa.table(arrays)


def is_finished(directory: Path, case: Case, *, check: bool = False) -> bool:
    """Whether a directory holds this very case's finished result; with ``check`` a checked one.

    Raises :class:`InputError` if it holds anything else.
    """
    if not directory.exists():
        return False
    if not directory.is_dir():
        raise InputError(f"{directory} is a file: choose another directory for the result")
    if not any(directory.iterdir()):
        return False
    scenario = directory / SCENARIO
    if not scenario.is_file() or not (directory / SUMMARY).is_file():
        raise InputError(
            f"{directory} is not empty and holds no result of leafspine: "
            "choose another directory with --out"
        )
    if scenario.read_text(encoding="utf-8") != case.text:
        raise InputError(
            f"{directory} holds the result of another scenario, seed or version "
            f"(see {scenario}): choose another directory with --out, or remove it"
        )
    return _was_checked(directory) or not engine.is_checked(check)


def _was_checked(directory: Path) -> bool:
    timing = directory / TIMING
    found = json.loads(timing.read_text(encoding="utf-8")) if timing.is_file() else {}
    return bool(found.get("checked"))


def write(result: Result, directory: Path, *, csv: bool = False) -> Result:
    """Write a result's files to ``directory``, all or nothing.

    The files are made in a sibling directory which then takes the name; a process that is killed
    leaves no half result. A finished one that is already there stays, unless this one was checked
    and that one was not: then its files are replaced, one by one.
    """
    anew = result.timing.get("checked") and (directory / SUMMARY).is_file()
    with replacing(directory, over=bool(anew) and not _was_checked(directory)) as folder:
        _write_text(folder / SCENARIO, result.scenario)
        for name, table in result.tables().items():
            _write_parquet(table, folder / f"{name}.parquet")
            if csv:
                _write_csv(table, folder / f"{name}.csv")
        _write_text(folder / TIMING, to_json(result.timing))
        _write_text(folder / SUMMARY, to_json(result.summary))
    return Result(
        result.scenario,
        result.summary,
        result.flows,
        result.ports,
        result.probes,
        result.timing,
        directory,
    )


def add_csv(result: Result) -> None:
    """Write the CSV files that a finished result lacks."""
    if result.directory is None:
        return
    for name, table in result.tables().items():
        path = result.directory / f"{name}.csv"
        if not path.is_file():
            with replacing_file(path) as temporary:
                _write_csv(table, temporary)


def to_json(value: Any) -> str:
    """JSON with keys in order and a final newline: the same bytes for the same value."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n"


@contextlib.contextmanager
def replacing(directory: Path, *, over: bool = False) -> Iterator[Path]:
    """A new sibling directory that becomes ``directory`` when the block ends well."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    sweep_leftovers(directory.parent)
    temporary = directory.parent / f".{directory.name}.tmp-{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        if over:
            for path in sorted(temporary.iterdir(), key=lambda path: path.name == TIMING):
                path.replace(directory / path.name)
            return
        try:
            temporary.rename(directory)
        except OSError:
            # Another process finished the same case first: its files are the same.
            if not (directory / SUMMARY).is_file():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """A temporary sibling that takes the file's place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep_leftovers(parent: Path) -> None:
    """Remove what processes that no longer live left half written."""
    for path in parent.glob(".*.tmp-*"):
        owner = path.name.rpartition("-")[2]
        if owner.isdigit() and not _is_alive(int(owner)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_parquet(table: pa.Table, path: Path) -> None:
    pa_parquet.write_table(table, path, compression="zstd")


def _write_csv(table: pa.Table, path: Path) -> None:
    pa_csv.write_csv(table, path, pa_csv.WriteOptions(quoting_style="needed"))


def _sync(directory: Path) -> None:
    """Force the files to the disk before the rename makes them a result."""
    for path in directory.iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
