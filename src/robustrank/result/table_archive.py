"""A cleaned table as arrays of numbers, and back: for saved results."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

from robustrank.tables import CleanTable

Arrays = dict[str, np.ndarray[Any, Any]]

PREFIX = "table"
# The shape of each array in terms of the rows n and the columns p.
_SHAPES = {
    **dict.fromkeys(("given", "expected", "deviation", "wrong", "log_odds"), "np"),
    **dict.fromkeys(("center", "scale", "limit", "skewness", "mean", "low", "high"), "p"),
    **dict.fromkeys(("counts", "errors", "trivial", "most_skill"), "p"),
    "covariance": "pp",
    "loadings": "pk",
    "noise": "p",
    "wrong_rows": "n",
    "wrong_columns": "p",
}
_KINDS = {np.dtype[np.float64]: np.float64, np.dtype[np.bool_]: np.bool_}


def arrays_of(record: Any, name: str = PREFIX) -> Arrays:
    """The arrays and numbers of a record and of the records in it, each with a name of its own."""
    found: Arrays = {}
    for one in fields(record):
        value, inside = getattr(record, one.name), f"{name}_{one.name}"
        found |= arrays_of(value, inside) if is_dataclass(value) else {inside: np.asarray(value)}
    return found


def table_of(arrays: Arrays, shape: tuple[int, int]) -> CleanTable | None:
    """The table in the arrays of a saved result; None if it has none.

    Raises KeyError or ValueError if they are not those of a table with this shape.
    """
    if not any(name.startswith(f"{PREFIX}_") for name in arrays):
        return None
    table: CleanTable = _record(CleanTable, arrays, PREFIX, dict(zip("np", shape, strict=True)))
    return table


def names(record: Any = CleanTable, name: str = PREFIX) -> set[str]:
    """The names of all arrays of a record."""
    found: set[str] = set()
    for one, kind in get_type_hints(record).items():
        inside = f"{name}_{one}"
        kinds = [part for part in get_args(kind) if is_dataclass(part)] or [kind]
        for part in kinds:
            found |= names(part, inside) if is_dataclass(part) else {inside}
    return found


def _record(record: Any, arrays: Arrays, name: str, sizes: dict[str, int]) -> Any:
    values: dict[str, Any] = {}
    for one, kind in get_type_hints(record).items():
        inside = f"{name}_{one}"
        kind = _one_of(kind, arrays, inside)
        if is_dataclass(kind):
            turned = one == "model" and np.array_equal(arrays[f"{name}_transposed"], True)
            own = {"n": sizes["p"], "p": sizes["n"]} if turned else sizes
            values[one] = _record(kind, arrays, inside, own)
        elif kind in (bool, int, float):
            _check(arrays[inside].shape == () and arrays[inside].dtype == kind, inside)
            values[one] = kind(arrays[inside])
        else:
            values[one] = _checked(arrays[inside], one, inside, sizes, kind)
    return record(**values)


def _one_of(kind: Any, arrays: Arrays, name: str) -> Any:
    """Of the records that a field can have, the one whose arrays are there."""
    records = [part for part in get_args(kind) if is_dataclass(part)]
    there = [part for part in records if names(part, name) <= arrays.keys()]
    _check(len(there) == 1 or not records, name)
    return there[0] if records else kind


def _checked(array: Any, one: str, name: str, sizes: dict[str, int], kind: Any) -> Any:
    expected = _KINDS[kind.__args__[1]]
    _check(array.dtype == expected, name)
    expected_sizes = [sizes.get(size) for size in _SHAPES[one]]  # any number of factors
    _check(array.ndim == len(expected_sizes), name)
    pairs = zip(array.shape, expected_sizes, strict=True)
    _check(all(size in (own, None) for own, size in pairs), name)
    return array


def _check(valid: bool, name: str) -> None:
    if not valid:
        raise ValueError(f"{name!r}")
