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
from typing import Any, NamedTuple

import numpy as np

from robustrank.backend import (
    WORTH_COMPILING,
    Array,
    can_compile,
    compiled,
    in_blocks,
    is_worth_compiling,
    namespace,
)

Matrix = np.ndarray[Any, Any]

# The number of partial sums of a sum over rows, and so the largest number of threads for it.
_PARTS = 16
# With fewer rows in each, the partial sums would need memory in comparison with the rows.
_LEAST_ROWS = 128


class TangentRows(NamedTuple):
    """The rows of a tangent map, (m, r, n1 + n2), and how they were computed."""

    rows: Array
    core: Array | None  # u_kᵀ A_i v_k, (m, r), if it is more precise than the rows
    reads: int  # of the sensing data


@dataclass(frozen=True)
class Kernels:
    """Loops over a block of rows, compiled on the first call and cached on disk."""

    fill: Callable[..., None]
    dot: Callable[..., None]
    gather: Callable[..., None]
    normal: Callable[..., None]

    def tangent_rows(self, A: Matrix, U: Matrix, V: Matrix, dtype: Any) -> TangentRows:
        """(A_i V)ᵀ beside (A_iᵀ U)ᵀ, stored in a dtype, in one read of A."""
        rows = np.empty((len(A), U.shape[1], A.shape[1] + A.shape[2]), dtype)
        core = np.empty((len(A), U.shape[1]), U.dtype)
        self.fill_rows(A, U, V, rows, core)
        return TangentRows(rows, core, 1)

    def fill_rows(self, A: Matrix, U: Matrix, V: Matrix, rows: Matrix, core: Matrix) -> None:
        """The same, into given arrays."""
        Ut, Vt = np.ascontiguousarray(U.T), np.ascontiguousarray(V.T)
        in_blocks(len(A), lambda block: self.fill(A[block], Ut, Vt, rows[block], core[block]))

    def matvec(self, J: Matrix, x: Matrix) -> Matrix:
        """J x."""
        result = np.empty(len(J), x.dtype)
        in_blocks(len(J), lambda block: self.dot(J[block], x, result[block]))
        return result

    def vecmat(self, J: Matrix, w: Matrix) -> Matrix:
        """wᵀ J."""
        return _summed(J, w.dtype, lambda rows, *sums: self.gather(J[rows], w[rows], *sums))

    def gram(self, J: Matrix, w: Matrix, x: Matrix) -> Matrix:
        """Jᵀ diag(w) J x, in one read of J."""
        return _summed(J, x.dtype, lambda rows, *sums: self.normal(J[rows], w[rows], x, *sums))


def kernels_for(array: Any) -> Kernels | None:
    """The compiled loops if the array is large enough and numba is installed, else None."""
    return compiled_kernels() if is_worth_compiling(array) else None


def tangent_rows(A: Array, U: Array, V: Array, *, precise: bool = False) -> TangentRows:
    """(A_i V)ᵀ beside (A_iᵀ U)ᵀ as (m, r, n1 + n2).

    Many of them are stored in single precision by compiled loops unless they are to be ``precise``:
    products take half the time, and errors of a step that uses them are corrected by the next one.
    """
    kernels = kernels_for(A)
    if kernels is not None:
        return kernels.tangent_rows(A, U, V, stored_dtype(A.shape, U, precise=precise))
    xp = namespace(A)
    stored_U, stored_V = (xp.astype(factor, A.dtype, copy=False) for factor in (U, V))
    AV = xp.matrix_transpose(xp.matmul(A, stored_V))
    AtU = xp.matmul(xp.matrix_transpose(stored_U), A)
    rows = xp.astype(xp.concat([AV, AtU], axis=2), U.dtype, copy=False)
    return TangentRows(rows, None, 2)


def stored_dtype(shape: tuple[int, ...], U: Matrix, *, precise: bool) -> Any:
    """The dtype in which to store the rows of the tangent map of A with this shape, at U."""
    m, n1, n2 = shape
    if precise or m * U.shape[1] * (n1 + n2) < WORTH_COMPILING:
        return U.dtype
    return np.dtype(np.float32)


def _summed(J: Matrix, dtype: Any, work: Callable[[slice, int, Matrix], None]) -> Matrix:
    """The sum of the parts that the work on chunks of rows fills.

    The chunks do not depend on the number of threads, so the same input always gives the same bits.
    """
    chunk = max(-(-len(J) // _PARTS), _LEAST_ROWS)
    parts = np.zeros((-(-len(J) // chunk), J.shape[1]), dtype)
    in_blocks(
        len(parts),
        lambda chunks: work(slice(chunks.start * chunk, chunks.stop * chunk), chunk, parts[chunks]),
    )
    total: Matrix = parts.sum(axis=0)
    return total


@functools.cache
def compiled_kernels() -> Kernels | None:
    """The compiled loops; None without numba."""
    if not can_compile():
        return None
    from robustrank.operators import dense_loops as loops

    return Kernels(
        *(compiled(loop) for loop in (loops.fill, loops.dot, loops.gather, loops.normal))
    )
