"""The progress of a run, why it ended early, and the outcome of each solver that was tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from robustrank.result.certificate import Status


class StopReason(Enum):
    """Why a run ended early; see ``Result.stopped``.

    It says nothing about the quality of the result: that is its status.

    Attributes
    ----------
    TIME_LIMIT
        The time limit was reached.
    CALLBACK
        The callback stopped the run.
    INTERRUPTED
        Ctrl-C, or the sensing data can no longer be read.
    ITERATIONS
        The iteration limit of the solver was reached before it converged.
    DIVERGED
        The factors grew without bound.

    See Also
    --------
    robustrank.Result : Has the attribute ``stopped``.
    robustrank.Status : Whether the result can be used.

    Examples
    --------
    >>> import robustrank as rr
    >>> print(rr.StopReason.TIME_LIMIT)
    the time limit was reached
    """

    TIME_LIMIT = "the time limit was reached"
    CALLBACK = "the callback stopped the run"
    INTERRUPTED = "the run was interrupted"
    ITERATIONS = "the iteration limit was reached before convergence"
    DIVERGED = "the factors grew without bound"

    @property
    def by_user(self) -> bool:
        """Whether the time limit, the callback or Ctrl-C ended the whole run."""
        return self in (StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED)

    @property
    def advice(self) -> str:
        """What to do next if the result is not certified."""
        return _ADVICE[self]

    def __str__(self) -> str:
        return self.value


_ADVICE = {
    StopReason.TIME_LIMIT: "The result is the best that was found by then. Increase the time "
    "limit to get a complete result.",
    StopReason.CALLBACK: "The result is the best that was found by then. Run again to get a "
    "complete result.",
    StopReason.INTERRUPTED: "The result is the best that was found by then. Run again to get a "
    "complete result.",
    StopReason.ITERATIONS: "If the misfit was still decreasing, increase `max_iterations` of the "
    "solver. If it was flat, add measurements, lower the rank, or check for too many outliers.",
    StopReason.DIVERGED: "Do not use the result. Gradient descent without outlier rejection "
    "diverges when outliers are large: use the default solver. If the solver was median-tgd, "
    "reduce its step_size.",
}


class Check(NamedTuple):
    """The state of a run at one progress check."""

    iteration: int
    misfit: float  # median |residual| relative to median |y|
    change: float  # of the factors in the last iteration, relative to their size
    inliers: int  # measurements with a positive weight
    seconds: float
    passes: float  # over the sensing data so far


@dataclass(frozen=True)
class History:
    """The checks of one run, oldest first."""

    checks: tuple[Check, ...] = ()

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One field of every check, for example ``history.column("misfit")``."""
        return np.asarray([getattr(check, name) for check in self.checks])

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[float]]) -> History:
        """The history with these checks, each a row in the order of ``Check``'s fields."""
        return cls(
            tuple(
                Check(int(iteration), misfit, change, int(inliers), seconds, passes)
                for iteration, misfit, change, inliers, seconds, passes in rows
            )
        )

    def __len__(self) -> int:
        return len(self.checks)


@dataclass(frozen=True)
class Attempt:
    """The outcome of one of several solvers that were tried."""

    solver: str
    status: Status
    rank: int  # of the matrix that it found
    exact_fits: int
    misfit: float
    iterations: int
    seconds: float
    stopped: StopReason | None = None

    def __str__(self) -> str:
        return (
            f"{self.solver}, rank {self.rank}: {self.status.value} "
            f"({self.iterations:,} iteration{'' if self.iterations == 1 else 's'})"
        )
