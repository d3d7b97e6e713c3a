"""What would help after a failure: more measurements, fewer outliers or a lower rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import to_numpy
from robustrank.planning.curves import DEFAULT, GAUSSIAN
from robustrank.planning.lookup import Question, look_up
from robustrank.result import Recovery

_SUCCESS = 0.95
_MOST_OUTLIERS = 0.45  # in the trials of the table
_ASSUMED_NOISE = 0.05  # of an example, where the noise is not known
_RESEMBLING, _RESEMBLING_SHARE = "scale", 0.2  # an example of outliers that are harder
_FEW, _NONE = 0.05, 0.005  # shares of rejected measurements
_SAFETY = 1.02  # because the share of outliers is an estimate
# The noise that a result estimates is used if the inliers exceed the degrees of freedom by this
# number and this factor, and if the noise is between these levels. With fewer inliers, a wrong
# matrix has small residuals too.
_REDUNDANT, _REDUNDANT_SHARE = 15, 1.15
_LEAST_NOISE, _MOST_NOISE = 1e-4, 0.08


@dataclass(frozen=True)
class Failure:
    """What a result that is not certified tells about the problem."""

    shape: tuple[int, int]
    rank: int
    measurements: int
    rejected: float  # the share of the measurements that were rejected
    noise: float | None  # relative to a measurement; None if the fit does not tell

    def question(self, noise: float) -> Question:
        """The same problem as a question about the measurements that it needs."""
        share = min(self.rejected, _MOST_OUTLIERS)
        return Question(self.shape, self.rank, share, noise, GAUSSIAN, "huge")


def failure_of(recovery: Recovery, rank: int) -> Failure:
    """The problem, of an assumed rank, as far as a result that is not certified tells."""
    certificate = recovery.certificate
    freedom = certificate.degrees_of_freedom
    redundant = certificate.inliers >= max(freedom + _REDUNDANT, _REDUNDANT_SHARE * freedom)
    tells = redundant and _LEAST_NOISE <= certificate.noise <= _MOST_NOISE
    return Failure(
        recovery.shape,
        rank,
        certificate.independent,
        float(np.mean(to_numpy(recovery.outliers))),
        certificate.noise if tells else None,
    )


def what_would_help(failure: Failure) -> str:
    """By how much more measurements, fewer outliers or a lower rank would help, in words.

    Empty if the table does not tell.
    """
    question = failure.question(failure.noise or 0.0)
    needed = measurements_needed(question)
    if needed is None:
        return ""
    if needed <= failure.measurements:
        return _enough(failure, question, needed)
    sentences = [f"{_more(failure, question, needed)}.", _less(failure, question)]
    return " ".join(filter(None, sentences))


def measurements_needed(question: Question) -> int | None:
    """The measurements with which nearly all trials are certified; None if that is not known."""
    needed = look_up(question, DEFAULT).needed(_SUCCESS)
    return None if needed is None else int(_SAFETY * needed)


def _more(failure: Failure, question: Question, needed: int) -> str:
    """How many more measurements would be enough."""
    text = (
        f"About {_more_measurements(needed - failure.measurements)} ({needed:,} in all) are enough "
        f"in {_SUCCESS:.0%} of trials with {_circumstances(question)}"
    )
    if failure.noise is not None:
        return f"{text} and noise of {failure.noise:.1%}"
    noisy = measurements_needed(replace(question, noise=_ASSUMED_NOISE))
    if noisy is not None:
        extra = noisy - failure.measurements
        text += f" and no noise; with noise of {_ASSUMED_NOISE:.0%}, {extra:,} more"
    harder = _needed_if_resembling(failure)
    if harder is not None and question.outliers < _FEW and harder > needed:
        text += (
            f". If {_RESEMBLING_SHARE:.0%} are outliers of the size of measurements, which are not "
            f"noticed easily, {harder - failure.measurements:,} more are needed"
        )
    return text


def _more_measurements(count: int) -> str:
    return f"{count:,} more measurement{'' if count == 1 else 's'}"


def _circumstances(question: Question) -> str:
    if question.outliers < _NONE:
        return "random sensing matrices, no outliers"
    share = f"{question.outliers:.0%} large outliers, as many as were rejected"
    return f"random sensing matrices, {share},"


def _needed_if_resembling(failure: Failure) -> int | None:
    """The measurements needed with some outliers of the size of measurements."""
    share, model = _RESEMBLING_SHARE, _RESEMBLING
    return measurements_needed(Question(failure.shape, failure.rank, share, 0.0, GAUSSIAN, model))


def _less(failure: Failure, question: Question) -> str:
    """For which lower rank, or how many outliers, there are enough measurements."""
    ranks = range(question.rank - 1, 0, -1)
    rank = _first(failure, ranks, lambda r: replace(question, rank=r))
    percents = range(int(100 * question.outliers), -1, -1)
    share = _first(failure, percents, lambda s: replace(question, outliers=s / 100))
    parts = []
    if rank is not None:
        parts.append(f"for a matrix of rank {rank}")
    if share is not None:
        parts.append(f"with at most {share}% outliers" if share else "without outliers")
    if not parts:
        return ""
    return f"The present {failure.measurements:,} are enough {' or '.join(parts)}."


def _first(failure: Failure, values: range, question_with: Callable[[int], Question]) -> int | None:
    """The first of some values for which there are enough measurements."""
    for value in values:
        needed = measurements_needed(question_with(value))
        if needed is not None and needed <= failure.measurements:
            return value
    return None


def _enough(failure: Failure, question: Question, needed: int) -> str:
    """What else may be the cause if there are enough measurements."""
    noise = "no noise" if failure.noise is None else f"noise of {failure.noise:.1%}"
    text = (
        f"The number of measurements is probably not the cause: {needed:,} are enough in "
        f"{_SUCCESS:.0%} of trials with {_circumstances(question)} and {noise}. Perhaps the rank "
        "is too low"
    )
    if failure.noise is None:
        noisy = measurements_needed(replace(question, noise=_ASSUMED_NOISE))
        if noisy is not None and noisy > failure.measurements:
            text += (
                f", there is noise ({noisy:,} measurements are needed with "
                f"{_ASSUMED_NOISE:.0%} noise)"
            )
    harder = _needed_if_resembling(failure)
    if harder is not None and harder > failure.measurements:
        share = f"{_RESEMBLING_SHARE:.0%} such outliers"
        example = f" ({harder:,} measurements are needed with {share})"
    else:
        example = ""
    return f"{text}, or outliers have the size of measurements{example}."
