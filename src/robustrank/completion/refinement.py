"""Gauss–Newton from the end of the search to the solution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, epsilon, like, namespace
from robustrank.completion.sample import Sample, robust_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import (
    ROUNDINGS,
    TOLERANCE,
    Point,
    damped_least_squares,
    degrees_of_freedom,
    point_of,
    relative_length,
    retract,
    share_left,
)
from robustrank.operators import soft_weights

# An inlier is within four standard deviations of the noise.
CUTOFF = 4.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A low-rank matrix and the entries that it was fitted to."""

    point: Point
    cutoff: float  # the largest |residual| of an inlier
    has_noise: bool = False  # whether noise keeps the residuals from vanishing

    @property
    def factors(self) -> tuple[Array, Array]:
        """P and Q, with the matrix P Qᵀ."""
        return self.point.scaled_left, self.point.right


@dataclass(frozen=True)
class Narrowing:
    """Gauss–Newton with soft weights that narrow at every step, but not below the noise.

    Parameters
    ----------
    decay
        The factor from one width to the next.
    steps
        The number of steps.
    damping
        The damping relative to the average weight of an entry, in units of the misfit: steps are
        short while the factors are wrong.
    """

    decay: float = 0.3
    steps: int = 6
    damping: float = 0.1

    def run(self, sample: Sample, P: Array, Q: Array, width: float, watch: Watch) -> Fit:
        """The fit after all steps, which begin with this width; its cutoff is two widths."""
        point, least = point_of(P, Q), 0.0
        for step in range(self.steps):
            residual = sample.residual(point.scaled_left, point.right)
            deviation = robust_deviation(residual)
            least = 2 * deviation  # narrower weights would reject noise
            width = max(width * self.decay, least)
            misfit = deviation / sample.deviation
            weights = soft_weights(residual, width)
            point, _ = _step(sample, point, weights, residual, misfit, self.damping * misfit)
            watch.report((step + 1) / self.steps, point.scaled_left, point.right)
        return Fit(point, 2 * width, has_noise=width <= least)


@dataclass(frozen=True)
class Polishing:
    """Gauss–Newton on the entries within a cutoff that follows their residuals.

    Without noise the residuals vanish, and the cutoff decreases until only rounding is left.

    Parameters
    ----------
    steps
        The largest number of steps.
    shrinking
        The smallest factor of the cutoff in one step.
    """

    steps: int = 12
    shrinking: float = 0.01

    def run(self, sample: Sample, fit: Fit, watch: Watch) -> Fit:
        """The fit after convergence."""
        exact = sample.tolerance
        for step in range(self.steps):
            inliers = Inliers.of(sample, fit)
            deviation = inliers.deviation(sample, fit.point)
            misfit = deviation / sample.deviation
            point, change = _step(sample, fit.point, inliers.weights, inliers.residual, misfit)
            cutoff = max(CUTOFF * deviation, self.shrinking * fit.cutoff, exact)
            settled = 2 * cutoff > fit.cutoff
            fit = Fit(point, min(cutoff, fit.cutoff), has_noise=cutoff > exact)
            watch.report((step + 1) / self.steps, *fit.factors)
            if change < TOLERANCE and settled:
                break
        return fit


@dataclass(frozen=True, eq=False)
class Inliers:
    """The residuals of a fit, and which entries are within its cutoff, in the order of the rows."""

    residual: Array
    weights: Array

    @staticmethod
    def of(sample: Sample, fit: Fit) -> Inliers:
        """The entries within the cutoff of a fit."""
        residual = sample.residual(*fit.factors)
        xp = namespace(residual)
        return Inliers(residual, xp.astype(xp.abs(residual) <= fit.cutoff, residual.dtype))

    def deviation(self, sample: Sample, point: Point) -> float:
        """The standard deviation of the noise of the inliers."""
        chosen = self.residual[self.weights > 0]
        count = int(chosen.shape[0])
        free = degrees_of_freedom(*sample.shape, int(point.values.shape[0]))
        if count == 0:
            return math.inf
        return robust_deviation(chosen) / math.sqrt(share_left(free, count))


def _step(
    sample: Sample,
    point: Point,
    weights: Array,
    residual: Array,
    misfit: float,
    damping: float = 0.0,
) -> tuple[Point, float]:
    """The point after one damped Gauss–Newton step, and the relative length of the step.

    The linear solve is as accurate as the misfit, because the linearization is no better than that;
    ``damping`` is relative to the average weight of an entry.
    """
    xp, rounding = namespace(residual), epsilon(residual)
    W = damped_least_squares(
        sample.tangent(point),
        weights,
        residual,
        max(damping, ROUNDINGS * rounding) * xp.sum(weights) / math.prod(sample.shape),
        xp.asarray(min(max(misfit / 10, math.sqrt(rounding)), 1e-2), **like(residual)),
    )
    return retract(point, W, int(point.values.shape[0])), relative_length(W, point)
