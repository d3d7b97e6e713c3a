"""Weight functions: from the sizes of the residuals to a weight for each measurement.

A weight function depends on the residuals and their median only, so it is scale equivariant:
multiplying all residuals by a constant does not change the weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from robustrank.backend import Array, check_positive, like, namespace


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
    """Weight 1 up to ``alpha`` medians and 0 beyond: the paper's indicator of E_i."""

    alpha: float

    def __post_init__(self) -> None:
        check_positive(alpha=self.alpha)
        if self.alpha < 1:
            raise ValueError(
                f"alpha={self.alpha} would reject half of the measurements; expected ≥ 1"
            )

    def weights(self, magnitudes: Array, median: Array) -> Array:
        xp = namespace(magnitudes)
        return xp.astype(magnitudes <= (self.alpha * median)[..., None], magnitudes.dtype)

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
        near = magnitudes <= (self.cutoff_medians * median)[..., None]
        ratio = magnitudes / xp.asarray(self.width, **like(magnitudes))[..., None]
        return xp.astype(near, magnitudes.dtype) * (1 + ratio**2) ** -self.power

    def cutoff(self, median: float) -> float | None:
        return self.cutoff_medians * median
