"""Is a group of rows separated from all others in one direction?

Rows that are wrong in the same way can be part of a normal distribution that is so wide in one
direction that none of them looks wrong. The projections of all rows to that direction are skewed
and have two peaks. From each of many rows, a direction is found by fixed-point iterations of
independent component analysis (Hyvärinen, 1999) for the skewness, and improved as in k-means: the
next direction is that to the mean of the group that the split of the projections yields.
"""

from __future__ import annotations

import numpy as np

from robustrank.tables.units import MEDIAN_SIZE, Mask, Values

_STARTS = 100  # rows from which a direction is searched
_SKEWED, _SPLITS = 8, 12  # iterations
_ROWS = 4  # for each column; with fewer, correct rows are separated in some direction
_FAR = 5.0  # robust deviations from the median
_MOST = 0.25  # of the rows; a larger group may be a class of its own
# By how much the group widens the distribution in its direction, relative to the variance of the
# others. Correct rows of normal numbers reach 4, of log-normal numbers 12.
_INFLATION = 16.0


def enough_rows(rows: int, columns: int) -> bool:
    """Whether rows are not separated in some direction by chance."""
    return columns > 0 and rows >= _ROWS * columns


def separated_rows(rows: Values) -> Mask:
    """The rows of a separated group, none if there is no such group; ``rows`` have no NaN."""
    none = np.zeros(len(rows), bool)
    if not enough_rows(*rows.shape):
        return none
    centered = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(rows))
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    white = centered @ (vectors[:, kept] / np.sqrt(values[kept]))
    projections = white @ _directions(white).T
    deviations = np.abs(projections - np.median(projections, axis=0))
    outlying = deviations * MEDIAN_SIZE / np.maximum(np.median(deviations, axis=0), 1e-9)
    far = outlying > _FAR
    share = far.mean(axis=0)
    typical = np.sum(np.where(far, outlying, 0.0), axis=0) / np.maximum(far.sum(axis=0), 1)
    inflation = np.where(share <= _MOST, share * typical**2, 0.0)
    best = int(inflation.argmax())
    return np.asarray(far[:, best]) if inflation[best] >= _INFLATION else none


def _directions(white: Values) -> Values:
    """Directions of unit length in which a smaller group of rows is apart, from many rows."""
    directions = _normalized(white[:: max(len(white) // _STARTS, 1)])
    for _ in range(_SKEWED):
        directions = _normalized((white @ directions.T).T ** 2 @ white)
    for _ in range(_SPLITS):
        directions = _normalized(_apart(white @ directions.T).T @ white)
    return directions


def _apart(projections: Values) -> Values:
    """One for the largest projections, split so that the variance between groups grows most."""
    count = len(projections)
    order = np.argsort(-projections, axis=0)
    size = np.arange(1, max(int(_MOST * count), 1) + 1)[:, None]
    sums = np.cumsum(np.take_along_axis(projections, order[: len(size)], axis=0), axis=0)
    best = 1 + np.argmax(sums**2 / size / (count - size), axis=0)
    ranks = np.argsort(order, axis=0)
    return np.asarray((ranks < best).astype(float))


def _normalized(vectors: Values) -> Values:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))
