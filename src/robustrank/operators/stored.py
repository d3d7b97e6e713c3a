"""What families of stored sensing matrices have in common."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from robustrank.backend import Array, leading_svd, namespace
from robustrank.operators.base import Factors, Operator, PassCounter


class StoredOperator(Operator):
    """Sensing matrices stored entry by entry, for which A*(w) is an n1 × n2 array like another."""

    def __init__(
        self, matrix_shape: tuple[int, int], gain: Array | float, counter: PassCounter | None = None
    ) -> None:
        self._matrix_shape = matrix_shape
        self._gain = gain
        self._counter = counter or PassCounter()

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return self._matrix_shape

    @property
    def gain(self) -> Array:
        return self._gain

    @property
    def passes(self) -> float:
        return self._counter.rows_read / self.measurements

    def add_passes(self, passes: float) -> None:
        self._counter.add(round(passes * self.measurements))

    @abstractmethod
    def adjoint(self, w: Array) -> Array:
        """A*(w) = Σ w_i A_i as an n1 × n2 array; one pass."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        xp = namespace(U)
        G = xp.astype(self.adjoint(w), U.dtype, copy=False)
        return G @ V, xp.matrix_transpose(G) @ U

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> tuple[Array, Array, Array]:
        G = namespace(w).astype(self.adjoint(w), w.dtype, copy=False)
        return leading_svd(G, rank, rng, plus)
