"""Kinds of probes, told by the columns of their tables: a result keeps no more of them."""

from typing import Any

import numpy as np
import pyarrow as pa

COLUMNS = {
    "queue": frozenset({"port", "packets", "bytes"}),
    "utilisation": frozenset({"port", "utilisation"}),
    "window": frozenset({"flow", "window_bytes"}),
    "state": frozenset({"switch", "occupied"}),
    "signals": frozenset({"port", "marks", "drops"}),
    "tcp-info": frozenset({"flow", "cwnd", "srtt_us"}),
    "pause": frozenset({"port", "paused_ps", "pauses"}),
    "packets": frozenset({"port", "segment"}),
}

DATA_FLAG = 64
"""Of a packet with data (docs/measurements.md)."""


def kind_of(table: pa.Table) -> str | None:
    """The kind of probe that a table is of; ``None`` for none that is known."""
    names = set(table.column_names)
    return next((kind for kind, own in COLUMNS.items() if own <= names), None)


def is_data(table: pa.Table) -> Any:
    """Which rows of a ``packets`` probe are of data, as a mask."""
    return pa.array(np.asarray(table["flags"].to_numpy() & DATA_FLAG) != 0)
