"""Products with rows that are read in blocks from a source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import WORTH_COMPILING
from robustrank.operators.kernels import Kernels, compiled_kernels
from robustrank.operators.prefetching import BLOCK_BYTES, blocks
from robustrank.operators.sources import Matrix, RowSource


@dataclass(frozen=True)
class BlockProducts:
    """Products with a tall matrix; each reads every row once.

    They have the same bits for every number of threads: compiled loops add in a fixed order and,
    without them, so does ``einsum``, while BLAS does not. The dtype of the vectors is used.
    """

    source: RowSource
    block_bytes: int = BLOCK_BYTES

    def matvec(self, x: Matrix) -> Matrix:
        """The product with a vector of ``size`` entries: (rows,)."""
        kernels, result = self.kernels(), np.empty(self.source.rows, x.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            if kernels is None:
                np.einsum("ij,j->i", block, x, out=result[rows])
            else:
                result[rows] = kernels.matvec(block, x)
        return result

    def vecmat(self, w: Matrix) -> Matrix:
        """The product of a vector of ``rows`` entries with the rows: (size,)."""
        kernels, total = self.kernels(), np.zeros(self.source.size, w.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            total += (
                np.einsum("i,ij->j", w[rows], block)
                if kernels is None
                else kernels.vecmat(block, w[rows])
            )
        return total

    def gram(self, weights: Matrix, x: Matrix) -> Matrix:
        """Jᵀ diag(weights) J x for the matrix J of all rows."""
        kernels, total = self.kernels(), np.zeros(self.source.size, x.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            if kernels is None:
                along = weights[rows] * np.einsum("ij,j->i", block, x)
                total += np.einsum("i,ij->j", along, block)
            else:
                total += kernels.gram(block, weights[rows], x)
        return total

    def kernels(self) -> Kernels | None:
        """The compiled loops if there are many rows and numba is installed."""
        many = self.source.rows * self.source.size >= WORTH_COMPILING
        return compiled_kernels() if many else None
