"""Back to rank r after a step along the tangent space."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.backend import Array, like, namespace


@dataclass(frozen=True, eq=False)
class Point:
    """A matrix of low rank as left · diag(values) · rightᵀ, the bases orthonormal."""

    left: Array  # n1 × r
    values: Array  # (r,), largest first
    right: Array  # n2 × r


def retract(point: Point, W: Array, rank: int) -> Point:
    """The best approximation of the given rank to point + dU rightᵀ + left dVᵀ, W = [dU; dV].

    The sum has rank 2r at most: thin QRs of the two n × 2r blocks leave a 2r × 2r SVD.
    """
    xp = namespace(W)
    n1, r = point.left.shape
    left_q, left_r = xp.linalg.qr(xp.concat([point.left, W[:n1, :]], axis=1))
    right_q, right_r = xp.linalg.qr(xp.concat([point.right, W[n1:, :]], axis=1))
    # [left dU] · core · [right dV]ᵀ is the sum, with the core below.
    identity, zero = xp.eye(r, **like(W)), xp.zeros((r, r), **like(W))
    upper = xp.concat([identity * point.values, identity], axis=1)
    core = xp.concat([upper, xp.concat([identity, zero], axis=1)], axis=0)
    u, values, vt = xp.linalg.svd(left_r @ core @ xp.matrix_transpose(right_r), full_matrices=False)
    return Point(left_q @ u[:, :rank], values[:rank], right_q @ xp.matrix_transpose(vt[:rank, :]))
