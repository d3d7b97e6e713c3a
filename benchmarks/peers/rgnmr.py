"""RGNMR: Gauss-Newton steps for robust matrix completion, with the number of outliers known.

The method of E. Vaknin Laufer and B. Nadler, "RGNMR: a Gauss-Newton method for robust matrix
completion with theoretical guarantees", arXiv:2505.12919 (2025). Its least-squares
step is the setting variant of P. Zilber and B. Nadler, "GNMR: a provable one-line algorithm for low
rank matrix recovery", SIAM J. Math. Data Sci. 4 (2022) 909-934.

The authors published a Python and a MATLAB version, which differ in the tolerance of LSQR. That of
the Python version is used, because it solved more trial problems. Two things are not theirs: the
tolerance at which the iteration ends, and the unit of the values, with which more trial problems
were solved at rho = 8 (5 of 6 instead of 1) and fewer at rho = 4 (3 of 6 instead of 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr, svds

Array = np.ndarray[Any, Any]
Factors = tuple[Array, Array]
Entries = tuple[Array, Array, Array]  # rows, columns, values

EPSILON = float(np.finfo(float).eps)


def rgnmr(
    entries: Entries,
    shape: tuple[int, int],
    rank: int,
    outliers: int,
    *,
    max_iterations: int = 50,
    max_inner_iterations: int = 1000,
    tolerance: float = 1e-12,
) -> Factors:
    """Factors of the estimated matrix, n1 × r and n2 × r.

    Parameters
    ----------
    entries, shape
        The observed entries (rows, columns, values) and the shape (n1, n2) of the matrix.
    rank, outliers
        The rank of the matrix and the number of outliers, both known.
    max_iterations, max_inner_iterations
        Of the outer iteration and of LSQR; the limits of the authors' MATLAB experiments. The
        tolerance of LSQR is 0.1 at first and a tenth of the previous one in every later iteration.
    tolerance
        The iteration ends when the relative residual of the least-squares problem is smaller. The
        authors continue to 1e-15 or 1e-16, which takes longer and is rarely reached.
    """
    rows, columns, values = entries
    U, V, unit = _start(entries, shape, rank, outliers)
    values = values / unit
    retained = _without_largest(values - np.sum(U[rows] * V[columns], axis=1), outliers)
    for iteration in range(max_iterations):
        A = _linearization(rows, columns, U, V)
        b = values + np.sum(U[rows] * V[columns], axis=1)
        kept = A[np.flatnonzero(retained)]
        accuracy = max(0.1 ** (iteration + 1), 2 * EPSILON)
        # LSQR starts at zero, so that it returns the least-squares solution of minimal norm.
        x = lsqr(
            kept,
            b[retained],
            atol=accuracy,
            btol=accuracy,
            conlim=0.0,
            iter_lim=max_inner_iterations,
        )[0]
        residual = A @ x - b
        relative = float(np.linalg.norm(residual[retained]) / np.linalg.norm(b[retained]))
        previous = U, V
        V, U = (part.reshape(-1, rank) for part in np.split(x, [rank * shape[1]]))
        retained = _without_largest(residual, outliers)
        if relative < tolerance:
            break
    left, right = _rank_r_part(previous, (U, V), rank)
    return left * unit, right


def _linearization(rows: Array, columns: Array, U: Array, V: Array) -> csr_array:
    """The map from (V', U') to the observed entries of U V'ᵀ + U' Vᵀ, one row per entry."""
    rank = U.shape[1]
    of_row, of_column = (rank * numbers[:, None] + np.arange(rank) for numbers in (rows, columns))
    indices = np.hstack([of_column, rank * len(V) + of_row])
    data = np.hstack([U[rows], V[columns]])
    starts = np.arange(len(rows) + 1) * 2 * rank
    shape = len(rows), rank * (len(U) + len(V))
    return csr_array((data.ravel(), indices.ravel(), starts), shape=shape)


def _without_largest(residual: Array, count: int) -> Array:
    """Which entries are not among the ``count`` largest."""
    retained = np.ones(len(residual), bool)
    if count:
        retained[np.argpartition(np.abs(residual), -count)[-count:]] = False
    return retained


def _start(
    entries: Entries, shape: tuple[int, int], rank: int, outliers: int
) -> tuple[Array, Array, float]:
    """The leading singular vectors after removal of the largest entries, and a unit of the values.

    The method starts with orthonormal factors, so it assumes singular values near 1; in this unit
    the largest one is about 1. An entry is removed if it is among the largest of its row and of its
    column, as many as the share of outliers (the operator of Yi et al., 2016).
    """
    rows, columns, values = entries
    share = outliers / len(values)
    large = np.ones(len(values), bool)
    for lines in (rows, columns):
        large &= _order_in_line(lines, values) < share * np.bincount(lines)[lines]
    X = csr_array((np.where(large, 0.0, values), (rows, columns)), shape=shape)
    U, singular, Vt = svds(X, rank, v0=np.ones(min(shape)))
    observed = len(values) / (shape[0] * shape[1])
    return U, Vt.T, float(singular.max() / observed)


def _order_in_line(lines: Array, values: Array) -> Array:
    """How many entries of the same row, or column, are larger in absolute value."""
    order = np.lexsort((-np.abs(values), lines))
    counts = np.bincount(lines)
    starts = np.cumsum(counts) - counts
    place = np.empty(len(lines), np.intp)
    place[order] = np.arange(len(lines)) - starts[lines[order]]
    return place


def _rank_r_part(previous: Factors, last: Factors, rank: int) -> Factors:
    """The best rank-r approximation of U V'ᵀ + U' Vᵀ - U Vᵀ, from its factors of 2r columns."""
    (U, V), (U_next, V_next) = previous, last
    Q1, R1 = np.linalg.qr(np.hstack([U, U_next]))
    Q2, R2 = np.linalg.qr(np.hstack([V_next - V, V]))
    P, singular, Qt = np.linalg.svd(R1 @ R2.T)
    return Q1 @ P[:, :rank] * singular[:rank], Q2 @ Qt[:rank].T
