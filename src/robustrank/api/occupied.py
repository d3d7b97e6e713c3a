"""The rows and columns that have entries, numbered without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.operators import Entries


class Occupied:
    """The part of a matrix that has observed entries; what is computed for it can be expanded."""

    def __init__(self, rows: Array, columns: Array, shape: tuple[int, int]) -> None:
        xp = namespace(rows)
        own, other = xp.unique_inverse(rows), xp.unique_inverse(columns)
        self._present, self._shape = (own.values, other.values), shape
        size = int(own.values.shape[0]), int(other.values.shape[0])
        self.entries = Entries(own.inverse_indices, other.inverse_indices, size)

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
