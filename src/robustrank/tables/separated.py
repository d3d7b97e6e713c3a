"""Is a group of rows separated from all others in one direction?

Rows that are wrong in the same way can be part of a normal distribution that is so wide in one
direction that none of them looks wrong. The projections of all rows to that direction are skewed
and have two peaks. From each of many rows, a direction is found by fixed-point iterations of
independent component analysis (Hyvärinen, 1999) for the skewness. These directions and the
principal axes are improved as in k-means: the next direction is that to the mean of the group that
the split of the projections yields. A group as narrow as the other rows is recognized at a smaller
distance than a wide one, which can be the long tail of a skewed column.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from robustrank.tables.units import MEDIAN_SIZE, Mask, Values

_STARTS = 100  # rows from which a direction is searched
_SKEWED, _SPLITS = 8, 12  # iterations
_ROWS = 5  # for each column; with fewer, correct rows are separated in some direction
FAR = 5.0  # robust deviations from the median, which correct values hardly reach
_MOST = 0.25  # of the rows; a larger group may be a class of its own
_SURE = 0.95  # the probability that the variance of the group is not underestimated
# By how much the group widens the distribution in its direction, relative to the variance of the
# others or of the group, the larger of which counts. Correct rows of 60 random tables, 8 for each
# column, reach 1.0 (normal), 1.7 (t with 3 degrees of freedom) and 2.8 (log-normal).
_INFLATION = 3.0


def separated_rows(rows: Values) -> Mask:
    """The rows of a separated group, none if there is no such group; ``rows`` have no NaN."""
    none = np.zeros(len(rows), bool)
    if not rows.size or len(rows) < _ROWS * rows.shape[1]:
        return none
    centered = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(rows))
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    white = centered @ (vectors[:, kept] / np.sqrt(values[kept]))
    outlying = _outlying(_directions(white) @ white.T)
    far = outlying > FAR
    inflation = np.where(far.mean(axis=1) <= _MOST, _inflation(outlying, far), 0.0)
    best = int(inflation.argmax())
    return np.asarray(far[best]) if inflation[best] >= _INFLATION else none


def _outlying(projections: Values) -> Values:
    """How far projections, (k, n), are above their medians, in robust deviations."""
    above = projections - np.median(projections, axis=1, keepdims=True)
    deviations = np.median(np.abs(above), axis=1, keepdims=True) / MEDIAN_SIZE
    return np.asarray(above / np.maximum(deviations, 1e-9))


def _inflation(outlying: Values, far: Mask) -> Values:
    """By how much groups of rows widen the distribution; a single row is not a group.

    Their variances can be small by chance, so the largest that is plausible counts.
    """
    counts = far.sum(axis=1)
    means = np.sum(np.where(far, outlying, 0.0), axis=1) / np.maximum(counts, 1)
    squares = np.sum(np.where(far, outlying - means[:, None], 0.0) ** 2, axis=1)
    variances = np.maximum(squares / chdtri(np.maximum(counts - 1, 1), _SURE), 1.0)
    return np.where(counts > 1, counts / far.shape[1] * means**2 / variances, 0.0)


def _directions(white: Values) -> Values:
    """Directions of unit length in which a smaller group of rows is apart."""
    directions = _normalized(white[:: max(len(white) // _STARTS, 1)])
    for _ in range(_SKEWED):
        directions = _normalized((directions @ white.T) ** 2 @ white)
    axes = np.eye(white.shape[1])
    directions = np.vstack([directions, axes, -axes])
    for _ in range(_SPLITS):
        directions = _normalized(_apart(directions @ white.T) @ white)
    return directions


def _apart(projections: Values) -> Values:
    """One for the largest projections, split so that the variance between groups grows most."""
    count = projections.shape[1]
    size = np.arange(1, max(int(_MOST * count), 1) + 1)
    largest = np.sort(projections, axis=1)[:, ::-1][:, : len(size)]
    best = np.argmax(np.cumsum(largest, axis=1) ** 2 / size / (count - size), axis=1)
    return (projections >= np.take_along_axis(largest, best[:, None], axis=1)).astype(float)


def _normalized(vectors: Values) -> Values:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))
