"""A sample linearized at a low-rank matrix: least squares on the tangent space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import Array, epsilon, inverse_positive_definite, is_numpy, like, namespace
from robustrank.completion.sample import Sample
from robustrank.linalg import Point, conjugate_gradient_iterates

# With fewer entries, products with the matrix of the map take a tenth of the time.
_FEW_ENTRIES = 10_000
# Blocks of rows without entries are made invertible by this share of an average block.
_SMALLEST_BLOCK = 1e-8


@dataclass(frozen=True, eq=False)
class Linearized:
    """The map W = [dU; dV] → entries of dU rightᵀ + left dVᵀ, with a weight for each entry.

    Values per entry are pairs: in the order of the rows, and in the order of the columns.
    """

    sample: Sample
    point: Point
    row_weights: Array
    column_weights: Array

    @cached_property
    def blocks(self) -> Array:
        """The diagonal blocks of the normal matrix, one for each row and column."""
        by_rows, by_columns = self.sample.by_rows, self.sample.by_columns
        return namespace(self.row_weights).concat(
            [
                by_rows.normal_matrices(self.row_weights, self.point.right),
                by_columns.normal_matrices(self.column_weights, self.point.left),
            ]
        )

    def apply(self, W: Array) -> tuple[Array, Array]:
        """The change of the entries along W, in both orders."""
        dU, dV = self._parts(W)
        by_rows, by_columns = self.sample.by_rows, self.sample.by_columns
        left, right = self.point.left, self.point.right
        return (
            by_rows.dot(dU, right) + by_rows.dot(left, dV),
            by_columns.dot(dV, left) + by_columns.dot(right, dU),
        )

    def adjoint(self, values: tuple[Array, Array]) -> Array:
        """The adjoint of ``apply``, weighted."""
        rows, columns = values
        return namespace(rows).concat(
            [
                self.sample.by_rows.sums(self.row_weights * rows, self.point.right),
                self.sample.by_columns.sums(self.column_weights * columns, self.point.left),
            ]
        )

    def normal(self, W: Array) -> Array:
        """``adjoint(apply(W))``."""
        if self._matrices is not None:
            matrix, transposed = self._matrices
            entries = self.row_weights * (matrix @ W.reshape(-1))
            return (transposed @ entries).reshape(W.shape)
        dU, dV = self._parts(W)
        left, right = self.point.left, self.point.right
        across = namespace(W).concat(
            [
                self.sample.by_rows.cross_sums(self.row_weights, left, right, dV),
                self.sample.by_columns.cross_sums(self.column_weights, right, left, dU),
            ]
        )
        return _times(self.blocks, W) + across

    @cached_property
    def _matrices(self) -> tuple[Any, Any] | None:
        """The matrix of ``apply`` in the order of the rows, and its transpose.

        None if there are many entries, or not in NumPy.
        """
        at, r = self.sample.by_rows, self.blocks.shape[-1]
        if not is_numpy(self.row_weights) or at.size >= _FEW_ENTRIES or r == 0:
            return None
        left, right = self.point.left, self.point.right
        own, other = at.owners, self.sample.shape[0] + at.others
        places = np.stack([own, other], axis=1)[:, :, None] * r + np.arange(r)
        values = np.stack([right[at.others], left[own]], axis=1)
        starts = np.arange(at.size + 1) * (2 * r)
        shape = at.size, r * sum(self.sample.shape)
        matrix = scipy.sparse.csr_array((values.reshape(-1), places.reshape(-1), starts), shape)
        return matrix, matrix.T

    def solve(
        self, values: tuple[Array, Array], damping: float, tolerance: float, limit: int
    ) -> Array:
        """The W whose entries are nearest to the values: damped, by conjugate gradients.

        It stops when the preconditioned residual has decreased by ``tolerance``, or after ``limit``
        products.
        """
        xp = namespace(self.blocks)
        r = self.blocks.shape[-1]
        eye = xp.eye(r, **like(self.blocks))
        average = float(xp.mean(xp.sum(self.blocks * eye, axis=(-2, -1)))) / r
        rounding = epsilon(self.blocks)
        least = damping + max(_SMALLEST_BLOCK, 10 * rounding) * average
        least = least if least > 0 else 1.0  # no entry has a weight
        tolerance = max(tolerance, math.sqrt(rounding))
        inverse = inverse_positive_definite(self.blocks + least * eye)
        iterates = conjugate_gradient_iterates(
            lambda W: self.normal(W) + damping * W,
            self.adjoint(values),
            lambda residual: _times(inverse, residual),
        )
        W, first = next(iterates)
        for _ in range(limit):
            W, energy = next(iterates)
            if not float(energy) > tolerance**2 * float(first):
                break
        return self._reduced(W)

    def _reduced(self, W: Array) -> Array:
        """The W of the same change of the matrix whose dV is orthogonal to the right factor."""
        dU, dV = self._parts(W)
        xp = namespace(W)
        inside = xp.matrix_transpose(self.point.right) @ dV
        left = dU + self.point.left @ xp.matrix_transpose(inside)
        return xp.concat([left, dV - self.point.right @ inside])

    def _parts(self, W: Array) -> tuple[Array, Array]:
        n1 = self.sample.shape[0]
        return W[:n1, :], W[n1:, :]


def _times(blocks: Array, W: Array) -> Array:
    """The product of each block with its row of W."""
    return (blocks @ W[..., None])[..., 0]
