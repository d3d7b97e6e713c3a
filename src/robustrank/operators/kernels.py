"""Products with the sensing data and the tangent map, compiled if numba is installed.

``tangent_rows`` loads each A_i into the cache once and computes A_i V and A_iᵀ U from it; without
numba, two matrix products read the data twice. The products with the tangent map are compiled too:
the two products of a conjugate-gradient step share one read of it, and BLAS threads, which spin
for a while after every call, do not take a core away from the next kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, compiled, in_blocks, is_worth_compiling, namespace

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Kernels:
    """Loops over a block of rows, compiled on the first call and cached on disk."""

    fill: Callable[[Matrix, Matrix, Matrix, Matrix], None]
    dot: Callable[[Matrix, Matrix, Matrix], None]
    gather: Callable[[Matrix, Matrix, Matrix], None]
    normal: Callable[[Matrix, Matrix, Matrix, Matrix], None]

    def tangent_rows(self, A: Matrix, U: Matrix, V: Matrix) -> Matrix:
        """(A_i V)ᵀ beside (A_iᵀ U)ᵀ as (m, r, n1 + n2), in one read of A."""
        rows = np.empty((len(A), U.shape[1], A.shape[1] + A.shape[2]), U.dtype)
        Ut, Vt = np.ascontiguousarray(U.T), np.ascontiguousarray(V.T)
        in_blocks(len(A), lambda block: self.fill(A[block], Ut, Vt, rows[block]))
        return rows

    def matvec(self, J: Matrix, x: Matrix) -> Matrix:
        """J x."""
        result = np.empty(len(J), J.dtype)
        in_blocks(len(J), lambda block: self.dot(J[block], x, result[block]))
        return result

    def vecmat(self, J: Matrix, w: Matrix) -> Matrix:
        """wᵀ J."""
        return _summed(J, lambda block, part: self.gather(J[block], w[block], part))

    def gram(self, J: Matrix, w: Matrix, x: Matrix) -> Matrix:
        """Jᵀ diag(w) J x, in one read of J."""
        return _summed(J, lambda block, part: self.normal(J[block], w[block], x, part))


def kernels_for(array: Any) -> Kernels | None:
    """The compiled loops if the array is large enough and numba is installed, else None."""
    return _compile() if is_worth_compiling(array) else None


def tangent_rows(A: Array, U: Array, V: Array) -> tuple[Array, int]:
    """(A_i V)ᵀ beside (A_iᵀ U)ᵀ as (m, r, n1 + n2), and the number of reads of A."""
    kernels = kernels_for(A)
    if kernels is not None:
        return kernels.tangent_rows(A, U, V), 1
    xp = namespace(A)
    stored_U, stored_V = (xp.astype(factor, A.dtype, copy=False) for factor in (U, V))
    AV = xp.matrix_transpose(xp.matmul(A, stored_V))
    AtU = xp.matmul(xp.matrix_transpose(stored_U), A)
    return xp.astype(xp.concat([AV, AtU], axis=2), U.dtype, copy=False), 2


def _summed(J: Matrix, work: Callable[[slice, Matrix], None]) -> Matrix:
    """The sum of the vectors that the work on each block of rows fills."""
    parts: dict[int, Matrix] = {}

    def on_block(block: slice) -> None:
        part = np.zeros(J.shape[1], J.dtype)
        work(block, part)
        parts[block.start] = part

    in_blocks(len(J), on_block)
    # In a fixed order, so that the same input always gives the same bits.
    return functools.reduce(np.add, (parts[start] for start in sorted(parts)))


@functools.cache
def _compile() -> Kernels:
    return Kernels(*(compiled(loop) for loop in (_fill, _dot, _gather, _normal)))


def _fill(A: Any, Ut: Any, Vt: Any, rows: Any) -> None:
    m, n1, n2 = A.shape
    r = Ut.shape[0]
    whole = n1 - n1 % 4
    for i in range(m):
        rows[i, :, n1:] = 0.0
        # Four rows of A_i stay in the innermost cache for all r columns.
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


def _dot(J: Any, x: Any, result: Any) -> None:
    for i in range(J.shape[0]):
        total = 0.0
        for j in range(J.shape[1]):
            total += J[i, j] * x[j]
        result[i] = total


def _gather(J: Any, w: Any, part: Any) -> None:
    for i in range(J.shape[0]):
        row = J[i]
        for j in range(J.shape[1]):
            part[j] += w[i] * row[j]


def _normal(J: Any, w: Any, x: Any, part: Any) -> None:
    for i in range(J.shape[0]):
        row = J[i]  # read once, used twice
        total = 0.0
        for j in range(J.shape[1]):
            total += row[j] * x[j]
        total *= w[i]
        for j in range(J.shape[1]):
            part[j] += total * row[j]
