"""The rank of the solution, where the given rank is an upper bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from robustrank.backend import namespace
from robustrank.problem import Problem
from robustrank.solvers.message_passing import MessagePassing, MessagePassingState
from robustrank.solvers.message_passing.solver import is_within
from robustrank.solvers.monitor import Outcome

_NEAR = 0.25  # with a larger error the rank of an estimate is not reliable


@dataclass(frozen=True)
class RankEstimator:
    """Finds the rank by counting the singular values that message passing finds above the noise.

    In message passing the solution appears in white noise of known variance, and singular values
    below the noise are set to zero. Least squares has no such criterion: surplus columns fit the
    noise or, with too few measurements for them, become arbitrary.

    Parameters
    ----------
    messages
        The run of message passing. The smallest singular values appear last, so by default it
        continues until all are found or the estimate no longer improves.

    See Also
    --------
    robustrank.solvers.Portfolio : Uses it if the given rank is an upper bound.
    robustrank.solvers.MessagePassing : The solver that it runs.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> solver = rr.solvers.Portfolio(rank_estimator=rr.solvers.RankEstimator())
    >>> rr.recover(planted.A, planted.y, rank=4, solver=solver).rank
    2
    """

    # The smallest singular values appear last, so it continues until all are found or it stalls.
    messages: MessagePassing = field(
        default_factory=lambda: MessagePassing(
            target_error=1e-3,
            target_error_at_full_rank=_NEAR,
            patience=10,
            max_iterations=100,
            name="rank estimate",
        )
    )

    def rank(self, problem: Problem, outcome: Outcome) -> int | None:
        """The rank found by a run of ``messages``; None if it did not come near a solution."""
        state = outcome.state
        if not isinstance(state, MessagePassingState):  # it was never finite
            return None
        if not bool(is_within(_NEAR, problem.normalized(), state.best)):
            return None
        return int(namespace(state.U).count_nonzero(state.best.point.values)) or None
