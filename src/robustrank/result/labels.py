"""Data frames of pandas: their numbers, and the labels of their rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from robustrank.backend import is_array, to_numpy

Vector = np.ndarray[Any, Any]

SHOWN = 6  # labels or singular values that a text lists


def is_frame(data: Any) -> bool:
    """Whether the data is a data frame; pandas is not imported for that."""
    return hasattr(data, "to_numpy") and hasattr(data, "columns") and hasattr(data, "index")


def frame_values(frame: Any) -> Vector:
    """The numbers of a data frame, NaN where they are missing."""
    check_numeric(frame)
    return np.asarray(frame.to_numpy(dtype=float, na_value=np.nan))


def check_numeric(frame: Any) -> None:
    """Raise for columns of dates, text or categories, which would be converted to numbers."""
    wrong = [
        f"{str(name)!r} ({dtype})"
        for k, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True))
        if not has_numbers(frame.iloc[:, k])
    ]
    if wrong:
        raise TypeError(
            f"the data frame has columns that are not numbers: {_listed(wrong)}; drop them, make "
            "them labels with set_index, or convert them to numbers"
        )


def has_numbers(column: Any) -> bool:
    """Whether all values of a column that are not missing are numbers."""
    dtype = column.dtype
    if dtype == np.dtype(object) or str(dtype).startswith("decimal"):
        return all(isinstance(one, Real | Decimal | np.bool_) for one in column.dropna())
    return getattr(dtype, "kind", "O") in "biuf"  # also those of pandas with missing values


def frame_like(frame: Any) -> Callable[[Any], Any]:
    """A function, which can be pickled, that makes a data frame with the labels of another."""
    kind: Callable[..., Any] = type(frame)
    return partial(kind, index=frame.index, columns=frame.columns)


def numbers_of(given: Any, labels: Any, size: int, name: str) -> Vector:
    """The numbers of rows or columns, of which numbers or labels are given; of the same shape."""
    if labels is None:
        return _checked_positions(given, size, name)
    wanted, shape = np.ravel(given), np.shape(given)
    if getattr(labels, "nlevels", 1) > 1:  # a label is a tuple, which would become an array
        wanted, shape = _tuples(given)
    found = _found(wanted, labels, name)
    if (found < 0).any():
        unknown = wanted[int(np.argmax(found < 0))]
        raise KeyError(f"{name}: {str(unknown)!r} is not a label of the data")
    return found.reshape(shape)


def _tuples(given: Any) -> tuple[Any, tuple[int, ...]]:
    """The labels of several levels that are given, as a list, and the shape of the answer."""
    return ([given], ()) if isinstance(given, tuple) else ([*given], (len(given),))


def _checked_positions(given: Any, size: int, name: str) -> Vector:
    """Row or column numbers, from zero to ``size`` − 1."""
    numbers = to_numpy(given) if is_array(given) else np.asarray(given)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise TypeError(f"{name} has dtype {numbers.dtype}; expected integers")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise IndexError(f"{name} contains {wrong}; expected numbers from 0 to {size - 1}")
    return numbers


def matched_columns(columns: Any, labels: Any) -> Vector:
    """The numbers that the columns of new data have in the data with these labels.

    The columns may be in another order, but must be the same.
    """
    found = _found(columns, labels, "columns")
    unknown = [repr(str(one)) for one in np.asarray(columns)[found < 0]]
    missing = [repr(str(one)) for one in np.delete(np.asarray(labels), found[found >= 0])]
    if unknown or missing or len(found) != len(labels):
        parts = [
            f"{text} {_listed(which)}"
            for text, which in (("it does not have", missing), ("unknown are", unknown))
            if which
        ]
        raise ValueError(
            f"the columns of X are not those of the completed data: "
            f"{'; '.join(parts) or 'some occur several times'}; pass the same columns, in any "
            "order, with missing values for those that are not known"
        )
    return found


def _found(wanted: Any, labels: Any, name: str) -> Vector:
    """The place of each label, −1 if it is not known."""
    unique = getattr(labels, "is_unique", None)
    if not (len(set(labels.tolist())) == len(labels) if unique is None else unique):
        raise KeyError(f"{name}: labels of the data occur several times; make them unique first")
    if hasattr(labels, "get_indexer"):
        return np.asarray(labels.get_indexer(wanted))
    places = {label: k for k, label in enumerate(labels.tolist())}
    return np.asarray([places.get(label, -1) for label in np.asarray(wanted).tolist()], int)


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts[:SHOWN]) + (", …" if len(texts) > SHOWN else "")


def label_array(labels: Any) -> Vector:
    """Labels as an array that can be saved: numbers as they are, text, and dates as text."""
    if getattr(labels.dtype, "kind", "O") in "biufU":
        return np.asarray(labels)
    given = list(labels)
    if any(isinstance(one, tuple) for one in given) or (
        labels.dtype == np.dtype(object) and len({type(one) for one in given}) > 1
    ):
        raise ValueError(
            "labels of several types, or of several levels, cannot be saved; make them text first, "
            "for example by frame.index.map(str)"
        )
    return np.asarray([str(one) for one in given], dtype=np.str_)


def labels_from(array: Vector, dtype: str, name: str | None) -> Any:
    """An index of pandas from a saved array and the dtype of the labels."""
    return _pandas().Index(array.tolist(), dtype=dtype, name=name)


def new_frame(columns: dict[str, Any], labels: Any, name: str | None) -> Any:
    """A data frame with these columns; the labels of its rows have a name."""
    pandas = _pandas("a data frame needs pandas")
    return pandas.DataFrame(columns, index=pandas.Index(labels, name=name))


def frame_with_labels(rows: Any, columns: Any) -> Callable[[Any], Any]:
    """A function that makes a data frame of a matrix."""
    return partial(_pandas().DataFrame, index=rows, columns=columns)


def _pandas(needed: str = "the saved result is that of a data frame, which needs pandas") -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{needed}: pip install 'robustrank[files]'") from error
    return pd
