"""What all calls share: the time limit, the callback, and how an interrupted run ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robustrank.backend import as_seconds
from robustrank.operators import DataLost, OutOfTime
from robustrank.result import Result
from robustrank.run import Callback, Run


class SensingDataLost(RuntimeError):  # noqa: N818
    """The sensing data can no longer be read; the result so far is in ``result``.

    It is raised by ``recover`` if a file that is read in blocks cannot be read any more, or if all
    workers of a cluster are gone. Make the data available again and continue with
    ``recover(A, y, rank, start=error.result)``.

    Attributes
    ----------
    result
        The best ``Result`` that was found by then; its ``stopped`` is INTERRUPTED.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[SensingDataLost], tuple[str, Result]]:
        return SensingDataLost, (str(self), self.result)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a call; the result so far is in ``result``.

    It is a KeyboardInterrupt, so that a program that does not catch it ends.

    Attributes
    ----------
    result
        The best ``Result`` that was found by then; its ``stopped`` is INTERRUPTED.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, rng=1)
    >>> def press_ctrl_c(progress):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     rr.recover(planted.A, planted.y, rank=1, callback=press_ctrl_c)
    ... except rr.Interrupted as interruption:
    ...     result = interruption.result
    >>> result.stopped.name, result.certified
    ('INTERRUPTED', False)
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted after {result.seconds:.1f} seconds")
        self.result = result

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Result]]:
        return Interrupted, (self.result,)


def new_run(callback: Callback | None, time_limit: float | None) -> Run:
    """The run of a call that begins now."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} cannot be called; expected a function")
    return Run(callback, None if time_limit is None else as_seconds(time_limit=time_limit))


@contextmanager
def validation() -> Iterator[None]:
    """While data is validated, there is no result to return if it is lost or the time is over."""
    try:
        yield
    except DataLost as error:
        raise OSError(str(error)) from error
    except OutOfTime:
        raise TimeoutError(
            "the time limit was reached while the sensing data was validated; allow at least as "
            "much time as a few passes over it take"
        ) from None


def interruption(run: Run, result: Result) -> Interrupted | SensingDataLost:
    """What to raise with the result of a run that Ctrl-C or lost data has ended."""
    if run.lost is None:
        return Interrupted(result)
    lost = SensingDataLost(str(run.lost), result)
    lost.__cause__ = run.lost
    return lost
