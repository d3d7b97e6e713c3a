"""How many columns the answer needs, where the rank that is given is more than that."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, State
from robustrank.solvers.lanes import choose
from robustrank.solvers.message_passing import MessagePassing, MessageState
from robustrank.trust import TrustRule

_NEAR = 0.25  # an estimate that is off by more does not know its rank either


@dataclass(frozen=True)
class RankSearch(Solver[MessageState]):
    """Message passing, not to find the answer but to count its singular values.

    It sees the answer in white noise whose size it knows, and sets to zero what does not rise above
    it. A fit has no such scruples: its surplus columns go to the noise, or, with too few
    measurements for them, anywhere.
    """

    stackable: ClassVar[bool] = True
    rounding: ClassVar[float] = MessagePassing.rounding
    # Until all are seen, or it gets no nearer: the small ones appear last.
    messages: MessagePassing = field(
        default_factory=lambda: MessagePassing(near=1e-3, patience=10, max_steps=100)
    )
    max_iterations: int = 101
    check_every: int = 1
    tolerance: float = 1e-6
    name: str = "rank search"

    @property
    def trust(self) -> TrustRule:
        return self.messages.trust

    def start(self, problem: Problem, rng: np.random.Generator) -> MessageState:
        return self.messages.start(problem, rng)

    def step(self, problem: Problem, state: MessageState) -> MessageState:
        xp = namespace(state.U)
        full = xp.all(state.best.point.values > 0, axis=-1)
        over = self.messages.is_over(problem, state) | (full & self._is_near(problem, state))
        resting = replace(state, moved=xp.zeros_like(state.moved), iteration=state.iteration + 1)
        if bool(xp.all(over)):
            return resting
        return choose(over, resting, self.messages.after(problem, state))

    def rank_seen(self, problem: Problem, state: State) -> int | None:
        """The number of singular values above the noise; None where the answer was not found."""
        if not isinstance(state, MessageState):  # it was never finite
            return None
        if not bool(self._is_near(problem, state)):
            return None
        xp = namespace(state.U)
        return int(xp.count_nonzero(state.best.point.values)) or None

    def _is_near(self, problem: Problem, state: MessageState) -> Array:
        return self.messages.is_within(_NEAR, problem, state.best)
