"""The default: several solvers for different kinds of outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from robustrank.backend import namespace
from robustrank.problem import Problem
from robustrank.solvers.base import Solver
from robustrank.solvers.candidates import FAULTS, MESSAGES, PATIENT, SOFT, STRICT
from robustrank.solvers.gradient_descent import MedianTGD
from robustrank.solvers.rank_estimate import RankEstimator

# Gauss–Newton stores a tangent map that grows with the number of measurements. If the sensing data
# is a file because it does not fit in memory, the map may take at most this many bytes.
_FILE_BUDGET = 128 * 2**20


@dataclass(frozen=True)
class Portfolio:
    """Solvers for different kinds of outliers, tried in turn.

    No single weight function works for every kind of outlier, but a correct result can be
    recognized, so the solvers are tried until a result is certified. The common case costs one
    solver.

    Parameters
    ----------
    solvers
        The solvers in the order to try them.
    rank_estimator
        Looks for a lower rank than the given one after the first solver; if it finds one, all
        solvers are tried with that rank. None: never.
    """

    solvers: tuple[Solver[Any], ...] = (SOFT, MESSAGES, FAULTS, STRICT, PATIENT)
    rank_estimator: RankEstimator | None = field(default_factory=RankEstimator)

    def __post_init__(self) -> None:
        if not self.solvers:
            raise ValueError("a portfolio needs at least one solver")

    def candidates(self, problem: Problem) -> Iterator[Solver[Any]]:
        """The solvers to try on this problem, in order."""
        if self._is_out_of_core(problem):
            yield MedianTGD()
        else:
            yield from self.solvers

    def rank_estimator_for(self, problem: Problem) -> RankEstimator | None:
        """The rank estimator to use for this problem."""
        return None if self._is_out_of_core(problem) else self.rank_estimator

    @staticmethod
    def _is_out_of_core(problem: Problem) -> bool:
        return not problem.operator.in_memory and _tangent_bytes(problem) > _FILE_BUDGET


def _tangent_bytes(problem: Problem) -> int:
    n1, n2 = problem.operator.matrix_shape
    width = namespace(problem.y).finfo(problem.y.dtype).bits // 8
    return int(problem.operator.measurements * problem.rank * (n1 + n2) * width)
