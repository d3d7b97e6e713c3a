"""Spectral initialization: the leading singular vectors of a truncated surrogate of M."""

from __future__ import annotations

import math

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.linalg import Factors, Point, lower_median, scale_columns, weighted
from robustrank.problem import Problem
from robustrank.solvers.weights import WeightFunction


def spectral_initialization(
    problem: Problem,
    weight_function: WeightFunction,
    rng: np.random.Generator,
    *,
    sample_split: bool = False,
    rank: int | None = None,
    approximate: bool = False,
) -> tuple[Array, Array]:
    """(U0, V0) = (C_L Σ^½, C_R Σ^½) from the rank-r SVD of the weighted mean of y_i A_i.

    With ``sample_split`` the surrogate is the mean over the first ⌈m/2⌉ measurements, truncated by
    the median of the others, as in the paper's theory. Without it, all measurements are used for
    both, as in its experiments. ``rank`` may differ from the
    problem's, and the SVD may be ``approximate`` where that is faster.
    """
    y = problem.y
    xp = namespace(y)
    reference, count = y, problem.operator.measurements
    if sample_split:
        reference, count = y[-(count // 2) :], -(-count // 2)
        if count == problem.operator.measurements:
            raise ValueError("a sample split needs at least two measurements")
    weights = weight_function.weights(xp.abs(y), lower_median(xp.abs(reference)))
    if sample_split:
        first_half = xp.arange(y.shape[0], device=like(y)["device"]) < count
        weights = xp.where(first_half, weights, xp.zeros_like(weights))
    kept = weighted(y, weights) / count
    left, values, right = problem.operator.leading_svd(
        kept, rank or problem.rank, rng, approximate=approximate
    )
    root = xp.sqrt(values)
    return scale_columns(left, root), scale_columns(right, root)


def normalized_factors(problem: Problem, factors: Factors) -> Factors:
    """Factors in the user's units, of any array library, as those of the normalized problem."""
    xp, root = namespace(problem.y), math.sqrt(problem.units.matrix)
    left, right = (xp.asarray(factor, **like(problem.y)) / root for factor in factors)
    return left, right


def point_of_factors(U: Array, V: Array) -> Point:
    """The point U Vᵀ for factors with orthogonal columns of length √σ."""
    xp = namespace(U)
    root = xp.sqrt(xp.sum(U**2, axis=-2))
    inverse = 1 / xp.where(root > 0, root, xp.ones_like(root))
    return Point(left=scale_columns(U, inverse), values=root**2, right=scale_columns(V, inverse))
