"""How a solve ended, in words that say what to do next."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended. ``str(status)`` is a sentence; ``status.advice`` says what to do next."""

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
        """Whether the solver finished its work and left little unexplained."""
        return self in (Status.RECOVERED, Status.SETTLED)

    @property
    def meaning(self) -> str:
        """What happened, in one sentence."""
        return _TEXTS[self][0]

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        return _TEXTS[self][1]

    def __str__(self) -> str:
        return f"{self.value}: {self.meaning}"


_TEXTS = {
    Status.RECOVERED: (
        "most measurements are explained exactly, more than a wrong answer could by chance.",
        "Use the answer; look at the measurements it did not believe.",
    ),
    Status.SETTLED: (
        "the factors stopped moving, and what most measurements leave is as small as noise.",
        "If your measurements are noisy, compare the misfit with the noise you expect; if they are "
        "exact, doubt the answer and try a higher rank or more measurements.",
    ),
    Status.UNEXPLAINED: (
        "the factors stopped moving, but explain no more measurements than a wrong answer would.",
        "Do not use the answer: there are too few measurements for this rank, too many outliers, "
        "or the rank is too low. Add measurements or change the rank.",
    ),
    Status.UNDERDETERMINED: (
        "there are so few measurements that many matrices of this rank would meet them.",
        "Do not use the answer: add measurements or lower the rank. A higher rank makes it worse.",
    ),
    Status.ITERATION_LIMIT: (
        "the iterations ran out before the factors stopped moving.",
        "If the misfit was still falling, raise max_iterations; if it was flat, add measurements, "
        "lower the rank, or suspect too many outliers.",
    ),
    Status.TIME_LIMIT: (
        "the time ran out before the factors stopped moving.",
        "If the misfit was still falling, raise the time limit; if it was flat, add measurements, "
        "lower the rank, or suspect too many outliers.",
    ),
    Status.STOPPED: (
        "the callback asked to stop.",
        "The factors are those of the last iteration.",
    ),
    Status.INTERRUPTED: (
        "the run was interrupted.",
        "The factors are those of the last check before it; run again for the rest.",
    ),
    Status.DIVERGED: (
        "the factors grew without bound.",
        "Do not use the answer. A solver that believes every measurement does this with large "
        "outliers: use median-tgd. If it was median-tgd, lower its step_size.",
    ),
}
