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
from scipy.special import ndtri

from robustrank.backend import check_count, check_positive, to_numpy
from robustrank.linalg import frobenius_norm, sample_quantile
from robustrank.operators import Operator

ALPHA_H = 6.0  # the truncation of Theorem 1
MAX_STEP_SIZE = 1 / 740  # the largest step size μ that Theorem 1 covers
BASIN = 1 / 24  # the basin of attraction: dist(W0, Z) ≤ σ_r(Z)/24
CONCENTRATION_LEVELS = (0.49, 0.50, 0.51)  # the quantiles of Proposition 1


def truncated_second_moment(cut: float) -> float:
    """E[ξ² 1{|ξ| ≤ cut}] for a standard normal ξ, in closed form."""
    return math.erf(cut / math.sqrt(2)) - cut * math.sqrt(2 / math.pi) * math.exp(-(cut**2) / 2)


def balance_weight(alpha_h: float = ALPHA_H) -> float:
    """λ = E[ξ² 1{|ξ| ≤ 0.65 α_h}]/4, the weight of the balancing term in Theorem 1."""
    return truncated_second_moment(0.65 * alpha_h) / 4


def start_truncation(rank: int, average_condition: float) -> float:
    """α_y = 2 log(r^¼ κ̄0^½ + 20) of Theorem 2; κ̄0 is an upper bound on κ̄."""
    check_count(rank=rank)
    check_positive(average_condition=average_condition)
    return 2 * math.log(rank**0.25 * math.sqrt(average_condition) + 20)


def contraction_factor(step_size: float, condition: float) -> float:
    """(1 − μ/(10 κ))^½ of Theorem 1, by which each iteration reduces dist(W_t, Z) at least."""
    if not 0 < step_size <= MAX_STEP_SIZE:
        raise ValueError(f"step_size={step_size} is outside Theorem 1; expected 0 < μ ≤ 1/740")
    return math.sqrt(1 - step_size / (10 * condition))


def local_sample_order(n1: int, n2: int, rank: int) -> float:
    """n r log n: the measurements that Theorem 1 requires for local convergence."""
    n = (n1 + n2) / 2
    return n * rank * math.log(n)


def start_sample_order(n1: int, n2: int, rank: int, average_condition: float = 1.0) -> float:
    """α_y² κ̄² n r² log n: the measurements that Theorem 2 requires for the initialization."""
    n = (n1 + n2) / 2
    alpha_y = start_truncation(rank, average_condition)
    return alpha_y**2 * average_condition**2 * n * rank**2 * math.log(n)


def start_outlier_order(rank: int, average_condition: float = 1.0) -> float:
    """1/(√r κ̄): the outlier fraction that Theorem 2 allows for the initialization."""
    return 1 / (math.sqrt(rank) * average_condition)


def condition_number(singular_values: Sequence[float]) -> float:
    """κ = σ_1/σ_r, given the r nonzero singular values."""
    return max(singular_values) / min(singular_values)


def average_condition_number(singular_values: Sequence[float]) -> float:
    """κ̄ = ‖M‖_F/(√r σ_r), given the r nonzero singular values; at most κ."""
    return math.hypot(*singular_values) / (math.sqrt(len(singular_values)) * min(singular_values))


def degrees_of_freedom(n1: int, n2: int, rank: int) -> int:
    """r (n1 + n2 − r), the number of free parameters of an n1 × n2 matrix of rank r."""
    return rank * (n1 + n2 - rank)


def symmetric_degrees_of_freedom(n: int, rank: int) -> int:
    """r n − r (r − 1)/2, the number of free parameters of a symmetric n × n matrix of rank r."""
    return rank * n - rank * (rank - 1) // 2


def red_line_rank(measurements: int, n1: int, n2: int, outlier_fraction: float) -> float:
    """r = (1 − s) m/(n1 + n2), the red line in the paper's phase transitions."""
    return (1 - outlier_fraction) * measurements / (n1 + n2)


def red_line_measurements(rank: int, n1: int, n2: int, outlier_fraction: float) -> float:
    """The same red line solved for m: r (n1 + n2)/(1 − s)."""
    return rank * (n1 + n2) / (1 - outlier_fraction)


def half_normal_quantile(p: float) -> float:
    """θ_p of |ξ| for a standard normal ξ: 0.6588, 0.6745, 0.6903 at the levels of Proposition 1."""
    return float(ndtri((1 + p) / 2))


@dataclass(frozen=True)
class MedianConcentration:
    """Quantiles of |A(G)|/‖G‖_F over random G of rank 2r, for each level of Proposition 1."""

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
    """The quantiles of Proposition 1 for random Gaussian G of rank 2r."""
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
