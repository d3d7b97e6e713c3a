"""The constants, bounds and orders of the paper, as functions.

n is (n1 + n2)/2 throughout, as in the paper's statement of results. The paper states some bounds
only up to a constant; the ``*_order`` functions omit it. Use them to compare problems, not to
choose a number of measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import check_count, check_positive, to_numpy
from robustrank.linalg import (
    degrees_of_freedom as degrees_of_freedom,
)
from robustrank.linalg import (
    frobenius_norm,
    sample_quantile,
)
from robustrank.linalg import (
    half_normal_quantile as half_normal_quantile,
)
from robustrank.linalg import (
    symmetric_degrees_of_freedom as symmetric_degrees_of_freedom,
)
from robustrank.operators import Operator

ALPHA_H = 6.0  # the truncation of Theorem 1
MAX_STEP_SIZE = 1 / 740  # the largest step size μ that Theorem 1 covers
BASIN = 1 / 24  # the basin of attraction: dist(W0, Z) ≤ σ_r(Z)/24
CONCENTRATION_LEVELS = (0.49, 0.50, 0.51)  # the quantiles of Proposition 1


def truncated_second_moment(cut: float) -> float:
    """The second moment of a truncated standard normal variable, in closed form.

    It is ``E[ξ² 1{|ξ| ≤ cut}]`` for a standard normal ξ.

    Parameters
    ----------
    cut
        Where it is truncated; not negative.

    See Also
    --------
    robustrank.theory.balance_weight : Is computed from it.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.truncated_second_moment(3.9), 4)
    0.9984
    """
    return math.erf(cut / math.sqrt(2)) - cut * math.sqrt(2 / math.pi) * math.exp(-(cut**2) / 2)


def balance_weight(alpha_h: float = ALPHA_H) -> float:
    """The weight λ of the balancing term in Theorem 1.

    It is ``E[ξ² 1{|ξ| ≤ 0.65 α_h}] / 4`` for a standard normal ξ.

    Parameters
    ----------
    alpha_h
        The truncation in every iteration, in medians of the absolute residuals.

    See Also
    --------
    robustrank.solvers.MedianTGD : Uses it unless ``balance`` is given.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.balance_weight(6.0), 4)
    0.2496
    """
    return truncated_second_moment(0.65 * alpha_h) / 4


def start_truncation(rank: int, average_condition: float) -> float:
    """The truncation α_y = 2 log(r^¼ κ̄0^½ + 20) of the initialization in Theorem 2.

    Parameters
    ----------
    rank
        The rank r of the matrix.
    average_condition
        κ̄0, an upper bound on the average condition number κ̄.

    See Also
    --------
    robustrank.solvers.MedianTGD.theory : The solver with this truncation.
    robustrank.theory.average_condition_number : κ̄ of given singular values.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.start_truncation(rank=2, average_condition=1.5), 3)
    6.132
    """
    check_count(rank=rank)
    check_positive(average_condition=average_condition)
    return 2 * math.log(rank**0.25 * math.sqrt(average_condition) + 20)


def contraction_factor(step_size: float, condition: float) -> float:
    """The factor (1 − μ/(10 κ))^½ by which each iteration reduces the distance in Theorem 1.

    The distance is dist(W_t, Z), that of the factors from the true ones; it decreases at least so
    much.

    Parameters
    ----------
    step_size
        The paper's μ, at most 1/740.
    condition
        The condition number κ.

    Raises
    ------
    ValueError
        If the step size is outside of Theorem 1.

    See Also
    --------
    robustrank.metrics.factor_distance : The distance.
    robustrank.theory.condition_number : κ of given singular values.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.contraction_factor(step_size=1 / 740, condition=2.0), 6)
    0.999966
    """
    if not 0 < step_size <= MAX_STEP_SIZE:
        raise ValueError(f"step_size={step_size} is outside Theorem 1; expected 0 < μ ≤ 1/740")
    return math.sqrt(1 - step_size / (10 * condition))


def local_sample_order(n1: int, n2: int, rank: int) -> float:
    """The measurements that Theorem 1 requires for local convergence, up to a constant: n r log n.

    Parameters
    ----------
    n1, n2, rank
        The shape and the rank of the matrix; n is (n1 + n2)/2.

    See Also
    --------
    robustrank.plan : How many measurements are needed in practice.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.local_sample_order(150, 120, rank=5))
    3311
    """
    n = (n1 + n2) / 2
    return n * rank * math.log(n)


def start_sample_order(n1: int, n2: int, rank: int, average_condition: float = 1.0) -> float:
    """The measurements that Theorem 2 requires for the initialization, up to a constant.

    The number is α_y² κ̄² n r² log n.

    Parameters
    ----------
    n1, n2, rank
        The shape and the rank of the matrix; n is (n1 + n2)/2.
    average_condition
        The average condition number κ̄.

    See Also
    --------
    robustrank.plan : How many measurements are needed in practice.
    robustrank.theory.start_truncation : α_y.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.start_sample_order(150, 120, rank=5))
    623249
    """
    n = (n1 + n2) / 2
    alpha_y = start_truncation(rank, average_condition)
    return alpha_y**2 * average_condition**2 * n * rank**2 * math.log(n)


def start_outlier_order(rank: int, average_condition: float = 1.0) -> float:
    """The outlier fraction that Theorem 2 allows at the start, up to a constant: 1/(√r κ̄).

    Parameters
    ----------
    rank
        The rank r of the matrix.
    average_condition
        The average condition number κ̄.

    See Also
    --------
    robustrank.theory.average_condition_number : κ̄ of given singular values.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.theory.start_outlier_order(rank=4)
    0.5
    """
    return 1 / (math.sqrt(rank) * average_condition)


def condition_number(singular_values: Sequence[float]) -> float:
    """The condition number κ = σ_1/σ_r of a matrix.

    Parameters
    ----------
    singular_values
        The r nonzero singular values, in any order.

    See Also
    --------
    robustrank.theory.average_condition_number : The average condition number, which is not larger.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.theory.condition_number([4.0, 2.0, 1.0])
    4.0
    """
    return max(singular_values) / min(singular_values)


def average_condition_number(singular_values: Sequence[float]) -> float:
    """The average condition number κ̄ = ‖M‖_F/(√r σ_r) of a matrix, which is at most κ.

    Parameters
    ----------
    singular_values
        The r nonzero singular values, in any order.

    See Also
    --------
    robustrank.theory.condition_number : The condition number κ.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.average_condition_number([7.0, 1.0]), 6)
    5.0
    """
    return math.hypot(*singular_values) / (math.sqrt(len(singular_values)) * min(singular_values))


def red_line_rank(measurements: int, n1: int, n2: int, outlier_fraction: float) -> float:
    """The red line in the paper's phase transitions, as a rank: r = (1 − s) m/(n1 + n2).

    Parameters
    ----------
    measurements
        The number of measurements, m.
    n1, n2
        The shape of the matrix.
    outlier_fraction
        The fraction s of the measurements that are outliers.

    See Also
    --------
    robustrank.theory.red_line_measurements : The same line solved for m.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.red_line_rank(2700, 150, 120, outlier_fraction=0.1), 6)
    9.0
    """
    return (1 - outlier_fraction) * measurements / (n1 + n2)


def red_line_measurements(rank: int, n1: int, n2: int, outlier_fraction: float) -> float:
    """The red line in the paper's phase transitions, as measurements: m = r (n1 + n2)/(1 − s).

    Parameters
    ----------
    rank
        The rank of the matrix, r.
    n1, n2
        The shape of the matrix.
    outlier_fraction
        The fraction s of the measurements that are outliers.

    See Also
    --------
    robustrank.theory.red_line_rank : The same line solved for r.

    Examples
    --------
    >>> import robustrank as rr
    >>> round(rr.theory.red_line_measurements(5, 150, 120, outlier_fraction=0.1))
    1500
    """
    return rank * (n1 + n2) / (1 - outlier_fraction)


@dataclass(frozen=True)
class MedianConcentration:
    """Quantiles of ``|A(G)| / ‖G‖_F`` over random G of rank 2r, for each level of Proposition 1.

    Attributes
    ----------
    levels
        The levels, 0.49, 0.5 and 0.51.
    expected
        The quantiles of the absolute value of a standard normal variable at these levels.
    observed
        The quantiles for each G, of shape (draws, 3).

    See Also
    --------
    robustrank.theory.check_median_concentration : Returns these quantiles.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, rng=1)
    >>> operator = rr.operators.as_operator(planted.A)
    >>> quantiles = rr.theory.check_median_concentration(operator, rank=2, draws=10, rng=0)
    >>> quantiles.levels, quantiles.observed.shape
    ((0.49, 0.5, 0.51), (10, 3))
    """

    levels: tuple[float, ...]
    expected: tuple[float, ...]
    observed: np.ndarray[Any, Any]  # (draws, levels)

    @property
    def worst(self) -> float:
        """The smallest ε for which the proposition holds on every draw."""
        return float(np.max(np.abs(self.observed - np.asarray(self.expected))))


def check_median_concentration(
    operator: Operator, rank: int, draws: int = 20, rng: int | np.random.Generator | None = None
) -> MedianConcentration:
    """Compare the quantiles of measurements of random matrices with those of Proposition 1.

    Parameters
    ----------
    operator
        The sensing data; ``operators.as_operator`` makes one of an array.
    rank
        The rank r; the random Gaussian matrices G have the rank 2r.
    draws
        The number of random matrices.
    rng
        Random seed or generator.

    Returns
    -------
    MedianConcentration
        The quantiles; ``worst`` is the largest difference.

    See Also
    --------
    robustrank.operators.as_operator : The operator of an array.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, rng=1)
    >>> operator = rr.operators.as_operator(planted.A)
    >>> rr.theory.check_median_concentration(operator, rank=2, rng=0).worst < 0.25
    True
    """
    generator = np.random.default_rng(rng)
    n1, n2 = operator.matrix_shape
    observed = np.empty((draws, len(CONCENTRATION_LEVELS)))
    for row in observed:
        U = generator.standard_normal((n1, 2 * rank))
        V = generator.standard_normal((n2, 2 * rank))
        magnitudes = np.abs(to_numpy(operator.measure(operator.asarray(U), operator.asarray(V))))
        size = float(frobenius_norm(U @ V.T))
        row[:] = [float(sample_quantile(magnitudes, p)) / size for p in CONCENTRATION_LEVELS]
    expected = tuple(half_normal_quantile(p) for p in CONCENTRATION_LEVELS)
    return MedianConcentration(CONCENTRATION_LEVELS, expected, observed)
