"""Back to rank r after a step along the tangent space."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.backend import Array, diagonal_times, namespace


@dataclass(frozen=True, eq=False)
class Point:
    """A matrix of low rank as left · diag(values) · rightᵀ, the bases orthonormal.

    Or many of them, along a leading axis.
    """

    left: Array  # n1 × r
    values: Array  # (r,), largest first
    right: Array  # n2 × r


def retract(point: Point, W: Array, rank: int) -> Point:
    """The best approximation of the given rank to point + dU rightᵀ + left dVᵀ, W = [dU; dV].

    The sum has rank 2r at most: thin QRs of the two n × 2r blocks leave a 2r × 2r SVD.
    """
    xp = namespace(W)
    n1, r = point.left.shape[-2:]
    left_q, left_r = xp.linalg.qr(xp.concat([point.left, W[..., :n1, :]], axis=-1))
    right_q, right_r = xp.linalg.qr(xp.concat([point.right, W[..., n1:, :]], axis=-1))
    # [left dU] · core · [right dV]ᵀ is the sum, core being [[diag(values), 1], [1, 0]].
    from_left, from_dU = left_r[..., :r], left_r[..., r:]
    upper = diagonal_times(from_left, point.values) + from_dU
    core = xp.concat([upper, from_left], axis=-1) @ xp.matrix_transpose(right_r)
    u, values, vt = xp.linalg.svd(core, full_matrices=False)
    right = right_q @ xp.matrix_transpose(vt[..., :rank, :])
    return Point(left_q @ u[..., :rank], values[..., :rank], right)
