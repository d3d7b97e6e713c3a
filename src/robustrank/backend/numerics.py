"""What the array API standard lacks: selection in linear time, a truncated SVD, safe norms."""

from __future__ import annotations

import math

import array_api_extra as xpx
import numpy as np
from array_api_compat import is_jax_array, is_numpy_namespace, is_torch_array

from robustrank.backend.arrays import Array, like, namespace
from robustrank.backend.cards import on_torch_card

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
    """θ_p of the samples along the last axis: one of the values, never an average of two."""
    m = values.shape[-1]
    if m == 0:
        raise ValueError("an empty sample has no quantile")
    k = quantile_index(m, p)
    if is_torch_array(values):
        return values.kthvalue(k + 1, dim=-1).values
    return xpx.partition(values, k, axis=-1, xp=namespace(values))[..., k]


def lower_median(values: Array) -> Array:
    """The paper's median, θ_½: ``sorted(values)[(m - 1) // 2]``."""
    return sample_quantile(values, 0.5)


def median_among(values: Array, chosen: Array) -> Array:
    """The lower median of the values that are chosen, or the upper; none may be negative.

    The others stand aside in turn, one above and one below, so that one selection serves however
    many are chosen along each leading axis.
    """
    xp = namespace(values)
    turn = xp.cumulative_sum(xp.astype(~chosen, xp.int32), axis=-1) % 2
    aside = xp.where(turn == 1, xp.full_like(values, xp.inf), xp.zeros_like(values))
    return lower_median(xp.where(chosen, values, aside))


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

    With ``plus`` = (U, V) they are those of matrix + U Vᵀ. There may be leading axes.

    A large NumPy matrix goes through Lanczos, so that no n1 × n1 array is ever formed. A matrix
    that is not finite has no SVD, and its triplets are NaN.
    """
    xp = namespace(matrix)
    if plus is not None:
        matrix = matrix + plus[0] @ xp.matrix_transpose(plus[1])
    finite = xp.all(xp.isfinite(matrix), axis=(-2, -1))[..., None]
    anything = xp.eye(*matrix.shape[-2:], **like(matrix)) * xp.arange(
        matrix.shape[-1], **like(matrix)
    )
    matrix = xp.where(finite[..., None], matrix, anything)
    if (
        is_numpy_namespace(xp)
        and matrix.ndim == 2
        and min(matrix.shape) > max(_DENSE_SVD_LIMIT, 8 * rank)
    ):
        from scipy.sparse.linalg import svds

        start = rng.standard_normal(min(matrix.shape)).astype(matrix.dtype)
        left, values, right_t = svds(matrix, k=rank, v0=start)
        order = np.argsort(-values)
        left, values, right_t = left[:, order], values[order], right_t[order]
    else:
        left, values, right_t = _thin_svd(matrix)
    known = xp.where(finite, xp.zeros_like(values[..., :rank]), xp.nan)
    left, values = left[..., :rank] + known[..., None, :], values[..., :rank] + known
    return left, values, xp.matrix_transpose(right_t[..., :rank, :]) + known[..., None, :]


def _thin_svd(matrix: Array) -> tuple[Array, Array, Array]:
    xp = namespace(matrix)
    if on_torch_card(matrix):
        import torch

        try:  # several times as fast, for many matrices a hundred times, where it works
            return tuple(torch.linalg.svd(matrix, full_matrices=False, driver="gesvda"))
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # repeated singular values
            pass
    return tuple(xp.linalg.svd(matrix, full_matrices=False))


def solve_positive(matrix: Array, right: Array) -> Array:
    """The solution x of matrix · x = right for a positive definite matrix.

    If it is not one, PyTorch and JAX give NaN; the others, which have no such solver, anything.
    """
    xp = namespace(matrix)
    if is_jax_array(matrix):
        from jax.lax.linalg import triangular_solve

        factor = xp.linalg.cholesky(matrix)
        how = {"left_side": True, "lower": True}
        half = triangular_solve(factor, right[..., None], **how)
        return triangular_solve(factor, half, transpose_a=True, **how)[..., 0]
    if not is_torch_array(matrix):
        return xp.linalg.solve(matrix, right[..., None])[..., 0]
    import torch

    factor, failed = torch.linalg.cholesky_ex(matrix)
    solution = torch.cholesky_solve(right[..., None], factor)[..., 0]
    return xp.where(failed[..., None] == 0, solution, xp.nan)


def times(matrix: Array, vector: Array) -> Array:
    """matrix · vector, over leading axes if there are any."""
    return matrix @ vector if matrix.ndim == 2 else (matrix @ vector[..., None])[..., 0]


def left_times(vector: Array, matrix: Array) -> Array:
    """vectorᵀ · matrix, over leading axes. Written so: the transposed form may be far slower."""
    return vector @ matrix if matrix.ndim == 2 else (vector[..., None, :] @ matrix)[..., 0, :]


def diagonal_times(matrix: Array, values: Array) -> Array:
    """matrix · diag(values): the columns scaled, over leading axes."""
    return matrix * values[..., None, :]
