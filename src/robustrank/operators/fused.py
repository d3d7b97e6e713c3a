"""Products with the sensing data and the tangent map, compiled where numba is installed.

``tangent_rows`` brings each A_i into the cache once and takes A_i V and A_iᵀ U from it together;
without numba two matrix products read the data twice. The products with the tangent map are
compiled as well: the two that conjugate gradients need share one read of it, and the threads of a
BLAS library would go on spinning after a call and take a core away from the kernel that follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

# Below this many entries compiling, or even loading the compiler, costs more than it saves.
_WORTH_COMPILING = 2**20


@dataclass(frozen=True)
class Kernels:
    """The compiled loops. Each is compiled on its first call and kept on disk."""

    fill: Callable[[Matrix, Matrix, Matrix, Matrix], None]
    times: Callable[[Matrix, Matrix], Matrix]  # J x
    left_times: Callable[[Matrix, Matrix, int], Matrix]  # wᵀ J, in so many pieces
    gram: Callable[[Matrix, Matrix, Matrix, int], Matrix]  # Jᵀ diag(w) J x, in so many pieces
    threads: int


def kernels_for(array: Any) -> Kernels | None:
    """The compiled loops, where they pay for this array and numba is installed."""
    worth = isinstance(array, np.ndarray) and array.size >= _WORTH_COMPILING
    return _compile() if worth else None


def tangent_rows(A: Matrix, U: Matrix, V: Matrix) -> tuple[Matrix, int]:
    """(A_i V)ᵀ beside (A_iᵀ U)ᵀ as (m, r, n1 + n2), and how often A was read for it."""
    kernels = kernels_for(A)
    if kernels is None:
        AV = np.matmul(A, V.astype(A.dtype, copy=False)).swapaxes(1, 2)
        AtU = np.matmul(U.T.astype(A.dtype, copy=False), A)
        return np.concatenate([AV, AtU], axis=2).astype(U.dtype, copy=False), 2
    m, n1, n2 = A.shape
    rows = np.empty((m, U.shape[1], n1 + n2), U.dtype)
    kernels.fill(A, np.ascontiguousarray(U.T), np.ascontiguousarray(V.T), rows)
    return rows, 1


@functools.cache
def _compile() -> Kernels | None:
    try:
        import numba
    except ImportError:
        return None
    compiled = numba.njit(parallel=True, fastmath=True, cache=True)
    fill, times, left_times, gram = (compiled(loop) for loop in _loops(numba.prange))
    return Kernels(fill, times, left_times, gram, numba.get_num_threads())


def _loops(prange: Any) -> tuple[Callable[..., Any], ...]:
    def fill(A: Any, Ut: Any, Vt: Any, rows: Any) -> None:
        m, n1, n2 = A.shape
        r = Ut.shape[0]
        whole = n1 - n1 % 4
        for i in prange(m):
            rows[i, :, n1:] = 0.0
            # Four lines of A_i at a time stay in the innermost cache for all r columns.
            for a in range(0, whole, 4):
                for k in range(r):
                    v, back = Vt[k], rows[i, k, n1:]
                    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                    u0, u1, u2, u3 = Ut[k, a], Ut[k, a + 1], Ut[k, a + 2], Ut[k, a + 3]
                    for b in range(n2):
                        x0, x1, x2, x3 = A[i, a, b], A[i, a + 1, b], A[i, a + 2, b], A[i, a + 3, b]
                        s0 += x0 * v[b]
                        s1 += x1 * v[b]
                        s2 += x2 * v[b]
                        s3 += x3 * v[b]
                        back[b] += x0 * u0 + x1 * u1 + x2 * u2 + x3 * u3
                    rows[i, k, a] = s0
                    rows[i, k, a + 1] = s1
                    rows[i, k, a + 2] = s2
                    rows[i, k, a + 3] = s3
            for a in range(whole, n1):
                for k in range(r):
                    s0 = 0.0
                    for b in range(n2):
                        s0 += A[i, a, b] * Vt[k, b]
                        rows[i, k, n1 + b] += A[i, a, b] * Ut[k, a]
                    rows[i, k, a] = s0

    def times(J: Any, x: Any) -> Any:
        result = np.empty(J.shape[0], J.dtype)
        for i in prange(J.shape[0]):
            total = 0.0
            for j in range(J.shape[1]):
                total += J[i, j] * x[j]
            result[i] = total
        return result

    def left_times(J: Any, w: Any, pieces: Any) -> Any:
        rows, columns = J.shape
        parts = np.zeros((pieces, columns), J.dtype)
        for piece in prange(pieces):  # every thread sums rows of its own
            part = parts[piece]
            for i in range(piece * rows // pieces, (piece + 1) * rows // pieces):
                row = J[i]
                for j in range(columns):
                    part[j] += w[i] * row[j]
        return parts.sum(axis=0)

    def gram(J: Any, w: Any, x: Any, pieces: Any) -> Any:
        rows, columns = J.shape
        parts = np.zeros((pieces, columns), J.dtype)
        for piece in prange(pieces):
            part = parts[piece]
            for i in range(piece * rows // pieces, (piece + 1) * rows // pieces):
                row = J[i]  # read from memory once, used twice
                total = 0.0
                for j in range(columns):
                    total += row[j] * x[j]
                total *= w[i]
                for j in range(columns):
                    part[j] += total * row[j]
        return parts.sum(axis=0)

    return fill, times, left_times, gram
