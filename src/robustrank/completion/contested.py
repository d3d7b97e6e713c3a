"""Rows and columns that a second answer explains nearly as well: the one with the opposite sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.completion.sample import Sample

Vector = np.ndarray[Any, Any]

# A row is contested if more than this share of as many entries as it fits would fit with the
# opposite sign; and the whole matrix, if more than the second number would.
_CONTESTED, _ALL_CONTESTED = 0.5, 0.4
# An entry tells the sign if it is larger than this many times the largest residual of an inlier.
_TELLING = 3.0


def contested(
    sample: Sample, factors: tuple[Array, Array], inliers: Vector, cutoff: float
) -> tuple[Vector, Vector]:
    """Which rows and which columns are contested; all of them if the matrix is.

    ``inliers`` is in the order of the rows, and ``cutoff`` the largest residual of an inlier.
    """
    xp = namespace(sample.row_values)
    predicted = sample.by_rows.dot(*factors)
    telling = to_numpy(xp.abs(predicted) > _TELLING * cutoff)
    opposite = to_numpy(xp.abs(sample.row_values + predicted) <= cutoff) & ~inliers & telling
    fitted = inliers & telling
    sides = (sample.by_rows.owners, sample.shape[0]), (sample.by_rows.others, sample.shape[1])
    if np.sum(opposite) > _ALL_CONTESTED * np.sum(fitted):
        return np.ones(sample.shape[0], bool), np.ones(sample.shape[1], bool)
    found = []
    for index, size in sides:
        own = to_numpy(index)
        against, support = (np.bincount(own[which], minlength=size) for which in (opposite, fitted))
        found.append(against > _CONTESTED * support)
    return found[0], found[1]
