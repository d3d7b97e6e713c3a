"""Operations that array libraries offer under different names, or not at all."""

from __future__ import annotations

import array_api_extra as xpx
import numpy as np
import scipy.linalg
from array_api_compat import is_jax_array, is_torch_array

from robustrank.backend.arrays import Array, like, namespace
from robustrank.backend.gpu import on_torch_gpu


def kth_smallest(values: Array, k: int) -> Array:
    """The k-th smallest value along the last axis, counted from zero, by selection."""
    if is_torch_array(values):
        return values.kthvalue(k + 1, dim=-1).values
    return xpx.partition(values, k, axis=-1, xp=namespace(values))[..., k]


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
