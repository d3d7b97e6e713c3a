"""Single rows and columns: the solution that most of their entries agree on.

It replaces that of a row which ended at a wrong one. Where the rejected entries of a row agree on a
second solution, the row is contested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.certificate import COMPARABLE, EXTRA, OPPOSITE
from robustrank.completion.refinement import Fit
from robustrank.completion.sample import MANY, Sample, Vector
from robustrank.linalg import ROUNDINGS, Factors, point_of

MOST_ROWS = 1000  # that are solved one at a time
_TIMES_WITH_NOISE = 2


def repaired(sample: Sample, fit: Fit, rng: np.random.Generator) -> tuple[Fit, int]:
    """The fit after repairing rows and then columns, and how many of them improved.

    Rows with few entries within the cutoff are solved by themselves, given the columns: from random
    subsets with one entry for each unknown, the solution that fits most entries of the row. With
    noise, only rows with many entries of which most do not fit are repaired.
    """
    P, Q = fit.factors
    columns = _supported(sample.transposed, Q, P, fit.cutoff)
    P, rows_changed = _repaired_rows(sample, P, Q, columns, fit, rng)
    rows = _supported(sample, P, Q, fit.cutoff)
    Q, columns_changed = _repaired_rows(sample.transposed, Q, P, rows, fit, rng)
    changed = rows_changed + columns_changed
    return (replace(fit, point=point_of(P, Q)) if changed else fit), changed


def undecided_refitted(
    sample: Sample, factors: Factors, rows: Vector, columns: Vector, cutoff: float
) -> Factors:
    """Factors whose other rows and columns are fitted to the decided ones, where that fits more.

    ``rows`` and ``columns`` are those that are decided, boolean. A row with hardly more entries
    than unknowns is not decided, because nothing checks it, but its entries may determine it.
    """
    P, Q = factors
    P = _undecided_rows_refitted(sample, P, Q, rows, columns, cutoff)
    return P, _undecided_rows_refitted(sample.transposed, Q, P, columns, rows, cutoff)


def _undecided_rows_refitted(
    sample: Sample, P: Array, Q: Array, rows: Vector, columns: Vector, cutoff: float
) -> Array:
    owners, others = (to_numpy(at) for at in (sample.by_rows.owners, sample.by_rows.others))
    used = ~rows[owners] & columns[others]
    if not used.any():
        return P
    xp, device = namespace(P), like(P)["device"]
    part = sample.subset(xp.asarray(used, device=device))
    ridge = ROUNDINGS * epsilon(Q) * float(xp.sum(Q**2)) / Q.shape[0]  # no matrix is singular
    refitted = part.fit_rows(P, Q, math.inf, ridge)
    before, after = (part.count_by_row(part.within(one, Q, cutoff)) for one in (P, refitted))
    return xp.where(xp.asarray(after > before, device=device)[:, None], refitted, P)


def _supported(sample: Sample, P: Array, Q: Array, cutoff: float) -> Vector:
    """Which rows have enough entries within the cutoff."""
    fitted = sample.count_by_row(sample.within(P, Q, cutoff))
    half = to_numpy(sample.by_rows.counts) / 2
    return np.asarray(fitted >= np.maximum(P.shape[1] + EXTRA, half))


def _repaired_rows(
    sample: Sample,
    P: Array,
    Q: Array,
    columns: Vector,
    fit: Fit,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """P with its unsupported rows repaired, using the entries in some columns; and how many."""
    used = columns[to_numpy(sample.by_rows.others)]
    counts = sample.count_by_row(used)
    fitted = sample.count_by_row(used & sample.within(P, Q, fit.cutoff))
    # With noise, a solution of hardly more entries than unknowns would fit the noise.
    fewest = fit.rank + EXTRA
    enough = counts >= (_TIMES_WITH_NOISE * fewest if fit.has_noise else fewest)
    doubtful = (fitted < np.maximum(fewest, counts / 2)) & enough
    known, fixed, changed = to_numpy(Q), np.array(to_numpy(P)), 0
    for i in np.flatnonzero(doubtful)[:MOST_ROWS]:
        solution, count = best_solution(*sample.equations(i, used, known), fit.cutoff, rng)
        if count > fitted[i]:
            fixed[i] = solution
            changed += 1
    return namespace(P).asarray(fixed, **like(P)), changed


# Subsets of equations to try. With 40 % outliers and five unknowns, one of 13 has none, and not one
# of 200 with a probability of (1 − 0.6⁵)²⁰⁰ = 1e-7.
_SUBSETS = 200
_ROUNDS = 2


def best_solution(
    V: Vector, values: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[Vector, int]:
    """The x for which most of |values − V x| are within the cutoff, and how many are."""
    V, values = V.astype(float), values.astype(float)  # the ridge is below the rounding of float32
    count, rank = V.shape
    if count <= MANY:
        subsets = rng.permuted(np.tile(np.arange(count), (_SUBSETS, 1)), axis=1)[:, :rank]
    else:  # equal numbers are rare, and harmless
        subsets = rng.integers(count, size=(_SUBSETS, rank))
    matrices = V[subsets]
    # A tiny ridge, so that no matrix is singular.
    normal, float64 = matrices.transpose(0, 2, 1) @ matrices, np.finfo(float)
    ridge = ROUNDINGS * float64.eps * np.trace(normal, axis1=1, axis2=2) + float64.tiny
    normal += ridge[:, None, None] * np.eye(rank)
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


# The second solution of a row needs two entries more than unknowns, like the first one: with five,
# as for other measurements, one of 467 claims in fresh problems was wrong.
# Second solutions are looked for where one entry is rejected for every four inliers, one row at a
# time: half of the inliers may fit both solutions. With 0.4, as for other measurements, one of 115
# claims of the development baseline is wrong; with 0.25 for those, whose parts are examined
# together, fewer second solutions are found.
_POSSIBLE = COMPARABLE / 2
# If none is found in many rows, the rejected entries do not agree. Rows that are not examined,
# because there are too many, count as contested.


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
        if number >= MANY and not found.any():
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
    for i in order[counts[order] > rank][:MANY]:
        V, y = (part[:MANY] for part in sample.equations(i, ~inliers, Q))
        _, fitted = best_solution(V, y, cutoff, rng)
        agreeing += max(fitted - rank, 0)
        tested += len(y) - rank
    return agreeing, tested
