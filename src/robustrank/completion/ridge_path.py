"""The search: alternating least squares while a ridge decreases, and which ranks to try."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robustrank.backend import Array, epsilon, namespace, to_numpy
from robustrank.completion.sample import Sample, Vector, typical_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import Point, point_of
from robustrank.operators import soft_weights


@dataclass(frozen=True)
class RidgePath:
    """Weighted alternating least squares along a decreasing ridge.

    A ridge on both factors penalizes the nuclear norm of their product: a large one leaves only
    the strongest directions, and each further one joins as the ridge decreases, so that the
    iteration starts near a solution at every step. The weights narrow at the same time.

    Parameters
    ----------
    ridge
        The first ridge, relative to the largest singular value of the weighted values.
    decay
        The factor from one ridge to the next.
    steps, sweeps
        The number of ridges, and of sweeps over rows and columns at each.
    widths
        The first and the last width of the weights, in standard deviations of the values.
    """

    ridge: float = 0.5
    decay: float = 0.8
    steps: int = 25
    sweeps: int = 2
    widths: tuple[float, float] = (3.0, 0.5)

    def start(
        self, sample: Sample, rank: int, rng: np.random.Generator, explained: Point
    ) -> PathPoint:
        """The beginning of the path, with factors of the given rank.

        It has the components that explain most of the values already, which may be none, and the
        leading part of what they leave; the width is in units of that.
        """
        residual = sample.residual(explained.scaled_left, explained.right)
        xp, known = namespace(residual), int(explained.values.shape[0])
        width = self.widths[0] * typical_deviation(residual)
        weights = soft_weights(residual, width)
        left, values, right = sample.leading_svd(
            weights * residual, rank - known, rng, approximate=True
        )
        share = float(xp.sum(weights)) / math.prod(sample.shape)
        parts = explained.balanced, Point(left, values / share, right).balanced
        P, Q = (xp.concat(factors, axis=1) for factors in zip(*parts, strict=True))
        largest = float(values[0])
        if known:  # a smaller ridge would vanish beside these components by rounding
            largest = max(largest, math.sqrt(epsilon(P)) * float(explained.values[0]))
        return PathPoint(P, Q, self.ridge * largest, width, 0)

    def advance(self, sample: Sample, at: PathPoint, step: int, watch: Watch) -> PathPoint:
        """The point of the path before this step."""
        first, last = self.widths
        narrowing = (last / first) ** (1 / self.steps)
        while at.step < step:
            P, Q = at.left, at.right
            for _ in range(self.sweeps):
                P = sample.fit_rows(P, Q, at.width, at.ridge)
                Q = sample.transposed.fit_rows(Q, P, at.width, at.ridge)
            at = PathPoint(P, Q, at.ridge * self.decay, at.width * narrowing, at.step + 1)
            watch.report(at.step / self.steps, P, Q)
        return at


@dataclass(frozen=True, eq=False)
class PathPoint:
    """Factors on the path, with the ridge and the width of the next step."""

    left: Array
    right: Array
    ridge: float
    width: float
    step: int

    @cached_property
    def singular_values(self) -> Vector:
        """The singular values of the matrix."""
        return to_numpy(self._point.values)

    def truncated(self, rank: int) -> PathPoint:
        """The point with the leading singular values only, divided evenly between the factors."""
        left, right = self._point.truncated(rank).balanced
        return replace(self, left=left, right=right)

    @cached_property
    def _point(self) -> Point:
        return point_of(self.left, self.right)


# Smaller components, relative to the largest one, are negligible: gaps between them do not count.
NEGLIGIBLE = 1e-3
# A gap is a ratio of neighboring singular values of at least this. The largest rank has no next
# value to compare with; it counts as one with the smallest gap.
_GAP = 1.5
_MOST = 4


def candidate_ranks(singular_values: Vector) -> list[int]:
    """The ranks after which the singular values have the largest gaps, and their number."""
    values = np.maximum(singular_values, NEGLIGIBLE * singular_values[0])
    rank = len(values)
    ratios = {k: float(values[k - 1] / values[k]) for k in range(1, rank)}
    ratios[rank] = _GAP
    gaps = [k for k, ratio in ratios.items() if ratio >= _GAP]
    return sorted(gaps, key=lambda k: -ratios[k])[:_MOST]
