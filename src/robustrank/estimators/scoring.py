"""A score of predictions that outliers among the true values do not dominate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import column_or_1d

from robustrank.backend import is_array, to_numpy
from robustrank.linalg import half_normal_quantile

Vector = np.ndarray[Any, Any]

_LARGEST = 3.0  # standard deviations; larger errors count as this


def robust_r2_score(y_true: Any, y_pred: Any) -> float:
    """R² with squared errors that are bounded, so that outliers in ``y_true`` do not decide it.

    The score is ``1 − τ²(y_true − y_pred) / τ²(y_true − median(y_true))``. Here τ² is the mean of
    the squares, where errors beyond three standard deviations count as three; the standard
    deviation is the median of the absolute errors divided by 0.6745. An outlier counts the same
    however large it is, and the score is meaningful while fewer than half of ``y_true`` are
    outliers.

    As with R², the best score is 1, a constant prediction of the median gets 0, and worse
    predictions get negative scores. ``robust_r2_scorer`` is the same as a scorer, for ``scoring=``
    of ``GridSearchCV`` and ``cross_val_score``.

    Parameters
    ----------
    y_true
        The true values of a validation set, some of which may be outliers; of shape (samples,).
    y_pred
        The predictions, of the same shape.

    Returns
    -------
    float
        The score. If more than half of ``y_true`` are equal, it is 1 for predictions of which more
        than half are exact, and 0 for others.

    See Also
    --------
    robustrank.estimators.LowRankRegressor : Regression with outliers in the targets.

    Examples
    --------
    >>> from sklearn.metrics import r2_score
    >>> from robustrank.estimators import robust_r2_score
    >>> y_true = [1.0, 2.0, 3.0, 4.0, 5.0, 1000.0]
    >>> y_pred = [1.1, 1.9, 3.0, 4.1, 4.9, 6.0]
    >>> f"{r2_score(y_true, y_pred):.3f} {robust_r2_score(y_true, y_pred):.3f}"
    '-0.193 0.996'
    """
    true, predicted = _values(y_true), _values(y_pred)
    if true.shape != predicted.shape:
        raise ValueError(
            f"y_true has {len(true)} values and y_pred has {len(predicted)}; expected as many"
        )
    if not np.isfinite(predicted).all():
        raise ValueError("y_pred contains values that are not finite; expected numbers")
    unexplained, total = _bounded_mean(true - predicted), _bounded_mean(true - np.median(true))
    if total == 0:
        return float(unexplained == 0)
    return 1 - unexplained / total


def _values(given: Any) -> Vector:
    vector: Vector = column_or_1d(to_numpy(given) if is_array(given) else given)
    return vector.astype(float)


def _bounded_mean(errors: Vector) -> float:
    """τ²: the mean of the squares, with large errors moved to three standard deviations."""
    magnitudes = np.abs(errors)
    deviation = float(np.median(magnitudes)) / half_normal_quantile(0.5)
    return float(np.mean(np.minimum(magnitudes, _LARGEST * deviation) ** 2))


robust_r2_scorer = make_scorer(robust_r2_score)
"""``robust_r2_score`` as a scorer, for ``scoring=`` of ``GridSearchCV`` and ``cross_val_score``."""
