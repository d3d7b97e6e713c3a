"""Matrices of fixed rank as points of a manifold: dimension, retraction and distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, like, namespace, on_gpu, to_numpy
from robustrank.linalg.svd import svd_or_nan
from robustrank.linalg.vectors import scale_columns

# Factors on a GPU with at most 65,536 entries are moved to the host and back for a retraction.
_SMALL = 2**16


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


def symmetric_factors(U: Array, V: Array) -> tuple[Array, Array]:
    """Factors (L, L diag(±1)) of the symmetric part of U Vᵀ, of the same rank."""
    xp, r = namespace(U), U.shape[-1]
    basis, _ = xp.linalg.qr(xp.concat([U, V], axis=-1))
    core = (xp.matrix_transpose(basis) @ U) @ (xp.matrix_transpose(V) @ basis)
    values, vectors = xp.linalg.eigh((core + xp.matrix_transpose(core)) / 2)
    largest = xp.argsort(-xp.abs(values))[:r]
    values, vectors = xp.take(values, largest), xp.take(vectors, largest, axis=1)
    left = scale_columns(basis @ vectors, xp.sqrt(xp.abs(values)))
    return left, scale_columns(left, xp.sign(values))


def retract(point: Point, W: Array, rank: int) -> Point:
    """The best approximation of the given rank to point + dU rightᵀ + left dVᵀ, W = [dU; dV].

    The sum has rank 2r at most: thin QRs of the two n × 2r blocks leave a 2r × 2r SVD. If W is not
    finite, the result is NaN.
    """
    if W.ndim == 2 and on_gpu(W) and math.prod(W.shape) <= _SMALL:
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
