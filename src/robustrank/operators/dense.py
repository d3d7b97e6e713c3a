"""Sensing matrices held in memory as one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, triton_kernels_for
from robustrank.linalg import Factors, Triplets, leading_svd
from robustrank.operators.array_backed import ArrayBackedOperator, row_norms
from robustrank.operators.kernels import kernels_for, tangent_rows
from robustrank.operators.tangent import StoredTangent


class DenseOperator(ArrayBackedOperator):
    """Measurements whose A_i are the rows of an array: one matrix–vector product is one pass.

    Parameters
    ----------
    flat
        An (m, n1·n2) array; row i is A_i in row-major order. It is never copied.
    matrix_shape
        (n1, n2).

    See Also
    --------
    robustrank.operators.as_operator : Makes one of an array, and validates it.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> flat = np.random.default_rng(1).standard_normal((200, 12 * 10))
    >>> rr.operators.DenseOperator(flat, (12, 10))
    DenseOperator(200 measurements of a 12 × 10 matrix, float64)
    """

    def __init__(self, flat: Array, matrix_shape: tuple[int, int]) -> None:
        self.flat = flat
        self._matrix_shape = matrix_shape
        self._xp = namespace(flat)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self.flat.shape[0]), self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self.flat.dtype

    def asarray(self, values: Any) -> Array:
        return self._xp.asarray(values, device=like(self.flat)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        kernels = triton_kernels_for(U)
        if kernels is not None and kernels.can_multiply(*self._matrix_shape):
            matrix = kernels.outer_product(U, V)
        else:
            matrix = U @ self._xp.matrix_transpose(V)
        return self.flat @ self._stored(self._xp.reshape(matrix, (-1,)))

    def adjoint(self, w: Array) -> Array:
        # In this order: the transposed product is slower.
        return self._xp.reshape(self._stored(w) @ self.flat, self._matrix_shape)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        loops = kernels_for(self.flat) if approximate else None
        if loops is None:
            return super().leading_svd(w, rank, rng, plus, approximate=approximate)
        # Not by BLAS, whose threads would spin while the next kernels run.
        G = np.reshape(loops.vecmat(self.flat, w), self._matrix_shape)
        return leading_svd(G, rank, rng, plus, approximate=True)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        sensing = self._xp.reshape(self.flat, (self.measurements, *self._matrix_shape))
        precise = precise or not self._suits_single_precision
        rows, core, reads = tangent_rows(sensing, U, V, precise=precise)
        return StoredTangent(rows, U, V, reads, core)

    def _row_norms(self) -> Array:
        return row_norms(self.flat)

    def _stored(self, array: Array) -> Array:
        return self._xp.astype(array, self.dtype, copy=False)
