"""The best that can be done if the outliers are known: least squares from the true matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_STEPS = 12


@dataclass(frozen=True)
class Oracle:
    """The result of least squares on the inliers, started at the true matrix."""

    error: float  # relative to the true matrix; infinite if it is not determined
    determined: bool


def solve(A: Array, y: Array, truth: Array, rank: int, *, symmetric: bool = False) -> Oracle:
    """Gauss–Newton on all measurements, from the best rank-r approximation of the truth."""
    U, s, Vt = (
        part[..., :rank] if k < 2 else part[:rank] for k, part in enumerate(np.linalg.svd(truth))
    )
    X, V = U * s @ Vt, Vt.T
    norms = np.linalg.norm(truth)
    for _ in range(_STEPS):
        J = np.concatenate([A @ V, A.swapaxes(1, 2) @ U], axis=1).reshape(len(A), -1)
        n1, n2 = truth.shape
        freedom = rank * (n1 + n2 - rank)
        if symmetric:
            freedom = rank * n1 - rank * (rank - 1) // 2
        residual = y - np.einsum("mij,ij->m", A, X)
        left, values, right = np.linalg.svd(J, full_matrices=False)
        kept = values > 1e-9 * values[0]
        if np.count_nonzero(kept) < freedom:
            return Oracle(np.inf, False)
        values, left, right = values[:freedom], left[:, :freedom], right[:freedom]
        W = (right.T @ ((left.T @ residual) / values)).reshape(n1 + n2, rank)
        X = X + W[:n1] @ V.T + U @ W[n1:].T
        P, s, Qt = np.linalg.svd(X)
        U, V = P[:, :rank], Qt[:rank].T
        X = U * s[:rank] @ V.T
        if np.linalg.norm(W) < 1e-10 * norms:
            break
    return Oracle(float(np.linalg.norm(X - truth) / norms), True)
