"""The parts that Gauss–Newton is composed of: weights, damping, rank and the final fit."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.backend import Array, check_count, check_positive, namespace
from robustrank.solvers.weights import SoftWeights, TruncatedWeights


@dataclass(frozen=True)
class Weighting:
    """Soft weights whose width decreases while the solver searches.

    The width starts at ``width`` typical measurements, where the fit is close to ordinary least
    squares, and is multiplied by ``decay`` at every step, whatever the residuals do. It is at most
    ``max_medians`` medians of the residuals (None: no such limit).
    """

    width: float = 3.0
    decay: float = 0.97
    max_medians: float | None = 6.0
    power: float = 2.0
    cutoff_medians: float = 10.0  # measurements beyond this many medians are rejected

    def __post_init__(self) -> None:
        check_positive(width=self.width, decay=self.decay, power=self.power)
        TruncatedWeights(self.cutoff_medians)  # validates it

    def limited(self, width: Array, median: Array) -> Array:
        """The width, limited by the median of the residuals."""
        if self.max_medians is None:
            return width
        return namespace(width).minimum(width, self.max_medians * median)

    def weights(self, width: Array, magnitudes: Array, median: Array) -> Array:
        """The weights of the measurements at the current width."""
        xp = namespace(magnitudes)
        least = float(xp.finfo(magnitudes.dtype).smallest_normal)
        soft = SoftWeights(xp.clip(width, min=least), self.power, self.cutoff_medians)
        return soft.weights(magnitudes, median)


@dataclass(frozen=True)
class Damping:
    """Levenberg–Marquardt damping, relative to the mean diagonal of JᵀWJ.

    The damping is ``misfit_factor`` times the squared misfit, which is the size of what the
    linearization neglects, but at most ``initial · decay^k`` at step k. With ``misfit_factor=None``
    it follows that schedule alone.
    """

    initial: float = 3.0
    decay: float = 0.93
    misfit_factor: float | None = 1.0

    def __post_init__(self) -> None:
        check_positive(initial=self.initial, decay=self.decay)

    def at(self, iteration: int, misfit: Array, least: float) -> Array:
        """The damping at a step; never below ``least``."""
        xp = namespace(misfit)
        scheduled = max(self.initial * self.decay**iteration, least)
        if self.misfit_factor is None:
            return xp.full_like(misfit, scheduled)
        return xp.clip(self.misfit_factor * misfit**2, min=least, max=scheduled)


@dataclass(frozen=True)
class RankSchedule:
    """Extra columns at the start, dropped one by one."""

    extra: int = 0  # columns beyond the rank at the start
    drop_every: int = 8  # steps after which one of them is dropped

    def __post_init__(self) -> None:
        check_count(drop_every=self.drop_every)

    def extra_at(self, iteration: int) -> int:
        """The number of extra columns after this many steps."""
        return max(self.extra - iteration // self.drop_every, 0)


@dataclass(frozen=True)
class Settling:
    """The final fit in the presence of noise: least squares on truncated measurements."""

    alpha_h: float = 6.0  # reject beyond this many medians of the leave-one-out residuals
    earliest: int = 40  # the first step at which residuals may be taken for noise
    immediately: bool = False  # start with the final fit, if the estimate to start from is credible

    def __post_init__(self) -> None:
        TruncatedWeights(self.alpha_h)  # validates it
