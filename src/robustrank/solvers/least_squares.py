"""Damped, weighted least squares on a tangent map, by conjugate gradients."""

from __future__ import annotations

from robustrank.backend import Array
from robustrank.conjugate_gradients import conjugate_gradients
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
    right = tangent.adjoint(trusted(target, weights))

    def normal(W: Array) -> Array:
        return tangent.gram(weights, W) + damping * W

    approximations = conjugate_gradients(normal, right)
    W, energy = next(approximations)
    enough = float(energy) * tolerance**2
    for _ in range(max_iterations):
        if float(energy) <= enough:
            break
        W, energy = next(approximations)
    return W
