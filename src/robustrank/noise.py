"""Noise models: how large the noise of each measurement is, relative to that of the others.

The weights of least squares, the evidence, the certificate and the error bars ask a noise model for
these sizes; nothing else assumes what noise is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, is_array, like, namespace, reject_masked, to_numpy

Values = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Conditions:
    """What the size of the noise of measurements may depend on, besides their predictions.

    All of it is in units in which all A_i have the same norm: the measurements as they were given,
    times ``row_factors``.
    """

    count: int  # of the measurements
    row_factors: Array | float
    typical: float  # the size of a typical measurement
    one: float = 1.0  # the number one in the units of the user
    laws: PossibleLaws | None = None  # by which the noise may grow with the prediction
    known: Array | None = None  # (m,) relative sizes that the user states
    groups: Mapping[str, Array] = field(default_factory=dict)  # by name, the group of each


def _growing_variance(law: str, prediction: Array, typical: float, one: float) -> Array:
    """The part of the variance that grows with the prediction, relative to a typical one."""
    xp = namespace(prediction)
    match law:
        case "square":
            return (prediction / typical) ** 2
        case "linear":
            return abs(prediction) / typical
        case "binomial":
            share = prediction / one
            return 4 * xp.clip(share * (1 - share), min=0.0)
        case _:
            return (_first_digit(prediction / one) / _first_digit(np.asarray(typical / one))) ** 2


def _first_digit(values: Array) -> Array:
    """The size of the first significant digit of each value, a power of ten."""
    xp = namespace(values)
    least = float(xp.finfo(values.dtype).smallest_normal)
    return 10.0 ** xp.floor(xp.log10(xp.clip(abs(values), min=least)))


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
        The share of the variance of a typical measurement that grows with its prediction p: zero if
        the noise does not depend on the prediction, and nearly one if it is in proportion to it.
    law
        What that share of the variance is in proportion to: ``"square"`` for p², as for instruments
        with an error in percent; ``"linear"`` for ``|p|``, as for counts; ``"binomial"`` for
        p (1 − p), as for shares of successes (the largest variance is the typical one then);
        ``"digits"`` for the square of the last digit, if measurements are rounded to a number of
        significant digits, at most six. Empty if no part grows.
    groups
        Which groups have levels: ``"groups"`` of measurements, or ``"rows"`` or ``"columns"`` of
        entries. Empty if none has.
    levels
        The size of the noise of each of these groups, relative to that of a typical one.
    known
        Whether the noise is in proportion to the sizes that were passed as ``noise_scale``.
    typical
        The size of a typical measurement, to which ``growth`` refers; zero if no part grows.

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
    >>> result.noise_model.law, result.noise_model.growth > 0.9
    ('square', True)
    """

    of_rows: bool = False
    growth: float = 0.0
    law: str = ""
    groups: str = ""
    levels: tuple[float, ...] = ()
    known: bool = False
    typical: float = 0.0

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
        # Digits are those of the measurements as they were given, whatever the norms of the A_i.
        of_rows = self.of_rows and self.law != "digits"
        unit = 1.0 if of_rows else conditions.row_factors
        if self.known and conditions.known is not None:
            unit = unit * conditions.known
        if self.levels:
            # The last groups may have had no measurement in the fit: theirs is the median level.
            levels = xp.asarray((*self.levels, 1.0), **like(prediction))
            group = xp.clip(conditions.groups[self.groups], max=len(self.levels))
            unit = unit * xp.take(levels, group)
        if not self.growth:
            return unit + xp.zeros_like(prediction)
        # Without noise in proportion to A_i, the law is that of measurements as they were given.
        given = prediction if of_rows else prediction / conditions.row_factors
        return unit * self._grown(given, conditions.one)

    def in_unit(self, unit: float) -> NoiseModel:
        """The same model for measurements that are as many times larger."""
        return replace(self, typical=self.typical * unit)

    def learned(self, conditions: Conditions) -> float:
        """What the numbers of the model have learned from the data, which its evidence loses.

        It is ½ log N for a number that all N measurements determine: the growth, and the variance
        of the levels, whose logarithms have a normal prior.
        """
        numbers = bool(self.growth) + bool(self.levels)
        learned = numbers * math.log(conditions.count) / 2
        if self.levels:
            counts = np.bincount(to_numpy(conditions.groups[self.groups]))
            spread = float(np.var(np.log(self.levels)))
            learned += float(np.sum(np.log1p(spread * counts))) / 2
        return learned

    def is_near(self, other: NoiseModel) -> bool:
        """Whether two models of one form give nearly equal sizes: within a few percent."""
        if (self.law, self.groups, self.known) != (other.law, other.groups, other.known):
            return False
        pairs = [
            (1 - self.growth, 1 - other.growth),
            (self.growth, other.growth),
            *zip(self.levels, other.levels, strict=True),
        ]
        return all(math.isclose(one, two, rel_tol=_NEAR, abs_tol=_NEAR**2) for one, two in pairs)

    def at(self, prediction: Array) -> Array:
        """The relative size of the noise of further measurements, with a typical norm of A_i."""
        if not self.growth:
            return namespace(prediction).ones_like(prediction)
        return self._grown(prediction, 1.0)

    def _grown(self, prediction: Array, one: float) -> Array:
        variance = _growing_variance(self.law, prediction, self.typical, one)
        return namespace(prediction).sqrt(1 - self.growth + self.growth * variance)

    def describe(self, noise: float) -> str:
        """The model in words; ``noise`` is the standard deviation at a typical measurement."""
        parts = []
        if self.growth:
            constant = f"{noise * math.sqrt(1 - self.growth):.3g}"
            variance = noise**2 * self.growth
            grown = {
                "square": f"({100 * math.sqrt(variance) / self.typical:.3g}% of the prediction)²",
                "linear": f"{variance / self.typical:.3g} · |prediction|",
                "binomial": f"{4 * variance:.3g} · p (1 − p), where p is the prediction",
                "digits": "the rounding to significant digits",
            }
            parts.append(f"σ² = {constant}² + {grown[self.law]}")
        if self.known:
            parts.append("in proportion to noise_scale")
        elif self.of_rows and self.law != "digits":
            parts.append("in proportion to the norm of A_i")
        if self.levels:
            low, high = min(self.levels), max(self.levels)
            where = {"rows": "row", "columns": "column"}.get(self.groups, "group")
            parts.append(f"a level for each {where}, from {noise * low:.3g} to {noise * high:.3g}")
        return ", ".join(parts) or "equal for all"


