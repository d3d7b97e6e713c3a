"""Measurements without what is common to all sensing matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.linalg import Factors, Triplets
from robustrank.operators.tangent import UnstoredTangent
from robustrank.operators.views.delegating import DelegatingOperator


@dataclass(frozen=True, eq=False)
class CenteredOperator(DelegatingOperator):
    """A_i − B of another operator, with B = ``left @ right.T`` of rank one.

    All measurements differ from those of the other operator by the same number, <B, M>. Arrays may
    have the leading axis of a batch.
    """

    left: Array
    right: Array

    @property
    def gain(self) -> Array:
        """The size of a sensing entry, if what differs between the A_i is uncorrelated with B."""
        n1, n2 = self.matrix_shape
        squares = self.inner.gain**2 - self._square / (n1 * n2)
        return namespace(self.left).sqrt(namespace(self.left).clip(squares, min=0.0))

    @property
    def _square(self) -> Array:
        """‖B‖²."""
        xp = namespace(self.left)
        return xp.sum(self.left**2, axis=(-2, -1)) * xp.sum(self.right**2, axis=(-2, -1))

    def common(self, U: Array, V: Array) -> Array:
        """<B, U Vᵀ>, the part of the measurements that is removed."""
        xp = namespace(U)
        transpose = xp.matrix_transpose
        product = (transpose(self.left) @ U) @ (transpose(V) @ self.right)
        return product[..., 0, 0]

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(U, V) - self.common(U, V)[..., None]

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        transpose, total = namespace(U).matrix_transpose, _total(w)
        GV, GtU = self.inner.backproject(w, U, V)
        GV = GV - total * self.left @ (transpose(self.right) @ V)
        return GV, GtU - total * self.right @ (transpose(self.left) @ U)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        xp = namespace(w)
        left, right = -_total(w) * self.left, self.right
        if plus is not None:
            left, right = xp.concat([plus[0], left], axis=-1), xp.concat([plus[1], right], axis=-1)
        return self.inner.leading_svd(w, rank, rng, (left, right), approximate=approximate)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        xp = namespace(self.left)
        norms = self.inner.row_norms(probes, rng)
        squares = norms**2 - 2 * self.inner.measure(self.left, self.right) + self._square[..., None]
        return xp.sqrt(xp.clip(squares, min=0.0))

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> UnstoredTangent:
        return UnstoredTangent(self, U, V)


def _total(w: Array) -> Array:
    """Σ w_i as a factor of matrices."""
    return namespace(w).sum(w, axis=-1)[..., None, None]
