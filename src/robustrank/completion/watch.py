"""The progress of a completion: its stage, and the latest factors."""

from __future__ import annotations

import math
from collections.abc import Callable

from robustrank.backend import Array
from robustrank.linalg import Factors
from robustrank.result import Check
from robustrank.run import Progress, Run

Convert = Callable[[Array, Array], Factors]


def _unchanged(left: Array, right: Array) -> Factors:
    return left, right


class Watch:
    """Keeps the latest factors, and reports them.

    Parameters
    ----------
    run
        The run that the completion is part of.
    in_user_units
        From the latest factors to those that the callback is given.
    """

    def __init__(self, run: Run, in_user_units: Convert = _unchanged) -> None:
        self._run, self._in_user_units = run, in_user_units
        self._reported: Factors | None = None
        self.of_whole: Convert = _unchanged  # from factors of a part to those of the matrix
        self.steps = 0
        self.begin("")

    @property
    def latest(self) -> Factors | None:
        """The factors that were reported last."""
        return self._reported and self.of_whole(*self._reported)

    def begin(self, stage: str, in_units_of_sample: Convert = _unchanged) -> None:
        """Begin a stage, whose factors are to be converted to the units of the sample."""
        self.stage, self._in_units_of_sample = stage, in_units_of_sample

    def report(self, fraction: float, P: Array, Q: Array) -> None:
        """Keep the factors, and raise if the run is to end."""
        reported = self._reported = self._in_units_of_sample(P, Q)
        self.steps += 1
        if self._run.callback is not None:
            of_whole, nan = self.of_whole, math.nan
            check = Check(self.steps, nan, nan, 0, self._run.seconds, nan)
            self._run.report(
                Progress(
                    self.stage, fraction, check, lambda: self._in_user_units(*of_whole(*reported))
                )
            )
        self._run.check()
