"""What families of sensing matrices stored as an array have in common."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.linalg import Factors, Triplets, frobenius_norm, leading_svd
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


def sampled_gain(sensing: Array, most_rows: int = 64, most_entries: int = 2**17) -> float:
    """The root mean square entry of an array of sensing data, from evenly spaced rows."""
    rows = sensing.shape[0]
    sample = max(1, min(most_rows, most_entries * rows // math.prod(sensing.shape)))
    entries = sensing[:: -(-rows // sample), ...]
    with np.errstate(invalid="ignore"):  # NaN and infinity are rejected elsewhere
        return float(frobenius_norm(entries / math.sqrt(math.prod(entries.shape))))
