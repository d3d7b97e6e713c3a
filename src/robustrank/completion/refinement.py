"""Gauss–Newton from the end of the search to the solution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, namespace
from robustrank.completion.sample import Sample, robust_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import (
    TOLERANCE,
    Factors,
    Point,
    degrees_of_freedom,
    gauss_newton_step,
    point_of,
    share_left,
)
from robustrank.operators import soft_weights

# An inlier is within four standard deviations of the noise, as all but one in 16,000 normal errors.
CUTOFF = 4.0
# The accuracy of a linear solve, relative to the misfit: the linearization is no better than that.
# The damping is the same, so that steps are short while the factors are wrong. With a half, one of
# 500 exact completions, those with the fewest entries, does not converge in time.
_ACCURACY = 0.1


@dataclass(frozen=True, eq=False)
class Fit:
    """A low-rank matrix and the entries that it was fitted to."""

    point: Point
    cutoff: float  # the largest |residual| of an inlier
    has_noise: bool = False  # whether noise keeps the residuals from vanishing

    @property
    def factors(self) -> Factors:
        """P and Q, with the matrix P Qᵀ."""
        return self.point.scaled_left, self.point.right

    @property
    def rank(self) -> int:
        """The number of components."""
        return int(self.point.values.shape[0])


def narrowed(
    sample: Sample,
    factors: Factors,
    width: float,
    watch: Watch,
    sizes: Array | float = 1.0,
    *,
    decay: float = 0.3,
    steps: int = 6,
) -> Fit:
    """Gauss–Newton with soft weights that narrow at every step, but not below the noise.

    Parameters
    ----------
    sample, factors, watch
        The entries, the factors to begin with, and what the progress is reported to.
    width
        The width of the weights to begin with; the cutoff of the fit is twice the last one.
    sizes
        Of the noise of each entry, relative to a typical one, in which the width is measured.
    decay
        The factor from one width to the next.
    steps
        The number of steps.
    """
    fit = Fit(point_of(*factors), 2 * width)
    for step in range(steps):
        residual = sample.residual(*fit.factors)
        deviation = robust_deviation(residual / sizes)
        least = 2 * deviation  # narrower weights would reject noise
        width = max(width * decay, least)
        misfit = deviation / sample.deviation
        weights = soft_weights(residual / sizes, width) / sizes**2
        point, _ = gauss_newton_step(
            sample.tangent(fit.point),
            fit.point,
            weights,
            residual,
            damping=_ACCURACY * misfit,
            accuracy=_ACCURACY * misfit,
            diagonal=1 / math.prod(sample.shape),
        )
        fit = Fit(point, 2 * width, has_noise=width <= least)
        watch.report((step + 1) / steps, *fit.factors)
    return fit


def polished(
    sample: Sample, fit: Fit, watch: Watch, *, steps: int = 12, shrinking: float = 0.01
) -> Fit:
    """Gauss–Newton on the entries within a cutoff that follows their residuals, to convergence.

    Without noise the residuals vanish, and the cutoff decreases until only rounding is left.

    Parameters
    ----------
    sample, fit, watch
        The entries, the fit to begin with, and what the progress is reported to.
    steps
        The largest number of steps.
    shrinking
        The smallest factor of the cutoff in one step.
    """
    xp, exact = namespace(sample.row_values), sample.tolerance
    for step in range(steps):
        residual = sample.residual(*fit.factors)
        inliers = abs(residual) <= fit.cutoff
        deviation = noise_of(residual[inliers], sample.shape, fit.rank)
        weights = xp.astype(inliers, residual.dtype)
        point, change = gauss_newton_step(
            sample.tangent(fit.point),
            fit.point,
            weights,
            residual,
            accuracy=_ACCURACY * deviation / sample.deviation,
            diagonal=1 / math.prod(sample.shape),
        )
        cutoff = max(CUTOFF * deviation, shrinking * fit.cutoff, exact)
        settled = 2 * cutoff > fit.cutoff
        fit = Fit(point, min(cutoff, fit.cutoff), has_noise=cutoff > exact)
        watch.report((step + 1) / steps, *fit.factors)
        if change < TOLERANCE and settled:
            break
    return fit


def noise_of(residual: Array, shape: tuple[int, int], rank: int) -> float:
    """The standard deviation of the noise, from the residuals of all inliers of a fit."""
    count = int(residual.shape[0])
    if count == 0:
        return math.inf
    left = share_left(degrees_of_freedom(*shape, rank), count)
    return robust_deviation(residual) / math.sqrt(left)
