"""The rows and columns that have entries, numbered without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.operators import Entries

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
