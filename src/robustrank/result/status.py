"""How a run ended, in words that say what to do next."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a run ended. ``str(status)`` is a sentence; ``status.advice`` says what to do next."""

    RECOVERED = "recovered"
    SETTLED = "settled"
    UNEXPLAINED = "unexplained"
    UNDERDETERMINED = "underdetermined"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    @property
    def converged(self) -> bool:
        """Whether the result is certified: RECOVERED (exactly) or SETTLED (up to noise)."""
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


_TEXTS = {
    Status.RECOVERED: (
        "most measurements are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the result. The rejected measurements are marked in `outliers`.",
    ),
    Status.SETTLED: (
        "the iteration converged, and the residuals of the inliers are consistent with noise.",
        "If your measurements are noisy, compare the estimated noise level with the one you "
        "expect. If they are exact, do not trust the result: try a higher rank or more "
        "measurements.",
    ),
    Status.UNEXPLAINED: (
        "the iteration converged, but the matrix fits no more measurements than a wrong one could.",
        "Do not use the result. There are too few measurements for this rank, too many outliers, "
        "or the rank is too low: add measurements or change the rank.",
    ),
    Status.UNDERDETERMINED: (
        "there are too few measurements to determine a matrix of this rank.",
        "Do not use the result. Add measurements or lower the rank; a higher rank makes it worse.",
    ),
    Status.ITERATION_LIMIT: (
        "the iteration limit was reached before convergence.",
        "If the misfit was still decreasing, increase max_iterations. If it was flat, add "
        "measurements, lower the rank, or check for too many outliers.",
    ),
    Status.TIME_LIMIT: (
        "the time limit was reached before convergence.",
        "If the misfit was still decreasing, increase the time limit. If it was flat, add "
        "measurements, lower the rank, or check for too many outliers.",
    ),
    Status.STOPPED: (
        "the callback stopped the run.",
        "The factors are those of the last iteration.",
    ),
    Status.INTERRUPTED: (
        "the run was interrupted.",
        "The factors are those of the last progress check. Run again to get a complete result.",
    ),
    Status.DIVERGED: (
        "the factors grew without bound.",
        "Do not use the result. Gradient descent without outlier rejection diverges when outliers "
        "are large: use the default solver. If the solver was median-tgd, reduce its step_size.",
    ),
}
