"""The parts that Gauss–Newton is composed of: weights, damping and the final fit."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.backend import Array, check_positive, namespace, tiny
from robustrank.solvers.base import MOST_STEPS
from robustrank.solvers.weights import CUTOFF_MEDIANS, SoftWeights, check_cutoffs


@dataclass(frozen=True)
class Weighting:
    """The weights of Gauss–Newton during the search, whose width decreases with every step.

    The weight of a measurement is ``(1 + (|residual| / width)²)^(−power)``.

    Parameters
    ----------
    width
        The initial width in typical measurements; the fit is then close to ordinary least squares.
    decay
        The factor of the width per step, whatever the residuals do.
    max_medians
        The largest width, in medians of the absolute residuals.
    power
        The exponent of the weights.
    cutoff_medians
        The cutoff, in medians of the absolute residuals: measurements beyond it are rejected.

    See Also
    --------
    robustrank.solvers.GaussNewton : The solver.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.2, rng=1)
    >>> narrow = rr.solvers.Weighting(max_medians=4.0, cutoff_medians=4.0)
    >>> solver = rr.solvers.GaussNewton(weighting=narrow)
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    width: float = 3.0
    decay: float = 0.97
    max_medians: float = CUTOFF_MEDIANS
    power: float = 2.0
    cutoff_medians: float = 10.0

    def __post_init__(self) -> None:
        check_positive(width=self.width, decay=self.decay, power=self.power)
        check_cutoffs(cutoff_medians=self.cutoff_medians)

    def limited(self, width: Array, median: Array) -> Array:
        """The width, limited by the median of the residuals."""
        return namespace(width).minimum(width, self.max_medians * median)

    def weights(self, width: Array, magnitudes: Array, median: Array) -> Array:
        """The weights of the measurements at the current width."""
        positive = namespace(width).clip(width, min=tiny(magnitudes))
        soft = SoftWeights(positive, self.power, self.cutoff_medians)
        return soft.weights(magnitudes, median)


@dataclass(frozen=True)
class Damping:
    """The damping of Gauss–Newton (Levenberg–Marquardt) during the search.

    It is relative to Σ w_i, the sum of the weights, which is about the mean diagonal of JᵀWJ.

    Parameters
    ----------
    initial, decay
        The damping at step k is the squared misfit, which is the size of what the linearization
        neglects, but at most ``initial * decay**k``.

    See Also
    --------
    robustrank.solvers.GaussNewton : The solver.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.2, rng=1)
    >>> solver = rr.solvers.GaussNewton(damping=rr.solvers.Damping(initial=10.0, decay=0.9))
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    initial: float = 3.0
    decay: float = 0.93

    def __post_init__(self) -> None:
        check_positive(initial=self.initial, decay=self.decay)

    def at(self, iteration: int, misfit: Array, least: float) -> Array:
        """The damping at a step; never below ``least``."""
        xp = namespace(misfit)
        most = max(self.initial * self.decay**iteration, least)
        return xp.clip(misfit**2, min=least, max=most)


@dataclass(frozen=True)
class Settling:
    """The final fit of Gauss–Newton with noise: least squares on truncated measurements.

    Parameters
    ----------
    alpha_h
        The cutoff, in medians of the leave-one-out residuals: measurements beyond it are rejected.
    start_after
        The first step at which residuals may be taken for noise.

    See Also
    --------
    robustrank.solvers.GaussNewton : The solver.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, noise=0.02, rng=1)
    >>> solver = rr.solvers.GaussNewton(settling=rr.solvers.Settling(alpha_h=5.0, start_after=0))
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'ESTIMATED'
    """

    alpha_h: float = CUTOFF_MEDIANS
    start_after: int = MOST_STEPS // 2

    def __post_init__(self) -> None:
        check_cutoffs(alpha_h=self.alpha_h)
