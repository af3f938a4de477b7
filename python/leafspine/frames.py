"""Tables of several runs as one, and Arrow tables as data frames of other libraries.

Polars and pandas are not needed by leafspine: whoever asks for their frames has them.
"""

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from leafspine.errors import InputError, refused
from leafspine.nearest import nearest

if TYPE_CHECKING:
    import pandas
    import polars

T = TypeVar("T")

Labels = Mapping[str, Any]
"""Columns that say of which run a row is: ``variant``, the swept keys, ``seed``."""


def stacked(parts: Iterable[tuple[Labels, pa.Table]]) -> pa.Table:
    """The rows of all tables, one after the other, with their labels as the first columns.

    A label that a part lacks is null there, and so is a column that an older run has not. Values of
    one label that are of several kinds (``20`` and ``"30KB"``) become text.
    """
    labels, tables = [], []
    for label, table in parts:
        labels.append(label)
        tables.append(table)
    if not tables:
        return pa.table({})
    stack = pa.concat_tables(tables, promote_options="default")
    which = pa.array(np.repeat(np.arange(len(tables)), [table.num_rows for table in tables]))
    names = dict.fromkeys(name for label in labels for name in label)
    first = {name: _column([label.get(name) for label in labels]).take(which) for name in names}
    columns = {name: stack[name] for name in stack.column_names}
    return pa.table({**first, **columns})


def _column(values: list[Any]) -> Any:
    """An Arrow array of swept values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return pa.array([float(v) for v in values] if kinds == {int, float} else values)
    return pa.array([None if value is None else str(value) for value in values])


def to_polars(table: pa.Table) -> "polars.DataFrame":
    """A Polars frame of an Arrow table. Raises :class:`InputError` without Polars."""
    frame: polars.DataFrame = _library("polars").from_arrow(table)
    return frame


def to_pandas(table: pa.Table) -> "pandas.DataFrame":
    """A pandas frame of an Arrow table. Raises :class:`InputError` without pandas."""
    _library("pandas")
    frame: pandas.DataFrame = table.to_pandas()
    return frame


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(f"{name} is not installed: pip install {name}") from None


def chosen(tables: Mapping[str, T], name: str) -> T:
    """The table of this name, or what makes it. Raises :class:`InputError` for any other."""
    if name in tables:
        return tables[name]
    allowed = ", ".join(f'"{known}"' for known in tables)
    raise refused(repr(name), allowed, key="the table", nearest=nearest(str(name), tables))
