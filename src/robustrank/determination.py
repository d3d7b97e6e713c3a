"""Whether the measurements that an answer rests on pin it down, and check each other."""

from __future__ import annotations

import math

import numpy as np

from robustrank.backend import Array, epsilon, frobenius_norm, like, namespace
from robustrank.conjugate_gradients import conjugate_gradients
from robustrank.least_squares import damped_least_squares, directly, directly_is_faster
from robustrank.operators import Tangent, UnstoredTangent
from robustrank.theory import degrees_of_freedom

# Exact arithmetic would need one step for each degree of freedom at most.
_STEPS_PER_DEGREE = 2
# Chance meets one in ten thousand as closely as this, one in a hundred in single precision; never
# the same one so many times.
_MET, _ROUNDINGS, _PROBES = 1e-4, 1e5, 5


Linearised = Tangent | UnstoredTangent


def pins_down(tangent: Linearised, left: Array, right: Array, rests_on: Array) -> bool:
    """Whether no direction can be moved in without some measurement in ``rests_on`` noticing.

    An answer may meet more measurements than it has degrees of freedom and still be wrong, if they
    say nothing about some part of it: sampled entries that leave out a row, say. A random change of
    the answer is sought again from what those measurements see of it; conjugate gradients find all
    of it, or never the part that they do not see. ``left`` and ``right`` are the orthonormal bases
    that the tangent was taken at, ``rests_on`` is (m,), one or zero.
    """
    sought = _random_change(left, right)
    norm = namespace(left).linalg.vector_norm
    freedom = degrees_of_freedom(left.shape[0], right.shape[0], left.shape[1])
    # The part in a single unseen direction would be about 1/√d; chance makes it a thousandth.
    enough = 1e-3 / math.sqrt(freedom) + 100 * epsilon(left)

    def seen(W: Array) -> Array:
        return tangent.gram(rests_on, W)

    target = seen(sought)
    if isinstance(tangent, Tangent) and directly_is_faster(target):
        slight = epsilon(left) * namespace(rests_on).sum(rests_on)
        found = directly(tangent, (left, right), rests_on, target, slight)
        if float(norm(found - sought)) < enough:
            return True  # otherwise rounding may be to blame: see more closely
    approximations = conjugate_gradients(seen, target)
    found, energy = next(approximations)
    gone = float(energy) * epsilon(left) ** 2  # what is not found by then is not seen
    for _ in range(_STEPS_PER_DEGREE * freedom):
        if not float(energy) > gone:
            break
        found, energy = next(approximations)
        if float(norm(found - sought)) < enough:
            return True
    return False


def all_are_checked(tangent: Linearised, left: Array, right: Array, rests_on: Array) -> bool:
    """Whether the others would notice if any single measurement in ``rests_on`` were wrong.

    Enough measurements may be met, and pin the answer down, while some part of it has no more than
    it needs: a row of which as many entries were sampled as the rank, say. That part meets them
    whatever they say. Measurements that say anything, at random, are fitted; what is met even then
    is checked by nothing.
    """
    xp = namespace(left)
    rng = np.random.default_rng(0)
    freedom = degrees_of_freedom(left.shape[0], right.shape[0], left.shape[1])
    met = max(_MET, _ROUNDINGS * epsilon(left))
    slight = epsilon(left) * xp.sum(rests_on)
    unchecked = rests_on > 0
    for _ in range(_PROBES):
        anything = xp.asarray(rng.standard_normal(rests_on.shape[0]), **like(left))
        W = damped_least_squares(
            tangent,
            (left, right),
            rests_on,
            anything,
            slight,
            tolerance=xp.asarray(0.01 * met, **like(left)),
            steps=_STEPS_PER_DEGREE * freedom,
        )
        unchecked = unchecked & (xp.abs(anything - tangent.apply(W)) < met)
        if not bool(xp.any(unchecked)):
            return True
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
    return W / frobenius_norm(W)
