"""Where another solution fits nearly as many entries, and whether outliers agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robustrank.backend import namespace, to_numpy
from robustrank.certificate import COMPARABLE, EXTRA, OPPOSITE
from robustrank.completion.repair import MOST_ROWS, best_solution
from robustrank.completion.sample import MANY, Sample
from robustrank.linalg import Factors

Vector = np.ndarray[Any, Any]

# The second solution of a row needs as many entries as the first one, two more than unknowns: with
# five, as for other measurements, one of 467 claims in fresh problems was wrong.
# Second solutions are looked for where one entry is rejected for every four inliers, one row at a
# time: half of the inliers may fit both solutions. With 0.4, as for other measurements, one of 115
# claims of the development baseline is wrong; with 0.25 for those, whose parts are examined
# together, fewer second solutions are found.
_POSSIBLE = COMPARABLE / 2
# If none is found in 40 rows, the rejected entries do not agree. Rows that are not examined,
# because there are too many, count as contested.
_ENOUGH = 40


def contested(
    sample: Sample,
    factors: Factors,
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> tuple[Vector, Vector]:
    """Which rows and which columns are contested; all of them if the matrix is.

    ``inliers`` is in the order of the rows, and ``cutoff`` the largest residual of an inlier.
    """
    if _fits_opposite_sign(sample, factors, inliers, cutoff):
        return np.ones(sample.shape[0], bool), np.ones(sample.shape[1], bool)
    rows, columns = (
        _contested_rows(*side, cutoff, rng) for side in _sides(sample, factors, inliers)
    )
    return rows, columns


def _sides(
    sample: Sample, factors: Factors, inliers: Vector
) -> Iterator[tuple[Sample, Vector, Vector]]:
    """The sample, its right factor and its inliers; then those of the transposed matrix."""
    P, Q = (to_numpy(factor) for factor in factors)
    yield sample, Q, inliers
    yield sample.transposed, P, inliers[to_numpy(sample.row_places)]


def _fits_opposite_sign(sample: Sample, factors: Factors, inliers: Vector, cutoff: float) -> bool:
    """Whether a large share of the number that is fitted has the opposite sign."""
    xp = namespace(sample.row_values)
    predicted = sample.by_rows.dot(*factors)
    telling = to_numpy(xp.abs(predicted) > cutoff)
    opposite = to_numpy(xp.abs(sample.row_values + predicted) <= cutoff) & ~inliers & telling
    return bool(np.sum(opposite) > OPPOSITE * np.sum(inliers & telling))


def _contested_rows(
    sample: Sample,
    Q: Vector,
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> Vector:
    """Which rows have another solution that the rejected entries agree on."""
    needed = Q.shape[1] + EXTRA
    support, rejected = sample.count_by_row(inliers), sample.count_by_row(~inliers)
    order = np.argsort(-rejected, kind="stable")
    possible = (rejected >= needed) & (rejected >= _POSSIBLE * support)
    candidates = order[possible[order]]
    found = np.zeros(len(rejected), bool)
    for number, i in enumerate(candidates[:MOST_ROWS]):
        if number >= _ENOUGH and not found.any():
            return found
        other, fitted = best_solution(*sample.equations(i, ~inliers, Q), cutoff, rng)
        V, y = sample.equations(i, inliers, Q)
        lost = np.sum(np.abs(y - V @ other) > cutoff)
        found[i] = fitted >= max(needed, COMPARABLE * lost)
    found[candidates[MOST_ROWS:]] = True
    return found


def agreeing_share(
    sample: Sample,
    factors: Factors,
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> float:
    """The approximate share of the entries that are outliers which agree with each other.

    In the rows and the columns with the most rejected entries, the solution is looked for that fits
    most of these. It fits one unrelated outlier for each of its unknowns; flipped signs, or entries
    of another matrix, agree. ``inliers`` are in the order of the rows.
    """
    found = [_agreeing(*side, cutoff, rng) for side in _sides(sample, factors, inliers)]
    agreeing, tested = (sum(numbers) for numbers in zip(*found, strict=True))
    # One is added to both counts: where few entries can be tested, outliers may agree.
    return float(np.mean(~inliers) * (agreeing + 1) / (tested + 1))


def _agreeing(
    sample: Sample, Q: Vector, inliers: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[int, int]:
    """The number of rejected entries that agree beyond the unknowns, and that of those tested."""
    rank, counts = Q.shape[1], sample.count_by_row(~inliers)
    order = np.argsort(-counts, kind="stable")
    agreeing = tested = 0
    for i in order[counts[order] > rank][:_ENOUGH]:
        V, y = (part[:MANY] for part in sample.equations(i, ~inliers, Q))
        _, fitted = best_solution(V, y, cutoff, rng)
        agreeing += max(fitted - rank, 0)
        tested += len(y) - rank
    return agreeing, tested
