"""The measurements linearised at a pair of factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robustrank.backend import Array, left_times, like, namespace, times
from robustrank.operators.fused import Kernels, kernels_for

if TYPE_CHECKING:
    from robustrank.operators.base import Operator


_ROWS = 512


@dataclass(frozen=True, eq=False)
class Tangent:
    """The map (dU, dV) → A(dU Vᵀ + U dVᵀ) at fixed factors, stored row by row.

    ``rows`` is (m, r, n1 + n2): row i holds (A_i V)ᵀ beside (A_iᵀ U)ᵀ. It is far smaller than the
    sensing data, so that a linear solver can use it many times for one pass over that data. Steps
    are stacked as in the paper's augmented variable, W = [dU; dV]. All may have a leading axis.
    """

    rows: Array

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W, (n1 + n2) × r: an array of shape (m,)."""
        x = self.as_vector(W)
        kernels = self._kernels()
        return (kernels.times if kernels else times)(self._flat(), x)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``: an array of shape (n1 + n2, r)."""
        kernels = self._kernels()
        flat = self._flat()
        return self.from_vector(kernels.left_times(flat, w) if kernels else left_times(w, flat))

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the rows where that can be had."""
        kernels = self._kernels()
        if kernels is None:
            return self.adjoint(weights * self.apply(W))
        return self.from_vector(kernels.gram(self._flat(), weights, self.as_vector(W)))

    def normal_matrix(self, weights: Array) -> Array:
        """The matrix of ``gram``, for W ``as_vector``."""
        xp = namespace(self.rows)
        flat = self._flat()
        *leading, m, size = flat.shape
        total = xp.zeros((*leading, size, size), **like(flat))
        for first in range(0, m, _ROWS):  # so that no second copy of the map is made
            rows = slice(first, min(first + _ROWS, m))
            some = flat[..., rows, :]
            total += xp.matrix_transpose(some) @ (weights[..., rows, None] * some)
        return total

    def as_vector(self, W: Array) -> Array:
        """W as the products with ``rows`` take it: column after column."""
        xp = namespace(W)
        return xp.reshape(xp.matrix_transpose(W), (*W.shape[:-2], -1))

    def from_vector(self, x: Array) -> Array:
        """The W that stands for a vector."""
        xp = namespace(x)
        return xp.matrix_transpose(xp.reshape(x, (*x.shape[:-1], *self.rows.shape[-2:])))

    def _kernels(self) -> Kernels | None:
        return kernels_for(self.rows) if self.rows.ndim == 3 else None

    def _flat(self) -> Array:
        *leading, r, n = self.rows.shape
        return namespace(self.rows).reshape(self.rows, (*leading, r * n))


@dataclass(frozen=True, eq=False)
class UnstoredTangent:
    """The same map without storing it: every product is a pass over the sensing data."""

    operator: Operator
    U: Array
    V: Array

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: dU Vᵀ + U dVᵀ is [dU U] [V dV]ᵀ."""
        n1, xp = self.U.shape[0], namespace(W)
        left = xp.concat([W[:n1, :], self.U], axis=1)
        return self.operator.measure(left, xp.concat([self.V, W[n1:, :]], axis=1))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return namespace(w).concat([*self.operator.backproject(w, self.U, self.V)], axis=0)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""
        return self.adjoint(weights * self.apply(W))
