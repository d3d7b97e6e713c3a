"""The progress of a run, and the outcome of each solver that was tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robustrank.result.status import Status, StopReason


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
        checks = (Check._make(row) for row in rows)
        return cls(
            tuple(c._replace(iteration=int(c.iteration), inliers=int(c.inliers)) for c in checks)
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
