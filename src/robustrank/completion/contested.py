"""Rows and columns that a second solution explains nearly as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.completion.consensus import best_solution
from robustrank.completion.sample import Sample

Vector = np.ndarray[Any, Any]

# A row is contested if a second solution fits at least one rejected entry for every two inliers
# that it loses, and two more than it has unknowns.
_COMPARABLE, _BEYOND = 0.5, 2
# Second solutions are looked for where at least one entry is rejected for every four inliers: with
# noise, some entries fit both.
_POSSIBLE = 0.25
# If none is found in 40 rows, the rejected entries do not agree. At most 2,000 rows are examined,
# because it takes long; the others count as contested.
_ENOUGH, _MOST = 40, 2000
# The whole matrix is contested if the entries with the opposite sign are more than this share of
# those that it fits.
_OPPOSITE = 0.4
# An entry tells the sign if it is larger than three times the largest residual of an inlier.
_TELLING = 3.0


def contested(
    sample: Sample,
    factors: tuple[Array, Array],
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> tuple[Vector, Vector]:
    """Which rows and which columns are contested; all of them if the matrix is.

    ``inliers`` is in the order of the rows, and ``cutoff`` the largest residual of an inlier.
    """
    if _fits_opposite_sign(sample, factors, inliers, cutoff):
        return np.ones(sample.shape[0], bool), np.ones(sample.shape[1], bool)
    P, Q = (to_numpy(factor) for factor in factors)
    in_columns = inliers[to_numpy(sample.row_places)]
    return (
        _contested_rows(sample, Q, inliers, cutoff, rng),
        _contested_rows(sample.transposed, P, in_columns, cutoff, rng),
    )


def _fits_opposite_sign(
    sample: Sample, factors: tuple[Array, Array], inliers: Vector, cutoff: float
) -> bool:
    """Whether a large share of the number that is fitted has the opposite sign."""
    xp = namespace(sample.row_values)
    predicted = sample.by_rows.dot(*factors)
    telling = to_numpy(xp.abs(predicted) > _TELLING * cutoff)
    opposite = to_numpy(xp.abs(sample.row_values + predicted) <= cutoff) & ~inliers & telling
    return bool(np.sum(opposite) > _OPPOSITE * np.sum(inliers & telling))


def _contested_rows(
    sample: Sample,
    Q: Vector,
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> Vector:
    """Which rows have another solution that the rejected entries agree on."""
    entries, rank = sample.by_rows, Q.shape[1]
    owners, others, starts = (
        to_numpy(at) for at in (entries.owners, entries.others, entries.starts)
    )
    values = to_numpy(sample.row_values)
    support = np.bincount(owners[inliers], minlength=entries.rows)
    rejected = np.diff(starts) - support
    possible = (rejected >= rank + _BEYOND) & (rejected >= _POSSIBLE * support)
    found = np.zeros(entries.rows, bool)
    candidates = np.flatnonzero(possible)
    candidates = candidates[np.argsort(-rejected[candidates], kind="stable")]
    for number, i in enumerate(candidates):
        if number >= _MOST:
            found[candidates[number:]] = True
        if number >= _MOST or (number >= _ENOUGH and not found.any()):
            break
        row = slice(int(starts[i]), int(starts[i + 1]))
        V, y, good = Q[others[row]], values[row], inliers[row]
        other, fitted = best_solution(V[~good], y[~good], cutoff, rng)
        lost = np.sum(good & (np.abs(y - V @ other) > cutoff))
        found[i] = fitted >= max(rank + _BEYOND, _COMPARABLE * lost)
    return found
