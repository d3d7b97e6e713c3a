"""The paper's method: gradient descent on the factors, over truncated measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from robustrank import theory
from robustrank.backend import (
    Array,
    check_count,
    check_not_negative,
    check_positive,
    like,
    namespace,
    triton_kernels_for,
)
from robustrank.linalg import Factors, spectral_norm
from robustrank.metrics import balance
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, State, observe, spectral_initialization
from robustrank.solvers.weights import (
    CUTOFF_MEDIANS,
    TruncatedWeights,
    UniformWeights,
    WeightFunction,
    check_cutoffs,
)

_MOST_STEPS = 10_000  # as in the paper's experiments


@dataclass(frozen=True, eq=False)
class GradientState(State):
    """The state, the previous iterate and the constants of the iteration, for W = [U; V]."""

    previous: Array  # W before the last step
    step_sizes: Array  # (n1 + n2, 1): μ/(2m‖U0‖²) in the rows of U, μ/(2m‖V0‖²) in those of V
    balance_factors: Array  # (n1 + n2, 1): √(2mλ) in the rows of U, −√(2mλ) in those of V

    def change(self) -> Array:
        xp = namespace(self.U)
        W = xp.concat([self.U, self.V], axis=0)
        norm = xp.linalg.vector_norm
        return norm(W - self.previous) / norm(W)


def begin(
    problem: Problem, U0: Array, V0: Array, weight_function: WeightFunction, mu: float, lam: float
) -> GradientState:
    """The state of gradient descent at its initial factors (U0, V0)."""
    xp = namespace(U0)
    m = problem.operator.measurements
    mu, lam = mu / (2 * m), lam * 2 * m  # instead of dividing every gradient by 2m
    one_U, one_V = (xp.ones((factor.shape[0], 1), **like(factor)) for factor in (U0, V0))
    sizes = [mu / spectral_norm(U0) ** 2 * one_U, mu / spectral_norm(V0) ** 2 * one_V]
    return GradientState(
        **vars(observe(problem, U0, V0, weight_function)),
        previous=xp.concat([xp.full_like(U0, xp.inf), xp.full_like(V0, xp.inf)], axis=0),
        step_sizes=xp.concat(sizes, axis=0),
        balance_factors=math.sqrt(lam) * xp.concat([one_U, -one_V], axis=0),
    )


def _stepped(W: Array, GW: Array, state: GradientState) -> Array:
    """W after a step along its gradient, the balancing term minus ``GW``."""
    kernels = triton_kernels_for(W)
    if kernels is not None:
        return kernels.balanced_step(W, GW, state.step_sizes, state.balance_factors)
    imbalance = namespace(W).matrix_transpose(W) @ (state.balance_factors * W)  # UᵀU − VᵀV
    balancing = state.balance_factors * (W @ imbalance)
    return W - state.step_sizes * (balancing - GW)


class GradientDescent(Solver[GradientState]):
    """What the two variants of gradient descent have in common."""

    graph_capturable: ClassVar[bool] = True
    unit_rows: ClassVar[bool] = False
    rounding: ClassVar[float] = 0.25
    step_size: float

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        """One iteration of the gradient loop of Algorithm 1: two passes over the data.

        Both factors are updated as one array W = [U; V], because on a GPU the time is determined by
        the number of small operations between two reads of the sensing data.
        """
        xp, n1 = namespace(state.U), state.U.shape[0]
        W = xp.concat([state.U, state.V], axis=0)
        weighted = state.weights * state.residual
        GW = xp.concat([*problem.operator.backproject(weighted, state.U, state.V)], axis=0)
        W_next = _stepped(W, GW, state)
        observed = observe(problem, W_next[:n1, :], W_next[n1:, :], self.weight_function)
        return replace(state, **vars(observed), previous=W)

    def _check(self, balance: float) -> None:
        check_positive(step_size=self.step_size)
        check_count(max_iterations=self.max_iterations, check_every=self.check_every)
        check_not_negative(balance=balance, tolerance=self.tolerance)  # zero disables either


@dataclass(frozen=True)
class MedianTGD(GradientDescent):
    """Median-truncated gradient descent, the paper's Algorithm 1.

    The defaults are those of the paper's experiments, except that the run also stops when it has
    converged; with ``tolerance=0`` it takes all iterations, as in the paper.

    Parameters
    ----------
    alpha_y
        Truncation of the initialization, in medians of ``|y|``: larger measurements are not used.
    alpha_h
        Truncation in every iteration, in medians of the absolute residuals.
    step_size
        The paper's μ.
    balance
        The paper's λ, the weight of the balancing term; None computes it from ``alpha_h``.
    sample_split
        Use different measurements for the initialization and for its truncation.
    max_iterations, tolerance
        The largest number of iterations; the solver also stops when the relative change of the
        factors in an iteration is smaller than the tolerance.
    check_every
        Iterations between two progress checks.
    initial
        Factors of shape (n1, r) and (n2, r) to start from instead of the spectral initialization.
        They are in the units of ``Problem.normalized``; for factors in the units of the data, use
        ``start`` of ``recover``.
    name
        The name shown to users.

    See Also
    --------
    robustrank.recover : Its parameter ``solver`` takes this solver, or ``"median-tgd"``.
    robustrank.solvers.VanillaGD : Gradient descent without truncation.
    robustrank.theory.balance_weight : The default of ``balance``.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=1, measurements=500, outliers=0.05, rng=1)
    >>> solver = rr.solvers.MedianTGD(alpha_h=5.0, step_size=0.3)
    >>> rr.recover(planted.A, planted.y, rank=1, solver=solver).status.name
    'RECOVERED'
    """

    alpha_y: float = 12.0
    alpha_h: float = CUTOFF_MEDIANS
    step_size: float = 0.4
    balance: float | None = None
    sample_split: bool = False
    max_iterations: int = _MOST_STEPS
    tolerance: float = 1e-10
    check_every: int = 10
    initial: Factors | None = field(default=None, compare=False, repr=False)
    name: str = "median-TGD"

    def __post_init__(self) -> None:
        check_cutoffs(alpha_y=self.alpha_y, alpha_h=self.alpha_h)
        self._check(self.lam)

    @classmethod
    def theory(
        cls, rank: int, average_condition: float, max_iterations: int = _MOST_STEPS
    ) -> MedianTGD:
        """The solver with the constants of Theorems 1 and 2.

        Parameters
        ----------
        rank
            The rank of the matrix.
        average_condition
            An upper bound on the average condition number κ̄; see
            ``theory.average_condition_number``.
        max_iterations
            The number of iterations; the tolerance is zero, so that all of them are taken.
        """
        return cls(
            alpha_y=theory.start_truncation(rank, average_condition),
            alpha_h=theory.ALPHA_H,
            step_size=theory.MAX_STEP_SIZE,
            sample_split=True,
            max_iterations=max_iterations,
            tolerance=0.0,
        )

    @property
    def weight_function(self) -> WeightFunction:
        return TruncatedWeights(self.alpha_h)

    @property
    def lam(self) -> float:
        """λ, the weight of the balancing term."""
        return theory.balance_weight(self.alpha_h) if self.balance is None else self.balance

    def start(self, problem: Problem, rng: np.random.Generator) -> GradientState:
        start = self.initial
        if start is None:
            start = spectral_initialization(
                problem, TruncatedWeights(self.alpha_y), rng, sample_split=self.sample_split
            )
        return begin(problem, *start, self.weight_function, self.step_size, self.lam)

    def starting_at(self, factors: Factors) -> MedianTGD:
        return replace(self, initial=balance(*factors))


@dataclass(frozen=True)
class VanillaGD(GradientDescent):
    """Gradient descent on all measurements, with which the paper compares its method.

    It rejects no measurements and does not tolerate outliers.

    Parameters
    ----------
    step_size
        The paper's μ.
    balance
        The paper's λ, the weight of the balancing term; 1/4 is its limit without truncation.
    max_iterations, tolerance
        The largest number of iterations; the solver also stops when the relative change of the
        factors in an iteration is smaller than the tolerance.
    check_every
        Iterations between two progress checks.
    name
        The name shown to users.

    See Also
    --------
    robustrank.recover : Its parameter ``solver`` takes this solver, or ``"vanilla-gd"``.
    robustrank.solvers.MedianTGD : Gradient descent with truncation.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=1, measurements=500, rng=1)
    >>> rr.recover(planted.A, planted.y, rank=1, solver=rr.solvers.VanillaGD()).status.name
    'RECOVERED'
    """

    step_size: float = MedianTGD.step_size
    balance: float = 0.25  # that of Theorem 1 without truncation, E[ξ²] / 4
    max_iterations: int = MedianTGD.max_iterations
    tolerance: float = MedianTGD.tolerance
    check_every: int = MedianTGD.check_every
    name: str = "vanilla-GD"

    def __post_init__(self) -> None:
        self._check(self.balance)

    @property
    def weight_function(self) -> WeightFunction:
        return UniformWeights()

    def start(self, problem: Problem, rng: np.random.Generator) -> GradientState:
        U0, V0 = spectral_initialization(problem, UniformWeights(), rng)
        return begin(problem, U0, V0, UniformWeights(), self.step_size, self.balance)
