"""How much the measurements depend on each row and column of the matrix."""

from __future__ import annotations

from robustrank.backend import Array, like, namespace


def share_maxima(rows: Array, chosen: Array) -> Array:
    """The largest share in a measurement of each row and column of the matrix, (n1 + n2,).

    ``rows`` is a part of a tangent map, (m, r, n1 + n2); ``chosen`` is positive for the
    measurements that count.
    """
    xp = namespace(rows)
    shares = _shares(rows)
    return xp.max(xp.where((chosen > 0)[:, None], shares, xp.zeros_like(shares)), axis=0)


def share_counts(rows: Array, least: Array, weights: Array) -> Array:
    """Σ of the weights of the measurements in which a share is larger than ``least``.

    ``weights`` is (k, m), ``least`` is (n1 + n2,) and the result is (k, n1 + n2).
    """
    xp = namespace(rows)
    larger = _shares(rows) > xp.astype(least, rows.dtype, copy=False)
    return weights @ xp.astype(larger, weights.dtype)


def _shares(rows: Array) -> Array:
    """The energy ‖row a of A_i V‖², or ‖row b of A_iᵀ U‖², over their sum; (m, n1 + n2)."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=(-2, -1), keepdims=True)
    unit = xp.where(largest > 0, largest, xp.ones_like(largest))  # so that no square overflows
    energies = xp.sum((rows / unit) ** 2, axis=-2)
    total = xp.sum(energies, axis=-1, keepdims=True)
    return energies / xp.where(total > 0, total, xp.ones(total.shape, **like(total)))
