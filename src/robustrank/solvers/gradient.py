"""The paper's method: gradient descent on the factors over the measurements it believes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robustrank import theory
from robustrank.backend import Array, check_count, check_positive, namespace, spectral_norm
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, State, observe
from robustrank.spectral import truncated_start
from robustrank.trust import KeepAll, MedianTruncation, TrustRule, trusted


@dataclass(frozen=True, eq=False)
class GradientState(State):
    """Beside the state, the squared sizes of the starting factors, which divide every step."""

    U0_squared: Array  # ‖U0‖²
    V0_squared: Array  # ‖V0‖²


def begin(problem: Problem, U0: Array, V0: Array, trust: TrustRule) -> GradientState:
    """The state of gradient descent started at the factors (U0, V0)."""
    state = observe(problem, U0, V0, trust, math.inf)
    return GradientState(
        **vars(state), U0_squared=spectral_norm(U0) ** 2, V0_squared=spectral_norm(V0) ** 2
    )


def descend(
    problem: Problem, state: GradientState, trust: TrustRule, mu: float, lam: float
) -> GradientState:
    """One iteration of Algorithm 1's gradient loop (update_rule): two passes over the data."""
    U, V = state.U, state.V
    transpose = namespace(U).matrix_transpose
    believed = trusted(state.residual, state.weights) / (2 * problem.operator.measurements)
    GV, GtU = problem.operator.backproject(believed, U, V)
    imbalance = transpose(U) @ U - transpose(V) @ V
    U_next = U - mu / state.U0_squared * (lam * (U @ imbalance) - GV)
    V_next = V - mu / state.V0_squared * (-lam * (V @ imbalance) - GtU)
    norm = namespace(U).linalg.vector_norm
    moved = norm(U_next - U) ** 2 + norm(V_next - V) ** 2
    change = (moved / (norm(U_next) ** 2 + norm(V_next) ** 2)) ** 0.5
    seen = observe(problem, U_next, V_next, trust, change)
    return GradientState(**vars(seen), U0_squared=state.U0_squared, V0_squared=state.V0_squared)


@dataclass(frozen=True)
class MedianTGD(Solver[GradientState]):
    """Median-truncated gradient descent, the paper's Algorithm 1.

    The defaults are those of the paper's experiments. ``balance`` is λ, and follows from
    ``alpha_h`` where it is None. ``tolerance=0`` switches the progress rule off, so that
    ``max_iterations`` alone ends the run, as in the paper.
    """

    check_every: ClassVar[int] = 10
    rounding: ClassVar[float] = 0.25
    alpha_y: float = 12.0
    alpha_h: float = 6.0
    step_size: float = 0.4
    balance: float | None = None
    sample_split: bool = False
    max_iterations: int = 10_000
    tolerance: float = 1e-10
    name: str = "median-TGD"

    def __post_init__(self) -> None:
        # A rule refuses a truncation that makes no sense.
        MedianTruncation(self.alpha_y)
        MedianTruncation(self.alpha_h)
        _check_steps(self.step_size, self.lam, self.max_iterations, self.tolerance)

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
        return begin(problem, U0, V0, self.trust)

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        return descend(problem, state, self.trust, self.step_size, self.lam)


@dataclass(frozen=True)
class VanillaGD(Solver[GradientState]):
    """Gradient descent that believes every measurement: the procedure the paper compares with.

    λ = 1/4 is the limit of the paper's λ as nothing is truncated.
    """

    check_every: ClassVar[int] = 10
    rounding: ClassVar[float] = 0.25
    step_size: float = 0.4
    balance: float = 0.25
    max_iterations: int = 10_000
    tolerance: float = 1e-10
    name: str = "vanilla-GD"

    def __post_init__(self) -> None:
        _check_steps(self.step_size, self.balance, self.max_iterations, self.tolerance)

    @property
    def trust(self) -> TrustRule:
        return KeepAll()

    def start(self, problem: Problem, rng: np.random.Generator) -> GradientState:
        return begin(problem, *truncated_start(problem, KeepAll(), rng), KeepAll())

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        return descend(problem, state, KeepAll(), self.step_size, self.balance)


def _check_steps(step_size: float, balance: float, max_iterations: int, tolerance: float) -> None:
    check_positive(step_size=step_size)
    check_count(max_iterations=max_iterations)
    for name, value in (("balance", balance), ("tolerance", tolerance)):
        if value != 0:  # zero switches either off
            check_positive(**{name: value})
