"""The forms in which observed entries may be given, and the rows and columns that have any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import (
    Array,
    as_floating,
    check_same_device,
    dtype_name,
    is_array,
    is_numpy,
    library,
    like,
    namespace,
    on_gpu,
    to_numpy,
)
from robustrank.operators import Entries
from robustrank.result import frame_like, frame_values, is_frame


@dataclass(frozen=True, eq=False)
class Observed:
    """Observed entries of a matrix: arrays of NumPy, or of a library on a GPU."""

    rows: Array
    columns: Array
    values: Array
    shape: tuple[int, int]
    arranged: Callable[[Array], Array]  # flags of the entries in the form of the data
    returned: Callable[[Array], Array]  # a NumPy array in the library of the data
    row_labels: Any = None
    column_labels: Any = None
    as_frame: Callable[[Any], Any] | None = None


class Usable:
    """The entries that a fit can use; the others are outliers, whatever the matrix is.

    Those are infinite, or so large beside a typical entry that their products would overflow.
    """

    def __init__(self, values: Array, typical: float) -> None:
        xp = namespace(values)
        with np.errstate(over="ignore"):
            flags = xp.abs(values / typical) <= float(xp.finfo(values.dtype).max) ** 0.25
        self._flags = None if bool(xp.all(flags)) else flags

    def of(self, array: Array) -> Array:
        """The part of an array that belongs to the usable entries."""
        return array if self._flags is None else array[self._flags]

    def flags_of_all(self, flags: Array) -> Array:
        """Flags of all entries: those of the usable ones, and true for the others."""
        return flags if self._flags is None else self._merged(flags, ~self._flags)

    def values_of_all(self, values: Array, others: Array) -> Array:
        """Values of all entries: those of the usable ones, and ``others`` for the others."""
        return values if self._flags is None else self._merged(values, others)

    def _merged(self, usable: Array, others: Array) -> Array:
        whole = namespace(others).asarray(others, copy=True)
        whole[self._flags] = usable
        return whole


def observed(data: Any, shape: tuple[int, int] | None, mask: Any) -> Observed:
    """The entries of a matrix with missing ones, a sparse matrix, triples or a data frame."""
    if isinstance(data, tuple):
        _reject(mask, "mask", "triples")
        return _from_triples(data, shape)
    _reject(shape, "shape", "triples", only=True)
    if scipy.sparse.issparse(data):
        _reject(mask, "mask", "a sparse matrix")
        return _from_sparse(data)
    if is_frame(data):
        _reject(mask, "mask", "a data frame")
        return _from_frame(data)
    return _from_matrix(data, mask)


def _reject(given: Any, name: str, form: str, *, only: bool = False) -> None:
    if given is not None:
        where = f"only with {form}" if only else f"not with {form}"
        raise TypeError(f"{name} was given; it is used {where}")


def _from_triples(data: tuple[Any, ...], shape: tuple[int, int] | None) -> Observed:
    if len(data) != 3:
        raise ValueError(
            f"a tuple of {len(data)} elements was given; expected (rows, columns, values)"
        )
    rows, columns, values = (part if is_array(part) else np.asarray(part) for part in data)
    for name, part in (("rows", rows), ("columns", columns)):
        if library(part) != library(values):
            raise TypeError(
                f"{name} is a {library(part)} array and values is a {library(values)} array; "
                "expected the same library"
            )
    values = as_floating(values, "values")
    if values.ndim != 1 or rows.ndim != 1 or values.shape != rows.shape:
        raise ValueError(
            f"rows, columns and values have shapes {tuple(rows.shape)}, {tuple(columns.shape)} and "
            f"{tuple(values.shape)}; expected three vectors of the same length"
        )
    missing = int(namespace(values).count_nonzero(namespace(values).isnan(values)))
    if missing:
        raise ValueError(f"values contains NaN ({missing} times); remove those triples")
    if shape is None:
        if rows.shape[0] == 0:
            raise ValueError("there are no triples; expected at least one entry")
        shape = _extent(rows, "rows"), _extent(columns, "columns")
    work, returned = _placed(values)
    rows, columns = (_placed(part)[0] for part in (rows, columns))
    given = Entries(rows, columns, shape)  # checks them
    return Observed(
        given.rows, given.columns, work, given.matrix_shape, lambda flags: flags, returned
    )


def _extent(indices: Array, name: str) -> int:
    xp = namespace(indices)
    if not xp.isdtype(indices.dtype, "integral"):
        raise TypeError(f"{name} has dtype {indices.dtype}; expected integers")
    return max(int(xp.max(indices)) + 1, 1)


def _from_sparse(data: Any) -> Observed:
    # tocoo keeps the order of the stored entries, explicit zeros and duplicates.
    stored = data.tocoo()
    _check_matrix_shape(stored.shape)
    values = as_floating(np.asarray(stored.data), "X")
    if np.isnan(values).any():
        raise ValueError("X has stored entries that are NaN; remove them: missing is not stored")
    if not len(values):
        raise ValueError("X has no stored entries; expected at least one")
    n1, n2 = (int(n) for n in stored.shape)
    rows, columns = (np.asarray(indices) for indices in stored.coords)
    return Observed(rows, columns, values, (n1, n2), lambda flags: flags, lambda array: array)


def _from_frame(data: Any) -> Observed:
    return replace(
        _from_matrix(frame_values(data), None),
        row_labels=data.index,
        column_labels=data.columns,
        as_frame=frame_like(data),
    )


def _from_matrix(data: Any, mask: Any) -> Observed:
    if isinstance(data, np.ma.MaskedArray):
        _reject(mask, "mask", "a masked array")
        mask = ~np.ma.getmaskarray(data)
        data = data.data
    given = data if is_array(data) else np.asarray(data)
    _check_matrix_shape(given.shape)
    values = as_floating(given, "X")
    work, returned = _placed(values)
    xp = namespace(work)
    present = ~xp.isnan(work)
    if mask is not None:
        present = present & _checked_mask(mask, given, present)
    rows, columns = xp.nonzero(present)
    if rows.shape[0] == 0:
        raise ValueError("X has no observed entries; expected at least one")
    n1, n2 = (int(n) for n in given.shape)

    def arranged(flags: Array) -> Array:
        grid = xp.zeros_like(present)
        grid[rows, columns] = flags
        return grid

    return Observed(rows, columns, work[present], (n1, n2), arranged, returned)


def _check_matrix_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"X has shape {tuple(shape)}; expected a matrix with rows and columns")


def _checked_mask(mask: Any, data: Array, like_this: Array) -> Array:
    """The mask, boolean and true where an entry is observed."""
    given = mask if is_array(mask) else np.asarray(mask)
    if tuple(given.shape) != tuple(data.shape):
        raise ValueError(f"mask has shape {tuple(given.shape)}; expected {tuple(data.shape)}")
    if dtype_name(given) != "bool":
        raise TypeError(
            f"mask has dtype {given.dtype}; expected booleans, True where X is observed"
        )
    if is_numpy(like_this):
        return to_numpy(given)
    check_same_device(data, given)
    return given


def _placed(array: Array) -> tuple[Array, Callable[[Array], Array]]:
    """The array where it is computed with, and how to return results to its library.

    On a GPU that is where it is; otherwise it is NumPy, which shares memory with PyTorch.
    """
    if is_numpy(array) or on_gpu(array):
        return array, lambda result: result
    xp = namespace(array)
    return to_numpy(array), lambda result: xp.asarray(result)


# With fewer entries for each row, sorting the entries takes less than an array of all rows.
_SPARSE = 10


class Occupied:
    """The part of a matrix that has observed entries; what is computed for it can be expanded."""

    def __init__(self, rows: Array, columns: Array, shape: tuple[int, int]) -> None:
        (present, own), (others_present, other) = (
            _numbered(indices, size) for indices, size in zip((rows, columns), shape, strict=True)
        )
        self._present, self._shape = (present, others_present), shape
        self.entries = Entries(own, other, (len(present), len(others_present)))

    def expanded(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Factors of the whole matrix; they are zero where there are no entries."""
        P, Q = (self._filled(factor, axis) for axis, factor in enumerate((left, right)))
        return P, Q

    def missing(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Flags of the whole matrix, NumPy: those given, and true where there are no entries."""
        flags = []
        for given, present, size in zip((rows, columns), self._present, self._shape, strict=True):
            whole = np.ones(size, bool)
            whole[to_numpy(present)] = given
            flags.append(whole)
        return flags[0], flags[1]

    def _filled(self, factor: Array, axis: int) -> Array:
        xp = namespace(factor)
        whole = xp.zeros((self._shape[axis], factor.shape[1]), **like(factor))
        whole[self._present[axis]] = factor
        return whole


def _numbered(indices: Array, size: int) -> tuple[Array, Array]:
    """The indices that occur, in order, and the number of each index among them."""
    xp = namespace(indices)
    if size > _SPARSE * indices.shape[0]:
        found = xp.unique_inverse(indices)
        return found.values, found.inverse_indices
    occurs = xp.zeros(size, dtype=xp.bool, device=like(indices)["device"])
    occurs[indices] = True
    present = xp.nonzero(occurs)[0]
    if present.shape[0] == size:
        return present, indices
    number = xp.cumulative_sum(xp.astype(occurs, indices.dtype), dtype=indices.dtype) - 1
    return present, xp.take(number, indices)
