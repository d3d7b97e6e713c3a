"""The score that outliers in the validation data do not dominate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from robustrank.estimators import robust_r2_score, robust_r2_scorer

TRUE = np.random.default_rng(0).standard_normal(400)
PREDICTED = TRUE + 0.3 * np.random.default_rng(1).standard_normal(400)


def test_it_is_close_to_r2_without_outliers() -> None:
    assert robust_r2_score(TRUE, PREDICTED) == pytest.approx(r2_score(TRUE, PREDICTED), abs=0.02)


@pytest.mark.parametrize("size", [1e2, 1e6, 1e150, np.inf])
def test_the_size_of_outliers_does_not_matter(size: float) -> None:
    y = TRUE.copy()
    y[::5] = size
    assert robust_r2_score(y, PREDICTED) == pytest.approx(0.9, abs=0.05)
    assert robust_r2_score(y, PREDICTED) > robust_r2_score(y, PREDICTED + 0.3)


def test_reference_values() -> None:
    assert robust_r2_score(TRUE, TRUE) == 1
    assert robust_r2_score(TRUE, np.full(400, np.median(TRUE))) == 0
    assert robust_r2_score(TRUE, -TRUE) < -1
    constant = np.ones(9)
    assert robust_r2_score(constant, constant) == 1
    assert robust_r2_score(constant, constant + 1) == 0


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([1.0, 2.0], [1.0], "y_true has 2 values and y_pred has 1"),
        ([1.0, 2.0], [1.0, np.nan], "y_pred contains values that are not finite"),
        (np.ones((3, 2)), np.ones((3, 2)), "1d array"),
    ],
)
def test_invalid_arguments(true: object, predicted: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        robust_r2_score(true, predicted)


def test_scorer_is_greater_for_better_predictions() -> None:
    X = np.zeros((400, 1))
    scores = cross_val_score(DummyRegressor(strategy="median"), X, TRUE, scoring=robust_r2_scorer)
    assert np.all(np.abs(scores) < 0.1)
    worse = DummyRegressor(strategy="constant", constant=5.0)
    assert np.all(cross_val_score(worse, X, TRUE, scoring=robust_r2_scorer) < -1)
