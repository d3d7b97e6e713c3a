"""Damped, weighted least squares on a tangent map, by conjugate gradients."""

from __future__ import annotations

from robustrank.backend import Array, namespace
from robustrank.operators import Tangent
from robustrank.trust import trusted


def damped_least_squares(
    tangent: Tangent,
    weights: Array,
    target: Array,
    damping: float,
    tolerance: float,
    max_iterations: int = 200,
) -> Array:
    """The W that minimises Σ w_i (J(W)_i − target_i)² + damping ‖W‖², to a relative tolerance.

    Conjugate gradients on the normal equations: the stored map stays in cache, and its Gram matrix
    is close to a multiple of the identity, so that few products are needed.
    """
    vdot = namespace(target).vecdot
    right = tangent.adjoint(trusted(target, weights))

    def normal(W: Array) -> Array:
        return tangent.gram(weights, W) + damping * W

    def inner(a: Array, b: Array) -> Array:
        xp = namespace(a)
        return vdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))

    W = namespace(target).zeros_like(right)
    rest, direction = right, right
    energy = inner(rest, rest)
    enough = float(energy) * tolerance**2
    for _ in range(max_iterations):
        if float(energy) <= enough:
            break
        image = normal(direction)
        length = energy / inner(direction, image)
        W = W + length * direction
        rest = rest - length * image
        previous, energy = energy, inner(rest, rest)
        direction = rest + energy / previous * direction
    return W
