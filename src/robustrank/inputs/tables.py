"""Tables as users pass them, and how to return them.

They are data frames of pandas or Polars, arrays, or an ``xarray.DataArray``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import is_array, shown, to_numpy
from robustrank.result import (
    PolarsFrames,
    check_polars,
    has_numbers,
    is_frame,
    is_polars,
    polars_values,
)

Values = np.ndarray[Any, np.dtype[np.float64]]

_NUMBERS = "biuf"  # kinds of dtypes


@dataclass(frozen=True, eq=False)
class TableInput:
    """The numbers of a table, and how a cleaned table is returned.

    ``restored`` makes what was passed of the cleaned numbers; cells that are not in ``changed``
    keep their value. ``ignored`` are the names of the columns that are not numbers, or were to be
    left as they are.
    """

    values: Values
    restored: Callable[[Values, Any], Any]
    row_labels: Any = None
    column_labels: Any = None
    ignored: tuple[str, ...] = ()
    as_frame: Callable[[Any], Any] | None = None


def table_input(data: Any, ignore: Iterable[Any] = ()) -> TableInput:
    """The numbers of a table in any form."""
    names = _names(ignore)
    if is_polars(data):
        return _checked(_from_polars(data, names))
    if is_frame(data):
        return _checked(_from_frame(data, names))
    if names:
        raise TypeError("ignore names columns of a data frame, but the table is not one")
    if hasattr(data, "dims") and hasattr(data, "coords"):
        return _checked(_from_labelled(data))
    return _checked(_from_array(data))


def _names(ignore: Iterable[Any]) -> list[Any]:
    if isinstance(ignore, str):
        raise TypeError(f"ignore={ignore!r}; expected a list of columns, [{ignore!r}]")
    return list(ignore)


def _checked(table: TableInput) -> TableInput:
    rows, columns = table.values.shape
    if rows < 2 or columns < 1:
        left = f" ({len(table.ignored)} columns are not numbers)" if table.ignored else ""
        raise ValueError(
            f"the table has {rows} rows and {columns} columns of numbers{left}; expected at least "
            "two rows and one column"
        )
    if not np.isfinite(table.values).any():
        raise ValueError("the table has no finite number; expected at least one")
    return table


def _from_array(data: Any) -> TableInput:
    if scipy.sparse.issparse(data):
        raise TypeError(
            "the table is a sparse matrix; pass table.toarray() if the entries that are not stored "
            "are zero"
        )
    if hasattr(data, "to_df") and hasattr(data, "obs"):
        raise TypeError("the table is an AnnData object; pass its to_df(), or that of a layer")
    if isinstance(data, np.ma.MaskedArray):
        values = np.ma.filled(data.astype(float), np.nan)
    else:
        values = to_numpy(data) if is_array(data) else np.asarray(data)
    if values.ndim != 2:
        raise ValueError(
            f"the table has shape {tuple(values.shape)}; expected (rows, columns). Stack further "
            "axes first, or pass an xarray.DataArray"
        )
    if values.dtype.kind not in _NUMBERS:
        raise TypeError(
            f"the table has dtype {values.dtype}; expected numbers, or a data frame if columns are "
            "of different kinds"
        )
    return TableInput(values.astype(float), partial(_array_like, values.dtype, values))


def _array_like(dtype: np.dtype[Any], given: Any, filled: Values, changed: Any) -> Any:
    return np.where(changed, _as_dtype(filled, dtype, given), given)


def _as_dtype(filled: Values, dtype: np.dtype[Any], given: Any) -> Any:
    """Numbers of a dtype, rounded if it has integers or booleans."""
    if dtype.kind == "f":
        return filled.astype(dtype)
    if dtype.kind == "b":
        return filled >= 0.5
    rounded = np.where(np.isfinite(filled), np.round(filled), to_numpy(given))
    limits = np.iinfo(dtype)
    return np.clip(rounded, float(limits.min), float(limits.max)).astype(dtype)


def _as_objects(filled: Values, given: Sequence[Any]) -> list[Any]:
    """Numbers of the given kind: booleans, integers, or decimals with the same digits."""
    if all(isinstance(one, bool | np.bool_) for one in given):
        return [value >= 0.5 for value in filled.tolist()]
    if all(isinstance(one, Integral) for one in given):
        return [round(value) for value in filled.tolist()]
    if all(isinstance(one, Decimal) for one in given):
        digits = max(0, *(-int(one.as_tuple().exponent) for one in given if one.is_finite()))
        return [Decimal(f"{value:.{digits}f}") for value in filled.tolist()]
    return list(filled.tolist())


def _from_labelled(data: Any) -> TableInput:
    """A DataArray: the rows are its first dimension, the columns all others."""
    if data.ndim < 2:
        raise ValueError(f"the DataArray has the dimensions {data.dims}; expected two or more")
    values = np.asarray(data.values)
    if values.dtype.kind not in _NUMBERS:
        raise TypeError(f"the DataArray has dtype {values.dtype}; expected numbers")
    flat = values.reshape(len(values), -1)

    return TableInput(flat.astype(float), partial(_labelled_like, data))


def _labelled_like(data: Any, filled: Values, changed: Any) -> Any:
    flat = np.asarray(data.values).reshape(len(filled), -1)
    cleaned = _array_like(flat.dtype, flat, filled, changed)
    return data.copy(data=cleaned.reshape(data.shape))


def _check_ignored(frame: Any, ignore: Sequence[Any]) -> None:
    unknown = [name for name in ignore if name not in frame.columns]
    if unknown:
        raise KeyError(
            f"ignore names {', '.join(map(repr, unknown))}, which the data frame does not have; "
            f"its columns are {shown(list(frame.columns))}"
        )


def _from_frame(frame: Any, ignore: Sequence[Any]) -> TableInput:
    _check_ignored(frame, ignore)
    used = [
        k
        for k, name in enumerate(frame.columns)
        if name not in ignore and _is_numeric(frame.iloc[:, k])
    ]
    numbers = frame.iloc[:, used]
    values = (
        np.asarray(numbers.to_numpy(dtype=float, na_value=np.nan))
        if used
        else np.zeros((len(frame), 0))
    )
    kind: Callable[..., Any] = type(frame)
    ignored = tuple(str(name) for k, name in enumerate(frame.columns) if k not in {*used})
    return TableInput(
        values,
        partial(cleaned_frame, frame, used),
        frame.index,
        numbers.columns,
        ignored,
        partial(kind, index=frame.index, columns=numbers.columns),
    )


def _is_numeric(column: Any) -> bool:
    """Whether a column has numbers; one of objects needs at least one."""
    kind = getattr(column.dtype, "kind", "O")
    return kind in _NUMBERS or (kind == "O" and has_numbers(column) and bool(column.notna().any()))


def cleaned_frame(frame: Any, used: Sequence[int], filled: Values, changed: Any) -> Any:
    """A copy of a data frame with cleaned columns; labels, dtypes and order stay."""
    cleaned = frame.copy()
    for k, place in enumerate(used):
        rows = np.flatnonzero(changed[:, k] & np.isfinite(filled[:, k]))
        if len(rows):
            given = frame.iloc[:, place]
            column = given.sparse.to_dense() if hasattr(given, "sparse") else given.copy()
            dtype = np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))
            if dtype == np.dtype(object):
                column.iloc[rows] = _as_objects(filled[rows, k], given.dropna().tolist())
            else:
                column.iloc[rows] = _as_dtype(filled[rows, k], dtype, np.zeros(len(rows)))
            cleaned.isetitem(place, column.astype(given.dtype))
    return cleaned


def _from_polars(frame: Any, ignore: Sequence[Any]) -> TableInput:
    """A data frame of Polars; null and NaN are missing."""
    check_polars(frame)
    _check_ignored(frame, ignore)
    used = [
        column
        for column in frame.get_columns()
        if (column.dtype.is_numeric() or str(column.dtype) == "Boolean")
        and column.name not in ignore
    ]
    names = tuple(column.name for column in used)
    return TableInput(
        polars_values(used, len(frame)),
        partial(_polars_like, frame, names),
        np.arange(len(frame)),
        np.asarray(names, dtype=np.str_),
        tuple(name for name in frame.columns if name not in names),
        PolarsFrames(type(frame), names),
    )


def _polars_like(frame: Any, names: Sequence[str], filled: Values, changed: Any) -> Any:
    """A data frame of Polars with cleaned columns; names, dtypes and order stay."""
    columns = []
    for k, name in enumerate(names):
        column = frame.get_column(name)
        kind, used = type(column), changed[:, k] & np.isfinite(filled[:, k])
        cells = np.where(used, filled[:, k], 0.0)
        cells = _as_dtype(cells, _numpy_dtype(column.dtype), cells).tolist()
        new = kind(name, cells, dtype=column.dtype, strict=False)
        columns.append(column.zip_with(kind(~used), new))
    return frame.with_columns(columns)


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of NumPy with the values of one of Polars, as far as a double has them."""
    name = str(dtype).lower()
    if name == "boolean":
        return np.dtype(bool)
    if dtype.is_integer():
        return np.dtype(name.replace("128", "64"))
    return np.dtype(float)
