"""How a matrix is fitted: one solver in each file, and the loop that drives them."""

from robustrank.problem import Problem
from robustrank.solvers.base import Solver, State, observe
from robustrank.solvers.driver import Drive, Outcome
from robustrank.solvers.gauss_newton import GaussNewton, GaussNewtonState
from robustrank.solvers.gradient_descent import GradientState, MedianTGD, VanillaGD
from robustrank.solvers.message_passing import MessagePassing, MessagePassingState
from robustrank.solvers.portfolio import (
    DEFAULT,
    Portfolio,
    message_passing_then_gauss_newton,
)
from robustrank.solvers.schedules import Damping, Settling, Weighting
from robustrank.solvers.two_stage import TwoStage, TwoStageState
from robustrank.solvers.weights import (
    SoftWeights,
    TruncatedWeights,
    UniformWeights,
    WeightFunction,
)

__all__ = [
    "DEFAULT",
    "Damping",
    "Drive",
    "GaussNewton",
    "GaussNewtonState",
    "GradientState",
    "MedianTGD",
    "MessagePassing",
    "MessagePassingState",
    "Outcome",
    "Portfolio",
    "Problem",
    "Settling",
    "SoftWeights",
    "Solver",
    "State",
    "TruncatedWeights",
    "TwoStage",
    "TwoStageState",
    "UniformWeights",
    "VanillaGD",
    "WeightFunction",
    "Weighting",
    "message_passing_then_gauss_newton",
    "observe",
]
