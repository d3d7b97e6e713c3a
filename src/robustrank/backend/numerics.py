"""What the array API standard lacks: selection in linear time, a truncated SVD, safe norms."""

from __future__ import annotations

import math

import array_api_extra as xpx
import numpy as np
from array_api_compat import is_numpy_namespace, is_torch_array

from robustrank.backend.arrays import Array, like, namespace
from robustrank.backend.cards import on_card

# Below this size a thin dense SVD is faster than a Lanczos one.
_DENSE_SVD_LIMIT = 600


def quantile_index(m: int, p: float) -> int:
    """Where the sample p-quantile stands among m sorted values, counted from zero.

    The paper's θ_p is inf{x : F(x) ≥ p} with F the empirical distribution, so this is the smallest
    k with (k + 1)/m ≥ p. The division is compared as it rounds: p·m alone would be off by one for
    0.07 and m = 100.
    """
    if not 0 < p < 1:
        raise ValueError(f"p={p} is not a quantile; expected 0 < p < 1")
    k = max(math.ceil(p * m) - 1, 0)
    if k > 0 and k / m >= p:
        k -= 1
    return k


def sample_quantile(values: Array, p: float) -> Array:
    """θ_p of a sample, as a zero-dimensional array: one of the values, never an average of two."""
    m = values.shape[0]
    if m == 0:
        raise ValueError("an empty sample has no quantile")
    k = quantile_index(m, p)
    if is_torch_array(values):
        return values.kthvalue(k + 1).values
    return xpx.partition(values, k, xp=namespace(values))[k]


def lower_median(values: Array) -> Array:
    """The paper's median, θ_½: ``sorted(values)[(m - 1) // 2]``."""
    return sample_quantile(values, 0.5)


def frobenius_norm(array: Array) -> Array:
    """The root of the sum of squares, for entries of any size that the dtype holds."""
    xp = namespace(array)
    flat = xp.reshape(array, (-1,))
    largest = xp.max(xp.abs(flat))
    safe = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    return safe * xp.linalg.vector_norm(flat / safe)


def spectral_norm(tall: Array) -> Array:
    """The largest singular value of a thin matrix; NaN where it is not finite."""
    xp = namespace(tall)
    if not bool(xp.all(xp.isfinite(tall))):
        return xp.asarray(xp.nan, **like(tall))
    return xp.max(xp.linalg.svdvals(tall))


def leading_svd(
    matrix: Array, rank: int, rng: np.random.Generator, plus: tuple[Array, Array] | None = None
) -> tuple[Array, Array, Array]:
    """The leading singular triplets (left n1 × rank, values, right n2 × rank), largest first.

    With ``plus`` = (U, V) they are those of matrix + U Vᵀ.

    A large NumPy matrix goes through Lanczos, so that no n1 × n1 array is ever formed. A matrix
    that is not finite has no SVD, and its triplets are NaN.
    """
    xp = namespace(matrix)
    if plus is not None:
        matrix = matrix + plus[0] @ xp.matrix_transpose(plus[1])
    if not bool(xp.all(xp.isfinite(matrix))):
        return tuple(xp.full(s, xp.nan, **like(matrix)) for s in _svd_shapes(matrix, rank))
    if is_numpy_namespace(xp) and min(matrix.shape) > max(_DENSE_SVD_LIMIT, 8 * rank):
        from scipy.sparse.linalg import svds

        start = rng.standard_normal(min(matrix.shape)).astype(matrix.dtype)
        left, values, right_t = svds(matrix, k=rank, v0=start)
        order = np.argsort(-values)
        left, values, right_t = left[:, order], values[order], right_t[order]
    else:
        left, values, right_t = xp.linalg.svd(matrix, full_matrices=False, **_svd_driver(matrix))
    return left[:, :rank], values[:rank], xp.matrix_transpose(right_t[:rank, :])


def _svd_driver(matrix: Array) -> dict[str, str]:
    """On a card PyTorch has a driver for singular values that are wanted in order of size."""
    return {"driver": "gesvda"} if is_torch_array(matrix) and on_card(matrix) else {}


def _svd_shapes(matrix: Array, rank: int) -> tuple[tuple[int, ...], ...]:
    return (matrix.shape[0], rank), (rank,), (matrix.shape[1], rank)


def solve_positive(matrix: Array, right: Array) -> Array:
    """The solution x of matrix · x = right for a positive definite matrix; NaN if it is not."""
    xp = namespace(matrix)
    if not is_torch_array(matrix):
        return xp.linalg.solve(matrix, right)
    import torch

    factor, failed = torch.linalg.cholesky_ex(matrix)
    solution = torch.cholesky_solve(right[:, None], factor)[:, 0]
    return xp.where(failed == 0, solution, xp.full_like(solution, xp.nan))
