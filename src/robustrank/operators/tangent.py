"""Measurements linearized at a pair of factors: stored, or evaluated by products."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from robustrank.backend import Array, epsilon, like, namespace, on_gpu
from robustrank.linalg import (
    IterativeTangent,
    as_vector,
    from_vector,
    matvec,
    scale_columns,
    vecmat,
)
from robustrank.operators.kernels import Kernels, kernels_for
from robustrank.operators.shares import share_counts, share_maxima

_BLOCK_ROWS, _BLOCK_ROWS_ON_GPU = 512, 4096
# Entries of a block whose shares are computed, which takes a few copies of it.
_BLOCK_ENTRIES, _BLOCK_ENTRIES_ON_GPU = 2**17, 2**24


class Products(Protocol):
    """The two products of an operator, which are all that an unstored tangent map needs."""

    def measure(self, U: Array, V: Array) -> Array:
        """A(U Vᵀ)."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        """(A*(w) V, A*(w)ᵀ U)."""


@dataclass(frozen=True, eq=False)
class StoredTangent:
    """A tangent map stored row by row; see ``linalg.TangentMap``.

    ``rows`` is (m, r, n1 + n2): row i holds (A_i V)ᵀ beside (A_iᵀ U)ᵀ. It is far smaller than the
    sensing data, so a linear solver can apply it many times for one pass over the sensing data. It
    may be stored in a lower precision than that of the factors.
    """

    rows: Array
    U: Array
    V: Array
    reads: int = 1  # passes over the sensing data that it took to compute the rows
    core: Array | None = None  # u_kᵀ A_i v_k, (m, r), if it is more precise than the rows

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the rows or of the factors, whichever is larger."""
        return max(epsilon(self.rows), epsilon(self.U))

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        if self.core is not None:
            # Not by BLAS, whose threads would spin while the next kernels run.
            return namespace(values).sum(self.core * values[..., None, :], axis=-1)
        xp = namespace(self.U)
        scaled = scale_columns(self.U, values)
        return self.apply(xp.concat([scaled, xp.zeros_like(self.V)], axis=-2))

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W, of shape (m,)."""
        kernels = self._kernels()
        return (kernels.matvec if kernels else matvec)(self._flat(), as_vector(W))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``, of shape (n1 + n2, r)."""
        kernels = self._kernels()
        flat = self._flat()
        x = kernels.vecmat(flat, w) if kernels else vecmat(w, flat)
        return from_vector(x, self.rows.shape[-2])

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the rows with compiled kernels."""
        kernels = self._kernels()
        if kernels is None:
            return self.adjoint(weights * self.apply(W))
        x = kernels.gram(self._flat(), weights, as_vector(W))
        return from_vector(x, self.rows.shape[-2])

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``gram(weights, W)``."""
        return lambda W: self.gram(weights, W)

    def normal_matrix(self, weights: Array) -> Array:
        """The matrix of ``gram``, accumulated in blocks so that the rows are not copied."""
        xp = namespace(self.rows)
        flat = self._flat()
        *leading, _, size = flat.shape
        total = xp.zeros((*leading, size, size), **like(weights))
        for block in self._blocks():
            # A product of a matrix with its own transpose takes half the time.
            rows = xp.sqrt(weights[..., block, None]) * flat[..., block, :]
            total += xp.matrix_transpose(rows) @ rows
        return total

    def quadratic_forms(self, matrix: Array) -> Array:
        """The quadratic form of each row, in blocks so that the rows are not copied."""
        xp = namespace(self.rows)
        flat = self._flat()
        blocks = [flat[..., block, :] for block in self._blocks()]
        return xp.concat([xp.sum((rows @ matrix) * rows, axis=-1) for rows in blocks], axis=-1)

    def admissible(self, W: Array) -> Array:
        """Every W is admissible."""
        return W

    def share_maxima(self, rows: Array) -> Array:
        """The largest share of each row and column of the matrix in a measurement."""
        xp = namespace(self.rows)
        blocks = self._small_blocks()
        parts = [share_maxima(self.rows[block, :, :], rows[block]) for block in blocks]
        return xp.max(xp.stack(parts, axis=0), axis=0)

    def share_counts(self, least: Array, weights: Array) -> Array:
        """The weight of the measurements in which a share is larger than ``least``."""
        total: Array = 0.0
        for block in self._small_blocks():
            total = total + share_counts(self.rows[block, :, :], least, weights[:, block])
        return total

    def _kernels(self) -> Kernels | None:
        return kernels_for(self.rows) if self.rows.ndim == 3 else None

    def _blocks(self) -> Iterator[slice]:
        return self._blocks_of(_BLOCK_ROWS_ON_GPU if on_gpu(self.rows) else _BLOCK_ROWS)

    def _small_blocks(self) -> Iterator[slice]:
        entries = _BLOCK_ENTRIES_ON_GPU if on_gpu(self.rows) else _BLOCK_ENTRIES
        return self._blocks_of(max(entries // math.prod(self.rows.shape[-2:]), 1))

    def _blocks_of(self, height: int) -> Iterator[slice]:
        m = self.rows.shape[-3]
        for first in range(0, m, height):
            yield slice(first, min(first + height, m))

    def _flat(self) -> Array:
        *leading, r, n = self.rows.shape
        return namespace(self.rows).reshape(self.rows, (*leading, r * n))


@dataclass(frozen=True, eq=False)
class UnstoredTangent(IterativeTangent):
    """A tangent map by products: each ``apply`` or ``adjoint`` is a pass over the sensing data."""

    operator: Products
    U: Array
    V: Array

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the factors."""
        return epsilon(self.U)

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ: one pass."""
        return self.operator.measure(scale_columns(self.U, values), self.V)

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: dU Vᵀ + U dVᵀ equals [dU U] [V dV]ᵀ."""
        n1, xp = self.U.shape[0], namespace(W)
        left = xp.concat([W[:n1, :], self.U], axis=1)
        return self.operator.measure(left, xp.concat([self.V, W[n1:, :]], axis=1))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return namespace(w).concat([*self.operator.backproject(w, self.U, self.V)], axis=0)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``: two passes."""
        return self.adjoint(weights * self.apply(W))

    def share_maxima(self, rows: Array) -> None:
        """Not available without storing the map."""
        return

    def share_counts(self, least: Array, weights: Array) -> None:
        """Not available without storing the map."""
        return
