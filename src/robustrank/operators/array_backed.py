"""What families of sensing matrices stored as an array have in common."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from robustrank.backend import Array, is_numpy, namespace, to_numpy
from robustrank.linalg import Factors, Triplets, leading_svd, typical_size
from robustrank.operators.base import Operator


class ArrayBackedOperator(Operator):
    """Sensing matrices stored entry by entry, so that A*(w) is an n1 × n2 array."""

    @abstractmethod
    def adjoint(self, w: Array) -> Array:
        """A*(w) = Σ w_i A_i as an n1 × n2 array; one pass."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        xp = namespace(U)
        G = xp.astype(self.adjoint(w), U.dtype, copy=False)
        return G @ V, xp.matrix_transpose(G) @ U

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> Triplets:
        G = namespace(w).astype(self.adjoint(w), w.dtype, copy=False)
        return leading_svd(G, rank, rng, plus)


# The sample consists of this many rows at most, unless that many entries are not enough for the
# smallest number of rows.
_MOST_ROWS, _MOST_ENTRIES, _LEAST_ROWS = 64, 2**17, 9


def sampled_gain(sensing: Array, *, by_columns: bool = False) -> float:
    """The root mean square entry of sensing data, from a sample of evenly spaced rows.

    A few measurements in much larger units than the others have little influence; see
    ``typical_size``. ``sensing`` is (m, …), or (…, m) with ``by_columns``.
    """
    rows = sensing.shape[0]
    sample = min(_MOST_ROWS, _MOST_ENTRIES * rows // math.prod(sensing.shape))
    sample = min(rows, max(sample, _LEAST_ROWS))
    entries = sensing[:: -(-rows // sample), ...]
    if is_numpy(entries):
        entries = entries.astype(float)
    xp, axis = namespace(entries), 0 if by_columns else 1
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are rejected elsewhere
        flat = xp.reshape(entries, (entries.shape[0], -1))
        largest = xp.max(xp.abs(flat), axis=axis, keepdims=True)
        unit = xp.where(largest > 0, largest, xp.ones_like(largest))
        root = xp.sqrt(xp.mean((flat / unit) ** 2, axis=axis, keepdims=True))
        return typical_size(to_numpy(root * largest).ravel().astype(float))
