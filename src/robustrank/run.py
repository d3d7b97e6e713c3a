"""One call: when it must end, whom to tell about its progress, and why it ended early."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from robustrank.backend import Array
from robustrank.linalg import Factors
from robustrank.operators import DataLost, OutOfTime
from robustrank.result import Check, StopReason

# The share of the time limit that iterations may use; the rest is for the certificate.
_ITERATING = 0.9


@dataclass(frozen=True, eq=False)
class Progress:
    """The state of a run that is passed to a callback.

    Attributes
    ----------
    stage
        What is being computed, in words: the solver that is running, or a stage of a completion.
    fraction
        The estimated progress of this stage, between 0 and 1.
    check
        The numbers of this progress check of a solver: ``iteration``, ``misfit``, ``change`` (of
        the factors in the last iteration, relative to their size), ``inliers``, ``seconds`` and
        ``passes``. Those that a completion does not compute are NaN.

    See Also
    --------
    robustrank.recover : Has the parameter ``callback``, as ``complete`` and ``robust_pca`` have.

    Examples
    --------
    >>> import robustrank as rr
    >>> def stop(progress):
    ...     return progress.iteration >= 2
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2, callback=stop)
    >>> result.stopped.name, result.status.name, result.iterations
    ('CALLBACK', 'INCONCLUSIVE', 2)
    """

    stage: str
    fraction: float
    check: Check
    _factors: Callable[[], Factors] = field(repr=False)

    @property
    def iteration(self) -> int:
        """The number of steps so far."""
        return self.check.iteration

    @property
    def misfit(self) -> float:
        """The median absolute residual, relative to the median of ``|y|``; NaN in a completion."""
        return self.check.misfit

    @property
    def left(self) -> Array:
        """The left factor so far, of shape (n1, r), in the user's units."""
        return self._factors()[0]

    @property
    def right(self) -> Array:
        """The right factor so far, of shape (n2, r), in the user's units."""
        return self._factors()[1]


Callback = Callable[[Progress], bool | None]


class Stopped(Exception):  # noqa: N818  # not an error
    """The run is to end early."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Run:
    """What all parts of one call share: the deadline, the callback, and why it ended early.

    Wherever a call is stopped (by the time limit, the callback, Ctrl-C or lost data), an exception
    leaves the computation. It ends where the part ``with run:`` ends, and nowhere else.

    Parameters
    ----------
    callback
        The function of the user.
    time_limit
        Seconds from now on after which the run is to end; None: no limit.
    """

    def __init__(self, callback: Callback | None = None, time_limit: float | None = None) -> None:
        self.began = time.perf_counter()
        self.callback = callback
        self.ends = None if time_limit is None else self.began + time_limit
        self.stopped: StopReason | None = None
        self.lost: DataLost | None = None  # why the data can no longer be read

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return time.perf_counter() - self.began

    def check(self) -> None:
        """Raise if the time is over."""
        if self.ends is not None and time.perf_counter() > self.ends:
            raise OutOfTime

    def end_of_iterations(self) -> float | None:
        """When iterations that begin now must end, so that time is left for the certificate."""
        if self.ends is None:
            return None
        now = time.perf_counter()
        return now + _ITERATING * (self.ends - now)

    def report(self, progress: Progress) -> None:
        """Tell the callback about the progress; raise if it returns true."""
        if self.callback is not None and self.callback(progress):
            raise Stopped(StopReason.CALLBACK)

    def __enter__(self) -> Run:
        """Begin a part of the call that may be stopped: ``with run: …``."""
        return self

    def __exit__(
        self, _kind: object, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        """End it; if it was stopped, the exception ends here, and ``stopped`` says why."""
        if not isinstance(error, (Stopped, OutOfTime, DataLost, KeyboardInterrupt)):
            return False
        self.stopped = _reason_of(error)
        self.lost = error if isinstance(error, DataLost) else None
        return True


def _reason_of(error: BaseException) -> StopReason:
    if isinstance(error, Stopped):
        return error.reason
    return StopReason.TIME_LIMIT if isinstance(error, OutOfTime) else StopReason.INTERRUPTED
