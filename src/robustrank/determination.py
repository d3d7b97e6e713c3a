"""Whether the measurements that an answer rests on pin it down."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from robustrank.backend import Array, epsilon, like, namespace

# Exact arithmetic would need one step for each degree of freedom at most.
_STEPS_PER_DEGREE = 2


class Linearised(Protocol):
    """The measurements linearised at an answer, as ``Tangent`` holds them."""

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W = [dU; dV]."""

    def gram(self, weights: Array, W: Array) -> Array:
        """The adjoint of ``apply`` on ``weights * apply(W)``."""


def pins_down(tangent: Linearised, left: Array, right: Array, rests_on: Array) -> bool:
    """Whether no direction can be moved in without some measurement in ``rests_on`` noticing.

    An answer may meet more measurements than it has degrees of freedom and still be wrong, if they
    say nothing about some part of it: sampled entries that leave out a row, say. A random change of
    the answer is sought again from what those measurements see of it; conjugate gradients find all
    of it, or never the part that they do not see. ``left`` and ``right`` are the orthonormal bases
    that the tangent was taken at, ``rests_on`` is (m,), one or zero.
    """
    xp = namespace(left)
    sought = _random_change(left, right)
    freedom = left.shape[1] * (left.shape[0] + right.shape[0] - left.shape[1])
    # The part in a single unseen direction would be about 1/√d; chance makes it a thousandth.
    enough = 1e-3 / math.sqrt(freedom) + 100 * epsilon(left)
    rest = tangent.gram(rests_on, sought)
    found, direction = xp.zeros_like(rest), rest
    energy = _inner(rest, rest)
    gone = energy * epsilon(left) ** 2  # what is not found by then is not seen
    for _ in range(_STEPS_PER_DEGREE * freedom):
        image = tangent.gram(rests_on, direction)
        curvature = _inner(direction, image)
        if not (curvature > 0 and energy > gone):
            break
        length = energy / curvature
        found = found + length * direction
        if math.sqrt(_inner(found - sought, found - sought)) < enough:
            return True
        rest = rest - length * image
        previous, energy = energy, _inner(rest, rest)
        direction = rest + energy / previous * direction
    return False


def _random_change(left: Array, right: Array) -> Array:
    """A random [dU; dV] of norm one, without the part that moves the factors and not the matrix."""
    xp = namespace(left)
    n1, r = left.shape
    rng = np.random.default_rng(0)
    W = xp.asarray(rng.standard_normal((n1 + right.shape[0], r)), **like(left))
    transpose = xp.matrix_transpose
    dU, dV = W[:n1, :], W[n1:, :]
    idle = (transpose(left) @ dU - transpose(dV) @ right) / 2
    W = xp.concat([dU - left @ idle, dV + right @ transpose(idle)], axis=0)
    return W / math.sqrt(_inner(W, W))


def _inner(a: Array, b: Array) -> float:
    return float(namespace(a).sum(a * b))
