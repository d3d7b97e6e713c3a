"""Sparse sensing matrices: the rows of a matrix of SciPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from robustrank.backend import as_floating
from robustrank.operators.base import Operator
from robustrank.operators.dense import not_finite
from robustrank.operators.entries import Entries
from robustrank.operators.tangent import UnstoredTangent

Matrix = np.ndarray[Any, Any]


class SparseOperator(Operator):
    """Measurements whose A_i are the rows of a sparse matrix.

    Only the entries of M that some A_i depends on are computed, and nothing larger than the sparse
    matrix is stored. The factors are NumPy arrays.

    Parameters
    ----------
    matrix
        An (m, n1·n2) matrix or array of ``scipy.sparse`` in any format; row i is A_i in row-major
        order. Entries that are stored several times are added. It is not modified.
    matrix_shape
        (n1, n2).

    See Also
    --------
    robustrank.recover : Takes a sparse matrix directly, together with ``shape``.
    robustrank.operators.Entries : If every A_i has one entry, which is 1.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> from scipy import sparse
    >>> matrix = sparse.csr_array(np.random.default_rng(1).random((300, 12 * 9)) < 0.2, dtype=float)
    >>> A = rr.operators.SparseOperator(matrix, (12, 9))
    >>> U, V = np.ones((12, 1)), np.ones((9, 1))
    >>> bool(np.allclose(A.measure(U, V), matrix.sum(axis=1)))
    True
    """

    def __init__(self, matrix: Any, matrix_shape: tuple[int, int]) -> None:
        given = matrix.tocoo()
        # Converted before entries that are stored several times are added: small integers overflow.
        parts = as_floating(given.data, "A"), given.coords
        rows = sparse.csr_array(parts, shape=given.shape)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        used, places = np.unique(rows.indices, return_inverse=True)
        if not len(used):  # A is all zero, which is refused where it is used
            used = np.zeros(1, np.int64)
        size = (rows.shape[0], len(used))
        self._sensing = sparse.csr_array((rows.data, places, rows.indptr), shape=size)
        self._entries = Entries(*np.divmod(used, matrix_shape[1]), matrix_shape)
        self._row_norms = _norms(self._sensing)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self._sensing.shape[0]), self._entries.matrix_shape

    @property
    def dtype(self) -> Any:
        return self._sensing.dtype

    def measure(self, U: Matrix, V: Matrix) -> Matrix:
        return _product(self._sensing, self._entries.measure(U, V))

    def backproject(self, w: Matrix, U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
        left, right = self._entries.backproject(_product(self._sensing.T, w), U, V)
        return left, right

    def row_norms(self, probes: int = 0, rng: int = 0) -> Matrix:
        """‖A_i‖_F for every i, exact."""
        return self._row_norms

    def tangent(self, U: Matrix, V: Matrix, *, precise: bool = False) -> UnstoredTangent:
        return UnstoredTangent(self, U, V, rows=partial(self._tangent_rows, U, V))

    def _tangent_rows(self, U: Matrix, V: Matrix, block: slice) -> Matrix:
        """(A_i V)ᵀ beside (A_iᵀ U)ᵀ for some measurements, (k, r, n1 + n2)."""
        part = self._sensing[block].tocoo()
        number, place = part.coords
        row, column = self._entries.rows[place], self._entries.columns[place]
        count, (n1, n2) = part.shape[0], self.matrix_shape
        AV = _grouped(part.data, (number, row), column, (count, n1, n2)) @ V
        AtU = _grouped(part.data, (number, column), row, (count, n2, n1)) @ U
        both = [AV.reshape(count, n1, -1), AtU.reshape(count, n2, -1)]
        rows: Matrix = np.concatenate(both, axis=1).swapaxes(1, 2).astype(U.dtype, copy=False)
        return rows


def _norms(rows: Any) -> Matrix:
    """The norm of each row, without overflow; raises ValueError for NaN and infinity."""
    wrong = np.flatnonzero(~np.isfinite(rows.data))
    if len(wrong):
        row = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise not_finite("A", row)
    largest = abs(rows).max(axis=1).toarray().ravel()
    unit = np.where(largest > 0, largest, largest.dtype.type(1))
    scaled = rows.data / np.repeat(unit, np.diff(rows.indptr))
    squares = sparse.csr_array((scaled**2, rows.indices, rows.indptr), shape=rows.shape).sum(axis=1)
    norms: Matrix = unit * np.sqrt(squares)
    return norms


def _grouped(
    values: Matrix, owners: tuple[Matrix, Matrix], others: Matrix, shape: tuple[int, int, int]
) -> Any:
    """k sparse matrices of one shape, one below the other."""
    count, height, width = shape
    number, row = (indices.astype(np.int64) for indices in owners)
    return sparse.csr_array(
        (values, (number * height + row, others)), shape=(count * height, width)
    )


def _product(matrix: Any, vector: Matrix) -> Matrix:
    """matrix · vector in the precision of the matrix, as an array like the vector."""
    product: Matrix = matrix @ vector.astype(matrix.dtype, copy=False)
    return product.astype(vector.dtype, copy=False)
