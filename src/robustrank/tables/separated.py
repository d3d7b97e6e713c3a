"""Is a group of rows separated from all others in one direction?

Rows that are wrong in the same way can be part of a normal distribution that is so wide in one
direction that none of them looks wrong. The projections of all rows to that direction have two
peaks, and are skewed or have another kurtosis than normal numbers: such directions are found by
fixed-point iterations of independent component analysis (Hyvärinen, 1999), from many rows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from robustrank.tables.units import Mask, Values

_STARTS = 100  # rows from which a direction is searched
_STEPS = 20
_ROWS = 4  # for each column; with fewer, correct rows are separated in some direction
_FAR = 5.0  # robust deviations from the median
_MOST = 0.25  # of the rows; a larger group may be a class of its own
# By how much the group widens the distribution in its direction, relative to the variance of the
# others. Correct rows of normal numbers reach 4, of log-normal numbers 12.
_INFLATION = 16.0


def separated_rows(rows: Values) -> Mask:
    """The rows of a separated group, none if there is no such group; ``rows`` have no NaN."""
    none = np.zeros(len(rows), bool)
    if len(rows) < _ROWS * rows.shape[1]:
        return none
    centered = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(rows))
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    white = centered @ (vectors[:, kept] / np.sqrt(values[kept]))
    projections = white @ _directions(white).T
    deviations = np.abs(projections - np.median(projections, axis=0))
    outlying = deviations * ndtri(0.75) / np.maximum(np.median(deviations, axis=0), 1e-9)
    far = outlying > _FAR
    share = far.mean(axis=0)
    typical = np.sum(np.where(far, outlying, 0.0), axis=0) / np.maximum(far.sum(axis=0), 1)
    inflation = np.where(share <= _MOST, share * typical**2, 0.0)
    best = int(inflation.argmax())
    return np.asarray(far[:, best]) if inflation[best] >= _INFLATION else none


def _directions(white: Values) -> Values:
    """Directions of unit length in which the third or the fourth moment of rows is stationary."""
    starts = white[:: max(len(white) // _STARTS, 1)]
    skewed = kurtic = _normalized(starts)
    for _ in range(_STEPS):
        skewed = _normalized((white @ skewed.T).T ** 2 @ white)
        kurtic = _normalized((white @ kurtic.T).T ** 3 @ white / len(white) - 3 * kurtic)
    return np.vstack([skewed, kurtic])


def _normalized(vectors: Values) -> Values:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))
