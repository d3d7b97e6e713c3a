"""The paper's method: gradient descent on the factors over the measurements it believes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from robustrank import theory
from robustrank.backend import (
    Array,
    check_count,
    check_positive,
    like,
    namespace,
    overlapped,
    spectral_norm,
)
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, State, observe
from robustrank.spectral import truncated_start
from robustrank.trust import KeepAll, MedianTruncation, TrustRule


@dataclass(frozen=True, eq=False)
class GradientState(State):
    """Beside the state, where it came from and what does not change, for W = [U; V]."""

    before: Array  # W before the last step
    pace: Array  # (n1 + n2, 1): μ/(2m‖U0‖²) in the rows of U, μ/(2m‖V0‖²) in those of V
    lean: Array  # (n1 + n2, 1): √(2mλ) in the rows of U, −√(2mλ) in those of V

    def change(self) -> Array:
        xp = namespace(self.U)
        W = xp.concat([self.U, self.V], axis=0)
        norm = xp.linalg.vector_norm
        return norm(W - self.before) / norm(W)


def begin(
    problem: Problem, U0: Array, V0: Array, trust: TrustRule, mu: float, lam: float
) -> GradientState:
    """The state of gradient descent started at the factors (U0, V0)."""
    xp = namespace(U0)
    m = problem.operator.measurements
    mu, lam = mu / (2 * m), lam * 2 * m  # instead of dividing the gradient in every iteration
    one_U, one_V = (xp.ones((factor.shape[0], 1), **like(factor)) for factor in (U0, V0))
    paces = [mu / spectral_norm(U0) ** 2 * one_U, mu / spectral_norm(V0) ** 2 * one_V]
    return GradientState(
        **vars(observe(problem, U0, V0, trust)),
        before=xp.concat([xp.full_like(U0, xp.inf), xp.full_like(V0, xp.inf)], axis=0),
        pace=xp.concat(paces, axis=0),
        lean=math.sqrt(lam) * xp.concat([one_U, -one_V], axis=0),
    )


def descend(problem: Problem, state: GradientState, trust: TrustRule) -> GradientState:
    """One iteration of Algorithm 1's gradient loop (update_rule): two passes over the data.

    Both halves of the update are one, on W = [U; V] stacked: on a card the time goes into the
    number of small operations, and what can be done beside the reading of the sensing data.
    """
    xp, n1 = namespace(state.U), state.U.shape[0]
    W = xp.concat([state.U, state.V], axis=0)

    def balancing() -> Array:
        imbalance = xp.matrix_transpose(W) @ (state.lean * W)  # UᵀU − VᵀV
        return state.lean * (W @ imbalance)

    def fitting() -> Array:
        believed = state.weights * state.residual
        return xp.concat([*problem.operator.backproject(believed, state.U, state.V)], axis=0)

    restored, GW = overlapped(balancing, fitting, W)
    W_next = W - state.pace * (restored - GW)
    seen = observe(problem, W_next[:n1, :], W_next[n1:, :], trust)
    return replace(state, **vars(seen), before=W)


@dataclass(frozen=True)
class MedianTGD(Solver[GradientState]):
    """Median-truncated gradient descent, the paper's Algorithm 1.

    The defaults are those of the paper's experiments. ``balance`` is λ, and follows from
    ``alpha_h`` where it is None. ``tolerance=0`` switches the progress rule off, so that
    ``max_iterations`` alone ends the run, as in the paper.
    """

    blind: ClassVar[bool] = True
    rounding: ClassVar[float] = 0.25
    alpha_y: float = 12.0
    alpha_h: float = 6.0
    step_size: float = 0.4
    balance: float | None = None
    sample_split: bool = False
    max_iterations: int = 10_000
    tolerance: float = 1e-10
    check_every: int = 10
    name: str = "median-TGD"

    def __post_init__(self) -> None:
        # A rule refuses a truncation that makes no sense.
        MedianTruncation(self.alpha_y)
        MedianTruncation(self.alpha_h)
        _check_steps(self.step_size, self.lam, self.max_iterations, self.tolerance)
        check_count(check_every=self.check_every)

    @classmethod
    def theory(cls, rank: int, average_condition: float, max_iterations: int = 10_000) -> MedianTGD:
        """The solver with the constants of Theorems 1 and 2, for κ̄ ≤ ``average_condition``."""
        return cls(
            alpha_y=theory.start_truncation(rank, average_condition),
            alpha_h=theory.ALPHA_H,
            step_size=theory.MAX_STEP_SIZE,
            sample_split=True,
            max_iterations=max_iterations,
            tolerance=0.0,
        )

    @property
    def trust(self) -> TrustRule:
        return MedianTruncation(self.alpha_h)

    @property
    def lam(self) -> float:
        """λ, the weight of the balancing term."""
        return theory.balance_weight(self.alpha_h) if self.balance is None else self.balance

    def start(self, problem: Problem, rng: np.random.Generator) -> GradientState:
        rule = MedianTruncation(self.alpha_y)
        U0, V0 = truncated_start(problem, rule, rng, sample_split=self.sample_split)
        return begin(problem, U0, V0, self.trust, self.step_size, self.lam)

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        return descend(problem, state, self.trust)


@dataclass(frozen=True)
class VanillaGD(Solver[GradientState]):
    """Gradient descent that believes every measurement: the procedure the paper compares with.

    λ = 1/4 is the limit of the paper's λ as nothing is truncated.
    """

    blind: ClassVar[bool] = True
    rounding: ClassVar[float] = 0.25
    step_size: float = 0.4
    balance: float = 0.25
    max_iterations: int = 10_000
    tolerance: float = 1e-10
    check_every: int = 10
    name: str = "vanilla-GD"

    def __post_init__(self) -> None:
        _check_steps(self.step_size, self.balance, self.max_iterations, self.tolerance)
        check_count(check_every=self.check_every)

    @property
    def trust(self) -> TrustRule:
        return KeepAll()

    def start(self, problem: Problem, rng: np.random.Generator) -> GradientState:
        U0, V0 = truncated_start(problem, KeepAll(), rng)
        return begin(problem, U0, V0, KeepAll(), self.step_size, self.balance)

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        return descend(problem, state, KeepAll())


def _check_steps(step_size: float, balance: float, max_iterations: int, tolerance: float) -> None:
    check_positive(step_size=step_size)
    check_count(max_iterations=max_iterations)
    for name, value in (("balance", balance), ("tolerance", tolerance)):
        if value != 0:  # zero switches either off
            check_positive(**{name: value})
