"""Rank-one sensing matrices A_i = a_i b_iᵀ: only the vectors are stored."""

from __future__ import annotations

from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators import Operator


class RankOneOperator(Operator):
    """Measurements a_iᵀ M b_i, with ``a`` of shape (m, n1) and ``b`` of shape (m, n2)."""

    def __init__(self, a: Array, b: Array) -> None:
        self.a = a
        self.b = b

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self.a.shape[0], (self.a.shape[1], self.b.shape[1])

    @property
    def dtype(self) -> Any:
        return self.a.dtype

    def asarray(self, values: Any) -> Array:
        return namespace(self.a).asarray(values, device=like(self.a)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        return namespace(U).sum((self.a @ U) * (self.b @ V), axis=1)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        transpose = namespace(w).matrix_transpose
        GV = transpose(self.a) @ (w[:, None] * (self.b @ V))
        GtU = transpose(self.b) @ (w[:, None] * (self.a @ U))
        return GV, GtU
