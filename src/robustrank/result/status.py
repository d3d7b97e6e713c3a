"""Whether a result can be used, in words that say what to do next, and why a run ended early."""

from __future__ import annotations

from enum import Enum


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


class Status(Enum):
    """The status of a result: whether it is certified and, if not, why.

    ``str(status)`` is a sentence, ``status.advice`` says what to do next, and ``status.certified``
    whether the result is certified.

    Attributes
    ----------
    RECOVERED
        Certified, exact. Most measurements are fitted exactly, more than a wrong matrix could fit
        by chance.
    ESTIMATED
        Certified, up to the effect of noise. The residuals of the inliers are consistent with
        noise.
    AMBIGUOUS
        Two different matrices each explain many measurements; the second is ``alternative``.
    NOT_IDENTIFIED
        The measurements are explained, but none depends on some part of the matrix.
    UNDERDETERMINED
        There are too few measurements for this rank.
    INCONCLUSIVE
        The evidence is not sufficient to certify the matrix; ``certificate.objections`` says why.

    See Also
    --------
    robustrank.Result : Has the attribute ``status``.
    robustrank.StopReason : Why a run ended early.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.Status.ESTIMATED.certified
    True
    >>> print(rr.Status.UNDERDETERMINED)
    underdetermined: there are too few measurements to determine a matrix of this rank.
    >>> rr.Status.RECOVERED.advice
    'Use the result. The rejected measurements are marked in `outliers`.'
    """

    RECOVERED = "recovered"
    ESTIMATED = "estimated"
    AMBIGUOUS = "ambiguous"
    NOT_IDENTIFIED = "not identified"
    UNDERDETERMINED = "underdetermined"
    INCONCLUSIVE = "inconclusive"

    @property
    def certified(self) -> bool:
        """Whether the result is certified: exactly (RECOVERED) or up to noise (ESTIMATED)."""
        return self in (Status.RECOVERED, Status.ESTIMATED)

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


_FLAT_MISFIT = "If it was flat, add measurements, lower the rank, or check for too many outliers."

_ADVICE = {
    StopReason.TIME_LIMIT: "The factors are the best that were found by then. Increase the time "
    "limit to get a complete result.",
    StopReason.CALLBACK: "The factors are the best that were found by then. Run again to get a "
    "complete result.",
    StopReason.INTERRUPTED: "The factors are the best that were found by then. Run again to get a "
    "complete result.",
    StopReason.ITERATIONS: "If the misfit was still decreasing, increase `max_iterations` of the "
    "solver. " + _FLAT_MISFIT,
    StopReason.DIVERGED: "Do not use the result. Gradient descent without outlier rejection "
    "diverges when outliers are large: use the default solver. If the solver was median-tgd, "
    "reduce its step_size.",
}

_TEXTS = {
    Status.RECOVERED: (
        "most measurements are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the result. The rejected measurements are marked in `outliers`.",
    ),
    Status.ESTIMATED: (
        "most measurements are fitted, and what is left of them is consistent with noise.",
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
    Status.UNDERDETERMINED: (
        "there are too few measurements to determine a matrix of this rank.",
        "Do not use the result. Add measurements or lower the rank; a higher rank makes it worse.",
    ),
    Status.INCONCLUSIVE: (
        "the evidence is not sufficient to certify the matrix.",
        "Do not use the result. Possible causes are too few measurements for this rank, too many "
        "outliers, noise, or a rank that is too low.",
    ),
}
