"""A mixture model of measurements: inliers, inliers with the wrong sign, and outliers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from robustrank.backend import Array, like, namespace
from robustrank.theory import half_normal_quantile

# The distribution of the outliers is unknown. It is modeled by narrow normal components on both
# sides of zero, evenly spaced on a logarithmic axis up to thousands of typical measurements.
_COMPONENTS = 40
_STEP = 0.5
_OUTLIERS, _FLIPPED = 0.25, 0.05  # prior shares
_LEAST_INLIERS = 0.5  # with fewer, outliers would be taken for inliers


@dataclass(frozen=True, eq=False)
class Posterior:
    """Inlier probabilities and corrections of the predictions, given the measurements."""

    inlier: Array  # (m,) the probability that a measurement is an inlier
    correction: Array  # (m,) the expected difference between the true value and the prediction
    precision: Array  # the mean derivative of the correction: 1 if all are certainly inliers


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture whose shares and prediction error are estimated as the iteration proceeds.

    A measurement equals its prediction plus a normal error (inlier), the negative of that (flipped
    sign), or is unrelated to it (outlier). All arrays may have a leading axis of problems.
    """

    y: Array  # finite
    typical: Array  # the standard deviation of an inlier
    outlier_density: Array  # (m, components) the density of each component at each measurement
    shares: Array  # of inliers, flipped ones, and every outlier component
    error: Array  # the standard deviation of the prediction errors

    @classmethod
    def initial(cls, y: Array, scale: Array | float) -> Mixture:
        """The prior mixture for measurements with the given median magnitude."""
        xp = namespace(y)
        typical = xp.asarray(scale / half_normal_quantile(0.5), **like(y))
        spread = [math.sinh(_STEP * k) for k in range(-_COMPONENTS // 2, _COMPONENTS // 2 + 1)]
        edges = typical[..., None] * xp.asarray(spread, **like(y))
        # Measurements beyond all components, infinite ones included, belong to the outermost.
        y = xp.clip(y, min=edges[..., :1], max=edges[..., -1:])
        low, high = edges[..., None, :-1], edges[..., None, 1:]
        outliers = [_OUTLIERS / _COMPONENTS] * _COMPONENTS
        shares = [1 - _OUTLIERS - _FLIPPED, _FLIPPED, *outliers]
        return cls(
            y=y,
            typical=typical,
            outlier_density=_normal(y[..., None] - (low + high) / 2, (high - low) / 2),
            shares=xp.ones_like(typical)[..., None] * xp.asarray(shares, **like(y)),
            error=typical,
        )

    def updated(self, predicted: Array) -> Mixture:
        """Shares and prediction error after one step of expectation–maximization."""
        xp = namespace(predicted)
        parts = self._responsibilities(predicted)
        shares = xp.mean(parts, axis=-2)
        inliers = xp.clip(shares[..., :1], min=_LEAST_INLIERS)
        tiny = float(xp.finfo(predicted.dtype).smallest_normal)
        others = shares[..., 1:] * (1 - inliers) / (1 - shares[..., :1] + tiny)
        ahead, flipped = self._errors(predicted)
        squares = parts[..., 0] * ahead**2 + parts[..., 1] * flipped**2
        count = xp.sum(parts[..., :2], axis=(-2, -1)) + tiny
        error = xp.sqrt(xp.sum(squares, axis=-1) / count)
        least = self.typical * math.sqrt(float(xp.finfo(predicted.dtype).eps))
        shares = xp.concat([inliers, others], axis=-1)
        return replace(self, shares=shares, error=xp.maximum(error, least))

    def posterior(self, predicted: Array) -> Posterior:
        """The posterior, given these predictions."""
        xp = namespace(predicted)
        parts = self._responsibilities(predicted)
        inlier, sign_flipped = parts[..., 0], parts[..., 1]
        ahead, flipped = self._errors(predicted)
        correction = inlier * ahead + sign_flipped * flipped
        spread = inlier * ahead**2 + sign_flipped * flipped**2 - correction**2
        prior = self.error[..., None] ** 2
        variance = spread + (1 - inlier - sign_flipped) * prior  # of the true value
        return Posterior(
            inlier=inlier,
            correction=correction,
            precision=xp.mean(1 - variance / prior, axis=-1),
        )

    def _responsibilities(self, predicted: Array) -> Array:
        """The probability of each component for each measurement, (m, 2 + components)."""
        xp = namespace(predicted)
        close = _normal(xp.stack(self._errors(predicted), axis=-1), self.error[..., None, None])
        joint = self.shares[..., None, :] * xp.concat([close, self.outlier_density], axis=-1)
        tiny = float(xp.finfo(joint.dtype).smallest_normal)
        return joint / (xp.sum(joint, axis=-1, keepdims=True) + tiny)

    def _errors(self, predicted: Array) -> tuple[Array, Array]:
        """The prediction errors if the measurement is an inlier, and if its sign is flipped."""
        return self.y - predicted, -self.y - predicted


def _normal(values: Array, deviation: Array) -> Array:
    """The density of a centered normal distribution."""
    xp = namespace(values)
    return xp.exp(-0.5 * (values / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
