"""The best that can be done if the outliers and the size of the noise are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

Vector = np.ndarray[Any, Any]
_STEPS, _TOLERANCE = 20, 1e-9


@dataclass(frozen=True)
class Measured:
    """Measurements ⟨A_i, M⟩, or entries of M if there is no A, with the size of their noise."""

    rows: Vector
    columns: Vector
    A: Vector | None
    y: Vector
    sizes: Vector
    truth: Vector

    def chosen(self, which: Vector) -> Measured:
        """Some of the measurements."""
        A = None if self.A is None else self.A[which]
        rows, columns, y, sizes = (
            part[which] for part in (self.rows, self.columns, self.y, self.sizes)
        )
        return Measured(rows, columns, A, y, sizes, self.truth)

    def measure(self, M: Vector) -> Vector:
        """What would be measured of a matrix without noise."""
        if self.A is None:
            return np.asarray(M[self.rows, self.columns])
        return np.asarray(np.einsum("mij,ij->m", self.A, M))

    def tangent(self, U: Vector, V: Vector) -> Any:
        """The derivative with respect to the factors at orthonormal ones, (m, (n1 + n2) r)."""
        if self.A is not None:
            J = np.concatenate([self.A @ V, self.A.swapaxes(1, 2) @ U], axis=1)
            return J.reshape(len(self.y), -1)
        m, r, n1 = len(self.y), U.shape[1], len(U)
        at = np.concatenate([self.rows[:, None] * r, (n1 + self.columns)[:, None] * r], axis=1)
        places = (at[:, :, None] + np.arange(r)).reshape(m, -1)
        values = np.concatenate([V[self.columns], U[self.rows]], axis=1)
        owner = np.repeat(np.arange(m), 2 * r)
        total = (n1 + len(V)) * r
        return scipy.sparse.csr_array((values.ravel(), (owner, places.ravel())), (m, total))


def least_squares(measured: Measured, rank: int) -> Vector:
    """Weighted least squares over matrices of a rank, from the true matrix."""
    U, V = _subspaces(measured.truth, rank)
    M, weights = measured.truth, 1 / measured.sizes
    n1 = len(U)
    for _ in range(_STEPS):
        J = measured.tangent(U, V) * weights[:, None]
        residual = (measured.y - measured.measure(M)) * weights
        normal = J.T @ J
        normal = np.asarray(normal if measured.A is not None else normal.todense())
        normal += 1e-12 * np.trace(normal) / len(normal) * np.eye(len(normal))
        W = np.linalg.solve(normal, J.T @ residual).reshape(-1, rank)
        moved = W[:n1] @ V.T + U @ W[n1:].T
        P, s, Qt = np.linalg.svd(M + moved, full_matrices=False)
        U, V, M = P[:, :rank], Qt[:rank].T, P[:, :rank] * s[:rank] @ Qt[:rank]
        if np.linalg.norm(moved) < _TOLERANCE * np.linalg.norm(M):
            break
    return np.asarray(M)


def _subspaces(M: Vector, rank: int) -> tuple[Vector, Vector]:
    P, _, Qt = np.linalg.svd(M, full_matrices=False)
    return P[:, :rank], Qt[:rank].T
