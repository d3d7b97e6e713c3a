"""A mixture model of measurements: inliers, faulty sensors and unrelated outliers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from robustrank.backend import Array, epsilon, like, namespace, tiny
from robustrank.linalg import half_normal_quantile, shortest_half
from robustrank.solvers.message_passing.relations import Relations, normal_density

_OUTLIERS, _RELATED = 0.25, 0.03  # prior shares; the latter of each relation but the first
_LEAST_SPREAD = 1e-4  # of centered measurements, relative to their offset
_LEAST_INLIERS = 0.5  # with fewer, outliers would be taken for inliers
# Components on both sides of zero, evenly spaced on a logarithmic axis up to thousands of typical
# measurements: outliers may have any size.
_ON_AXIS = 40
_STEP = 0.5
# Components between quantiles of y are narrow where many measurements are equal or nearly so, as
# from a sensor that is dead, stuck or saturated.
_BETWEEN_QUANTILES = 32
_NARROWEST = 0.01  # typical measurements


@dataclass(frozen=True, eq=False)
class Posterior:
    """Inlier probabilities and corrections of the predictions, given the measurements."""

    inlier: Array  # (m,) the probability that a measurement is an inlier
    correction: Array  # (m,) the expected difference between the true value and the prediction
    precision: Array  # the mean derivative of the correction: 1 if all true values are certain


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture whose parameters are estimated as the iteration proceeds.

    A true value is its prediction plus a normal error, and an offset of all if that is learned. A
    measurement equals the true value (inlier) or its negative, equals it up to an offset or a gain
    that other measurements share, or is unrelated to it (outlier). All arrays may have a leading
    axis of problems.
    """

    y: Array  # finite
    typical: Array  # the standard deviation of an inlier
    relations: Relations  # between measurements and true values; the first is that of inliers
    shares: Array  # (relations,)
    outlier_density: Array  # (m, components) the density of each component at each measurement
    outlier_shares: Array  # (components,)
    error: Array  # the standard deviation of the prediction errors
    offset: Array  # that all predictions lack, if it is learned
    learns_offset: bool

    @classmethod
    def initial(
        cls, y: Array, scale: Array | float, *, faults: bool = False, centered: bool = False
    ) -> Mixture:
        """The prior mixture for measurements with the given median magnitude.

        ``faults``: learn the offsets, gains and constant values that faulty sensors share.
        ``centered``: learn an offset of all true values, which centered predictions lack.
        """
        xp = namespace(y)
        typical = xp.asarray(scale / half_normal_quantile(0.5), **like(y))
        offset = xp.zeros_like(typical)
        if centered:
            offset, spread = shortest_half(y)
            # If most measurements are equal, the difference is rounding.
            typical = xp.maximum(spread / half_normal_quantile(0.5), _LEAST_SPREAD * typical)
        one = xp.ones_like(typical)[..., None]
        end = typical[..., None] * math.sinh(_STEP * _ON_AXIS / 2)
        y = xp.clip(y, min=-end, max=end)  # within the logarithmic axis
        relations = Relations.initial(typical, learned=faults)
        related = [_RELATED] * (relations.count - 1)
        density = _components_on_axis(y, typical)
        if faults:
            density = xp.concat([density, _components_between_quantiles(y, typical)], axis=-1)
        components = density.shape[-1]
        return cls(
            y=y,
            typical=typical,
            relations=relations,
            shares=one * xp.asarray([1 - _OUTLIERS - sum(related), *related], **like(y)),
            outlier_density=density,
            outlier_shares=one * xp.full(components, _OUTLIERS / components, **like(y)),
            error=typical,
            offset=offset,
            learns_offset=centered,
        )

    def updated(self, predicted: Array) -> Mixture:
        """The parameters after one step of expectation–maximization."""
        xp, least = namespace(predicted), tiny(predicted)
        errors, parts, total = self._explained(predicted)
        shares = xp.mean(parts, axis=-2)
        inverse = xp.matrix_transpose(self.outlier_density) @ (1 / total)[..., None]
        outlier_shares = self.outlier_shares * inverse[..., 0] / predicted.shape[-1]
        inliers = xp.clip(shares[..., :1], min=_LEAST_INLIERS)
        others = (1 - inliers) / (1 - shares[..., :1] + least)
        count = xp.sum(parts, axis=(-2, -1)) + least
        error = xp.sqrt(xp.sum(parts * errors**2, axis=(-2, -1)) / count)
        offset = self.offset
        if self.learns_offset:
            missing, inlier = (parts * errors)[..., 0], parts[..., 0]
            offset = offset + xp.sum(missing, axis=-1) / (xp.sum(inlier, axis=-1) + least)
        with_offset = predicted + self.offset[..., None]
        return replace(
            self,
            offset=offset,
            relations=self.relations.learned(self.y, with_offset, parts, self.error),
            shares=xp.concat([inliers, shares[..., 1:] * others], axis=-1),
            outlier_shares=outlier_shares * others,
            error=xp.maximum(error, self.typical * math.sqrt(epsilon(predicted))),
        )

    def rescaled(self, predicted: Array) -> tuple[Mixture, Array]:
        """The mixture and the gain of the matrix such that no other gain fits a majority."""
        xp, relations = namespace(predicted), self.relations
        if relations.are_fixed:
            return self, xp.ones_like(self.error)
        errors, parts, _ = self._explained(predicted)
        chosen = relations.majority(errors, self.error, xp.sum(parts, axis=-1))
        relations, gain = relations.exchanged(chosen)
        exchanged = xp.sum(chosen * (self.shares - self.shares[..., :1]), axis=-1)[..., None]
        first = xp.concat([xp.ones_like(exchanged), xp.zeros_like(chosen[..., 1:])], axis=-1)
        shares = self.shares + exchanged * (first - chosen)
        error, offset = self.error * gain, self.offset * gain
        after = replace(self, relations=relations, shares=shares, error=error, offset=offset)
        return after, gain

    def posterior(self, predicted: Array) -> Posterior:
        """The posterior, given these predictions."""
        xp = namespace(predicted)
        errors, parts, _ = self._explained(predicted)
        correction = xp.sum(parts * errors, axis=-1)
        spread = xp.sum(parts * errors**2, axis=-1) - correction**2
        prior = self.error[..., None] ** 2
        variance = spread + (1 - xp.sum(parts, axis=-1)) * prior  # of the true value
        return Posterior(
            inlier=parts[..., 0],
            correction=correction,
            precision=xp.mean(1 - variance / prior, axis=-1),
        )

    def _explained(self, predicted: Array) -> tuple[Array, Array, Array]:
        """The errors of predictions by each relation, its probability, and the density of y.

        The first two are (m, relations), the last one is (m,).
        """
        xp = namespace(predicted)
        errors = self.relations.errors(self.y, predicted + self.offset[..., None])
        joint = self.shares[..., None, :] * self.relations.density(errors, self.error)
        outlying = (self.outlier_density @ self.outlier_shares[..., None])[..., 0]
        total = xp.sum(joint, axis=-1) + outlying + tiny(joint)
        return errors, joint / total[..., None], total


