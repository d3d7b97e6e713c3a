"""The solution of linear equations that most of them agree on."""

from __future__ import annotations

from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]

# Subsets of equations to try. With 40 % outliers and five unknowns, one of 13 has none.
_SUBSETS = 200
_ROUNDS = 2
_FEW = 50


def best_solution(
    V: Vector, values: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[Vector, int]:
    """The x for which most of |values − V x| are within the cutoff, and how many are."""
    V, values = V.astype(float), values.astype(float)  # the ridge is below the rounding of float32
    count, rank = V.shape
    if count <= _FEW:
        subsets = rng.permuted(np.tile(np.arange(count), (_SUBSETS, 1)), axis=1)[:, :rank]
    else:  # equal numbers are rare, and harmless
        subsets = rng.integers(count, size=(_SUBSETS, rank))
    matrices = V[subsets]
    # A tiny ridge, so that no matrix is singular.
    ridge = 1e-12 * np.trace(matrices @ matrices.transpose(0, 2, 1), axis1=1, axis2=2)
    normal = matrices.transpose(0, 2, 1) @ matrices
    normal += np.maximum(ridge, 1e-300)[:, None, None] * np.eye(rank)
    right = matrices.transpose(0, 2, 1) @ values[subsets][..., None]
    solutions = np.linalg.solve(normal, right)[..., 0]
    fits = np.abs(solutions @ V.T - values) <= cutoff
    best = int(np.argmax(np.sum(fits, axis=1)))
    solution, within = solutions[best], fits[best]
    for _ in range(_ROUNDS):  # least squares on what it fits
        refitted = np.linalg.lstsq(V[within], values[within], rcond=None)[0]
        more = np.abs(V @ refitted - values) <= cutoff
        if np.sum(more) < np.sum(within):
            break
        solution, within = refitted, more
    return solution, int(np.sum(within))
