"""Noise models: how large the noise of each measurement is, relative to that of the others.

The weights of least squares, the evidence, the certificate and the error bars ask a noise model for
these sizes; nothing else assumes what noise is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from robustrank.backend import Array, like, namespace


@dataclass(frozen=True, eq=False)
class Conditions:
    """What the size of the noise of measurements may depend on, besides their predictions.

    All of it is in units in which all A_i have the same norm: the measurements as they were given,
    times ``row_factors``.
    """

    row_factors: Array | float
    typical: float  # the size of a typical measurement
    known: Array | None = None  # (m,) relative sizes that the user states
    groups: Mapping[str, Array] = field(default_factory=dict)  # by name, the group of each


@dataclass(frozen=True)
class NoiseModel:
    """What the size of the noise of a measurement depends on.

    The variance is a product of what the parts of the model say. Models are compared by the
    evidence for the fits that they lead to, so that a part that the data does not support is not
    used. ``Result.noise_model`` is the one that was used, and ``print`` shows its numbers.

    Attributes
    ----------
    of_rows
        Whether the noise is in proportion to the norm of each A_i, instead of equal for all.
    growth
        The share of the variance of a typical measurement that grows with its prediction: zero if
        the noise does not depend on the prediction, and nearly one if it is in proportion to it.
    power
        What that share of the variance is in proportion to: 2 for the square of the prediction, as
        for instruments with an error in percent, and 1 for its absolute value, as for counts.
    groups
        Which groups have levels: ``"groups"`` of measurements, or ``"rows"`` or ``"columns"`` of
        entries. Empty if none has.
    levels
        The size of the noise of each of these groups, relative to that of a typical one.
    known
        Whether the noise is in proportion to the sizes that were passed as ``noise_scale``.
    typical
        The size of a typical measurement, to which ``growth`` refers.

    See Also
    --------
    robustrank.Result : Has the attribute ``noise_model``.

    Examples
    --------
    An instrument with an error of 5 % of what it measures:

    >>> import numpy as np
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=600, rng=1)
    >>> rng = np.random.default_rng(1)
    >>> y = planted.y * (1 + 0.05 * rng.standard_normal(600))
    >>> result = rr.recover(planted.A, y, rank=2)
    >>> result.noise_model.power, result.noise_model.growth > 0.9
    (2, True)
    """

    of_rows: bool = False
    growth: float = 0.0
    power: int = 2
    groups: str = ""
    levels: tuple[float, ...] = ()
    known: bool = False
    typical: float = math.nan

    @property
    def may_reject_by_size(self) -> bool:
        """Whether outliers may have a size in common.

        If noise of equal size were assumed for rows of two sizes, the larger ones could be rejected
        together, as if noise in proportion to them were outliers.
        """
        return self.of_rows or self.known

    def sizes(self, prediction: Array, conditions: Conditions) -> Array:
        """The relative standard deviation of the noise of each measurement, (m,).

        The prediction is in the units of the conditions, in which A_i have the same norm.
        """
        xp = namespace(prediction)
        unit = 1.0 if self.of_rows else conditions.row_factors
        if self.known and conditions.known is not None:
            unit = unit * conditions.known
        if self.levels:
            levels = xp.asarray(self.levels, **like(prediction))
            unit = unit * xp.take(levels, conditions.groups[self.groups])
        if not self.growth:
            return unit + xp.zeros_like(prediction)
        typical = conditions.typical * (1.0 if self.of_rows else conditions.row_factors)
        return unit * self._grown(xp.abs(prediction) / typical)

    def at(self, prediction: Array) -> Array:
        """The relative size of the noise of further measurements, with a typical norm of A_i."""
        if not self.growth:
            return namespace(prediction).ones_like(prediction)
        return self._grown(abs(prediction) / self.typical)

    def _grown(self, relative: Array) -> Array:
        return namespace(relative).sqrt(1 - self.growth + self.growth * relative**self.power)

    def describe(self, noise: float) -> str:
        """The model in words; ``noise`` is the standard deviation at a typical measurement."""
        parts = []
        if self.growth:
            constant = f"{noise * math.sqrt(1 - self.growth):.3g}"
            if self.power == 2:
                share = noise * math.sqrt(self.growth) / self.typical
                parts.append(f"σ² = {constant}² + ({100 * share:.3g}% of the prediction)²")
            else:
                slope = noise**2 * self.growth / self.typical
                parts.append(f"σ² = {constant}² + {slope:.3g} · |prediction|")
        if self.known:
            parts.append("in proportion to noise_scale")
        elif self.of_rows:
            parts.append("in proportion to the norm of A_i")
        if self.levels:
            low, high = min(self.levels), max(self.levels)
            where = {"rows": "row", "columns": "column"}.get(self.groups, "group")
            parts.append(f"a level for each {where}, from {noise * low:.3g} to {noise * high:.3g}")
        return ", ".join(parts) or "equal for all"


PROPORTIONAL, EQUAL, KNOWN = NoiseModel(of_rows=True), NoiseModel(), NoiseModel(known=True)
