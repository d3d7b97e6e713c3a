"""The distribution of outliers that are unrelated to the true values, by narrow components."""

from __future__ import annotations

import math

from robustrank.backend import Array, like, namespace
from robustrank.solvers.message_passing.relations import normal_density

# Components on both sides of zero, evenly spaced on a logarithmic axis up to thousands of typical
# measurements: outliers may have any size.
_ON_AXIS = 40
_STEP = 0.5
# Components between quantiles of y are narrow where many measurements are equal or nearly so, as
# from a sensor that is dead, stuck or saturated.
_BETWEEN_QUANTILES = 32
_NARROWEST = 0.01  # typical measurements


def within_axis(y: Array, typical: Array) -> Array:
    """Measurements clipped to the logarithmic axis; infinite ones are at its end."""
    end = typical[..., None] * math.sinh(_STEP * _ON_AXIS / 2)
    return namespace(y).clip(y, min=-end, max=end)


def components_on_axis(y: Array, typical: Array) -> Array:
    """The densities of components on a logarithmic axis at each measurement, (m, components)."""
    spread = [math.sinh(_STEP * k) for k in range(-_ON_AXIS // 2, _ON_AXIS // 2 + 1)]
    edges = typical[..., None] * namespace(y).asarray(spread, **like(y))
    return _between(edges, y, typical * 0)


def components_between_quantiles(y: Array, typical: Array) -> Array:
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
