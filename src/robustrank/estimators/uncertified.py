"""The warning about a result that is not certified."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from robustrank.backend import warn_user
from robustrank.result import NotCertifiedWarning, Result, Status


class UncertifiedFitWarning(ConvergenceWarning, NotCertifiedWarning):
    """The fitted model should not be used without looking at its result.

    ``LowRankRegressor`` issues it in ``fit`` if its result is not certified; ``RobustImputer`` and
    ``RobustPCA`` only if the columns do not predict each other, or the fit was stopped. The message
    says why and what to do. The result with its status is the attribute ``result_`` of the
    estimator. It is both a ``ConvergenceWarning`` of scikit-learn and a
    ``robustrank.NotCertifiedWarning``.

    See Also
    --------
    robustrank.estimators.LowRankRegressor : Issues it in ``fit``.
    robustrank.estimators.RobustImputer : Issues it in ``fit``.
    robustrank.estimators.RobustPCA : Issues it in ``fit``.
    robustrank.Status : The meaning of the status.
    """


def warn_unless_certified(estimator: object, result: Result) -> None:
    """Warn if a result is not certified: what happened, and what to do next."""
    if result.certified:
        return
    text = dict(result.summary())
    objections = f" {text['objections']}" if "objections" in text else ""
    message = f"the result is not certified. {text['status']}{objections} {text['next']}"
    warn(estimator, message)


def warn_unless_usable(estimator: object, result: Result) -> None:
    """Warn if the model of a table does not predict its cells, or its fit was stopped."""
    if result.status is not Status.INCONCLUSIVE and result.stopped is None:
        return
    text = dict(result.summary())
    stopped = f"the fit ended early: {text['stopped']}. " if "stopped" in text else ""
    warn(estimator, f"{stopped}{text['status']} {text['next']}")


def warn(estimator: object, message: str) -> None:
    """A ``UncertifiedFitWarning`` that names the estimator, for the line that called it.

    scikit-learn wraps ``transform``, and calls ``fit`` in a pipeline.
    """
    text = f"{type(estimator).__name__}: {message}"
    warn_user(text, UncertifiedFitWarning, through=["sklearn"])
