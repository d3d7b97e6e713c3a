"""From a start to an answer: one loop, many solvers."""

from robustrank.solvers.base import Solver, State, observe
from robustrank.solvers.drive import Callback, Outcome, Progress, drive
from robustrank.solvers.gauss_newton import GaussNewton, GaussNewtonState
from robustrank.solvers.gradient import GradientState, MedianTGD, VanillaGD
from robustrank.solvers.message_passing import MessagePassing, MessageState
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_search import RankSearch

__all__ = [
    "Callback",
    "GaussNewton",
    "GaussNewtonState",
    "GradientState",
    "MedianTGD",
    "MessagePassing",
    "MessageState",
    "Outcome",
    "Portfolio",
    "Progress",
    "RankSearch",
    "Solver",
    "State",
    "VanillaGD",
    "drive",
    "observe",
]
