"""Where another solution fits nearly as many entries, and whether outliers agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.certificate import COMPARABLE, EXTRA, OPPOSITE
from robustrank.completion.repair import MOST_ROWS, best_solution
from robustrank.completion.sample import Sample

Vector = np.ndarray[Any, Any]

# The second solution of a row needs as many entries as the first one, two more than unknowns: with
# five, as for other measurements, one of 467 claims in fresh problems was wrong.
# Second solutions are looked for where one entry is rejected for every four inliers, one row at a
# time. With 0.4, as for other measurements, one of 115 claims of the development baseline is wrong;
# with 0.25 for those, whose parts are examined together, fewer second solutions are found.
_POSSIBLE = 0.25
# If none is found in 40 rows, the rejected entries do not agree. Rows that are not examined,
# because there are too many, count as contested.
_ENOUGH = 40


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
    entries, rank = sample.by_rows, Q.shape[1]
    owners, others, starts = (
        to_numpy(at) for at in (entries.owners, entries.others, entries.starts)
    )
    values = to_numpy(sample.row_values)
    support = np.bincount(owners[inliers], minlength=entries.rows)
    rejected = np.diff(starts) - support
    possible = (rejected >= rank + EXTRA) & (rejected >= _POSSIBLE * support)
    found = np.zeros(entries.rows, bool)
    candidates = np.flatnonzero(possible)
    candidates = candidates[np.argsort(-rejected[candidates], kind="stable")]
    for number, i in enumerate(candidates):
        if number >= MOST_ROWS:
            found[candidates[number:]] = True
        if number >= MOST_ROWS or (number >= _ENOUGH and not found.any()):
            break
        row = slice(int(starts[i]), int(starts[i + 1]))
        V, y, good = Q[others[row]], values[row], inliers[row]
        other, fitted = best_solution(V[~good], y[~good], cutoff, rng)
        lost = np.sum(good & (np.abs(y - V @ other) > cutoff))
        found[i] = fitted >= max(rank + EXTRA, COMPARABLE * lost)
    return found


_MOST_ENTRIES = 100  # of a row or column that is examined


def agreeing_share(
    sample: Sample,
    factors: tuple[Array, Array],
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> float:
    """The approximate share of the entries that are outliers which agree with each other.

    In the rows and the columns with the most rejected entries, the solution is looked for that fits
    most of these. It fits one unrelated outlier for each of its unknowns; flipped signs, or entries
    of another matrix, agree. ``inliers`` are in the order of the rows.
    """
    P, Q = factors
    rejected = ~inliers
    by_columns = rejected[to_numpy(sample.row_places)]
    found = [
        _agreeing(part, to_numpy(other), chosen, cutoff, rng)
        for part, other, chosen in ((sample, Q, rejected), (sample.transposed, P, by_columns))
    ]
    agreeing, tested = (sum(numbers) for numbers in zip(*found, strict=True))
    # One is added to both counts: where few entries can be tested, outliers may agree.
    return float(np.mean(rejected) * (agreeing + 1) / (tested + 1))


def _agreeing(
    sample: Sample, Q: Vector, rejected: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[int, int]:
    """The number of rejected entries that agree beyond the unknowns, and that of those tested."""
    rank, entries = Q.shape[1], sample.by_rows
    owners, others = to_numpy(entries.owners), to_numpy(entries.others)
    values = to_numpy(sample.row_values)
    counts = np.bincount(owners[rejected], minlength=entries.rows)
    starts = to_numpy(entries.starts)
    agreeing = tested = 0
    for i in np.argsort(-counts, kind="stable")[:_ENOUGH]:
        if counts[i] <= rank:
            break
        row = slice(int(starts[i]), int(starts[i + 1]))
        chosen = np.flatnonzero(rejected[row])[:_MOST_ENTRIES] + row.start
        _, fitted = best_solution(Q[others[chosen]], values[chosen], cutoff, rng)
        agreeing += max(fitted - rank, 0)
        tested += len(chosen) - rank
    return agreeing, tested
