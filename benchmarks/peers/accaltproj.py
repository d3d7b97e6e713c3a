"""Accelerated alternating projections for robust PCA, with the rank known.

The method, without trimming, of H. Cai, J.-F. Cai and K. Wei, "Accelerated alternating projections
for robust principal component analysis", JMLR 20 (2019) 1-33. The parameters are the defaults
of the authors' published code, except for the limit of 100 iterations, which is that of their demo.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

Array = np.ndarray[Any, Any]


def accaltproj(
    D: Array,
    rank: int,
    *,
    gamma: float = 0.5,
    beta: float | None = None,
    tolerance: float = 1e-5,
    max_iterations: int = 100,
) -> Array:
    """The low-rank part L of D = L + S, n1 × n2, where S is sparse.

    Parameters
    ----------
    D
        The matrix, without missing entries.
    rank
        The rank of L.
    gamma
        The factor by which the threshold decreases in every iteration.
    beta
        The threshold relative to a singular value; by default (n1 n2)^(-1/4) / 2, the authors'
        value where the incoherence of L is not known. The first threshold uses 4 β.
    tolerance, max_iterations
        The iterations end when ‖D - L - S‖ is below ``tolerance`` times ‖D‖.
    """
    beta = beta or 0.5 * D.size**-0.25
    L, U, V, S = _start(D, rank, beta)
    size = np.linalg.norm(D)
    for k in range(1, max_iterations + 1):
        if np.linalg.norm(D - L - S) < tolerance * size:
            break
        U, singular, V = _tangent_svd(D - S, U, V)
        L = (U[:, :rank] * singular[:rank]) @ V[:, :rank].T
        U, V = U[:, :rank], V[:, :rank]
        S = _hard_threshold(D - L, beta * (singular[rank] + gamma**k * singular[0]))
    return L


def _start(D: Array, rank: int, beta: float) -> tuple[Array, Array, Array, Array]:
    """L₀, its singular vectors and S₀: two steps of alternating projections."""
    S = _hard_threshold(D, 4 * beta * _svd(D, 1)[1][0])
    U, singular, V = _svd(D - S, rank)
    L = (U * singular) @ V.T
    return L, U, V, _hard_threshold(D - L, beta * singular[0])


def _tangent_svd(Z: Array, U: Array, V: Array) -> tuple[Array, Array, Array]:
    """The SVD of the projection of Z onto the tangent space at a matrix U Σ Vᵀ, of rank 2r.

    With two QR decompositions of n × r matrices the SVD is one of a 2r × 2r matrix.
    """
    ZV, ZtU = Z @ V, Z.T @ U
    core = U.T @ ZV
    left, R_left = np.linalg.qr(ZV - U @ core)
    right, R_right = np.linalg.qr(ZtU - V @ core.T)
    M = np.block([[core, R_right.T], [R_left, np.zeros_like(core)]])
    P, singular, Qt = np.linalg.svd(M)
    return np.hstack([U, left]) @ P, singular, np.hstack([V, right]) @ Qt.T


def _hard_threshold(matrix: Array, threshold: float) -> Array:
    return np.where(np.abs(matrix) > threshold, matrix, 0.0)


def _svd(matrix: Array, rank: int) -> tuple[Array, Array, Array]:
    """The leading singular vectors and values, largest first."""
    start = np.ones(min(matrix.shape))  # a fixed starting vector makes the result reproducible
    U, singular, Vt = svds(matrix, rank, v0=start)
    return U[:, ::-1], singular[::-1], Vt[::-1].T
