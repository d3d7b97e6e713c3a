"""Which of several results to return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robustrank.metrics import normalized_error
from robustrank.result import Alternative, Result, Status

# Two results contradict each other if they differ by five times their expected errors, unless the
# errors of their predictions differ by a factor of three.
_DIFFERENT, _COMPARABLE_ERROR = 5.0, 3.0
_HIGHER_RANK = "a result of higher rank explains more, and leaves less noise"


def best_attempt(attempts: Sequence[Result]) -> Result:
    """The result to return.

    A RECOVERED result comes first, then the ESTIMATED result with the smallest prediction error,
    then the result with the most evidence.
    """
    best = max(attempts, key=standing)
    for judged in (_contradicted, _of_too_low_rank):
        if best.status is Status.ESTIMATED:
            best = judged(best, attempts)
    return best


def standing(result: Result) -> tuple[float, ...]:
    """A key by which results are ordered, the best one last."""
    certificate = result.certificate
    match result.status:
        case Status.RECOVERED:
            return (2.0,)
        case Status.AMBIGUOUS:
            return (1.5,)
        case Status.ESTIMATED:
            return (1.0, -certificate.prediction_error)
        case Status.NOT_IDENTIFIED:
            return (0.5,)
    # Negative evidence counts as none, which is what the zero matrix has.
    return (0.0, max(certificate.evidence, 0.0), certificate.exact_fits, -certificate.misfit)


def _contradicted(best: Result, attempts: Sequence[Result]) -> Result:
    """The best result, with another one that differs and predicts about as well, if any does."""
    for other in attempts:
        if other.status is Status.ESTIMATED and other is not best and _contradicts(other, best):
            count = other.certificate.inliers
            second = Alternative(other.left, other.right, count, "the whole matrix")
            return replace(best, alternative=second)
    return best


def _of_too_low_rank(best: Result, attempts: Sequence[Result]) -> Result:
    """The best result; not certified if one of higher rank explains more, and leaves less noise."""
    for other in attempts:
        one, two = best.certificate, other.certificate
        better = two.evidence > one.evidence and two.noise < one.noise
        if better and other.rank > best.rank:
            return replace(best, certificate=one.with_objections(_HIGHER_RANK))
    return best


def _contradicts(other: Result, best: Result) -> bool:
    """Whether two noisy results differ by more than their noise, and predict about as well."""
    one, two = best.certificate, other.certificate
    if two.prediction_error > _COMPARABLE_ERROR * one.prediction_error:
        return False
    difference = normalized_error((other.left, other.right), (best.left, best.right))
    return difference > _DIFFERENT * (one.matrix_error + two.matrix_error)
