"""Several solvers, one after another, until an answer proves itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from robustrank.backend import namespace
from robustrank.problem import Problem
from robustrank.solvers.base import Solver
from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.gradient import MedianTGD
from robustrank.solvers.message_passing import MessagePassing
from robustrank.solvers.rank_search import RankSearch

_NEVER = 1e9
# Gauss–Newton keeps a tangent map that grows with the number of measurements. Where the sensing
# data is a file, because it would not fit, the map must not take its place in memory.
_FILE_BUDGET = 128 * 2**20

# Lenient at first, then stricter and stricter: most problems, in ten to twenty steps.
SOFT = GaussNewton(settle_from=0, max_iterations=25)
# The rank may be lower than was said.
SEARCH = RankSearch()
# Hardly more measurements than degrees of freedom, or outliers that look like measurements; as long
# as the sensing entries are about independent.
MESSAGES = MessagePassing()
# Where they are not. Strict from the start: many outliers that are larger than the measurements.
STRICT = GaussNewton(
    alpha_y=3.0,
    width_medians=4.0,
    power=1.0,
    cut=4.0,
    damping=10.0,
    damping_misfit=10.0,
    name="Gauss–Newton, strict",
)
# Slow and from a higher rank: few measurements.
PATIENT = GaussNewton(
    width_medians=_NEVER,
    power=1.0,
    damping=10.0,
    damping_decay=0.9,
    damping_misfit=_NEVER,
    settle_from=100,
    extra_rank=3,
    max_iterations=200,
    name="Gauss–Newton, patient",
)
# Hardly more measurements than degrees of freedom, and noise: a search would in the end believe
# only what it happens to meet.
NOISY = MessagePassing(
    near=0.1,
    settles_at_once=True,
    finish=GaussNewton(max_iterations=30),
    name="message passing, noisy",
)


@dataclass(frozen=True)
class Portfolio:
    """Candidates with different ideas of what an outlier looks like.

    No single rule wins everywhere, and a right answer shows itself; so each is tried until one is
    certified or leaves only noise. Where a ``RankSearch`` among them sees a lower rank than was
    given, all are tried at that one. The common case costs one candidate and nothing more.
    """

    solvers: tuple[Solver[Any], ...] = (SOFT, SEARCH, MESSAGES, STRICT, PATIENT, NOISY)

    def __post_init__(self) -> None:
        if not self.solvers or isinstance(self.solvers[0], RankSearch):
            raise ValueError("a portfolio without a solver first has no answer to give")

    def candidates(self, problem: Problem) -> Iterator[Solver[Any]]:
        """The solvers in the order to try them on this problem."""
        if not problem.operator.in_memory and _tangent_bytes(problem) > _FILE_BUDGET:
            yield MedianTGD()
            return
        yield from self.solvers


def _tangent_bytes(problem: Problem) -> int:
    n1, n2 = problem.operator.matrix_shape
    width = namespace(problem.y).finfo(problem.y.dtype).bits // 8
    return int(problem.operator.measurements * problem.rank * (n1 + n2) * width)
