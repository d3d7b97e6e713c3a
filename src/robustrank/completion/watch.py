"""Progress of a completion, and the reasons to stop it early."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from robustrank.backend import Array
from robustrank.result import StopReason


@dataclass(frozen=True, eq=False)
class CompletionProgress:
    """The state of a completion that is passed to a callback.

    Attributes
    ----------
    stage
        What is being computed, in words.
    fraction
        How much of the stage is done, between 0 and 1.
    left, right
        The factors so far: (n1, r) and (n2, r) arrays.

    See Also
    --------
    robustrank.complete : Has the parameter ``callback``.
    robustrank.Progress : The same for ``recover``.

    Examples
    --------
    >>> import robustrank as rr
    >>> def stop(progress):
    ...     return progress.fraction > 0.5
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, rng=1)
    >>> rr.complete(planted.incomplete, callback=stop).status.name
    'STOPPED'
    """

    stage: str
    fraction: float  # of the stage, between 0 and 1
    left: Array  # the factors so far
    right: Array


Callback = Callable[[CompletionProgress], bool | None]
Factors = tuple[Array, Array]


class Stopped(Exception):  # noqa: N818
    """The run was stopped early."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Watch:
    """Keeps the latest factors, calls the callback and watches the time limit.

    Ctrl-C is raised by Python wherever it occurs; the latest factors are here then.

    Parameters
    ----------
    callback
        The function of the user.
    ends
        When the run is to end, on the clock of ``time.perf_counter``.
    in_user_units
        From the latest factors to those that the callback is given.
    """

    def __init__(
        self,
        callback: Callback | None,
        ends: float | None,
        in_user_units: Callable[[Array, Array], Factors] | None = None,
    ) -> None:
        self._callback, self._ends, self._in_user_units = callback, ends, in_user_units
        self._units: tuple[Array, Array] | None = None
        self.stage = ""
        self.latest: Factors | None = None

    def begin(self, stage: str, units: tuple[Array, Array] | None = None) -> None:
        """Begin a stage; its factors are to be multiplied by units for the rows and columns."""
        self.stage, self._units = stage, units

    def report(self, fraction: float, P: Array, Q: Array) -> None:
        """Keep the factors; raise ``Stopped`` if the run is to end."""
        self.latest = P, Q
        if self._units is not None:
            rows, columns = self._units
            self.latest = rows[:, None] * P, columns[:, None] * Q
        if self._callback is not None:
            given = (
                self.latest if self._in_user_units is None else self._in_user_units(*self.latest)
            )
            progress = CompletionProgress(self.stage, fraction, *given)
            if self._callback(progress):
                raise Stopped(StopReason.CALLBACK)
        if self._ends is not None and time.perf_counter() > self._ends:
            raise Stopped(StopReason.TIME_LIMIT)
