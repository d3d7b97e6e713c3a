"""A tangent map whose rows are read in blocks, from memory or from a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, epsilon
from robustrank.linalg import IterativeTangent, as_vector, from_vector
from robustrank.operators.block_products import BlockProducts
from robustrank.operators.prefetching import blocks
from robustrank.operators.shares import share_counts, share_maxima
from robustrank.operators.sources import Matrix, RowSource


@dataclass(frozen=True, eq=False)
class BlockedTangent(IterativeTangent):
    """A tangent map whose rows are read from a source; see ``linalg.TangentMap``."""

    rows: RowSource  # (m, r (n1 + n2))
    U: Array
    V: Array
    core: Array  # u_kᵀ A_i v_k, (m, r)

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the rows or of the factors, whichever is larger."""
        return max(float(np.finfo(self.rows.dtype).eps), epsilon(self.U))

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        total: Array = np.sum(self.core * values, axis=-1)
        return total

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: one read of the rows."""
        return BlockProducts(self.rows).matvec(as_vector(W))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return from_vector(BlockProducts(self.rows).vecmat(w), self.U.shape[1])

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the rows."""
        x = BlockProducts(self.rows).gram(weights, as_vector(W))
        return from_vector(x, self.U.shape[1])

    def share_maxima(self, rows: Array) -> Array:
        """The largest share of each row and column of the matrix in a measurement."""
        parts = [share_maxima(self._shaped(block), rows[part]) for part, block in blocks(self.rows)]
        return np.max(np.stack(parts), axis=0)

    def share_counts(self, least: Array, weights: Array) -> Array:
        """The weight of the measurements in which a share is larger than ``least``."""
        total = np.zeros((len(weights), len(least)))
        for part, block in blocks(self.rows):
            total += share_counts(self._shaped(block), least, weights[:, part])
        return total

    def _shaped(self, block: Matrix) -> Matrix:
        return block.reshape(len(block), self.U.shape[1], -1)
