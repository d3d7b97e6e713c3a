"""What is asked: find M of a given rank with A(M) = y, except where y lies."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    check_count,
    check_same_place,
    is_array,
    library,
    like,
    lower_median,
    namespace,
    refuse_masked,
    to_numpy,
)
from robustrank.operators import Operator, ScaledOperator, StackedOperator, can_be_stacked
from robustrank.theory import degrees_of_freedom, half_normal_quantile


class UndersampledWarning(UserWarning):
    """There are fewer measurements than the matrix has free numbers."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Measurements ``y`` of a matrix of ``rank``, seen through ``operator``; validated once.

    ``y`` may contain ±inf, which is an outlier like any other, but no NaN. It is held in the finer
    of its own precision and the operator's, and the factors follow it.
    """

    operator: Operator
    y: Array
    rank: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", _checked_rank(self.rank, self.operator.matrix_shape))
        object.__setattr__(self, "y", _checked_measurements(self.y, self.operator))
        _warn_if_undersampled(self.operator, self.rank)

    @cached_property
    def scale(self) -> Array:
        """The size of a typical measurement: the lower median of |y|. A plain float."""
        return float(lower_median(namespace(self.y).abs(self.y)))

    @property
    def typical_deviation(self) -> Array:
        """The standard deviation of measurements of that size, were they normal."""
        return self.scale / half_normal_quantile(0.5)

    @property
    def degrees_of_freedom(self) -> int:
        """r (n1 + n2 − r), the free numbers of the matrix that is sought."""
        return degrees_of_freedom(*self.operator.matrix_shape, self.rank)

    @cached_property
    def epsilon(self) -> float:
        """The rounding unit of the coarser of the two precisions, that of A and that of y."""
        finfo = namespace(self.y).finfo
        return max(float(finfo(dtype).eps) for dtype in (self.y.dtype, self.operator.dtype))

    @cached_property
    def units(self) -> Units:
        """What a typical measurement and a typical sensing entry are about the size of."""
        return Units(_power_of_two(self.scale), _power_of_two(self.operator.gain))

    def normalised(self) -> Problem:
        """The same problem in its units; its solution times ``units.matrix`` solves this one.

        No measurement is infinite there, so that a weight of zero takes any of them out.
        """
        units, operator = self.units, self.operator
        if units.sensing != 1:
            operator = ScaledOperator(operator, 1 / units.sensing)
        xp = namespace(self.y)
        with np.errstate(over="ignore"):  # what overflows is an outlier
            y = xp.clip(self.y / units.measurement, min=-self._largest, max=self._largest)
        return _unchecked(operator=operator, y=y, rank=self.rank)

    def of_rank(self, rank: int) -> Problem:
        """The same measurements, of a matrix of another rank."""
        return _unchecked(operator=self.operator, y=self.y, rank=rank)

    @staticmethod
    def stacked(problems: Sequence[Problem]) -> Problem:
        """Problems of one shape as one: its arrays have a leading axis, as has its scale."""
        xp = namespace(problems[0].y)
        return _unchecked(
            operator=StackedOperator(
                [problem.operator for problem in problems], problems[0].y.dtype
            ),
            y=xp.stack([problem.y for problem in problems], axis=0),
            rank=problems[0].rank,
            scale=xp.asarray([problem.scale for problem in problems], **like(problems[0].y)),
        )

    def can_be_stacked_with(self, other: Problem) -> bool:
        """Whether two problems are of one kind and shape, precision and place."""
        return (
            can_be_stacked(self.operator)
            and can_be_stacked(other.operator)
            and self.rank == other.rank
            and self.operator.matrix_shape == other.operator.matrix_shape
            and self.operator.dtype == other.operator.dtype
            and self.y.shape == other.y.shape
            and library(self.y) == library(other.y)
            and like(self.y) == like(other.y)
        )

    def in_its_units(self, residual: Array) -> Array:
        """Residuals of the normalised problem as those of this one."""
        xp = namespace(residual)
        with np.errstate(over="ignore"):
            moderate = xp.abs(self.y / self.units.measurement) < self._largest
            return xp.where(moderate, residual * self.units.measurement, self.y)

    @property
    def _largest(self) -> float:
        """The size that measurements are cut to, in units of a typical one."""
        return float(namespace(self.y).finfo(self.y.dtype).max) / 4


@dataclass(frozen=True)
class Units:
    """Powers of two, so that changing to them and back rounds nothing."""

    measurement: float
    sensing: float

    @property
    def matrix(self) -> float:
        """The unit of M that follows from the other two."""
        return self.measurement / self.sensing


def _unchecked(**parts: Any) -> Problem:
    """A problem made of parts of others, which were checked."""
    problem = object.__new__(Problem)
    for name, value in parts.items():
        object.__setattr__(problem, name, value)
    return problem


def _power_of_two(size: float) -> float:
    """The power of two nearest to a size; one where the size says nothing."""
    if not 0 < size < math.inf:
        return 1.0
    exponent = round(math.log2(size))
    return 2.0 ** max(-1000, min(1000, exponent))


def _checked_rank(rank: Any, shape: tuple[int, int]) -> int:
    check_count(rank=rank)
    if rank > min(shape):
        raise ValueError(
            f"rank={rank} is larger than min(n1, n2) = {min(shape)} for a "
            f"{shape[0]} × {shape[1]} matrix; expected at most {min(shape)}"
        )
    return int(rank)


def _checked_measurements(y: Any, operator: Operator) -> Array:
    refuse_masked(y, "y")
    given = is_array(y)
    if given:
        check_same_place(operator.asarray([1.0]), y)
    values = y if given else operator.asarray(np.asarray(y))
    m = operator.measurements
    if tuple(values.shape) != (m,):
        raise ValueError(
            f"y has shape {tuple(values.shape)}; expected ({m},), one value per sensing matrix"
        )
    values = _as_real_floating(values, operator)
    xp = namespace(values)
    missing = int(xp.count_nonzero(xp.isnan(values)))
    if missing:
        raise ValueError(
            f"y contains {missing} NaN; a missing measurement cannot be believed or doubted. "
            "Remove those entries from y and the same rows from A"
        )
    _check_majority(values)
    return values


def _as_real_floating(values: Array, operator: Operator) -> Array:
    if isinstance(values, np.ndarray):
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
    xp = namespace(values)
    if values.dtype not in (xp.float32, xp.float64):
        raise TypeError(
            f"y has dtype {values.dtype}; expected float32 or float64 (real). Convert it first, "
            'for example with y.astype("float64")'
        )
    values = operator.asarray(values)
    return xp.astype(values, xp.result_type(values.dtype, operator.dtype), copy=False)


def _check_majority(values: Array) -> None:
    """Refuse measurements of which more than half say the same: no median survives that."""
    array = to_numpy(values)
    if not np.any(array):
        raise ValueError("y is all zero: there is nothing to recover; expected measurements of M")
    infinite = int(np.sum(np.isinf(array)))
    if infinite > len(array) // 2:
        raise ValueError(
            f"{infinite} of {len(array)} measurements in y are infinite; expected fewer than half"
        )
    # If more than half are equal, the median is one of them.
    middle = float(lower_median(array))
    same = int(np.sum(array == middle))
    if same > len(array) // 2 and len(array) > 2:
        raise ValueError(
            f"{same} of {len(array)} measurements in y are exactly {middle:g}: more than half are "
            "identical, as from a stuck or saturated sensor; remove them from y and A"
        )
    if not float(lower_median(np.abs(array))) > 0:
        raise ValueError(
            "half of the measurements in y are exactly zero, so that no typical size can be told; "
            "remove them from y and A"
        )


def _warn_if_undersampled(operator: Operator, rank: int) -> None:
    n1, n2 = operator.matrix_shape
    needed = degrees_of_freedom(n1, n2, rank)
    if operator.measurements < needed:
        warnings.warn(
            f"{operator.measurements} measurements cannot determine a {n1} × {n2} matrix of rank "
            f"{rank}: it has {needed} degrees of freedom. Unless its rank is lower, expect a wrong "
            "answer: add measurements or lower the rank",
            UndersampledWarning,
            stacklevel=5,
        )
