"""Sampled entries: each measurement is one entry of the matrix."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    check_count,
    inverse_permutation,
    is_array,
    like,
    namespace,
    shown,
    sorted_orders,
)
from robustrank.operators.base import Operator
from robustrank.operators.entry_tangent import EntryTangent
from robustrank.operators.sorted_entries import SortedEntries


class Entries(Operator):
    """Measurement i is the entry (rows[i], columns[i]) of an n1 × n2 matrix.

    Parameters
    ----------
    rows, columns
        Integer arrays of NumPy, PyTorch or CuPy, of shape (m,), in any order. A position may occur
        several times.
    shape
        (n1, n2).

    See Also
    --------
    robustrank.complete : Completes a matrix; the better choice than ``recover`` for entries.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> A = rr.operators.Entries(np.array([0, 0, 2]), np.array([1, 3, 0]), (3, 4))
    >>> U, V = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [10.0], [100.0], [1000.0]])
    >>> A.measure(U, V).tolist()
    [10.0, 1000.0, 3.0]
    """

    def __init__(self, rows: Any, columns: Any, shape: tuple[int, int]) -> None:
        n1, n2 = _checked_shape(shape)
        self._rows, self._columns = (
            _checked_indices(indices, size, name)
            for indices, size, name in ((rows, n1, "rows"), (columns, n2, "columns"))
        )
        if self._rows.shape != self._columns.shape:
            raise ValueError(
                f"rows has {len(self._rows)} elements and columns has {len(self._columns)}; "
                "expected one of each for every entry"
            )
        self._shape = n1, n2

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self._rows.shape[0]), self._shape

    @property
    def rows(self) -> Array:
        """The row of each entry."""
        return self._rows

    @property
    def columns(self) -> Array:
        """The column of each entry."""
        return self._columns

    @property
    def dtype(self) -> Any:
        return namespace(self._rows).float32  # the sensing data are zeros and ones

    def asarray(self, values: Any) -> Array:
        xp = namespace(self._rows)
        if is_array(values):
            return values
        return xp.asarray(np.asarray(values), device=like(self._rows)["device"])

    @property
    def row_order(self) -> Array:
        """The number of the entry at each place of ``by_rows``."""
        return self._orders[0]

    @property
    def column_order(self) -> Array:
        """The number of the entry at each place of ``by_columns``."""
        return self._orders[1]

    @cached_property
    def _orders(self) -> tuple[Array, Array]:
        return sorted_orders(self._rows, self._columns, self._shape)

    @cached_property
    def by_rows(self) -> SortedEntries:
        """The entries sorted by rows."""
        return self._grouped(self._rows, self._columns, self.row_order, self._shape[0])

    @cached_property
    def by_columns(self) -> SortedEntries:
        """The entries of the transpose, sorted by its rows."""
        return self._grouped(self._columns, self._rows, self.column_order, self._shape[1])

    @cached_property
    def row_places(self) -> Array:
        """The place of each entry in ``by_rows``."""
        return inverse_permutation(self.row_order)

    @cached_property
    def column_places(self) -> Array:
        """The place of each entry in ``by_columns``."""
        return inverse_permutation(self.column_order)

    def measure(self, U: Array, V: Array) -> Array:
        return namespace(U).take(self.by_rows.dot(U, V), self.row_places)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        take = namespace(w).take
        left = self.by_rows.sums(take(w, self.row_order), V)
        return left, self.by_columns.sums(take(w, self.column_order), U)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> EntryTangent:
        orders = self.row_order, self.row_places
        return EntryTangent(self.by_rows, self.by_columns, self.column_order, U, V, *orders)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        """Every A_i has the norm 1."""
        xp = namespace(self._rows)
        return xp.ones(self.measurements, dtype=self.dtype, device=like(self._rows)["device"])

    @property
    def gain(self) -> float:
        return 1 / math.sqrt(math.prod(self._shape))

    @staticmethod
    def _grouped(owners: Array, others: Array, order: Array, rows: int) -> SortedEntries:
        xp = namespace(owners)
        bounds = xp.arange(rows + 1, **like(owners))
        starts = xp.searchsorted(xp.take(owners, order), bounds)
        return SortedEntries(xp.astype(starts, xp.int64, copy=False), xp.take(others, order))


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not (isinstance(shape, tuple | list) and len(shape) == 2):
        raise ValueError(f"shape={shown(shape)}; expected (n1, n2)")
    n1, n2 = shape
    check_count(n1=n1, n2=n2)
    if n1 * n2 >= 2**63:
        raise ValueError(f"shape={shown(shape)}; expected fewer than 2⁶³ entries")
    return int(n1), int(n2)


def _checked_indices(indices: Any, size: int, name: str) -> Array:
    """Indices as a vector of int32 if possible, or int64."""
    given = indices if is_array(indices) else np.asarray(indices)
    xp = namespace(given)
    if given.ndim != 1:
        raise ValueError(f"{name} has {given.ndim} dimensions; expected one")
    if given.shape[0] == 0:
        raise ValueError(f"{name} is empty; expected at least one entry")
    if not xp.isdtype(given.dtype, "integral"):
        raise TypeError(f"{name} has dtype {given.dtype}; expected integers")
    low, high = int(xp.min(given)), int(xp.max(given))
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise ValueError(f"{name} contains {wrong}; expected indices from 0 to {size - 1}")
    return xp.astype(given, xp.int32 if size < 2**31 else xp.int64, copy=False)
