"""Sensing data given as a scipy.sparse.linalg.LinearOperator, by its products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from robustrank.operators import Operator

Matrix = np.ndarray[Any, Any]


class MatrixFreeOperator(Operator):
    """Measurements A · vec(M), where ``linear`` is an (m, n1·n2) LinearOperator.

    vec(M) is M in row-major order. A whole M is passed to ``linear``, so it must fit in memory.
    """

    def __init__(self, linear: LinearOperator[Any], matrix_shape: tuple[int, int]) -> None:
        self._linear = linear
        self._matrix_shape = matrix_shape

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self._linear.shape[0], self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self._linear.dtype

    def measure(self, U: Matrix, V: Matrix) -> Matrix:
        values: Matrix = self._linear.matvec((U @ V.T).ravel())
        return values

    def backproject(self, w: Matrix, U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
        G = self._linear.rmatvec(w).reshape(self._matrix_shape)
        return G @ V, G.T @ U
