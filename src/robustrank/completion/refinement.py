"""Gauss–Newton from the end of the search to the solution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, epsilon, like, namespace
from robustrank.completion.sample import Sample, robust_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import Point, damped_least_squares, degrees_of_freedom, point_of, retract
from robustrank.operators import soft_weights

# Damping relative to the average weight of an entry: proportional to the misfit while the weights
# narrow, so that the steps are short while the factors are wrong; none but rounding afterwards.
_DAMPING, _DAMPING_DECAY = 0.1, 0.9
_ROUNDING, _ROUNDINGS = 1e-12, 16
_PRECISION = 1e-4  # of the steps after that
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
    noise
        The smallest width, in robust standard deviations of the residuals.
    products
        The largest number of products of one step.
    """

    decay: float = 0.3
    steps: int = 6
    noise: float = 2.0
    products: int = 100

    def run(self, sample: Sample, P: Array, Q: Array, width: float, watch: Watch) -> Fit:
        """The fit after all steps, which begin with this width; its cutoff is three widths."""
        point, deviation = point_of(P, Q), math.inf
        for step in range(self.steps):
            residual = sample.residual(point.scaled_left, point.right)
            deviation = robust_deviation(residual)
            width = max(width * self.decay, self.noise * deviation)
            weights = soft_weights(residual, width)
            misfit = deviation / sample.deviation
            damping = max(_DAMPING * _DAMPING_DECAY**step * misfit, _least_damping(sample))
            tolerance = min(1e-2, max(0.1 * misfit, 1e-8))
            point, _ = _step(sample, point, weights, residual, damping, tolerance, self.products)
            watch.report((step + 1) / self.steps, point.scaled_left, point.right)
        return Fit(point, 3 * width, has_noise=width <= self.noise * deviation)


@dataclass(frozen=True)
class Polishing:
    """Gauss–Newton on the entries within a cutoff that follows their residuals.

    Without noise the residuals vanish, and the cutoff decreases until only rounding is left.

    Parameters
    ----------
    steps, products
        The largest numbers of steps, and of products of one step.
    tolerance
        Stop when a step is shorter than this, relative to the matrix.
    """

    steps: int = 12
    products: int = 500
    tolerance: float = 1e-9
    shrinking: float = 0.01  # of the cutoff, in one step at most

    def run(self, sample: Sample, fit: Fit, watch: Watch) -> Fit:
        """The fit after convergence."""
        exact = sample.tolerance
        for step in range(self.steps):
            inliers = Inliers.of(sample, fit)
            deviation = inliers.deviation(sample, fit.point)
            given = sample, fit.point, inliers.weights, inliers.residual
            point, change = _step(*given, _least_damping(sample), _PRECISION, self.products)
            cutoff = max(CUTOFF * deviation, self.shrinking * fit.cutoff, exact)
            settled = cutoff > 0.9 * fit.cutoff
            fit = Fit(point, min(cutoff, fit.cutoff), has_noise=cutoff > exact)
            watch.report((step + 1) / self.steps, *fit.factors)
            noise = 1e-3 * deviation / sample.deviation
            if change < max(self.tolerance, 8 * epsilon(point.left), noise) and settled:
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
        return robust_deviation(chosen) / math.sqrt(max(1 - free / count, 0.1))


def _least_damping(sample: Sample) -> float:
    return max(_ROUNDING, _ROUNDINGS * epsilon(sample.row_values))


def _step(
    sample: Sample,
    point: Point,
    weights: Array,
    residual: Array,
    damping: float,
    tolerance: float,
    products: int,
) -> tuple[Point, float]:
    """The point after one damped Gauss–Newton step, and the relative length of the step.

    The damping is relative to the average weight of an entry of the matrix.
    """
    xp = namespace(residual)
    W = damped_least_squares(
        sample.tangent(point),
        weights,
        residual,
        damping * xp.sum(weights) / math.prod(sample.shape),
        xp.asarray(max(tolerance, math.sqrt(epsilon(residual))), **like(residual)),
        products,
    )
    norm = xp.linalg.vector_norm
    change = float(norm(W)) / max(float(norm(point.values)), 1e-300)
    return retract(point, W, int(point.values.shape[0])), change
