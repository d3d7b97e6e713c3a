"""Products of matrices and vectors over any number of leading axes."""

from __future__ import annotations

from robustrank.backend import Array, namespace


def matvec(matrix: Array, vector: Array) -> Array:
    """matrix · vector."""
    return matrix @ vector if matrix.ndim == 2 else (matrix @ vector[..., None])[..., 0]


def vecmat(vector: Array, matrix: Array) -> Array:
    """vectorᵀ · matrix. The form ``matrix.T @ vector`` is up to 25 times slower on JAX."""
    return vector @ matrix if matrix.ndim == 2 else (vector[..., None, :] @ matrix)[..., 0, :]


def scale_columns(matrix: Array, values: Array) -> Array:
    """matrix · diag(values): the columns scaled."""
    return matrix * values[..., None, :]


def weighted(values: Array, weights: Array) -> Array:
    """weights · values, where a value of weight zero counts as zero even if it is infinite."""
    xp = namespace(values)
    return weights * xp.where(weights > 0, values, 0.0)
