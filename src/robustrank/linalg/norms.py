"""Matrix norms that neither overflow nor underflow."""

from __future__ import annotations

from robustrank.backend import Array, like, namespace


def frobenius_norm(array: Array) -> Array:
    """The root of the sum of squares, for entries of any size that the dtype can hold."""
    xp = namespace(array)
    flat = xp.reshape(array, (-1,))
    largest = xp.max(xp.abs(flat))
    safe = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    return safe * xp.linalg.vector_norm(flat / safe)


def spectral_norm(tall: Array) -> Array:
    """The largest singular value of a thin matrix; NaN if the matrix is not finite."""
    xp = namespace(tall)
    if not bool(xp.all(xp.isfinite(tall))):
        return xp.asarray(xp.nan, **like(tall))
    return xp.max(xp.linalg.svdvals(tall))
