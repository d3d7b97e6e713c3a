"""Weight functions, and residuals as if each measurement had been left out of the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from robustrank.backend import Array, check_positive, few_on_host, is_numpy, namespace
from robustrank.linalg import MOST_LEVERAGE

# Inliers have residuals of up to this number of medians: the paper's α_h.
CUTOFF_MEDIANS = 6.0


def check_cutoffs(**cutoffs: Any) -> None:
    """Raise for the first cutoff, in medians, that would reject half of the measurements."""
    check_positive(**cutoffs)
    for name, value in cutoffs.items():
        if value < 1:
            raise ValueError(
                f"{name}={value} would reject at least half of the measurements; expected ≥ 1"
            )


def as_factor(number: Array, array: Array) -> Array:
    """A number for each problem as it can be multiplied with an array.

    That of a single problem may be in host memory while the array is on a GPU.
    """
    if type(number) is float:  # not a number of NumPy
        return number
    return float(number) if is_numpy(number) and not (number.ndim or is_numpy(array)) else number


def beside(number: Array, measurements: Array) -> Array:
    """A number for each problem as it can be combined with its measurements."""
    factor = as_factor(number, measurements)
    return factor if type(factor) is float else factor[..., None]


class WeightFunction(ABC):
    """A map from |residual| to weights between 0 (rejected) and 1.

    Magnitudes are (m,), or have a leading axis that the median has too.
    """

    @abstractmethod
    def weights(self, magnitudes: Array, median: Array) -> Array:
        """The weight of each measurement, given |residual| and its lower median."""

    @abstractmethod
    def cutoff(self, median: float) -> float | None:
        """The magnitude beyond which every weight is zero; None if there is none."""


@dataclass(frozen=True)
class TruncatedWeights(WeightFunction):
    """Weight 1 up to ``alpha`` times the median and 0 beyond, as in the paper."""

    alpha: float

    def __post_init__(self) -> None:
        check_cutoffs(alpha=self.alpha)

    def weights(self, magnitudes: Array, median: Array) -> Array:
        xp = namespace(magnitudes)
        return xp.astype(magnitudes <= beside(self.alpha * median, magnitudes), magnitudes.dtype)

    def cutoff(self, median: float) -> float | None:
        return self.alpha * median


@dataclass(frozen=True)
class UniformWeights(WeightFunction):
    """Weight 1 for every measurement: least squares, as in vanilla gradient descent."""

    def weights(self, magnitudes: Array, median: Array) -> Array:
        return namespace(magnitudes).ones_like(magnitudes)

    def cutoff(self, median: float) -> float | None:
        return None


@dataclass(frozen=True)
class SoftWeights(WeightFunction):
    """(1 + (|residual|/width)²)^−power up to ``cutoff_medians`` medians, and 0 beyond."""

    width: Array | float
    power: float
    cutoff_medians: float

    def weights(self, magnitudes: Array, median: Array) -> Array:
        xp = namespace(magnitudes)
        near = magnitudes <= beside(self.cutoff_medians * median, magnitudes)
        ratio = magnitudes / beside(self.width, magnitudes)
        return xp.astype(near, magnitudes.dtype) * (1 + ratio**2) ** -self.power

    def cutoff(self, median: float) -> float | None:
        return self.cutoff_medians * median


def mean_leverage(weights: Array, degrees_of_freedom: int) -> Array:
    """The mean share of a fitted value that is due to the measurement itself: d/N."""
    least = degrees_of_freedom / MOST_LEVERAGE
    total = few_on_host(namespace(weights).sum(weights, axis=-1), 0)
    return degrees_of_freedom / namespace(total).clip(total, min=least)


def leave_one_out_residuals(residuals: Array, leverages: Array) -> Array:
    """Residuals of a fit, corrected for the leverage of each measurement.

    The residual of an inlier is 1 − leverage times what it would be without that inlier. Without
    the correction, inliers would look too good and rejected measurements too bad, and both would
    stay as they are.
    """
    return residuals / (1 - leverages)
