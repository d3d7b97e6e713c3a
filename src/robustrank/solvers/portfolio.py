"""The default: several solvers for different kinds of outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from robustrank.problem import Problem
from robustrank.solvers.base import Solver
from robustrank.solvers.candidates import FAULTS, MESSAGES, PATIENT, SOFT, STRICT
from robustrank.solvers.rank_estimate import RankEstimator


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

    See Also
    --------
    robustrank.recover : Its parameter ``solver`` takes a portfolio; ``"auto"`` is the default one.
    robustrank.RankEstimator : Looks for a lower rank.

    Examples
    --------
    >>> import robustrank as rr
    >>> [solver.name for solver in rr.Portfolio().solvers][:2]
    ['Gauss–Newton', 'message passing']
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> solver = rr.Portfolio((rr.GaussNewton(), rr.MedianTGD()), rank_estimator=None)
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    solvers: tuple[Solver[Any], ...] = (SOFT, MESSAGES, FAULTS, STRICT, PATIENT)
    rank_estimator: RankEstimator | None = field(default_factory=RankEstimator)

    def __post_init__(self) -> None:
        if not self.solvers:
            raise ValueError("a portfolio needs at least one solver")

    def candidates(self, problem: Problem) -> Iterator[Solver[Any]]:
        """The solvers to try on this problem, in order."""
        yield from self.solvers
