"""Which measurements to believe: from the sizes of the residuals to weights.

A rule sees magnitudes and their median and nothing else, so it follows the scale of the data:
residuals a thousand times larger get the same weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from robustrank.backend import Array, check_positive, like, namespace


class TrustRule(ABC):
    """A map from |residual| to weights between 0 (not believed) and 1.

    Magnitudes are (m,), or have a leading axis that the median has too.
    """

    @abstractmethod
    def weights(self, magnitudes: Array, median: Array) -> Array:
        """The weight of each measurement, given |residual| and its lower median."""

    @abstractmethod
    def cutoff(self, median: float) -> float | None:
        """The magnitude beyond which nothing is believed; None where there is no such thing."""


@dataclass(frozen=True)
class MedianTruncation(TrustRule):
    """Believe what is at most ``alpha`` medians away: the paper's indicator of E_i."""

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
class KeepAll(TrustRule):
    """Believe every measurement: least squares, the rule of vanilla gradient descent."""

    def weights(self, magnitudes: Array, median: Array) -> Array:
        return namespace(magnitudes).ones_like(magnitudes)

    def cutoff(self, median: float) -> float | None:
        return None


@dataclass(frozen=True)
class SoftTruncation(TrustRule):
    """Believe less the further away: (1 + (|residual|/width)²)^−power, up to ``cut`` medians."""

    width: Array | float
    power: float
    cut: float

    def weights(self, magnitudes: Array, median: Array) -> Array:
        xp = namespace(magnitudes)
        near = xp.astype(magnitudes <= (self.cut * median)[..., None], magnitudes.dtype)
        ratio = magnitudes / xp.asarray(self.width, **like(magnitudes))[..., None]
        return near * (1 + ratio**2) ** -self.power

    def cutoff(self, median: float) -> float | None:
        return self.cut * median


# No measurement is taken to decide more than this share of what is predicted for it: where so few
# are believed that each seems to, the share is not known so well.
_MOST_LEVERAGE = 0.95


def mean_leverage(weights: Array, freedom: int) -> Array:
    """The share of what a fit predicts for a measurement that the measurement itself decides.

    It is d/N on average, for d free numbers and N measurements.
    """
    xp = namespace(weights)
    least = freedom / _MOST_LEVERAGE
    return freedom / xp.clip(xp.sum(weights, axis=-1), min=least)


def left_out(magnitudes: Array, weights: Array, leverage: Array) -> Array:
    """The residuals of a fit with these weights, had each measurement not been used for it.

    A fit meets what it believes 1/(1 − leverage) times better than it would otherwise. Compared as
    they are, residuals would keep believed what is believed, and doubted what is doubted.
    """
    return magnitudes / (1 - leverage[..., None] * weights)


def trusted(values: Array, weights: Array) -> Array:
    """weights · values, where a value without weight counts as zero even if it is infinite."""
    xp = namespace(values)
    return weights * xp.where(weights > 0, values, 0.0)
