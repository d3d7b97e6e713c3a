"""Conjugate gradients as an iterator: the caller decides when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from robustrank.backend import Array, namespace


def conjugate_gradient_iterates(
    normal: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array] = lambda residual: residual,
) -> Iterator[tuple[Array, Array]]:
    """Approximations W to the solution of normal(W) = right, starting with zero.

    Each comes with the squared norm of its residual, in the norm of the preconditioner. W is a
    matrix, or many of them along leading axes; a matrix no longer changes if its residual is zero
    or ``normal`` maps it to zero. ``precondition`` is an approximate inverse of ``normal``.
    """
    W = namespace(right).zeros_like(right)
    residual = right
    direction = precondition(residual)
    energy = _inner(residual, direction)
    while True:
        yield W, energy
        image = normal(direction)
        length = _ratio(energy, _inner(direction, image))
        W = W + length * direction
        residual = residual - length * image
        improved = precondition(residual)
        previous, energy = energy, _inner(residual, improved)
        direction = improved + _ratio(energy, previous) * direction


def _inner(a: Array, b: Array) -> Array:
    if type(a) is np.ndarray and a.ndim == 2:  # in a tenth of the time
        return np.asarray(np.vdot(a, b))
    return namespace(a).sum(a * b, axis=(-2, -1))


def _ratio(a: Array, b: Array) -> Array:
    """a / b as a factor of matrices; zero where b is zero."""
    if type(b) is np.ndarray and b.ndim == 0:
        return a / b if b else 0.0
    xp = namespace(a)
    nonzero = b != 0
    ratio = a / xp.where(nonzero, b, xp.ones_like(b))
    return xp.where(nonzero, ratio, xp.zeros_like(ratio))[..., None, None]
