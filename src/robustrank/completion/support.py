"""Which rows and columns do the inliers determine, so that a wrong value would have shown?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betainc

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.completion.repair import EXTRA
from robustrank.completion.sample import Sample
from robustrank.linalg import Point, TangentMap, damped_least_squares

Vector = np.ndarray[Any, Any]

# An entry is checked by the others if an error of it would leave a residual of more than this share
# of the error, in at least one of six random trials: without noise, and with noise.
_UNCHECKED, _UNCHECKED_BY_NOISE, _TRIALS = 1e-2, 0.2, 6
# A row is determined if a random change of it is found again up to this.
_DETERMINED = 0.02
# Precision of the least-squares problems, and the largest number of products for each.
_PRECISION, _PRODUCTS = 1e-5, 1000
_ROUNDS = 15
# More than this share of the entries of a row are inliers. With noise, some inliers are outliers
# that are near by chance.
_MAJORITY, _MAJORITY_WITH_NOISE = 0.5, 0.6
# The probability that outliers at random positions determine a row, all rows taken together.
_BY_CHANCE = 1e-4
_REWEIGHTINGS, _SMALLEST_DISTANCE = 20, 1e-6


@dataclass(frozen=True, eq=False)
class Support:
    """The part of the matrix that is determined, and the inliers in it."""

    rows: Vector  # boolean
    columns: Vector
    inliers: Vector  # boolean, in the order of the rows

    @property
    def is_empty(self) -> bool:
        """Whether nothing is determined."""
        return not (self.rows.any() and self.columns.any())


def supported_part(
    sample: Sample,
    point: Point,
    inliers: Vector,
    rng: np.random.Generator,
    *,
    with_noise: bool = False,
    by: Array | None = None,
    without: tuple[Vector, Vector] | None = None,
    agreeing: float = 0.0,
) -> Support:
    """The rows and columns that the inliers determine, given in the order of the rows.

    A row needs two inliers more than unknowns, and a majority of its entries, counting only
    columns that are determined themselves. Each inlier must be checked by the others: if it had
    another value, it would not be fitted. The inliers together must determine the row. If ``by`` is
    given, these two conditions are tested with the entries that it selects only, which is
    sufficient: these then check the other entries, too. ``without`` are rows and columns that are
    not considered. ``agreeing`` is the share of the entries that are outliers which agree with each
    other: at random positions, they must not be able to determine a row.
    """
    part = sample if by is None else sample.subset(by)
    chosen = slice(None) if by is None else to_numpy(by)
    rule = _Rule.of(point, with_noise, agreeing)
    inside = rule if by is None else replace(rule, majority=0.0, agreeing=0.0)  # all entries decide
    n1, n2 = sample.shape
    whole = Support(np.ones(n1, bool), np.ones(n2, bool), inliers)
    if without is not None:
        whole = Support(~without[0], ~without[1], inliers)
    for _ in range(_ROUNDS):
        whole = _pruned(whole, sample, rule)
        found = _determined_part(
            part, point, Support(whole.rows, whole.columns, whole.inliers[chosen]), inside, rng
        )
        again = _pruned(Support(found.rows, found.columns, whole.inliers), sample, rule)
        if np.array_equal(again.rows, found.rows) and np.array_equal(again.columns, found.columns):
            return again
        whole = again
    return _nothing(sample)


@dataclass(frozen=True)
class _Rule:
    """What a row needs to be determined."""

    rank: int
    majority: float  # of its entries
    check: float  # see _UNCHECKED
    agreeing: float  # share of the entries

    @staticmethod
    def of(point: Point, with_noise: bool, agreeing: float) -> _Rule:
        rank = int(point.values.shape[0])
        if with_noise:
            return _Rule(rank, _MAJORITY_WITH_NOISE, _UNCHECKED_BY_NOISE, agreeing)
        return _Rule(rank, _MAJORITY, _UNCHECKED, agreeing)

    def determines(self, inliers: Vector, entries: Vector, parts: int) -> Vector:
        """Whether rows are determined, as far as the numbers of their inliers and entries tell.

        If a row is wrong, the inliers that are not needed to determine it are outliers that agree.
        P(X ≥ k) for X of B(n, p) is the incomplete beta function I_p(k, n − k + 1).
        """
        outliers = np.maximum(inliers - self.rank, 1)
        chance = betainc(outliers, np.maximum(entries - outliers + 1, 1), min(self.agreeing, 0.5))
        enough = (inliers >= self.rank + EXTRA) & (inliers > self.majority * entries)
        determined: Vector = enough & (chance <= _BY_CHANCE / parts)
        return determined


def _nothing(sample: Sample) -> Support:
    n1, n2 = sample.shape
    return Support(np.zeros(n1, bool), np.zeros(n2, bool), np.zeros(sample.size, bool))


def _determined_part(
    sample: Sample, point: Point, part: Support, rule: _Rule, rng: np.random.Generator
) -> Support:
    """The part in which the inliers check each other and leave no freedom."""
    tangent = sample.tangent(point)
    for _ in range(_ROUNDS):
        part = _pruned(part, sample, rule)
        if rule.rank == 0:  # nothing is free
            return part
        if part.is_empty:
            break
        inliers = namespace(point.left).asarray(part.inliers * 1.0, **like(point.left))
        checked = _checked_by_others(tangent, inliers, rule.check, rng)
        if not np.all(checked[part.inliers]):
            part = Support(part.rows, part.columns, part.inliers & checked)
            continue
        rows, columns = _determined(tangent, inliers, part, rng)
        if np.all(rows[part.rows]) and np.all(columns[part.columns]):
            return part
        part = Support(part.rows & rows, part.columns & columns, part.inliers)
    return _nothing(sample)


def _pruned(part: Support, sample: Sample, rule: _Rule) -> Support:
    """The part without rows and columns that have too few inliers in it."""
    own, other = (to_numpy(at) for at in (sample.by_rows.owners, sample.by_rows.others))
    rows, columns, inliers = part.rows, part.columns, part.inliers
    while True:
        inside = rows[own] & columns[other]
        inliers = inliers & inside
        enough = []
        for index, size in ((own, len(rows)), (other, len(columns))):
            counts = [np.bincount(index[which], minlength=size) for which in (inliers, inside)]
            enough.append(rule.determines(counts[0], counts[1], len(rows) + len(columns)))
        if np.all(enough[0][rows]) and np.all(enough[1][columns]):
            return Support(rows, columns, inliers)
        rows, columns = rows & enough[0], columns & enough[1]


def _checked_by_others(
    tangent: TangentMap, inliers: Array, least: float, rng: np.random.Generator
) -> Vector:
    """Which inliers leave at least this share of an error of theirs as a residual, in some trial.

    In each trial all entries have errors of random sign and equal size.
    """
    xp, given = namespace(inliers), to_numpy(inliers) > 0
    checked = ~given
    for _ in range(_TRIALS):
        signs = rng.integers(0, 2, tangent.measurements) * 2.0 - 1
        errors = xp.asarray(signs, **like(inliers))
        left = xp.abs(errors - tangent.apply(_solved(tangent, inliers, errors)))
        checked = checked | to_numpy(left > least)
        if checked.all():
            break
    found: Vector = checked & given
    return found


def _solved(tangent: TangentMap, inliers: Array, values: Array) -> Array:
    xp, given = namespace(values), like(values)
    precision = max(_PRECISION, math.sqrt(epsilon(values)))
    none, tolerance = xp.asarray(0.0, **given), xp.asarray(precision, **given)
    return damped_least_squares(tangent, inliers, values, none, tolerance, _PRODUCTS)


def _determined(
    tangent: TangentMap, inliers: Array, part: Support, rng: np.random.Generator
) -> tuple[Vector, Vector]:
    """Which rows and columns of the part are determined up to a common change of basis.

    A random change of the factors is measured and found again by least squares; what remains leaves
    all inliers as they are.
    """
    xp, n1 = namespace(tangent.U), tangent.U.shape[0]
    factors = xp.concat([tangent.U, tangent.V])
    sizes = xp.linalg.vector_norm(factors, axis=1, keepdims=True)
    drawn = xp.asarray(rng.standard_normal(factors.shape), **like(factors)) * sizes
    found = _solved(tangent, inliers, tangent.apply(drawn))
    left_over, factors, sizes = (to_numpy(values) for values in (drawn - found, factors, sizes))
    errors = np.concatenate(
        _distances_from_common_change(
            (left_over[:n1], left_over[n1:]),
            (factors[:n1], factors[n1:]),
            (part.rows, part.columns),
        )
    )
    good = errors <= _DETERMINED * sizes[:, 0]
    return good[:n1], good[n1:]


def _distances_from_common_change(
    changes: tuple[Vector, Vector], factors: tuple[Vector, Vector], kept: tuple[Vector, Vector]
) -> tuple[Vector, Vector]:
    """The distance of each row of (dU, dV) from (U K, −V Kᵀ) with the K that fits most of them.

    Such a change leaves U Vᵀ as it is, to first order. With weights, K solves
    Uᵀ W U K + K Vᵀ W V = Uᵀ W dU − dVᵀ W V; the weights are those of the sum of distances.
    """
    # All relative to the size of the row, whose square may underflow.
    sizes = [np.linalg.norm(factor.astype(float), axis=1, keepdims=True) for factor in factors]
    sizes = [np.where(size > 0, size, 1.0) for size in sizes]
    dU, dV = (change / size for change, size in zip(changes, sizes, strict=True))
    U, V = (factor / size for factor, size in zip(factors, sizes, strict=True))
    weights = [used.astype(float) for used in kept]
    errors = [np.zeros(len(change)) for change in changes]
    for _ in range(_REWEIGHTINGS):
        a, b = (weight[:, None] for weight in weights)
        K = _solve_sylvester(U.T @ (a * U), V.T @ (b * V), U.T @ (a * dU) - dV.T @ (b * V))
        errors = [np.linalg.norm(dU - U @ K, axis=1), np.linalg.norm(dV + V @ K.T, axis=1)]
        weights = [
            used / np.maximum(error, _SMALLEST_DISTANCE)
            for used, error in zip(kept, errors, strict=True)
        ]
    return errors[0] * sizes[0][:, 0], errors[1] * sizes[1][:, 0]


def _solve_sylvester(A: Vector, B: Vector, C: Vector) -> Vector:
    """The smallest K with A K + K B = C for positive semidefinite A and B, singular ones too."""
    (a, E), (b, F) = np.linalg.eigh(A), np.linalg.eigh(B)
    sums = a[:, None] + b
    solvable = sums > np.finfo(float).eps * len(sums) * np.max(sums, initial=0.0)
    inside = np.divide(E.T @ C @ F, sums, out=np.zeros_like(sums), where=solvable)
    K: Vector = E @ inside @ F.T
    return K
