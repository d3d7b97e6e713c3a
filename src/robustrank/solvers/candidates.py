"""The candidates of the default portfolio, each for a different kind of problem."""

from __future__ import annotations

from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.message_passing import MessagePassing
from robustrank.solvers.schedules import Damping, RankSchedule, Settling, Weighting
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
    MessagePassing(target_error=1e-3, faults=True), GaussNewton(), name="message passing, faults"
)
# For many outliers larger than the measurements, whatever the sensing data: narrow weights at once.
STRICT = GaussNewton(
    alpha_y=3.0,
    weighting=Weighting(max_medians=4.0, power=1.0, cutoff_medians=4.0),
    damping=Damping(initial=10.0, misfit_factor=10.0),
    name="Gauss–Newton, strict",
)
# For few measurements: slow, and starting from a higher rank.
PATIENT = GaussNewton(
    weighting=Weighting(max_medians=None, power=1.0),
    damping=Damping(initial=10.0, decay=0.9, misfit_factor=None),
    rank_schedule=RankSchedule(extra=3),
    settling=Settling(start_after=100),
    max_iterations=200,
    name="Gauss–Newton, patient",
)