def _components_on_axis(y: Array, typical: Array) -> Array:
    """The densities of components on a logarithmic axis at each measurement, (m, components)."""
    spread = [math.sinh(_STEP * k) for k in range(-_ON_AXIS // 2, _ON_AXIS // 2 + 1)]
    edges = typical[..., None] * namespace(y).asarray(spread, **like(y))
    return _between(edges, y, typical * 0)


def _components_between_quantiles(y: Array, typical: Array) -> Array:
    """The densities of components between quantiles of y at each measurement, (m, components)."""
    xp, m = namespace(y), y.shape[-1]
    # The outermost parts may be very wide; they are left to the components on the axis.
    places = [round(k * (m - 1) / _BETWEEN_QUANTILES) for k in range(1, _BETWEEN_QUANTILES)]
    index = xp.asarray(places, **like(y) | {"dtype": xp.int32})
    return _between(xp.take(xp.sort(y, axis=-1), index, axis=-1), y, _NARROWEST * typical)


def _between(edges: Array, y: Array, narrowest: Array) -> Array:
    """Normal densities centered between consecutive edges, as wide as half their distance."""
    low, high = edges[..., None, :-1], edges[..., None, 1:]
    width = namespace(y).maximum((high - low) / 2, narrowest[..., None, None])
    return normal_density(y[..., None] - (low + high) / 2, width)
