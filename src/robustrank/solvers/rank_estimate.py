"""The rank of the solution, where the given rank is an upper bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from robustrank.backend import namespace
from robustrank.problem import Problem
from robustrank.solvers.message_passing import MessagePassing, MessageState
from robustrank.solvers.message_passing.solver import is_within
from robustrank.solvers.monitor import Outcome

_NEAR = 0.25  # an estimate with a larger error does not know its rank either


@dataclass(frozen=True)
class RankEstimator:
    """Counts the singular values that message passing finds above the noise.

    Message passing sees the solution in white noise of known variance and sets to zero the
    singular values that do not rise above it. A least-squares fit cannot tell: its surplus columns
    fit the noise or, with too few measurements for them, become arbitrary.
    """

    # The smallest singular values appear last, so it continues until all are found or it stalls.
    messages: MessagePassing = field(
        default_factory=lambda: MessagePassing(
            near=1e-3,
            near_at_full_rank=_NEAR,
            patience=10,
            max_iterations=100,
            name="rank estimate",
        )
    )

    def rank(self, problem: Problem, outcome: Outcome) -> int | None:
        """The rank found by a run of ``messages``; None if it did not come near a solution."""
        state = outcome.state
        if not isinstance(state, MessageState):  # it was never finite
            return None
        if not bool(is_within(_NEAR, problem.normalized(), state.best)):
            return None
        return int(namespace(state.U).count_nonzero(state.best.point.values)) or None
