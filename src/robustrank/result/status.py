"""Why a run stopped, and the status of its result in words that say what to do next."""

from __future__ import annotations

from enum import Enum


class StopReason(Enum):
    """Why the iteration of a solver stopped. It says nothing about the quality of the result."""

    CONVERGED = "the factors no longer change"
    ITERATION_LIMIT = "the iteration limit was reached"
    TIME_LIMIT = "the time limit was reached"
    CALLBACK = "the callback stopped it"
    INTERRUPTED = "it was interrupted"
    DIVERGED = "the factors are not finite"

    @property
    def status(self) -> Status:
        """The status of a result that is not certified."""
        return _UNCERTIFIED[self]

    @property
    def is_early(self) -> bool:
        """Whether the user or the time limit stopped it."""
        return self in (StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED)


class Status(Enum):
    """The status of a result: whether it is certified and, if not, why.

    ``str(status)`` is a sentence, ``status.advice`` says what to do next, and ``status.certified``
    whether the result is certified.

    Attributes
    ----------
    RECOVERED
        Certified. Most measurements are fitted exactly, more than a wrong matrix could fit by
        chance.
    SETTLED
        Certified. The residuals of the inliers are consistent with noise.
    AMBIGUOUS
        Two different matrices each explain many measurements; the second is ``alternative``.
    NOT_IDENTIFIED
        The measurements are explained, but none depends on some part of the matrix.
    UNEXPLAINED
        The iteration converged, but the evidence is not sufficient to certify the matrix.
    UNDERDETERMINED
        There are too few measurements for this rank.
    ITERATION_LIMIT, TIME_LIMIT
        A limit was reached before convergence.
    STOPPED, INTERRUPTED
        The callback or Ctrl-C stopped the run.
    DIVERGED
        The factors grew without bound.

    See Also
    --------
    robustrank.Recovery : Has the attribute ``status``.
    robustrank.Completion : Has the attribute ``status``; not all values occur there.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.Status.SETTLED.certified
    True
    >>> print(rr.Status.UNDERDETERMINED)
    underdetermined: there are too few measurements to determine a matrix of this rank.
    >>> rr.Status.STOPPED.advice
    'The factors are those of the last iteration.'
    """

    RECOVERED = "recovered"
    SETTLED = "settled"
    AMBIGUOUS = "ambiguous"
    NOT_IDENTIFIED = "not identified"
    UNEXPLAINED = "unexplained"
    UNDERDETERMINED = "underdetermined"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    @property
    def certified(self) -> bool:
        """Whether the result is certified: exactly (RECOVERED) or up to noise (SETTLED)."""
        return self in (Status.RECOVERED, Status.SETTLED)

    @property
    def meaning(self) -> str:
        """What happened, in one sentence."""
        return _TEXTS[self][0]

    @property
    def advice(self) -> str:
        """What to do next."""
        return _TEXTS[self][1]

    def __str__(self) -> str:
        return f"{self.value}: {self.meaning}"


_UNCERTIFIED = {
    StopReason.CONVERGED: Status.UNEXPLAINED,
    StopReason.ITERATION_LIMIT: Status.ITERATION_LIMIT,
    StopReason.TIME_LIMIT: Status.TIME_LIMIT,
    StopReason.CALLBACK: Status.STOPPED,
    StopReason.INTERRUPTED: Status.INTERRUPTED,
    StopReason.DIVERGED: Status.DIVERGED,
}

_FLAT_MISFIT = "If it was flat, add measurements, lower the rank, or check for too many outliers."

_TEXTS = {
    Status.RECOVERED: (
        "most measurements are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the result. The rejected measurements are marked in `outliers`.",
    ),
    Status.SETTLED: (
        "the iteration converged, and the residuals of the inliers are consistent with noise.",
        "Use the result, with its error bars. If your measurements have no noise, or much less "
        "than was estimated, the rank is too low or there are too few measurements.",
    ),
    Status.AMBIGUOUS: (
        "two different matrices each explain many measurements, more than chance allows.",
        "Decide between the result and `alternative` by other means: measure again where they "
        "differ, or check the sensors that support each of them.",
    ),
    Status.NOT_IDENTIFIED: (
        "the measurements are explained, but no measurement depends on some part of the matrix.",
        "Use the result only for the other part. Add measurements that depend on the missing part, "
        "or pass symmetric=True if the matrix is symmetric.",
    ),
    Status.UNEXPLAINED: (
        "the iteration converged, but the evidence is not sufficient to certify the matrix.",
        "Do not use the result. Possible causes are too few measurements for this rank, too many "
        "outliers, noise, or a rank that is too low.",
    ),
    Status.UNDERDETERMINED: (
        "there are too few measurements to determine a matrix of this rank.",
        "Do not use the result. Add measurements or lower the rank; a higher rank makes it worse.",
    ),
    Status.ITERATION_LIMIT: (
        "the iteration limit was reached before convergence.",
        "If the misfit was still decreasing, increase `max_iterations` of the solver. "
        + _FLAT_MISFIT,
    ),
    Status.TIME_LIMIT: (
        "the time limit was reached before a result was certified.",
        "If the misfit was still decreasing, increase the time limit. " + _FLAT_MISFIT,
    ),
    Status.STOPPED: (
        "the callback stopped the run.",
        "The factors are those of the last iteration.",
    ),
    Status.INTERRUPTED: (
        "the run was interrupted.",
        "The factors are the best that were found by then. Run again to get a complete result.",
    ),
    Status.DIVERGED: (
        "the factors grew without bound.",
        "Do not use the result. Gradient descent without outlier rejection diverges when outliers "
        "are large: use the default solver. If the solver was median-tgd, reduce its step_size.",
    ),
}
