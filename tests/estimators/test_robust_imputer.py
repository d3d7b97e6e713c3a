"""``RobustImputer``: missing entries of training data and of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import robustrank as rr
from robustrank.estimators import RobustImputer, UncertifiedFitWarning
from robustrank.simulate import plant_entries

N1, N2, R = 90, 20, 2
PROBLEM = plant_entries(N1, N2, R, N1 * N2 * 6 // 10, outliers=0.05, outlier_model="huge", rng=3)
X, TRUTH = PROBLEM.incomplete, PROBLEM.matrix
TRAIN, NEW = X[:70], X[70:]
MISSING = np.isnan(X)


@pytest.fixture(scope="module")
def imputer() -> RobustImputer:
    return RobustImputer().fit(TRAIN)


def test_missing_entries_are_what_complete_predicts(imputer: RobustImputer) -> None:
    completed = rr.complete(TRAIN)
    missing = MISSING[:70]
    filled = imputer.transform(TRAIN)
    np.testing.assert_allclose(filled[missing], completed.matrix[missing], rtol=1e-7)
    np.testing.assert_array_equal(filled[~missing], TRAIN[~missing])
    assert (imputer.rank_, imputer.components_.shape) == (R, (R, N2))
    assert imputer.result_.status is rr.Status.RECOVERED
    np.testing.assert_array_equal(imputer.inlier_mask_, ~missing & ~completed.outliers)


def test_new_rows_are_filled_and_their_outliers_do_no_harm(imputer: RobustImputer) -> None:
    filled = imputer.transform(NEW)
    missing = MISSING[70:]
    np.testing.assert_allclose(filled[missing], TRUTH[70:][missing], rtol=1e-7)
    np.testing.assert_array_equal(filled[~missing], NEW[~missing])
    rows = imputer.result_.fit_rows(NEW)
    np.testing.assert_allclose(filled[missing], rows.matrix[missing], rtol=1e-6)
    replacing = RobustImputer(replace_outliers=True).fit(TRAIN)
    np.testing.assert_allclose(replacing.transform(NEW), TRUTH[70:], rtol=1e-6, atol=1e-9)


def test_a_row_does_not_depend_on_the_others(imputer: RobustImputer) -> None:
    together = imputer.transform(NEW)
    for i in (0, 7, 19):
        np.testing.assert_allclose(imputer.transform(NEW[i : i + 1])[0], together[i], rtol=1e-12)
    large = np.concatenate([1e3 * NEW[:2], NEW[2:]])
    np.testing.assert_allclose(imputer.transform(large)[2:], together[2:], rtol=1e-12)
    one, other = (imputer.result_.fit_rows(rows - imputer.mean_).left for rows in (NEW, large))
    np.testing.assert_allclose(one[2:], other[2:], rtol=1e-12)


def test_rows_with_few_entries_get_likely_values(imputer: RobustImputer) -> None:
    rows = np.full((3, N2), np.nan)
    rows[1, 0] = TRUTH[80, 0]
    rows[2, :2] = [TRUTH[80, 0], 1e9]  # the second is not plausible
    with pytest.warns(UncertifiedFitWarning, match="3 of 3 rows have too few trusted entries"):
        filled = imputer.transform(rows)
    result = imputer.result_
    decided = np.delete(result.matrix, result.undecided_rows, axis=0) + imputer.mean_
    np.testing.assert_allclose(filled[0], decided.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(filled[2, 2:], filled[1, 2:], rtol=1e-9)
    assert np.all(np.abs(filled[1]) < 10 * np.std(decided))


def test_prior_helps_with_noise_and_few_entries() -> None:
    problem = plant_entries(250, 30, 3, 250 * 8, outliers=0.05, noise=1.0, rng=1)
    data = problem.incomplete
    with pytest.warns(UncertifiedFitWarning):
        imputer = RobustImputer(3).fit(data[:200])
    new, truth = data[200:], problem.matrix[200:]
    with pytest.warns(UncertifiedFitWarning):
        filled = imputer.transform(new)
    rows = imputer.result_.fit_rows(new)
    used = np.isnan(new)
    used[rows.undecided] = False

    def error(values: Any) -> float:
        return float(np.sqrt(np.mean((values - truth)[used] ** 2)))

    assert error(filled) < 0.75 * error(rows.matrix)
    assert error(filled) < 0.95 * error(np.zeros_like(truth))


def test_features_that_are_not_determined_get_their_median() -> None:
    data = TRAIN.copy()
    data[:, 3] = np.nan
    data[:, 4] = np.nan
    data[:2, 4] = [5.0, 7.0]
    imputer = RobustImputer(R).fit(data)
    assert {3, 4} <= set(imputer.result_.undecided_columns.tolist())
    filled = imputer.transform(data)
    assert np.isnan(imputer.statistics_[3])
    assert imputer.statistics_[4] == 6
    assert np.all(filled[2:, 4] == 6)


def test_features_without_values_stay_missing() -> None:
    data = TRAIN.copy()
    data[:, 3] = np.nan
    imputer = RobustImputer(R).fit(data)
    filled = imputer.transform(data)
    assert np.isnan(filled[:, 3]).all()
    without = RobustImputer(R).fit_transform(np.delete(data, 3, axis=1))
    np.testing.assert_allclose(np.delete(filled, 3, axis=1), without, rtol=1e-12)
    new = NEW.copy()
    new[:, 3] = 1e6  # says nothing: the feature is not known
    np.testing.assert_array_equal(imputer.transform(new)[:, 3], new[:, 3])
    new_without = imputer.transform(np.where(new == 1e6, np.nan, new))
    np.testing.assert_array_equal(
        np.delete(imputer.transform(new), 3, axis=1), np.delete(new_without, 3, axis=1)
    )


def test_infinite_entries_are_missing_ones() -> None:
    data, missing = TRAIN.copy(), TRAIN.copy()
    data[::7, 5], missing[::7, 5] = np.inf, np.nan
    imputer, expected = RobustImputer(R).fit(data), RobustImputer(R).fit(missing)
    np.testing.assert_array_equal(imputer.components_, expected.components_)
    np.testing.assert_array_equal(imputer.inlier_mask_, expected.inlier_mask_)
    np.testing.assert_array_equal(imputer.transform(data), expected.transform(missing))
    assert np.isfinite(imputer.transform(data)).all()


def test_in_a_pipeline_with_data_frames() -> None:
    names = [f"sensor {k}" for k in range(N2)]
    frame = pd.DataFrame(X, columns=names, index=[f"day {k}" for k in range(N1)])
    imputer = RobustImputer(replace_outliers=True).set_output(transform="pandas")
    filled = imputer.fit_transform(frame)
    assert list(filled.columns) == names
    assert list(filled.index) == list(frame.index)
    assert imputer.get_feature_names_out().tolist() == names
    weights = np.arange(1.0, N2 + 1)
    pipeline = make_pipeline(RobustImputer(replace_outliers=True), LinearRegression())
    pipeline.fit(frame[:70], TRUTH[:70] @ weights)
    np.testing.assert_allclose(pipeline.predict(frame[70:]), TRUTH[70:] @ weights, rtol=1e-6)


def test_single_precision_is_kept() -> None:
    data = TRAIN.astype("float32")
    filled = RobustImputer(R).fit_transform(data)
    assert filled.dtype == np.float32
    missing = np.isnan(data)
    np.testing.assert_allclose(filled[missing], TRUTH[:70][missing], rtol=1e-2, atol=1e-3)


def test_constant_features_are_filled_with_their_values() -> None:
    X = np.ones((30, 1)) * [1.0, 2.0, 7.0]
    X[3, 1] = np.nan
    imputer = RobustImputer().fit(X)
    assert imputer.rank_ == 0
    np.testing.assert_array_equal(imputer.transform(X), np.ones((30, 1)) * [1.0, 2.0, 7.0])


def test_mostly_zero_features_are_filled_with_zero() -> None:
    rng = np.random.default_rng(3)
    X = np.where(rng.random((60, 20)) < 0.1, rng.random((60, 20)), 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = RobustImputer().fit_transform(X)
    assert np.all(filled[np.isnan(X)] == 0)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
