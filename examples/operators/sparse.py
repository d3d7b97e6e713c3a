"""Sparse sensing matrices: the rows of a scipy.sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from robustrank.operators import Operator

Matrix = np.ndarray[Any, Any]


class SparseOperator(Operator):
    """Measurements whose A_i are the rows of a sparse (m, n1·n2) matrix.

    Only the entries of M that some A_i depends on are ever computed.
    """

    def __init__(self, matrix: Any, matrix_shape: tuple[int, int]) -> None:
        columns = np.unique(sparse.csr_array(matrix).indices)
        self._sensing = sparse.csc_array(matrix)[:, columns].tocsr()
        self._entries = np.divmod(columns, matrix_shape[1])  # the rows and columns of M in use
        self._matrix_shape = matrix_shape

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self._sensing.shape[0], self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self._sensing.dtype

    def measure(self, U: Matrix, V: Matrix) -> Matrix:
        rows, columns = self._entries
        values: Matrix = self._sensing @ np.sum(U[rows] * V[columns], axis=1)
        return values

    def backproject(self, w: Matrix, U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
        entries = self._sensing.T @ w
        G = sparse.csr_array((entries, self._entries), shape=self._matrix_shape)
        return G @ V, G.T @ U
