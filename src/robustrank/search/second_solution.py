"""Is there a second solution? What can be found on the measurements that a result rejects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate import (
    BEYOND_CHANCE,
    COMPARABLE,
    NEGLIGIBLE,
    OPPOSITE,
    exact_tolerance,
    groups_with_majority,
    name_parts,
    repetitions,
)
from robustrank.linalg import Factors, TangentMap, TangentView, plain_least_squares, point_of
from robustrank.problem import Problem
from robustrank.result import Alternative, Result
from robustrank.search.sensors import with_known_fault

_EVERYWHERE = "the whole matrix"
# Residuals within three standard deviations are consistent with the noise: 99.7 % of normal errors.
_WITHIN_NOISE = 3.0
_WHOLE = 0.9  # of the rows and columns: the second solution may differ everywhere
_STEPS = 20  # of the robust fit of a part

SolveFactors = Callable[[Problem], Factors]


def second_solution(problem: Problem, result: Result, solve: SolveFactors) -> Alternative | None:
    """A second matrix with comparable support; None if there is none.

    Only the parts of the matrix are examined in which enough measurements are rejected for a second
    solution. ``solve`` returns the factors that a solver finds for a problem.
    """
    contested = result.certificate.contested
    search = _Search.of(problem.with_unit_rows, result)
    whole = len(contested) > _WHOLE * sum(result.shape)
    opposite = search.opposite_sign()
    return opposite or (search.anywhere(solve) if whole else search.in_parts(contested))


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for a second solution, in the units of the user's matrix and with unit rows."""

    problem: Problem
    tangent: TangentMap  # at the result
    left: Array  # the result is left · rightᵀ with orthonormal right
    right: Array
    residual: Array
    rejected: np.ndarray[Any, Any]  # boolean
    unexplained: np.ndarray[Any, Any]  # of these, those not in groups with a known fault
    labels: np.ndarray[Any, Any]
    tolerance: float  # the largest |residual| of a measurement that is fitted

    @classmethod
    def of(cls, problem: Problem, result: Result) -> _Search:
        """The search for a second solution beside a result of a problem with unit rows."""
        point = point_of(result.left, result.right)
        tangent = problem.operator.tangent(point.left, point.right)
        tolerance = exact_tolerance(problem) * problem.resolution
        if not result.certificate.fits_exactly:
            tolerance = max(tolerance, _WITHIN_NOISE * result.certificate.sigma)
        rejected = unexplained = to_numpy(result.outliers)
        if result.groups is not None:
            unexplained = rejected & ~with_known_fault(problem, result.groups)
        return cls(
            problem=problem,
            tangent=tangent,
            left=point.scaled_left,
            right=point.right,
            residual=result.residual * problem.row_factors,
            rejected=rejected,
            unexplained=unexplained,
            labels=repetitions(problem.operator, tangent),
            tolerance=tolerance,
        )

    def opposite_sign(self) -> Alternative | None:
        """The result with the opposite sign, if it fits nearly the number that the result fits.

        Measurements that are zero up to noise fit both signs and do not count.
        """
        predicted = self.problem.y - self.residual
        with_other_sign = self._is_fitted(self.problem.y + predicted)
        telling = ~self._is_fitted(predicted)
        support = self._count(~self.rejected & telling)
        against = self._count(self.rejected & telling & with_other_sign)
        if against < max(BEYOND_CHANCE, OPPOSITE * support):
            return None
        return Alternative(-self.left, self.right, self._count(with_other_sign), _EVERYWHERE)

    def anywhere(self, solve: SolveFactors) -> Alternative | None:
        """A second matrix that has nothing in common with the first."""
        rows = np.flatnonzero(self.unexplained)
        needed = self.problem.degrees_of_freedom + BEYOND_CHANCE
        if len(rows) < needed:
            return None
        part = self.problem.of_rows(rows)
        if not part.scale > 0:  # dead sensors
            return None
        factors = solve(part)
        if _multiple(factors, (self.left, self.right)) is not None:
            return None
        fitted = self._is_fitted(self.problem.y - self.problem.operator.measure(*factors))
        support = self._count(fitted & self._not_dead())
        if support < max(needed, COMPARABLE * self._count(~self.rejected)):
            return None
        return Alternative(*factors, support, _EVERYWHERE)

    def in_parts(self, contested: tuple[int, ...]) -> Alternative | None:
        """A second matrix that differs in the contested columns, or in the contested rows."""
        n1 = self.left.shape[0]
        columns = [part for part in contested if part >= n1]
        rows = [part for part in contested if part < n1]
        return self._in_part(columns) or self._in_part(rows)

    def _in_part(self, parts: list[int]) -> Alternative | None:
        """A second matrix that differs in these rows, or these columns, of the matrix."""
        xp, (n1, r) = namespace(self.left), self.left.shape
        needed = len(parts) * r + BEYOND_CHANCE
        if not parts or np.count_nonzero(self.unexplained) < needed:
            return None
        free = np.isin(np.arange(n1 + self.right.shape[0]), parts)
        mask = xp.asarray(free[:, None], **like(self.left))
        # The map is linearized at orthonormal factors: dU and dV have the units of the matrix.
        point = point_of(self.left, self.right)
        in_columns = parts[0] >= n1
        given = xp.concat(
            [self.left * (not in_columns), self.right * point.values * in_columns], axis=0
        )
        part = mask * given
        W = self._robust_fit(mask)
        eye = xp.eye(r, **like(part))  # the other factor is orthonormal
        multiple = _multiple((part + W, eye), (part, eye))
        if multiple is not None:
            if not multiple < 0:
                return None
            W = (multiple - 1) * part
        fitted = self._is_fitted(self.residual - self.tangent.apply(W))
        other = given + W
        factors = (point.left, other[n1:, :]) if in_columns else (other[:n1, :], self.right)
        gained = self._count(fitted & self.rejected & self._not_dead())
        if gained < max(needed, COMPARABLE * self._count(~self.rejected & ~fitted)):
            return None
        return Alternative(*factors, self._count(fitted), name_parts(parts, n1))

    def _robust_fit(self, mask: Array) -> Array:
        """The change of a part that fits most of the rejected measurements, as far as is found."""
        xp = namespace(mask)
        tangent = TangentView(self.tangent, mask=mask)
        weights = xp.asarray(self.unexplained.astype(float), **like(self.left))
        rest, width, W = self.residual, math.inf, xp.zeros_like(mask)
        accuracy = NEGLIGIBLE * exact_tolerance(self.problem)
        for _ in range(_STEPS):
            soft = weights / (1 + (rest / width) ** 2)
            W = plain_least_squares(tangent, soft, self.residual, accuracy)
            rest = self.residual - tangent.apply(W)
            typical = float(np.median(np.abs(to_numpy(rest))[self.unexplained]))
            width = max(min(width / 2, 2 * typical), self.tolerance)
        return W

    def _is_fitted(self, residual: Array) -> np.ndarray[Any, Any]:
        """The measurements whose residual is as small as noise."""
        return np.asarray(np.abs(to_numpy(residual)) <= self.tolerance)

    def _not_dead(self) -> np.ndarray[Any, Any]:
        """The measurements that are not zero up to noise, nor in groups with a known fault.

        Dead sensors agree on the zero matrix; that is not a second solution.
        """
        known = self.rejected & ~self.unexplained
        return np.asarray(~(self._is_fitted(self.problem.y) | known))

    def _count(self, rows: np.ndarray[Any, Any]) -> int:
        """The number of independent measurements among these."""
        return int(np.count_nonzero(groups_with_majority(self.labels, rows)))


def _multiple(other: Factors, first: Factors) -> float | None:
    """The factor c if a matrix is about c times the first one; zero if it is negligible; else None.

    Sensors with a wrong gain agree on a multiple, and dead ones on zero: neither is a second
    solution. The opposite sign of a part is one.
    """
    xp = namespace(first[0])

    def inner(one: Factors, two: Factors) -> float:
        transpose = xp.matrix_transpose
        return float(xp.sum((transpose(one[0]) @ two[0]) * (transpose(one[1]) @ two[1])))

    size, norm = math.sqrt(inner(first, first)), math.sqrt(inner(other, other))
    if norm < NEGLIGIBLE * size:
        return 0.0
    along = inner(other, first)
    return along / size**2 if abs(along) > (1 - NEGLIGIBLE) * size * norm else None
