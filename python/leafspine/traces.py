"""Flow traces in Parquet's format, as CSV files that the engine streams.

A file is converted once and kept by its checksum in ``$XDG_CACHE_HOME/leafspine/traces``
(``~/.cache``), or in the directory for temporary files where that cannot be written. Deleting it
costs nothing but the conversion; what has not been used for a month is deleted with the next one.
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path

TEXTS = ("src", "dst", "path", "ack_path")
"""The columns that may be texts."""

KEPT = 30 * 86_400
"""Seconds that a converted trace stays after its last use."""


def to_csv(path: str | Path, checksum: str) -> str:
    """The path of a CSV file with the columns of a trace that a Parquet file has, a row a row.

    ``checksum`` is that of its contents. Raises ``OSError`` if a file cannot be read or written,
    and pyarrow's errors if it is no Parquet file.
    """
    target = _folder() / f"{checksum}.csv"
    if target.exists():
        # Another's file can be read, but not be called used.
        with contextlib.suppress(PermissionError):
            os.utime(target)
    else:
        _sweep(target.parent)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=checksum)
        os.close(handle)
        temporary = Path(name)
        try:
            _convert(Path(path), temporary)
            # Whoever else converts it at the same time writes the same.
            temporary.replace(target)
        except BaseException:
            temporary.unlink()
            raise
    return str(target)


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in (cache, Path(tempfile.gettempdir()) / f"leafspine-{os.getuid()}"):
        try:
            found = folder / "leafspine" / "traces"
            found.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(found, os.W_OK):
            return found
    raise OSError("no directory for the trace as CSV can be written")


def _sweep(folder: Path) -> None:
    """Deletes what nobody has used for long, and what an interrupted conversion has left."""
    for path in folder.iterdir():
        # Whoever else converts at the same time sweeps, too.
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT:
                path.unlink()


def _convert(source: Path, target: Path) -> None:
    """Batch by batch: a file may be larger than memory."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(source)
    # Numbers of no use are kept for the note that says so; other texts might have commas.
    names = [
        field.name
        for field in file.schema_arrow
        if field.name in TEXTS
        or pa.types.is_integer(field.type)
        or pa.types.is_floating(field.type)
    ]
    how = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with target.open("wb") as out:
        out.write(",".join(names).encode() + b"\n")
        for batch in file.iter_batches(columns=names):
            # In the header's order, whatever the file's.
            pyarrow.csv.write_csv(batch.select(names), out, how)
