"""Damped, weighted least squares on a tangent map."""

from __future__ import annotations

import math

from robustrank.backend import Array, like, namespace, on_card, solve_positive
from robustrank.conjugate_gradients import conjugate_gradients
from robustrank.operators import Tangent, UnstoredTangent

# On a card a factorisation takes as long as a few products that are each launched from Python, as
# long as the matrix is not too large.
_DIRECT_SIZE = 3000
_MAX_ITERATIONS = 200


def damped_least_squares(
    tangent: Tangent | UnstoredTangent,
    bases: tuple[Array, Array],
    weights: Array,
    target: Array,
    damping: Array,
    tolerance: Array,
    steps: int = _MAX_ITERATIONS,
) -> Array:
    """The W that minimises Σ w_i (J(W)_i − target_i)² + damping ‖W‖², to a relative tolerance.

    ``bases`` are the orthonormal ones that the tangent was taken at. All may have a leading axis.
    """
    seen = tangent.adjoint(weights * target)
    if isinstance(tangent, UnstoredTangent) or not directly_is_faster(seen):
        return iteratively(tangent, weights, seen, damping, tolerance, steps)
    xp = namespace(seen)
    W = directly(tangent, bases, weights, seen, damping)
    # Without stopping to look: where it failed, a step along the gradient, as long as if the
    # normal equations were what they are in the mean.
    gradient = seen / (xp.sum(weights, axis=-1) + damping)[..., None, None]
    return xp.where(xp.isfinite(W), W, gradient)


def directly_is_faster(seen: Array) -> bool:
    """Whether a factorisation is faster than conjugate gradients, for such a right-hand side."""
    return on_card(seen) and math.prod(seen.shape[-2:]) <= _DIRECT_SIZE


def iteratively(
    tangent: Tangent | UnstoredTangent,
    weights: Array,
    seen: Array,
    damping: Array,
    tolerance: Array,
    steps: int = _MAX_ITERATIONS,
) -> Array:
    """The W with J*(w J(W)) + damping W = ``seen``, by conjugate gradients on the normal equations.

    The stored map stays in cache, and its Gram matrix is close to a multiple of the identity, so
    that few products are needed.
    """
    xp = namespace(seen)

    def normal(W: Array) -> Array:
        return tangent.gram(weights, W) + damping[..., None, None] * W

    approximations = conjugate_gradients(normal, seen)
    W, energy = next(approximations)
    enough = energy * tolerance**2
    found = energy <= enough
    for _ in range(steps):
        if bool(xp.all(found)):
            break
        closer, energy = next(approximations)
        W = xp.where(found[..., None, None], W, closer)
        found = found | (energy <= enough)  # for good, whatever rounding makes of it later
    return W


def directly(
    tangent: Tangent,
    bases: tuple[Array, Array],
    weights: Array,
    seen: Array,
    damping: Array,
) -> Array:
    """The same by a Cholesky factorisation; NaN where rounding makes it fail.

    Some directions move the factors and not the matrix, and no measurement sees them. The solution
    has no part in them, so that making them as stiff as the others changes nothing else.
    """
    xp = namespace(seen)
    idle = _idle_directions(*bases)
    stiffness = xp.sum(weights, axis=-1)[..., None, None]
    matrix = tangent.normal_matrix(weights)
    matrix += xp.matrix_transpose(idle) @ (stiffness * idle)
    matrix += damping[..., None, None] * xp.eye(matrix.shape[-1], **like(seen))
    return tangent.from_vector(solve_positive(matrix, tangent.as_vector(seen)))


def _idle_directions(left: Array, right: Array) -> Array:
    """(r², r (n1 + n2)) orthonormal: W = [left E; −right Eᵀ] as a vector, for every unit E."""
    xp = namespace(left)
    r = left.shape[-1]
    eye = xp.eye(r, **like(left))
    # Over (i, j) for E = e_i e_jᵀ, then the column of W, then its row.
    upper = eye[None, :, :, None] * xp.matrix_transpose(left)[..., :, None, None, :]
    lower = eye[:, None, :, None] * xp.matrix_transpose(right)[..., None, :, None, :]
    both = xp.concat([upper, -lower], axis=-1) / math.sqrt(2)
    return xp.reshape(both, (*left.shape[:-2], r * r, -1))
