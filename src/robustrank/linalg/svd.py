"""The leading singular triplets of a matrix, given as an array or by its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robustrank.backend import Array, is_numpy, like, namespace, thin_svd, to_numpy

Triplets = tuple[Array, Array, Array]  # left n1 × rank, values, right n2 × rank
Factors = tuple[Array, Array]  # (U, V), standing for U Vᵀ

# Below this size a thin dense SVD is faster than a Lanczos one.
_DENSE_LIMIT = 600
# Of the approximate decomposition: vectors beyond the rank, and iterations.
_MORE_VECTORS, _SUBSPACE_ITERATIONS = 8, 5
# A matrix with fewer rows or columns than four times these vectors is decomposed exactly.
_FEW_SUBSPACES = 4


def leading_svd(
    matrix: Array,
    rank: int,
    rng: np.random.Generator,
    plus: Factors | None = None,
    *,
    approximate: bool = False,
) -> Triplets:
    """The leading singular triplets of ``matrix``, largest first, over leading axes.

    With ``plus`` = (U, V) they are those of matrix + U Vᵀ. A large NumPy matrix is decomposed by
    the Lanczos method, so that no n1 × n1 array is formed; if they may be ``approximate``, those of
    all but small NumPy matrices are found by subspace iterations. If the matrix is not finite, the
    triplets are NaN.
    """
    xp = namespace(matrix)
    if plus is not None:
        matrix = matrix + plus[0] @ xp.matrix_transpose(plus[1])
    single = is_numpy(matrix) and matrix.ndim == 2
    if approximate and single and min(matrix.shape) > _FEW_SUBSPACES * (rank + _MORE_VECTORS):
        return svd_or_nan(matrix, rank, lambda it: _by_subspace_iterations(it, rank))
    if single and _is_large(matrix.shape, rank):
        return svd_or_nan(matrix, rank, lambda it: _lanczos(it, rank, rng, matrix.dtype))
    return svd_or_nan(matrix, rank)


def svd_or_nan(
    matrix: Array, rank: int, svd: Callable[[Array], tuple[Array, Array, Array]] = thin_svd
) -> Triplets:
    """The first triplets of an SVD over leading axes; NaN where the matrix is not finite.

    Libraries raise an error for such a matrix, or return anything.
    """
    xp = namespace(matrix)
    finite = xp.all(xp.isfinite(matrix), axis=(-2, -1))[..., None]
    if is_numpy(matrix) and bool(xp.all(finite)):  # elsewhere, testing this would take longer
        left, values, right_t = svd(matrix)
        return left[..., :rank], values[..., :rank], xp.matrix_transpose(right_t[..., :rank, :])
    placeholder = xp.eye(*matrix.shape[-2:], **like(matrix)) * xp.arange(
        matrix.shape[-1], **like(matrix)
    )
    left, values, right_t = svd(xp.where(finite[..., None], matrix, placeholder))
    nan_or_zero = xp.where(finite, xp.zeros_like(values[..., :rank]), xp.nan)
    right = xp.matrix_transpose(right_t[..., :rank, :])
    return (
        left[..., :rank] + nan_or_zero[..., None, :],
        values[..., :rank] + nan_or_zero,
        right + nan_or_zero[..., None, :],
    )


def leading_svd_by_products(
    times: Callable[[Array], Array],
    transpose_times: Callable[[Array], Array],
    shape: tuple[int, int],
    rank: int,
    rng: np.random.Generator,
    example: Array,
) -> Triplets:
    """The same for a matrix G that is known only through G·V and Gᵀ·U, as arrays like ``example``.

    A small G is formed by multiplying the identity; a large one goes through Lanczos, whose
    vectors are kept in NumPy.
    """
    xp = namespace(example)
    n1, n2 = shape
    if not _is_large(shape, rank):
        if n2 <= n1:
            return leading_svd(times(xp.eye(n2, **like(example))), rank, rng)
        transposed = transpose_times(xp.eye(n1, **like(example)))
        return leading_svd(xp.matrix_transpose(transposed), rank, rng)
    from scipy.sparse.linalg import LinearOperator

    def through(product: Callable[[Array], Array]) -> Callable[[Any], Any]:
        return lambda x: to_numpy(product(xp.asarray(x.reshape(len(x), -1), **like(example))))

    dtype = to_numpy(example).dtype
    forward, backward = through(times), through(transpose_times)
    operator = LinearOperator(
        shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=dtype
    )
    triplets = _lanczos(operator, rank, rng, dtype)
    left, values, right_t = (xp.asarray(part, **like(example)) for part in triplets)
    return left, values, xp.matrix_transpose(right_t)


def approximate_svd_by_products(
    times: Callable[[Array], Array],
    transpose_times: Callable[[Array], Array],
    shape: tuple[int, int],
    rank: int,
    rng: np.random.Generator,
    example: Array,
) -> Triplets:
    """Like ``leading_svd_by_products``, but a large G is decomposed approximately.

    It takes a few subspace iterations from random vectors, whatever the singular values are; the
    Lanczos method takes long where they are close to each other.
    """
    if not _is_large(shape, rank):
        return leading_svd_by_products(times, transpose_times, shape, rank, rng, example)
    xp = namespace(example)
    left, values, right_t = _subspace_iterations(
        times,
        transpose_times,
        xp.asarray(rng.standard_normal((shape[1], rank + _MORE_VECTORS)), **like(example)),
    )
    return left[:, :rank], values[:rank], xp.matrix_transpose(right_t)[:, :rank]


def _by_subspace_iterations(matrix: Array, rank: int) -> Triplets:
    """(left, values, rightᵀ), approximately, of a NumPy matrix; the same for the same matrix.

    The products are so small that BLAS computes them in one thread up to about 150 × 120. Its other
    threads would spin for a tenth of a second, while the next kernels need the cores.
    """
    rng = np.random.default_rng(0)
    start = rng.standard_normal((matrix.shape[1], rank + _MORE_VECTORS)).astype(matrix.dtype)
    return _subspace_iterations(lambda V: matrix @ V, lambda U: matrix.T @ U, start)


def _subspace_iterations(
    times: Callable[[Array], Array], transpose_times: Callable[[Array], Array], V: Array
) -> Triplets:
    """(left, values, rightᵀ) of approximate triplets, one for each column of V."""
    xp = namespace(V)
    for _ in range(_SUBSPACE_ITERATIONS):
        U = xp.linalg.qr(times(V))[0]
        V = xp.linalg.qr(transpose_times(U))[0]
    left, values, right_t = thin_svd(times(V))
    return left, values, right_t @ xp.matrix_transpose(V)


def _is_large(shape: tuple[int, ...], rank: int) -> bool:
    return min(shape) > max(_DENSE_LIMIT, 8 * rank)


def _lanczos(matrix: Any, rank: int, rng: np.random.Generator, dtype: Any) -> Triplets:
    """(left, values, rightᵀ), largest first, of a NumPy matrix or a scipy LinearOperator."""
    from scipy.sparse.linalg import svds

    start = rng.standard_normal(min(matrix.shape)).astype(dtype)
    left, values, right_t = svds(matrix, k=rank, v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order], right_t[order]
