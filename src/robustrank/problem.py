"""The problem: find M of a given rank with A(M) = y, except where y is corrupted."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    as_floating,
    check_count,
    check_same_device,
    is_array,
    library,
    like,
    namespace,
    reject_masked,
    shown,
    to_numpy,
    warn_user,
)
from robustrank.baseline import common_part, trivial_deviation
from robustrank.linalg import (
    Triplets,
    degrees_of_freedom,
    half_normal_quantile,
    lower_median,
    symmetric_degrees_of_freedom,
)
from robustrank.noise import Conditions, PossibleLaws, relative_sizes
from robustrank.operators import (
    BatchedOperator,
    CenteredOperator,
    CountedOperator,
    Operator,
    PassCounter,
    PassCounterGroup,
    RowScaledOperator,
    ScaledOperator,
    SubsetOperator,
    SymmetricOperator,
    can_be_batched,
)

# What need not be computed again for another rank.
_INDEPENDENT_OF_RANK = (
    "row_factors",
    "scale",
    "epsilon",
    "units",
    "trivial_deviation",
    "_common_part",
)
# The same problem in another form, which has been computed for another rank, too.
_OTHER_FORMS = ("with_unit_rows", "_normalized", "centered")
# The A_i have a common part if that is more than this share of ‖A_i‖².
_COMMON_PART = 0.1
# The passes by which families of measurements that do not know their norms estimate them.
_NORM_PROBES = 8

# The distance of typical sizes from the limits of the dtype: of y and the matrix from the largest
# number, and of A from the smallest, because weights are divided by its entries.
_BELOW_LARGEST, _ABOVE_SMALLEST = 2.0**-4, 2.0**16


class UndersampledWarning(UserWarning):
    """There are fewer measurements than the matrix has degrees of freedom.

    Unless the true rank is lower than the given one, the result will be wrong: add measurements or
    lower the rank.

    See Also
    --------
    robustrank.plan : How many measurements are needed.
    robustrank.theory.degrees_of_freedom : The degrees of freedom of a matrix.

    Examples
    --------
    If the rank is an upper bound, the warning may be ignored:

    >>> import warnings
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=100, rng=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", rr.UndersampledWarning)
    ...     result = rr.recover(planted.A, planted.y, rank=7)
    >>> result.status.name, result.rank
    ('RECOVERED', 1)
    """


@dataclass(frozen=True, eq=False)
class Problem:
    """Measurements ``y`` = A(M) of a matrix M of ``rank``, where A is ``operator``.

    Only code that calls solvers itself needs it; ``recover`` constructs it. The input is validated
    on construction.

    Parameters
    ----------
    operator
        The sensing data; ``operators.as_operator`` makes one of an array.
    y
        The measurements, of shape (m,). They may contain ±inf, which is an outlier like any other,
        but no NaN. They are promoted to the common dtype of y and the operator, which is also the
        dtype of the factors; integers count as float64.
    rank
        The rank of M.
    counter
        Counts the passes over the sensing data.
    symmetric
        Whether M is known to be symmetric.
    noise_scale
        The relative size of the noise of each measurement, (m,), if it is known.
    groups
        The number of the group that each measurement belongs to, (m,), counted from zero.
    group_labels
        The labels of the groups.

    Warns
    -----
    UndersampledWarning
        If there are fewer measurements than degrees of freedom.

    See Also
    --------
    robustrank.recover : Solves a problem.
    robustrank.operators.as_operator : The operator of an array.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=2, measurements=200, rng=1)
    >>> problem = rr.solvers.Problem(rr.operators.as_operator(planted.A), planted.y, rank=2)
    >>> problem.degrees_of_freedom
    40
    """

    operator: Operator
    y: Array
    rank: int
    counter: PassCounter = field(default_factory=PassCounter, repr=False)
    symmetric: bool = False  # whether M is known to be symmetric
    noise_scale: Array | None = None
    groups: Array | None = None
    group_labels: tuple[Any, ...] = ()
    one: float = field(default=1.0, init=False, repr=False)  # the number one in the units of y
    laws: PossibleLaws | None = field(default=None, init=False, repr=False)  # of the noise

    def __post_init__(self) -> None:
        given = _symmetrized(self.operator) if self.symmetric else self.operator
        object.__setattr__(self, "rank", _checked_rank(self.rank, given.matrix_shape))
        object.__setattr__(self, "y", _checked_measurements(self.y, given))
        if self.noise_scale is not None:
            object.__setattr__(self, "noise_scale", relative_sizes(self.noise_scale, self.y))
        if self.groups is not None:
            xp = namespace(self.y)
            numbers = xp.asarray(self.groups, **like(self.y) | {"dtype": xp.int64})
            object.__setattr__(self, "groups", numbers)
        object.__setattr__(self, "laws", PossibleLaws(self.y))
        object.__setattr__(self, "operator", CountedOperator(given, self.counter))
        _check_sizes(self)
        _warn_if_undersampled(self)

    @cached_property
    def scale(self) -> Array:
        """The size of a typical measurement: the lower median of ``|y|``, as a float."""
        return float(lower_median(namespace(self.y).abs(self.y)))

    @property
    def typical_deviation(self) -> Array:
        """The standard deviation of normal measurements of that typical size."""
        return self.scale / half_normal_quantile(0.5)

    @cached_property
    def resolution(self) -> float:
        """The size of what a typical measurement says about M: the unit of exact fits.

        It is ``scale``, or less if most of y has the same sign and a trivial prediction explains
        it; computing that takes passes over the data, and is not necessary otherwise.
        """
        if abs(float(lower_median(self.y))) < self.scale / 2:
            return float(self.scale)
        return min(float(self.scale), float(self.trivial_deviation) * half_normal_quantile(0.5))

    @cached_property
    def trivial_deviation(self) -> Array:
        """The standard deviation of y about the best trivial prediction, which ignores M.

        It is what a wrong matrix leaves. If the A_i have a large common part, as entries in [0, 1]
        do, a multiple of its measurement predicts most of every y_i.
        """
        return trivial_deviation(self.operator, self.y, self._common_part)

    @cached_property
    def _common_part(self) -> Triplets:
        return common_part(self.operator, self.y)

    @cached_property
    def centered(self) -> Problem:
        """The problem with centered sensing matrices, whose measurements share an unknown offset.

        If the A_i have a common part B, as entries in [0, 1] do, it hides how they differ: then the
        operator of the result is that of A_i − B, and y is A(M) for it plus <B, M>. If they have
        none, the result is this problem.
        """
        xp = namespace(self.y)
        left, values, right = self._common_part
        n1, n2 = self.operator.matrix_shape
        gain = xp.asarray(self.operator.gain, **like(self.y))
        large = values**2 > _COMMON_PART * n1 * n2 * gain[..., None] ** 2
        if not bool(xp.any(large)):
            return self
        values = xp.where(large, values, xp.zeros_like(values))
        operator = CenteredOperator(self.operator, left * values[..., None, :], right)
        return self._changed(operator=operator, scale=self.scale)

    @cached_property
    def is_mostly_constant(self) -> bool:
        """Whether more than half of the measurements are exactly equal."""
        # If they are, the median is one of them.
        same = namespace(self.y).count_nonzero(self.y == lower_median(self.y))
        return int(same) > self.operator.measurements // 2

    @property
    def degrees_of_freedom(self) -> int:
        """r (n1 + n2 − r), the degrees of freedom of a matrix of this rank; fewer if symmetric."""
        if self.symmetric:
            return symmetric_degrees_of_freedom(self.operator.matrix_shape[0], self.rank)
        return degrees_of_freedom(*self.operator.matrix_shape, self.rank)

    @property
    def conditions(self) -> Conditions:
        """What the noise may depend on, for a problem whose A_i have equal norms."""
        return Conditions(
            self.operator.measurements,
            self.row_factors,
            float(self.scale),
            self.one,
            laws=self.laws,
            known=self.noise_scale,
            groups={} if self.groups is None else {"groups": self.groups},
        )

    @property
    def numbers(self) -> int:
        """The number of entries of all A_i."""
        return math.prod((self.operator.measurements, *self.operator.matrix_shape))

    @cached_property
    def epsilon(self) -> float:
        """The machine epsilon of A or of y, whichever is larger."""
        finfo = namespace(self.y).finfo
        return max(float(finfo(dtype).eps) for dtype in (self.y.dtype, self.operator.dtype))

    @cached_property
    def units(self) -> Units:
        """Powers of two near the size of a typical measurement and of a typical sensing entry."""
        return Units(power_of_two(self.scale), power_of_two(self.operator.gain))

    def normalized(self) -> Problem:
        """The same problem in ``units``; its solution times ``units.matrix`` solves this one.

        Infinite measurements become large finite ones, so that a weight of zero removes them.
        """
        return self._normalized

    @cached_property
    def _normalized(self) -> Problem:
        units, operator = self.units, self.operator
        if units.sensing != 1:
            operator = ScaledOperator(operator, 1 / units.sensing)
        xp = namespace(self.y)
        with np.errstate(over="ignore"):  # a measurement that overflows is an outlier
            y = xp.clip(self.y / units.measurement, min=-self._largest, max=self._largest)
        one = self.one / units.measurement
        return self._changed(operator=operator, y=y, row_factors=self.row_factors, one=one)

    def _changed(self, **parts: Any) -> Problem:
        """The problem with some parts replaced, without checking them again."""
        return _unchecked(**{one.name: getattr(self, one.name) for one in fields(self)} | parts)

    @cached_property
    def row_factors(self) -> Array:
        """The factor by which each A_i has the norm of a typical one; 1 where A_i is zero."""
        norms = self.operator.row_norms(_NORM_PROBES)
        xp = namespace(norms)
        positive = norms > 0
        if not bool(xp.any(positive)):
            return xp.ones_like(self.y)
        typical = lower_median(norms[positive])
        norms = xp.where(positive, norms, xp.ones_like(norms))
        with np.errstate(over="ignore"):
            factors = xp.where(positive, typical / norms, xp.ones_like(norms))
        return xp.astype(factors, self.y.dtype, copy=False)

    @cached_property
    def with_unit_rows(self) -> Problem:
        """The same problem with all A_i scaled to the norm of a typical one, and y with them.

        The solution is the same. Residuals are then comparable: what they say about the matrix does
        not depend on the units of each measurement.
        """
        factors = self.row_factors
        xp = namespace(self.y)
        with np.errstate(over="ignore"):  # a measurement that overflows is an outlier
            y = xp.where(xp.isfinite(self.y), self.y * factors, self.y)
        operator = RowScaledOperator(self.operator, factors)
        unit = self._changed(operator=operator, y=y, row_factors=factors)
        if self.scale > 0 and not unit.scale > 0:
            raise ValueError(
                "y is too small for the sensing matrices: divided by their norms, most "
                "measurements are zero in this precision; rescale the rows of A and y"
            )
        return unit

    def of_rows(self, rows: Any) -> Problem:
        """The problem with some of the measurements only; ``rows`` are their numbers."""
        xp = namespace(self.y)
        chosen = xp.asarray(rows, **like(self.y) | {"dtype": xp.int64})
        operator = SubsetOperator(self.operator, chosen)
        of_each = {name: getattr(self, name) for name in ("y", "noise_scale", "groups")}
        taken = {
            name: None if values is None else xp.take(values, chosen)
            for name, values in of_each.items()
        }
        return self._changed(operator=operator, **taken)

    def of_rank(self, rank: int) -> Problem:
        """The same measurements, for a matrix of another rank."""
        known = vars(self)
        computed = {name: known[name] for name in _INDEPENDENT_OF_RANK if name in known}
        forms = {name: known[name] for name in _OTHER_FORMS if known.get(name, self) is not self}
        return self._changed(
            rank=rank, **computed, **{name: form.of_rank(rank) for name, form in forms.items()}
        )

    @staticmethod
    def batched(problems: Sequence[Problem]) -> Problem:
        """Problems of one shape as one problem, whose arrays and scale have a leading axis."""
        xp, first = namespace(problems[0].y), problems[0]
        operator = BatchedOperator([problem.operator for problem in problems], first.y.dtype)
        counter = PassCounterGroup([problem.counter for problem in problems])
        return _unchecked(
            operator=CountedOperator(operator, counter),
            y=xp.stack([problem.y for problem in problems], axis=0),
            rank=first.rank,
            counter=counter,
            symmetric=first.symmetric,
            noise_scale=None,
            groups=None,
            group_labels=(),
            scale=xp.asarray([problem.scale for problem in problems], **like(first.y)),
        )

    def can_be_batched_with(self, other: Problem) -> bool:
        """Whether two problems have the same kind of operator, shape, rank, dtype and device."""
        return (
            can_be_batched(self.operator)
            and can_be_batched(other.operator)
            and self.rank == other.rank
            and self.operator.matrix_shape == other.operator.matrix_shape
            and self.operator.dtype == other.operator.dtype
            and self.y.shape == other.y.shape
            and library(self.y) == library(other.y)
            and like(self.y) == like(other.y)
        )

    def to_user_units(self, residual: Array) -> Array:
        """Residuals of the normalized problem in the units of this one."""
        xp = namespace(residual)
        with np.errstate(over="ignore"):
            moderate = xp.abs(self.y / self.units.measurement) < self._largest
            return xp.where(moderate, residual * self.units.measurement, self.y)

    @property
    def _largest(self) -> float:
        """The size to which measurements are clipped, in units of a typical one."""
        return float(namespace(self.y).finfo(self.y.dtype).max) * _BELOW_LARGEST


@dataclass(frozen=True)
class Units:
    """Units that are powers of two, so that converting to them and back causes no rounding."""

    measurement: float
    sensing: float

    @property
    def matrix(self) -> float:
        """The unit of M that follows from the other two units."""
        return self.measurement / self.sensing


def _unchecked(**parts: Any) -> Problem:
    """A problem made of validated parts."""
    problem = object.__new__(Problem)
    for name, value in parts.items():
        object.__setattr__(problem, name, value)
    return problem


def power_of_two(size: float) -> float:
    """The power of two nearest to a size; 1 if the size is zero or not finite."""
    if not 0 < size < math.inf:
        return 1.0
    largest = sys.float_info.max_exp - 2
    return 2.0 ** max(-largest, min(largest, round(math.log2(size))))


def _symmetrized(operator: Operator) -> Operator:
    n1, n2 = operator.matrix_shape
    if n1 != n2:
        raise ValueError(f"symmetric=True needs a square matrix; this one is {n1} × {n2}")
    return SymmetricOperator(operator)


def _checked_rank(rank: Any, shape: tuple[int, int]) -> int:
    check_count(rank=rank)
    if rank > min(shape):
        raise ValueError(
            f"rank={shown(rank)} is larger than min(n1, n2) = {min(shape)} for a "
            f"{shape[0]} × {shape[1]} matrix; expected at most {min(shape)}"
        )
    return int(rank)


def _checked_measurements(y: Any, operator: Operator) -> Array:
    reject_masked(y, "y")
    if is_array(y):
        check_same_device(operator.asarray([1.0]), y)
    else:
        y = np.asarray(y)
    m = operator.measurements
    if tuple(y.shape) != (m,):
        raise ValueError(
            f"y has shape {tuple(y.shape)}; expected ({m},), one value per sensing matrix"
        )
    values = operator.asarray(as_floating(y, "y"))
    xp = namespace(values)
    values = xp.astype(values, xp.result_type(values.dtype, operator.dtype), copy=False)
    missing = int(xp.count_nonzero(xp.isnan(values)))
    if missing:
        raise ValueError(
            f"y contains NaN ({missing} of {m} values); remove those entries from y and the same "
            "rows from A"
        )
    _check_not_degenerate(values)
    return values


def _check_not_degenerate(values: Array) -> None:
    """Raise if y is zero or mostly infinite: medians are meaningless then."""
    array = to_numpy(values)
    if not np.any(array):
        raise ValueError("y is all zero; expected nonzero measurements of M")
    infinite = int(np.sum(np.isinf(array)))
    if infinite > len(array) // 2:
        raise ValueError(
            f"{infinite} of {len(array)} measurements in y are infinite; expected at most half"
        )
    if not float(lower_median(np.abs(array))) > 0:
        raise ValueError(
            "at least half of the measurements in y are exactly zero, so the typical size of a "
            "measurement cannot be determined; remove them from y and A"
        )


def _check_sizes(problem: Problem) -> None:
    """Raise if sizes are so near the limits of the dtype that results would lose their precision.

    Within these limits everything is computed in units in which typical numbers are about one.
    """
    size, gain = problem.scale, float(problem.operator.gain)
    if gain == 0:
        raise ValueError("A is all zero; expected sensing matrices that measure something")
    finfo = namespace(problem.y).finfo
    exact, sensing = finfo(problem.y.dtype), finfo(problem.operator.dtype)
    # Small entries of y and of the matrix need their precision too; sums over A must not overflow.
    of_y = exact.smallest_normal / exact.eps, exact.max * _BELOW_LARGEST
    of_A = sensing.smallest_normal * _ABOVE_SMALLEST, sensing.max * sensing.eps
    for name, value, limits in (
        ("a typical measurement in y", size, of_y),
        ("a typical entry of A", gain, of_A),
        ("the typical size of the matrix, y divided by A,", size / gain, of_y),
    ):
        low, high = map(float, limits)
        if not low <= value <= high:
            raise ValueError(
                f"{name} is {value:.2g}; expected a size between {low:.0e} and {high:.0e}, because "
                "numbers near the limits of the dtype lose their precision: scale y and A so that "
                "typical values are about one"
            )


def _warn_if_undersampled(problem: Problem) -> None:
    (n1, n2), m = problem.operator.matrix_shape, problem.operator.measurements
    needed, kind = problem.degrees_of_freedom, "symmetric matrix" if problem.symmetric else "matrix"
    if m < needed:
        warn_user(
            f"{m} measurements cannot determine a {n1} × {n2} {kind} of rank {problem.rank}, which "
            f"has {needed} degrees of freedom. Unless the true rank is lower, the result will be "
            "wrong: add measurements or lower the rank",
            UndersampledWarning,
        )
