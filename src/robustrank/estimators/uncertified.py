"""The warning about a result that is not certified."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from robustrank.backend import warn_user
from robustrank.result import NotCertifiedWarning, Result


class UncertifiedFitWarning(ConvergenceWarning, NotCertifiedWarning):
    """The fitted model, or some of its output, is not certified.

    An estimator issues it in ``fit`` if its result is not certified, and in ``transform`` if some
    rows have too few trusted entries. The message says why and what to do. The result with its
    status is the attribute ``result_`` of the estimator. It is both a ``ConvergenceWarning`` of
    scikit-learn and a ``robustrank.NotCertifiedWarning``.

    See Also
    --------
    robustrank.estimators.LowRankRegressor : Issues it in ``fit``.
    robustrank.estimators.RobustImputer : Issues it in ``fit`` and ``transform``.
    robustrank.estimators.RobustPCA : Issues it in ``fit`` and ``transform``.
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


def warn(estimator: object, message: str) -> None:
    """A ``UncertifiedFitWarning`` that names the estimator, for the line that called it.

    scikit-learn wraps ``transform``, and calls ``fit`` in a pipeline.
    """
    text = f"{type(estimator).__name__}: {message}"
    warn_user(text, UncertifiedFitWarning, through=["sklearn"])
