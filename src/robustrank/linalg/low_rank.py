"""Low-rank matrices: the leading part of a matrix, and matrices of fixed rank as a manifold.

The leading singular triplets are those of an array, or of a matrix given by its products. Matrices
of fixed rank are points of a manifold, with its dimension, retraction and distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, is_numpy, like, namespace, on_gpu, thin_svd, to_numpy
from robustrank.linalg.vectors import scale_columns

Triplets = tuple[Array, Array, Array]  # left n1 × rank, values, right n2 × rank
Factors = tuple[Array, Array]  # (U, V), standing for U Vᵀ

# Below this size a thin dense SVD is faster than a Lanczos one.
_DENSE_LIMIT = 600
# Of the approximate decomposition: vectors beyond the rank, and iterations.
_MORE_VECTORS, _SUBSPACE_ITERATIONS = 8, 5
# A matrix with fewer rows or columns than four times these vectors is decomposed exactly.
_FEW_SUBSPACES = 4
# Factors on a GPU with at most 65,536 entries are moved to the host and back for a retraction.
_SMALL_ON_GPU = 2**16


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
    *,
    approximate: bool = False,
) -> Triplets:
    """The same for a matrix G that is known only through G·V and Gᵀ·U, as arrays like ``example``.

    A small G is formed by multiplying the identity; a large one goes through Lanczos, whose
    vectors are kept in NumPy. If the triplets may be ``approximate``, it takes a few subspace
    iterations from random vectors instead, whatever the singular values are; the Lanczos method
    takes long where they are close to each other.
    """
    xp = namespace(example)
    n1, n2 = shape
    if not _is_large(shape, rank):
        if n2 <= n1:
            return leading_svd(times(xp.eye(n2, **like(example))), rank, rng)
        transposed = transpose_times(xp.eye(n1, **like(example)))
        return leading_svd(xp.matrix_transpose(transposed), rank, rng)
    if approximate:
        left, values, right_t = _subspace_iterations(times, transpose_times, n2, rank, rng, example)
        return left[:, :rank], values[:rank], xp.matrix_transpose(right_t)[:, :rank]
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


def _by_subspace_iterations(matrix: Array, rank: int) -> Triplets:
    """(left, values, rightᵀ), approximately, of a NumPy matrix; the same for the same matrix.

    The products are so small that BLAS computes them in one thread up to about 150 × 120. Its other
    threads would spin for a tenth of a second, while the next kernels need the cores.
    """
    rng, columns = np.random.default_rng(0), matrix.shape[1]
    return _subspace_iterations(
        lambda V: matrix @ V, lambda U: matrix.T @ U, columns, rank, rng, matrix
    )


def _subspace_iterations(
    times: Callable[[Array], Array],
    transpose_times: Callable[[Array], Array],
    columns: int,
    rank: int,
    rng: np.random.Generator,
    example: Array,
) -> Triplets:
    """(left, values, rightᵀ) of approximate triplets, a few more than the rank."""
    xp = namespace(example)
    V = xp.asarray(rng.standard_normal((columns, rank + _MORE_VECTORS)), **like(example))
    for _ in range(_SUBSPACE_ITERATIONS):
        U = xp.linalg.qr(times(V))[0]
        V = xp.linalg.qr(transpose_times(U))[0]
    left, values, right_t = thin_svd(times(V))
    return left, values, right_t @ xp.matrix_transpose(V)


def _is_large(shape: tuple[int, ...], rank: int) -> bool:
    return min(shape) > max(_DENSE_LIMIT, 2 * _FEW_SUBSPACES * rank)


def _lanczos(matrix: Any, rank: int, rng: np.random.Generator, dtype: Any) -> Triplets:
    """(left, values, rightᵀ), largest first, of a NumPy matrix or a scipy LinearOperator."""
    from scipy.sparse.linalg import svds

    start = rng.standard_normal(min(matrix.shape)).astype(dtype)
    left, values, right_t = svds(matrix, k=rank, v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order], right_t[order]


@dataclass(frozen=True, eq=False)
class Point:
    """A low-rank matrix left · diag(values) · rightᵀ with orthonormal left and right.

    Arrays may have a leading axis of problems.
    """

    left: Array  # n1 × r
    values: Array  # (r,), largest first
    right: Array  # n2 × r

    @property
    def scaled_left(self) -> Array:
        """left · diag(values), so that the matrix is scaled_left · rightᵀ."""
        return scale_columns(self.left, self.values)

    @property
    def balanced(self) -> Factors:
        """The factors (left, right) · diag(√values)."""
        root = namespace(self.values).sqrt(self.values)
        return scale_columns(self.left, root), scale_columns(self.right, root)

    def truncated(self, rank: int) -> Point:
        """The leading components: the best approximation of a lower rank."""
        kept = (..., slice(rank))
        return Point(self.left[kept], self.values[kept], self.right[kept])


def degrees_of_freedom(n1: int, n2: int, rank: int) -> int:
    """The number of free parameters of an n1 × n2 matrix of rank r: r (n1 + n2 − r).

    With fewer inliers than that, no method can recover the matrix.

    Parameters
    ----------
    n1, n2, rank
        The shape and the rank of the matrix.

    See Also
    --------
    robustrank.theory.symmetric_degrees_of_freedom : The same for a symmetric matrix.
    robustrank.plan : How many measurements are needed.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.theory.degrees_of_freedom(150, 120, rank=5)
    1325
    """
    return rank * (n1 + n2 - rank)


def symmetric_degrees_of_freedom(n: int, rank: int) -> int:
    """The number of free parameters of a symmetric n × n matrix of rank r: r n − r (r − 1)/2.

    Parameters
    ----------
    n, rank
        The number of rows and the rank of the matrix.

    See Also
    --------
    robustrank.theory.degrees_of_freedom : The same for any matrix.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.theory.symmetric_degrees_of_freedom(100, rank=3)
    297
    """
    return rank * n - rank * (rank - 1) // 2


def point_of(U: Array, V: Array) -> Point:
    """The point U Vᵀ for any factors."""
    xp = namespace(U)
    left_q, left_r = xp.linalg.qr(U)
    right_q, right_r = xp.linalg.qr(V)
    u, values, vt = xp.linalg.svd(left_r @ xp.matrix_transpose(right_r), full_matrices=False)
    return Point(left=left_q @ u, values=values, right=right_q @ xp.matrix_transpose(vt))


def symmetric_point(U: Array, V: Array) -> Point:
    """The symmetric part of U Vᵀ, of the same rank, over leading axes.

    Its right factor is the left one with the signs of the eigenvalues.
    """
    xp, r = namespace(U), U.shape[-1]
    transposed = xp.matrix_transpose
    basis, _ = xp.linalg.qr(xp.concat([U, V], axis=-1))
    core = (transposed(basis) @ U) @ (transposed(V) @ basis)
    finite = xp.all(xp.isfinite(core), axis=(-2, -1))[..., None]
    core = xp.where(finite[..., None], core + transposed(core), xp.zeros_like(core)) / 2
    eigenvalues, vectors = xp.linalg.eigh(core)
    largest = xp.argsort(-xp.abs(eigenvalues), axis=-1)[..., :r]
    eigenvalues = xp.take_along_axis(eigenvalues, largest, axis=-1)
    vectors = xp.take_along_axis(vectors, largest[..., None, :], axis=-1)
    eigenvalues = xp.where(finite, eigenvalues, xp.full_like(eigenvalues, xp.nan))
    signs = xp.where(eigenvalues < 0, -xp.ones_like(eigenvalues), xp.ones_like(eigenvalues))
    both = basis @ vectors
    return Point(both, xp.abs(eigenvalues), scale_columns(both, signs))


# A solver has converged when the matrix changes by less than this in a step, relative to its size.
# With quadratic convergence, the error is then about the square of that change.
TOLERANCE = 1e-6


def relative_length(W: Array, point: Point) -> float:
    """The length of a step W relative to the norm of a matrix; zero if that is zero."""
    norm = namespace(W).linalg.vector_norm
    size = float(norm(point.values))
    return float(norm(W)) / size if size > 0 else 0.0


def retract(point: Point, W: Array, rank: int) -> Point:
    """The best approximation of the given rank to point + dU rightᵀ + left dVᵀ, W = [dU; dV].

    The sum has rank 2r at most: thin QRs of the two n × 2r blocks leave a 2r × 2r SVD. If W is not
    finite, the result is NaN.
    """
    if W.ndim == 2 and on_gpu(W) and math.prod(W.shape) <= _SMALL_ON_GPU:
        return _retract_on_host(point, W, rank)
    xp = namespace(W)
    n1, r = point.left.shape[-2:]
    left_q, left_r = xp.linalg.qr(xp.concat([point.left, W[..., :n1, :]], axis=-1))
    right_q, right_r = xp.linalg.qr(xp.concat([point.right, W[..., n1:, :]], axis=-1))
    # The sum is [left dU] · core · [right dV]ᵀ with core = [[diag(values), 1], [1, 0]].
    from_left, from_dU = left_r[..., :r], left_r[..., r:]
    upper = scale_columns(from_left, point.values) + from_dU
    core = xp.concat([upper, from_left], axis=-1) @ xp.matrix_transpose(right_r)
    u, values, v = svd_or_nan(core, rank)
    return Point(left=left_q @ u, values=values, right=right_q @ v)


def _retract_on_host(point: Point, W: Array, rank: int) -> Point:
    """The same in host memory, where decompositions of small matrices take a tenth of the time."""
    n1, r = point.left.shape
    xp = namespace(W)
    values = xp.zeros((1, r), **like(W)) + point.values
    rows = to_numpy(xp.concat([W, point.left, point.right, values], axis=0))  # one transfer
    sizes = np.cumsum([W.shape[0], n1, point.right.shape[0]])
    moved, left, right, (singular,) = np.split(rows, sizes)
    found = retract(Point(left, singular, right), moved, rank)
    packed = np.concatenate([found.left, found.right, found.values[None, :]])
    back = xp.asarray(packed, **like(W))
    return Point(left=back[:n1, :], values=back[-1, :], right=back[n1:-1, :])


def distance(one: Point, other: Point) -> Array:
    """The Frobenius norm of the difference of two low-rank matrices, without forming them."""
    xp = namespace(one.left)
    overlap = xp.sum(
        (xp.matrix_transpose(one.scaled_left) @ other.left)
        * (xp.matrix_transpose(one.right) @ scale_columns(other.right, other.values)),
        axis=(-2, -1),
    )
    squares = xp.sum(one.values**2, axis=-1) + xp.sum(other.values**2, axis=-1) - 2 * overlap
    return xp.sqrt(xp.clip(squares, min=0.0))
