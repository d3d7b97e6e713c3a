"""What would help after a failure: more measurements, fewer outliers or a lower rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import to_numpy
from robustrank.certificate import NOISE_LIMIT
from robustrank.planning.curves import DEFAULT, GAUSSIAN
from robustrank.planning.lookup import Question, look_up
from robustrank.result import Result

_SUCCESS = 0.95
_MOST_OUTLIERS = 0.45  # in the trials of the table
_ASSUMED_NOISE = 0.05  # of an example, where the noise is not known
_RESEMBLING, _RESEMBLING_SHARE = "scale", 0.2  # an example of outliers that are harder
_FEW, _NONE = 0.05, 0.005  # shares of rejected measurements
_SAFETY = 1.02  # because the share of outliers is an estimate
# The noise that a result estimates is used if the inliers exceed the degrees of freedom by this
# number and this factor, if the fit has any evidence, and from this level on. With fewer inliers, a
# wrong matrix has small residuals too.
_REDUNDANT, _REDUNDANT_SHARE = 15, 1.15
_LEAST_NOISE = 1e-4
_FURTHER_RANKS = 2  # higher ranks that are considered if the rank is not known


@dataclass(frozen=True)
class Failure:
    """What a result that is not certified tells about the problem."""

    shape: tuple[int, int]
    rank: int
    measurements: int
    rejected: float  # the share of the measurements that were rejected
    noise: float | None  # relative to a measurement; None if the fit does not tell
    rank_is_known: bool = True

    def question(self, noise: float) -> Question:
        """The same problem as a question about the measurements that it needs."""
        share = min(self.rejected, _MOST_OUTLIERS)
        return Question(self.shape, self.rank, share, noise, GAUSSIAN, "huge")


def failure_of(recovery: Result, rank: int | None) -> Failure:
    """The problem as far as a result that is not certified tells.

    Without a rank, it is assumed to be at least that of the result.
    """
    certificate = recovery.certificate
    freedom = certificate.degrees_of_freedom
    redundant = certificate.inliers >= max(freedom + _REDUNDANT, _REDUNDANT_SHARE * freedom)
    tells = redundant and certificate.evidence > 0 and certificate.noise >= _LEAST_NOISE
    return Failure(
        recovery.shape,
        recovery.rank if rank is None else rank,
        certificate.independent,
        float(np.mean(to_numpy(recovery.outliers))),
        certificate.noise if tells else None,
        rank is not None,
    )


def what_would_help(failure: Failure) -> str:
    """The cause of a failure, and how many measurements would be enough, in words.

    The number is that of trials with random sensing matrices.
    """
    freedom = failure.question(0.0).freedom
    if failure.rank_is_known and failure.measurements < freedom:
        cause = (
            f"{failure.measurements:,} measurements are fewer than the {freedom:,} degrees of "
            f"freedom of a matrix of rank {failure.rank}, which they cannot determine."
        )
        number = _number_needed(replace(failure, noise=None))
    else:
        cause = _excluding_cause(failure)
        too_noisy = failure.noise is not None and failure.noise > NOISE_LIMIT
        rank_may_be_higher = not failure.rank_is_known and (failure.noise is None or too_noisy)
        number = _by_rank(failure) if rank_may_be_higher else ""
        if not (number or too_noisy):
            number = _number_needed(failure)
    return " ".join(filter(None, [cause, number]))


def _excluding_cause(failure: Failure) -> str:
    """Noise or outliers with which no number of measurements is enough; empty if neither."""
    if failure.noise is not None and failure.noise > NOISE_LIMIT:
        return (
            f"The residuals are {100 * failure.noise:.3g}% of a typical measurement. If this is "
            f"noise, it is the cause: results with more than {NOISE_LIMIT:.0%} noise are not "
            "certified, however many measurements there are; average repeated measurements. "
            f"Otherwise perhaps {_other_causes(failure)}."
        )
    if failure.rejected > _MOST_OUTLIERS:
        return (
            f"{failure.rejected:.0%} of the measurements are rejected. If half of all measurements "
            "are wrong, no number of them is enough."
        )
    return ""


def _number_needed(failure: Failure) -> str:
    """How many measurements are enough for the rank, or that there are enough."""
    question = failure.question(failure.noise or 0.0)
    needed = measurements_needed(question)
    if needed is None:
        return (
            f"With {_circumstances(question)} and {_noise_words(failure)}, more measurements may "
            "help, but the trials do not tell how many."
        )
    if needed <= failure.measurements:
        return _enough(failure, question, needed)
    sentences = [f"{_more(failure, question, needed)}.", _less(failure, question)]
    return " ".join(filter(None, sentences))


def _by_rank(failure: Failure) -> str:
    """The measurements for each of some ranks; empty if they are enough for all of these."""
    question, parts, most = failure.question(0.0), [], 0
    for rank in range(failure.rank, min(failure.rank + _FURTHER_RANKS, *failure.shape) + 1):
        exact, noisy = (
            measurements_needed(replace(question, rank=rank, noise=noise))
            for noise in (0.0, _ASSUMED_NOISE)
        )
        if exact is not None:
            with_noise = "" if noisy is None else f" ({noisy:,} with noise of {_ASSUMED_NOISE:.0%})"
            parts.append(f"{exact:,} for rank {rank}{with_noise}")
            most = max(most, exact, noisy or 0)
    if most <= failure.measurements:
        return ""
    return (
        f"The rank is not known. Enough measurements in {_SUCCESS:.0%} of trials with "
        f"{_circumstances(question)} and no noise are {', '.join(parts)}; there are "
        f"{failure.measurements:,}."
    )


def measurements_needed(question: Question) -> int | None:
    """The measurements with which nearly all trials are certified; None if that is not known."""
    needed = look_up(question, DEFAULT).needed(_SUCCESS)
    return None if needed is None else int(_SAFETY * needed)


def _more(failure: Failure, question: Question, needed: int) -> str:
    """How many more measurements would be enough."""
    text = (
        f"About {_more_measurements(needed - failure.measurements)} ({needed:,} in all) are enough "
        f"in {_SUCCESS:.0%} of trials with {_circumstances(question)} and {_noise_words(failure)}"
    )
    if failure.noise is not None:
        return text
    noisy = measurements_needed(replace(question, noise=_ASSUMED_NOISE))
    if noisy is not None:
        extra = noisy - failure.measurements
        text += f"; with noise of {_ASSUMED_NOISE:.0%}, {extra:,} more"
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
    return f"random sensing matrices, {question.outliers:.0%} large outliers"


def _noise_words(failure: Failure) -> str:
    return "no noise" if failure.noise is None else f"noise of {failure.noise:.1%}"


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
    """What else may be the cause if there are enough measurements, at least without noise."""
    trials = f"{_SUCCESS:.0%} of trials with {_circumstances(question)} and {_noise_words(failure)}"
    noisy = None
    if failure.noise is None:
        noisy = measurements_needed(replace(question, noise=_ASSUMED_NOISE))
    if noisy is not None and noisy > failure.measurements:
        text = (
            f"{needed:,} measurements are enough in {trials}; with noise of {_ASSUMED_NOISE:.0%}, "
            f"{noisy:,}. If there is no noise, perhaps "
        )
    else:
        text = (
            f"The number of measurements is probably not the cause: {needed:,} are enough in "
            f"{trials}. Perhaps "
        )
    return f"{text}{_other_causes(failure)}."


def _other_causes(failure: Failure) -> str:
    """What else may be the cause: a low rank, or outliers that are taken for inliers."""
    harder = _needed_if_resembling(failure)
    example = ""
    if harder is not None and harder > failure.measurements:
        share = f"{_RESEMBLING_SHARE:.0%} outliers of the size of measurements"
        example = f" ({harder:,} measurements are needed with {share})"
    outliers = f"there are more outliers than were rejected{example}"
    return outliers if failure.rank == min(failure.shape) else f"the rank is too low, or {outliers}"
