"""Which noise model do the residuals of a fit support?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.certificate import best_set
from robustrank.linalg import half_normal_quantile, leverages
from robustrank.noise import NoiseModel
from robustrank.problem import Problem
from robustrank.solvers.evidence_fit import EvidenceFitState, beyond_use

Vector = np.ndarray[Any, Any]

# What grows with the prediction, relative to what does not. The last one leaves a noise of one
# hundredth of the typical one where the prediction is zero: no measurement is taken for exact.
_GROWTHS = tuple(10.0 ** (k / 2) for k in range(-2, 9))
_POWERS = (2, 1)
# The variance of the logarithm of a deviation that is estimated by the median of n absolute values.
_OF_MEDIANS = 1.35
# Leverages are only limited by rounding here: of measurements that a fit follows, nothing is known.
_MOST_LEVERAGE = 1 - 1e-6


def chosen_noise(
    problem: Problem, state: EvidenceFitState, noise: NoiseModel, without: Array | None = None
) -> NoiseModel:
    """The model with the most support by the residuals of a fit, with its numbers.

    The problem is normalized, with rows of equal norm, and ``noise`` is the model of the fit, whose
    dependence on rows and on known sizes is kept. Measurements of groups that
    the fit goes ``without`` say nothing about it.
    """
    plain = replace(noise, growth=0.0, groups="", levels=())
    residual, prediction = _left_out(problem, state), problem.y - state.residual

    def score(model: NoiseModel) -> float:
        return _evidence(problem, residual, prediction, model, without)

    grown = max(_growing(plain), key=score)
    models = [grown]
    for name, groups in problem.conditions.groups.items():
        for model in {plain, grown}:
            sizes = model.sizes(prediction, problem.conditions)
            left = 1 - _leverages(problem, state)
            if without is not None:
                left = namespace(left).where(without, namespace(left).zeros_like(left), left)
            levels = _levels(*map(to_numpy, (residual / sizes, left, groups)))
            models.append(replace(model, groups=name, levels=levels))
    return max(models, key=score)


def support(
    problem: Problem, state: EvidenceFitState, noise: NoiseModel, without: Array | None = None
) -> float:
    """The evidence of a fit with a noise model, less what its numbers could have explained."""
    residual = _left_out(problem, state)
    return _evidence(problem, residual, problem.y - state.residual, noise, without)


def _evidence(
    problem: Problem,
    residual: Array,
    prediction: Array,
    noise: NoiseModel,
    without: Array | None,
) -> float:
    """The evidence of the inliers, less ½ log N for each number estimated from N of them."""
    sizes = noise.sizes(prediction, problem.conditions)
    magnitudes = namespace(residual).abs(residual)
    if without is not None:
        magnitudes, sizes = beyond_use(without, magnitudes, sizes)
    # The residuals are those of measurements that were left out: no degree of freedom is fitted.
    best = best_set(
        magnitudes,
        sizes,
        problem.trivial_deviation,
        0,
        of_one_size=noise.may_reject_by_size,
    )
    numbers = math.log(residual.shape[0]) / 2 if noise.growth else 0.0
    if noise.levels:
        counts = np.bincount(to_numpy(problem.conditions.groups[noise.groups]))
        numbers += float(np.sum(np.log1p(counts))) / 2
    return float(best.evidence) - numbers


def _left_out(problem: Problem, state: EvidenceFitState) -> Array:
    """Residuals in proportion to their noise: a fit reduces those of inliers to √(1 − leverage)."""
    return state.residual / namespace(state.residual).sqrt(1 - _leverages(problem, state))


def _leverages(problem: Problem, state: EvidenceFitState) -> Array:
    return leverages(state.tangent, state.weights, problem.degrees_of_freedom, _MOST_LEVERAGE)


def _growing(plain: NoiseModel) -> Iterator[NoiseModel]:
    """The model itself, and those whose noise grows with the prediction."""
    yield plain
    for power in _POWERS:
        for ratio in _GROWTHS:
            yield replace(plain, growth=ratio / (1 + ratio), power=power)


def _levels(residual: Vector, left: Vector, groups: Vector) -> tuple[float, ...]:
    """The size of the residuals of each group, relative to that of a typical group.

    ``left`` is the share of its noise that a fit leaves of each measurement; their sum is what a
    group says about its noise. The logarithms of the sizes are drawn towards their mean in so far
    as their differences could be due to chance (the estimate of DerSimonian and Laird).
    """
    count = int(groups.max()) + 1
    counts = np.bincount(groups, minlength=count)
    order = np.lexsort((np.abs(residual), groups))
    first = np.cumsum(counts) - counts
    middle = np.minimum(first + np.maximum(counts - 1, 0) // 2, len(order) - 1)
    medians = np.abs(residual)[order][middle]
    least = np.finfo(float).eps * float(np.median(medians)) + np.finfo(float).tiny
    sizes = np.log(np.maximum(medians / half_normal_quantile(0.5), least))
    known = np.bincount(groups, left, minlength=count) / _OF_MEDIANS
    mean = float(np.average(sizes, weights=known))
    beyond = float(np.sum(known * (sizes - mean) ** 2)) - (np.count_nonzero(known) - 1)
    spread = max(beyond, 0.0) / float(np.sum(known) - np.sum(known**2) / np.sum(known))
    drawn = mean + (sizes - mean) * spread * known / (spread * known + 1)
    return tuple(float(level) for level in np.exp(drawn - np.median(drawn)))
