"""What a measurement may be: right, of the wrong sign, or garbage from anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from robustrank.backend import Array, like, namespace
from robustrank.theory import half_normal_quantile

# Garbage may have any distribution. It is a mixture of narrow normals on either side of zero,
# spaced and as wide as a logarithmic axis asks for, up to thousands of typical measurements.
_SPOTS = 40
_STEP = 0.5
_GARBAGE, _FLIPPED = 0.25, 0.05  # the shares that are expected before anything is known
_LEAST_RIGHT = 0.5  # with fewer, it is the garbage that would be taken for right


@dataclass(frozen=True, eq=False)
class Belief:
    """What the measurements say about the predictions they are compared with."""

    right: Array  # (m,) the probability that a measurement is right
    correction: Array  # (m,) the expected difference between the true value and the prediction
    precision: Array  # the mean derivative of the correction: 1 if all were right for certain


@dataclass(frozen=True, eq=False)
class Mixture:
    """Measurements as draws from a mixture whose shares are learnt on the way.

    A measurement is its prediction plus a normal error (right), minus that (flipped), or it has
    nothing to do with it (garbage). All arrays may have a leading axis.
    """

    y: Array  # finite
    typical: Array  # the standard deviation of a right measurement
    garbage: Array  # (m, spots) the density of every kind of garbage at every measurement
    shares: Array  # of right, flipped, and every kind of garbage
    error: Array  # the standard deviation of the prediction errors

    @classmethod
    def of(cls, y: Array, scale: Array | float) -> Mixture:
        """The mixture before anything is known, for measurements whose median size is given."""
        xp = namespace(y)
        typical = xp.asarray(scale / half_normal_quantile(0.5), **like(y))
        spread = [math.sinh(_STEP * k) for k in range(-_SPOTS // 2, _SPOTS // 2 + 1)]
        edges = typical[..., None] * xp.asarray(spread, **like(y))
        # What lies beyond them all is garbage as well, infinity included.
        y = xp.clip(y, min=edges[..., :1], max=edges[..., -1:])
        low, high = edges[..., None, :-1], edges[..., None, 1:]
        shares = [1 - _GARBAGE - _FLIPPED, _FLIPPED, *[_GARBAGE / _SPOTS] * _SPOTS]
        return cls(
            y,
            typical,
            _normal(y[..., None] - (low + high) / 2, (high - low) / 2),
            xp.ones_like(typical)[..., None] * xp.asarray(shares, **like(y)),
            typical,
        )

    def learnt(self, predicted: Array) -> Mixture:
        """The same with shares and error that fit better: one step of expectation–maximisation."""
        xp = namespace(predicted)
        parts = self._parts(predicted)
        shares = xp.mean(parts, axis=-2)
        right = xp.clip(shares[..., :1], min=_LEAST_RIGHT)
        tiny = float(xp.finfo(predicted.dtype).smallest_normal)
        others = shares[..., 1:] * (1 - right) / (1 - shares[..., :1] + tiny)
        ahead, back = self._errors(predicted)
        squares = parts[..., 0] * ahead**2 + parts[..., 1] * back**2
        believed = xp.sum(parts[..., :2], axis=(-2, -1)) + tiny
        error = xp.sqrt(xp.sum(squares, axis=-1) / believed)
        least = self.typical * math.sqrt(float(xp.finfo(predicted.dtype).eps))
        shares = xp.concat([right, others], axis=-1)
        return replace(self, shares=shares, error=xp.maximum(error, least))

    def believe(self, predicted: Array) -> Belief:
        """What the measurements say, given these predictions."""
        xp = namespace(predicted)
        parts = self._parts(predicted)
        right, flipped = parts[..., 0], parts[..., 1]
        ahead, back = self._errors(predicted)
        correction = right * ahead + flipped * back
        spread = right * ahead**2 + flipped * back**2 - correction**2
        unknown = self.error[..., None] ** 2
        variance = spread + (1 - right - flipped) * unknown  # of the true value
        return Belief(right, correction, xp.mean(1 - variance / unknown, axis=-1))

    def _parts(self, predicted: Array) -> Array:
        """The probability of each component for each measurement, (m, 2 + spots)."""
        xp = namespace(predicted)
        close = _normal(xp.stack(self._errors(predicted), axis=-1), self.error[..., None, None])
        joint = self.shares[..., None, :] * xp.concat([close, self.garbage], axis=-1)
        tiny = float(xp.finfo(joint.dtype).smallest_normal)
        return joint / (xp.sum(joint, axis=-1, keepdims=True) + tiny)

    def _errors(self, predicted: Array) -> tuple[Array, Array]:
        """How far off the predictions are, if the measurement is right and if it is flipped."""
        return self.y - predicted, -self.y - predicted


def _normal(values: Array, deviation: Array) -> Array:
    """The density of a centred normal distribution."""
    xp = namespace(values)
    return xp.exp(-0.5 * (values / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
