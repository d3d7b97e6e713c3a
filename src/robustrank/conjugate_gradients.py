"""The one recursion of conjugate gradients; who uses it says when it is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from robustrank.backend import Array, namespace


def conjugate_gradients(
    normal: Callable[[Array], Array], right: Array
) -> Iterator[tuple[Array, Array]]:
    """Approximations W to the solution of normal(W) = right, the first being zero.

    Each comes with the squared norm of what is left of ``right``. W is a matrix, or many of them
    along leading axes; one that is found stays as it is.
    """
    W = namespace(right).zeros_like(right)
    rest, direction = right, right
    energy = _inner(rest, rest)
    while True:
        yield W, energy
        image = normal(direction)
        length = _ratio(energy, _inner(direction, image))
        W = W + length * direction
        rest = rest - length * image
        previous, energy = energy, _inner(rest, rest)
        direction = rest + _ratio(energy, previous) * direction


def _inner(a: Array, b: Array) -> Array:
    return namespace(a).sum(a * b, axis=(-2, -1))


def _ratio(a: Array, b: Array) -> Array:
    """a / b as a factor of matrices; zero where both are."""
    xp = namespace(a)
    return (a / xp.where(a == 0, xp.ones_like(b), b))[..., None, None]
