"""Operations that array libraries offer under different names, or not at all."""

from __future__ import annotations

import array_api_extra as xpx
import numpy as np
import scipy.linalg
import scipy.sparse
from array_api_compat import is_cupy_array, is_jax_array, is_torch_array

from robustrank.backend.arrays import Array, like, namespace
from robustrank.backend.gpu import on_torch_gpu, triton_kernels_for

# Counting takes time for every row and column, sorting for every pair.
_COUNTING = 4
# One thread for each segment and column.
_SEGMENT_SUMS = """
extern "C" __global__
void segment_sums(const %(type)s* values, const long long* starts, %(type)s* sums,
                  long long segments, long long columns) {
    long long k = blockIdx.x * (long long) blockDim.x + threadIdx.x;
    if (k >= segments * columns) return;
    long long i = k / columns, column = k %% columns;
    %(type)s total = 0;
    for (long long e = starts[i]; e < starts[i + 1]; ++e) total += values[e * columns + column];
    sums[k] = total;
}
"""


def kth_smallest(values: Array, k: int) -> Array:
    """The k-th smallest value along the last axis, counted from zero, by selection."""
    kernels = triton_kernels_for(values)
    if kernels is not None and kernels.can_select(values):
        return kernels.kth_smallest(values, k)
    if is_torch_array(values):
        return values.kthvalue(k + 1, dim=-1).values
    return xpx.partition(values, k, axis=-1, xp=namespace(values))[..., k]


def segment_sums(values: Array, starts: Array) -> Array:
    """The sums of values[starts[i]:starts[i + 1]] over the first axis, of NumPy, torch or CuPy.

    Each sum is computed in a fixed order, so that the same input always gives the same bits.
    """
    if is_torch_array(values):
        import torch

        return torch.segment_reduce(values, "sum", offsets=starts, axis=0, initial=0)
    if is_cupy_array(values):
        return _segment_sums_by_cupy(values, starts)
    filled = starts[:-1] < starts[1:]
    sums = np.zeros((len(starts) - 1, *values.shape[1:]), values.dtype)
    if filled.any():  # reduceat would take the sum of an empty segment from the next one
        sums[filled] = np.add.reduceat(values, starts[:-1][filled], axis=0)
    return sums


def sorted_orders(rows: Array, columns: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """The stable orders that sort pairs by row and column, and by column and row.

    With NumPy, by counting if there are not many more rows and columns than pairs.
    """
    if isinstance(rows, np.ndarray) and max(shape) <= _COUNTING * len(rows):
        numbers: Array = np.arange(len(rows), dtype=np.int32 if len(rows) < 2**31 else np.int64)
        pairs = scipy.sparse.coo_array((numbers, (rows, columns)), shape=shape)
        pairs.has_canonical_format = True  # pairs that occur several times are not added
        by_rows = pairs.tocsc().tocsr()
        return by_rows.data, by_rows.tocsc().data
    xp = namespace(rows)
    first, second = (xp.astype(one, xp.int64) for one in (rows, columns))
    n1, n2 = shape
    keys = first * n2 + second, second * n1 + first
    return xp.argsort(keys[0], stable=True), xp.argsort(keys[1], stable=True)


def inverse_permutation(order: Array) -> Array:
    """The place of each number in a permutation, of NumPy, torch or CuPy."""
    xp = namespace(order)
    inverse = xp.empty_like(order)
    inverse[order] = xp.arange(order.shape[0], **like(order))
    return inverse


def _segment_sums_by_cupy(values: Array, starts: Array) -> Array:
    import cupy

    columns = cupy.ascontiguousarray(values.reshape(len(values), -1))
    sums = cupy.empty((len(starts) - 1, columns.shape[1]), values.dtype)
    name = "double" if values.dtype == np.float64 else "float"
    kernel = cupy.RawKernel(_SEGMENT_SUMS % {"type": name}, "segment_sums")
    threads = 128
    blocks = (sums.size + threads - 1) // threads
    kernel((max(blocks, 1),), (threads,), (columns, starts, sums, sums.shape[0], sums.shape[1]))
    return sums.reshape(-1, *values.shape[1:])


def thin_svd(matrix: Array) -> tuple[Array, Array, Array]:
    """The thin singular value decomposition (left, values, rightᵀ), over leading axes."""
    xp = namespace(matrix)
    if on_torch_gpu(matrix):
        import torch

        try:  # 3 to 70 times faster than the default driver
            return tuple(torch.linalg.svd(matrix, full_matrices=False, driver="gesvda"))
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # repeated singular values
            pass
    return tuple(xp.linalg.svd(matrix, full_matrices=False))


def solve_positive_definite(matrix: Array, right: Array) -> Array:
    """The solution x of matrix · x = right for a positive definite matrix, over leading axes.

    If the matrix is not positive definite, the result is NaN. For CuPy, and for batches of NumPy
    arrays, a general solver is used.
    """
    return _solve_columns(matrix, right[..., None])[..., 0]


def inverse_positive_definite(matrix: Array) -> Array:
    """The inverse of a positive definite matrix, with the same exceptions."""
    xp = namespace(matrix)
    eye = xp.eye(matrix.shape[-1], **like(matrix))
    return _solve_columns(matrix, xp.zeros_like(matrix) + eye)


def _solve_columns(matrix: Array, right: Array) -> Array:
    """The solutions for each column of ``right``."""
    xp = namespace(matrix)
    if isinstance(matrix, np.ndarray) and matrix.ndim == 2:
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.full_like(right, np.nan)
        return scipy.linalg.cho_solve(factor, right, check_finite=False)
    if is_jax_array(matrix):
        from jax.lax.linalg import triangular_solve

        factor = xp.linalg.cholesky(matrix)
        how = {"left_side": True, "lower": True}
        half = triangular_solve(factor, right, **how)
        return triangular_solve(factor, half, transpose_a=True, **how)
    if not is_torch_array(matrix):
        return xp.linalg.solve(matrix, right)
    import torch

    factor, failed = torch.linalg.cholesky_ex(matrix)
    solution = torch.cholesky_solve(right, factor)
    return xp.where(failed[..., None, None] == 0, solution, xp.nan)
