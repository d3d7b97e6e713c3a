"""The default: several solvers for different kinds of outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustrank.solvers.base import Solver
from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.message_passing import MessagePassing
from robustrank.solvers.schedules import Settling
from robustrank.solvers.two_stage import TwoStage


def message_passing_then_gauss_newton() -> TwoStage:
    """Message passing followed by Gauss–Newton: ``solver="message-passing"``."""
    return TwoStage(MessagePassing(), GaussNewton(), name="message passing")


# Wide weights first, then narrower ones: solves most problems in ten to twenty steps.
SOFT = GaussNewton(settling=Settling(start_after=0), max_iterations=25)
# For few measurements, or outliers that resemble measurements, if the sensing entries are nearly
# independent.
MESSAGES = message_passing_then_gauss_newton()
# For sensors with the same fault: message passing learns their offset or gain and uses what they
# measure. It goes on to a small error, because a small offset shows only then.
FAULTS = TwoStage(
    MessagePassing(target_error_at_full_rank=None, faults=True),
    GaussNewton(),
    name="message passing, faults",
)


@dataclass(frozen=True)
class Portfolio:
    """Solvers for different kinds of outliers, tried in turn.

    No single weight function works for every kind of outlier, but a correct result can be
    recognized, so the solvers are tried until a result is certified. The common case costs one
    solver. The first solver uses the given rank, or one that is found for it. A ``TwoStage`` after
    it finds the rank in its first stage, with an upper bound.

    Parameters
    ----------
    solvers
        The solvers in the order to try them.

    See Also
    --------
    robustrank.recover : Its parameter ``solver`` takes a portfolio; ``"auto"`` is the default one.

    Examples
    --------
    >>> import robustrank as rr
    >>> [solver.name for solver in rr.solvers.Portfolio().solvers][:2]
    ['Gauss–Newton', 'message passing']
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> two = rr.solvers.GaussNewton(), rr.solvers.MedianTGD()
    >>> solver = rr.solvers.Portfolio(two)
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    solvers: tuple[Solver[Any], ...] = (SOFT, MESSAGES, FAULTS)

    def __post_init__(self) -> None:
        if not self.solvers:
            raise ValueError("a portfolio needs at least one solver")


DEFAULT = Portfolio()
