"""The measurements linearised at a pair of factors."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.backend import Array, namespace


@dataclass(frozen=True, eq=False)
class Tangent:
    """The map (dU, dV) → A(dU Vᵀ + U dVᵀ) at fixed factors, stored row by row.

    ``rows`` is (m, r, n1 + n2): row i holds (A_i V)ᵀ beside (A_iᵀ U)ᵀ. It is far smaller than the
    sensing data, so that a linear solver can use it many times for one pass over that data. Steps
    are stacked as in the paper's augmented variable, W = [dU; dV].
    """

    rows: Array

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W, (n1 + n2) × r: an array of shape (m,)."""
        xp = namespace(W)
        return self._flat(xp) @ xp.reshape(xp.matrix_transpose(W), (-1,))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``: an array of shape (n1 + n2, r)."""
        xp = namespace(w)
        return xp.matrix_transpose(xp.reshape(w @ self._flat(xp), self.rows.shape[1:]))

    def _flat(self, xp: Array) -> Array:
        m, r, n = self.rows.shape
        return xp.reshape(self.rows, (m, r * n))
