"""Which of several results to return."""

from __future__ import annotations

from dataclasses import replace

from robustrank.metrics import normalized_error
from robustrank.result import Alternative, Recovery, Status, StopReason

# Two results contradict each other if they differ by this many times their expected errors, unless
# the errors of their predictions differ by this factor.
_DIFFERENT, _COMPARABLE_ERROR = 5.0, 3.0


def best_attempt(attempts: list[Recovery]) -> Recovery:
    """The result to return.

    A RECOVERED result comes first, then the SETTLED result with the smallest prediction error, then
    the result with the most evidence. If the callback stopped the run, it is the last attempt.
    """
    last = attempts[-1]
    if last.status is Status.STOPPED:
        return last
    best = _ambiguous_if_contradicted(max(attempts, key=standing), attempts)
    best = _unexplained_if_rank_too_low(best, attempts)
    if last.status is Status.TIME_LIMIT and best.certified:
        return best  # time ran out while looking for a better one
    return replace(best, status=last.status) if was_stopped(last) else best


def standing(recovery: Recovery) -> tuple[float, ...]:
    """A key by which results are ordered, the best one last."""
    certificate = recovery.certificate
    if recovery.status is Status.RECOVERED:
        return (2.0,)
    if recovery.status is Status.AMBIGUOUS:
        return (1.5,)
    if recovery.status is Status.SETTLED:
        return (1.0, -certificate.prediction_error)
    if recovery.status is Status.NOT_IDENTIFIED:
        return (0.5,)
    # Negative evidence counts as none, which is what the zero matrix has.
    return (0.0, max(certificate.evidence, 0.0), certificate.exact_fits, -certificate.misfit)


def not_worse_than(known: Recovery, stopped: Recovery) -> Recovery:
    """The result of a run that was stopped, or what was known before it, if that fits better."""
    if stopped.certificate.misfit <= known.certificate.misfit:
        return stopped
    return replace(known, status=stopped.status, attempts=stopped.attempts)


def was_stopped(recovery: Recovery) -> bool:
    """Whether the user or the time limit stopped the run of a result."""
    return any(recovery.status is reason.status for reason in StopReason if reason.is_early)


def _ambiguous_if_contradicted(best: Recovery, attempts: list[Recovery]) -> Recovery:
    """The best result; AMBIGUOUS if another settled one differs and predicts about as well."""
    if best.status is not Status.SETTLED:
        return best
    for other in attempts:
        if other.status is Status.SETTLED and other is not best and _contradicts(other, best):
            count = other.certificate.inliers
            second = Alternative(other.left, other.right, count, "the whole matrix")
            return replace(best, status=Status.AMBIGUOUS, alternative=second)
    return best


def _unexplained_if_rank_too_low(best: Recovery, attempts: list[Recovery]) -> Recovery:
    """The best result; UNEXPLAINED if one of higher rank explains more, and leaves less noise."""
    if best.status is not Status.SETTLED:
        return best
    for other in attempts:
        one, two = best.certificate, other.certificate
        better = two.evidence > one.evidence and two.noise < one.noise
        if better and other.rank > best.rank:
            return replace(best, status=Status.UNEXPLAINED)
    return best


def _contradicts(other: Recovery, best: Recovery) -> bool:
    """Whether two noisy results differ by more than their noise, and predict about as well."""
    one, two = best.certificate, other.certificate
    if two.prediction_error > _COMPARABLE_ERROR * one.prediction_error:
        return False
    difference = normalized_error((other.left, other.right), (best.left, best.right))
    return difference > _DIFFERENT * (one.matrix_error + two.matrix_error)
