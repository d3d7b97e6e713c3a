"""The residuals of the best trivial prediction, which uses no knowledge about the matrix."""

from __future__ import annotations

from robustrank.backend import Array, as_generator, epsilon, namespace
from robustrank.linalg import Triplets, half_normal_quantile, lower_median
from robustrank.operators import Operator


def common_part(operator: Operator, y: Array) -> Triplets:
    """The leading singular triplet of the mean of the A_i; ``y`` is an example of measurements."""
    equal = namespace(y).ones_like(y) / y.shape[-1]
    return operator.leading_svd(equal, 1, as_generator(0))


def trivial_deviation(operator: Operator, y: Array, common: Triplets | None = None) -> Array:
    """The standard deviation of y about zero, or about a multiple of the mean measurement.

    The mean of the A_i is replaced by its leading rank-one part B, and y_i is predicted as
    c <A_i, B> with the c that minimizes the sum of |y_i − c <A_i, B>|. ``common`` is the
    ``common_part``, if it is known.
    """
    xp = namespace(y)
    left, values, right = common or common_part(operator, y)
    x = operator.measure(left, right)
    deviation = lower_median(xp.abs(y))
    if float(values[0]) > 0:
        rest = y - _least_absolute_slope(x, y) * x
        deviation = xp.minimum(deviation, lower_median(xp.abs(rest)))
    return deviation / half_normal_quantile(0.5)


def _least_absolute_slope(x: Array, y: Array) -> Array:
    """The c that minimizes Σ |y_i − c x_i|: a weighted median of y_i / x_i."""
    xp = namespace(x)
    weights = xp.abs(x)
    usable = (weights > epsilon(x) * xp.max(weights)) & xp.isfinite(y)
    ratios = xp.where(usable, y / xp.where(usable, x, xp.ones_like(x)), xp.zeros_like(x))
    weights = xp.where(usable, weights, xp.zeros_like(weights))
    order = xp.argsort(ratios)
    ratios, weights = xp.take(ratios, order), xp.take(weights, order)
    total = xp.cumulative_sum(weights)
    middle = xp.argmax(xp.astype(total >= total[-1] / 2, xp.int32))
    return ratios[middle]
