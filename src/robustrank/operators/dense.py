"""Sensing matrices stored entry by entry, and the family that holds them in memory as one array."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, in_blocks, like, namespace, to_numpy, triton_kernels_for
from robustrank.linalg import Factors, Triplets, leading_svd
from robustrank.operators.base import Operator
from robustrank.operators.kernels import kernels_for, tangent_rows
from robustrank.operators.tangent import StoredTangent

# Within these limits, all that matters of a row is far from the limits of single precision.
_SMALLEST_NORM, _LARGEST_NORM = 1e-25, 1e25
# The entries of a block of rows whose norms are computed at once.
_BLOCK_ENTRIES = 2**22


class ArrayBackedOperator(Operator):
    """Sensing matrices stored entry by entry, so that A*(w) is an n1 × n2 array."""

    @abstractmethod
    def adjoint(self, w: Array) -> Array:
        """A*(w) = Σ w_i A_i as an n1 × n2 array; one pass."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        xp = namespace(U)
        G = xp.astype(self.adjoint(w), U.dtype, copy=False)
        kernels = triton_kernels_for(G)
        same = G.ndim == 2 and U.shape[-1] == V.shape[-1]
        if kernels is not None and same and kernels.can_multiply(*G.shape):
            both: tuple[Array, Array] = kernels.products_with_factors(G, U, V)
            return both
        return G @ V, xp.matrix_transpose(G) @ U

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        G = namespace(w).astype(self.adjoint(w), w.dtype, copy=False)
        return leading_svd(G, rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 0, rng: int = 0) -> Array:
        """‖A_i‖_F for every i, exact; one pass, the first time."""
        return self._norms

    @abstractmethod
    def _row_norms(self) -> Array:
        """The exact norms; raises ValueError if a row has NaN or infinity."""

    @cached_property
    def _norms(self) -> Array:
        return self._row_norms()

    @cached_property
    def _suits_single_precision(self) -> bool:
        """Whether the rows of a tangent map of NumPy arrays can be stored in single precision."""
        return suit_single_precision(self.row_norms())


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


def suit_single_precision(norms: Array) -> bool:
    """Whether the tangent map of rows with these norms can be stored in single precision."""
    xp = namespace(norms)
    moderate = (norms > _SMALLEST_NORM) & (norms < _LARGEST_NORM)
    return bool(xp.all(moderate | (norms == 0)))


def row_norms(flat: Array, first: int = 0, name: str = "A") -> Array:
    """The Euclidean norm of each row of an (m, size) array, of shape (m,).

    Raises ValueError if a row has NaN or infinity; ``first`` is the number of the first row in the
    message, and ``name`` that of the array. Rows whose squares overflow or underflow are scaled
    first.
    """
    norms = _by_numpy(flat) if isinstance(flat, np.ndarray) else _by_library(flat)
    xp = namespace(norms)
    smallest = math.sqrt(float(xp.finfo(norms.dtype).smallest_normal) * flat.shape[1]) * 2**12
    unsafe = ~((norms > smallest) & (norms < math.inf))
    if not bool(xp.any(unsafe)):
        return norms
    exact = to_numpy(norms).copy()
    with np.errstate(over="ignore"):  # the norm of finite numbers may be infinite
        for row in np.flatnonzero(to_numpy(unsafe)):
            exact[row] = _scaled_norm(flat, int(row), first, name)
    return xp.asarray(exact, **like(norms))


def _by_numpy(flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    m, squares = len(flat), np.empty(len(flat), flat.dtype)

    def fill(pairs: slice) -> None:
        # ``einsum`` adds a single row in another order, so that threads get at least two.
        rows = slice(2 * pairs.start, 2 * pairs.stop if 2 * pairs.stop < m - 1 else m)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            np.einsum("ij,ij->i", flat[rows], flat[rows], out=squares[rows])

    in_blocks(max(m // 2, 1), fill)
    return np.sqrt(squares)


def _by_library(flat: Array) -> Array:
    """The same in blocks, in case the library computes the squares before it adds them."""
    xp, (m, size) = namespace(flat), flat.shape
    height = max(1, _BLOCK_ENTRIES // size)
    blocks = (flat[first : min(first + height, m), :] for first in range(0, m, height))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return xp.concat([xp.linalg.vector_norm(block, axis=1) for block in blocks], axis=0)


def _scaled_norm(flat: Array, row: int, first: int, name: str) -> float:
    """The norm of one row, computed without overflow."""
    xp = namespace(flat)
    entries = flat[row, :]
    largest = float(xp.max(xp.abs(entries)))
    if not math.isfinite(largest):
        raise not_finite(name, first + row)
    return largest * float(xp.linalg.vector_norm(entries / largest)) if largest > 0 else 0.0


def not_finite(name: str, row: int) -> ValueError:
    """The error for an array of which this is the first row that is not finite."""
    return ValueError(
        f"{name} contains NaN or infinity (first in row {row}); expected finite numbers. Remove "
        "such rows from A and y"
    )
