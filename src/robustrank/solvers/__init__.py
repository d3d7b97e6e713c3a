"""How the answer is found: solvers, the loop that drives them, and the default portfolio."""

from robustrank.solvers.base import Solver, State, observe
from robustrank.solvers.candidates import message_passing_then_gauss_newton
from robustrank.solvers.driver import drive
from robustrank.solvers.gauss_newton import GaussNewton, GaussNewtonState
from robustrank.solvers.gradient_descent import GradientState, MedianTGD, VanillaGD
from robustrank.solvers.message_passing import MessagePassing, MessagePassingState
from robustrank.solvers.monitor import Callback, Outcome, Progress
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_estimate import RankEstimator
from robustrank.solvers.schedules import Damping, RankSchedule, Settling, Weighting
from robustrank.solvers.search import solve
from robustrank.solvers.two_stage import TwoStage, TwoStageState
from robustrank.solvers.unknown_rank import solve_without_rank
from robustrank.solvers.weights import (
    SoftWeights,
    TruncatedWeights,
    UniformWeights,
    WeightFunction,
)

__all__ = [
    "Callback",
    "Damping",
    "GaussNewton",
    "GaussNewtonState",
    "GradientState",
    "MedianTGD",
    "MessagePassing",
    "MessagePassingState",
    "Outcome",
    "Portfolio",
    "Progress",
    "RankEstimator",
    "RankSchedule",
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
    "drive",
    "message_passing_then_gauss_newton",
    "observe",
    "solve",
    "solve_without_rank",
]
