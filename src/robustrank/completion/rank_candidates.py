"""Ranks to try, from the singular values on the way along the ridge path, and surplus ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.linalg import Point

# Smaller singular values, relative to the largest one, are replaced by this: gaps below it do not
# count.
_SMALLEST = 1e-3
# A gap is a ratio of neighboring singular values of at least 1.4. The largest rank has no next
# value to compare with; it is tried after the ranks with a gap of more than 1.6.
_GAP, _CLEAR_GAP = 1.4, 1.6
_MOST = 4
# A vector is confined if it takes part in fewer than this share of the rows; that share is one
# third for normal numbers. In fewer than half of the columns, a component is smaller than others.
_CONFINED, _SMALLER = 0.3, 0.75
_STRICTLY_CONFINED = 0.15


def candidate_ranks(singular_values: np.ndarray[Any, Any]) -> list[int]:
    """The ranks after which the singular values have the largest gaps, and their number."""
    values = np.maximum(singular_values, _SMALLEST * singular_values[0])
    rank = len(values)
    ratios = {k: float(values[k - 1] / values[k]) for k in range(1, rank)}
    ratios[rank] = _CLEAR_GAP
    gaps = [k for k, ratio in ratios.items() if ratio >= _GAP]
    return sorted(gaps, key=lambda k: -ratios[k])[:_MOST]


def is_confined(point: Point) -> bool:
    """Whether the last of several components may be confined to few rows or few columns."""
    before, last = to_numpy(point.values)[-2:]
    if last > _SMALLER * before:
        return False
    sides = point.left, point.right
    return any(_participation(to_numpy(side)[:, -1]) < _CONFINED for side in sides)


def confined_components(point: Point) -> list[int]:
    """The components that are confined to few rows or few columns, the most confined first."""
    shares = {
        k: min(_participation(to_numpy(side)[:, k]) for side in (point.left, point.right))
        for k in range(int(point.values.shape[0]))
    }
    return sorted((k for k in shares if shares[k] < _STRICTLY_CONFINED), key=lambda k: shares[k])


def _participation(vector: np.ndarray[Any, Any]) -> float:
    """The share of the entries of a vector that are not negligible, about."""
    squares = vector.astype(float) ** 2
    return float(np.sum(squares) ** 2 / (len(squares) * max(np.sum(squares**2), 1e-300)))
