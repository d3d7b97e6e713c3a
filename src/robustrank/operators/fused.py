"""Both halves of the tangent map in one read of the sensing data.

Compiled by numba where it is installed; without it, two matrix products read the data twice. Each
A_i is brought into the cache once and yields A_i V and A_iᵀ U together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

# Below this many sensing entries compiling, or even loading the compiler, costs more than it saves.
_WORTH_COMPILING = 2**22


def tangent_rows(A: Matrix, U: Matrix, V: Matrix) -> tuple[Matrix, int]:
    """(A_i V)ᵀ beside (A_iᵀ U)ᵀ as (m, r, n1 + n2), and how often A was read for it."""
    kernel = compiled_kernel() if A.size >= _WORTH_COMPILING else None
    if kernel is None:
        AV = np.matmul(A, V.astype(A.dtype, copy=False)).swapaxes(1, 2)
        AtU = np.matmul(U.T.astype(A.dtype, copy=False), A)
        return np.concatenate([AV, AtU], axis=2).astype(U.dtype, copy=False), 2
    m, n1, n2 = A.shape
    rows = np.empty((m, U.shape[1], n1 + n2), U.dtype)
    kernel(A, np.ascontiguousarray(U.T), np.ascontiguousarray(V.T), rows)
    return rows, 1


@functools.cache
def compiled_kernel() -> Callable[..., None] | None:
    """The fused kernel, compiled on its first call and kept on disk; None without numba."""
    try:
        import numba
    except ImportError:
        return None
    return numba.njit(parallel=True, fastmath=True, cache=True)(_kernel(numba.prange))


def _kernel(prange: Any) -> Callable[..., None]:
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

    return fill