PROPORTIONAL, EQUAL, KNOWN = NoiseModel(of_rows=True), NoiseModel(), NoiseModel(known=True)

_NEAR = 0.1  # sizes that differ by less have no effect on the efficiency of least squares
# Numbers with more significant digits are not taken for rounded.
_MOST_DIGITS = 6


@dataclass(frozen=True, eq=False)
class PossibleLaws:
    """The laws by which the noise of measurements of this form may grow with the prediction.

    They are looked for when they are first needed: exact data needs none.
    """

    values: Array  # as they were given

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        given = to_numpy(self.values).astype(float)
        low, high = np.quantile(given[np.isfinite(given)], (0.25, 0.75))
        shares = ("binomial",) if low >= 0 and high <= 1 else ()
        rounded = ("digits",) if _are_rounded(given, self.values) else ()
        return "square", "linear", *shares, *rounded


def _are_rounded(given: Values, values: Array) -> bool:
    """Whether most values have few significant digits, and not all the same number of decimals."""
    given = given[np.isfinite(given) & (given != 0)]
    sizes = _first_digit(given)
    scaled = 10.0 ** (_MOST_DIGITS - 1) * (given / sizes)
    # Reading and scaling a number of few digits causes errors of a few units of rounding.
    rounding = 8 * np.finfo(to_numpy(values).dtype).eps * 10.0**_MOST_DIGITS
    rounded = np.abs(scaled - np.rint(scaled)) <= rounding
    return bool(2 * np.sum(rounded) > len(given) and np.ptp(sizes) > 0)


def relative_sizes(given: Any, y: Array) -> Array:
    """Relative sizes of the noise of measurements y that a user states, over their median."""
    reject_masked(given, "noise_scale")
    values = np.asarray(to_numpy(given) if is_array(given) else given)
    if values.shape != tuple(y.shape) or values.dtype.kind not in "iuf":
        raise ValueError(
            f"noise_scale has shape {values.shape} and dtype {values.dtype}; expected "
            f"{tuple(y.shape)} numbers, the relative size of the noise of each measurement"
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            "noise_scale contains numbers that are not positive and finite; expected the relative "
            "size of the noise of each measurement (leave out measurements that say nothing)"
        )
    return namespace(y).asarray(values / float(np.median(values.astype(float))), **like(y))
