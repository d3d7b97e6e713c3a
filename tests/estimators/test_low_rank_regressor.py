"""``LowRankRegressor`` on planted problems: recovery, rank, shapes, warnings, cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from regression_samples import Regression, regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robustrank as rr
from robustrank.estimators import LowRankRegressor, UncertifiedFitWarning, robust_r2_scorer

OUTLIERS = ["huge", "alike", "one-sided", "offset", "constant"]


def error(estimator: Any, problem: Regression) -> float:
    """The error of the coefficients, relative to their norm."""
    difference = estimator.coef_ - problem.matrix.reshape(-1)
    return float(np.linalg.norm(difference) / np.linalg.norm(problem.matrix))


@pytest.mark.parametrize(
    ("outliers", "mean"), [*((name, 0.0) for name in OUTLIERS), ("one-sided", 3.0)]
)
def test_coefficients_and_intercept_are_exact_in_spite_of_outliers(
    outliers: str, mean: float
) -> None:
    problem = regression(240, intercept=30.0, mean=mean, outliers=outliers)
    model = LowRankRegressor(2).fit(problem.X, problem.y)
    assert model.result_.status is rr.Status.RECOVERED
    assert error(model, problem) < 1e-9
    assert model.intercept_ == pytest.approx(30.0, abs=1e-9)
    np.testing.assert_array_equal(model.inlier_mask_, ~problem.outliers)
    np.testing.assert_allclose(model.predict(problem.X), problem.clean, rtol=1e-8, atol=1e-8)


def test_regressors_without_low_rank_fail_where_it_succeeds() -> None:
    """With fewer inliers than 10 * 8 features, and with 20 % outliers."""
    problem = regression(90, outliers="one-sided", intercept=5.0, rank=1)
    flat = problem.X.reshape(90, -1)
    assert error(LowRankRegressor(1, shape=(10, 8)).fit(flat, problem.y), problem) < 1e-9
    for other in (LinearRegression(), HuberRegressor(max_iter=10_000)):
        assert error(other.fit(flat, problem.y), problem) > 0.5


def test_noise_costs_no_more_than_without_outliers() -> None:
    problem = regression(320, noise=0.05, intercept=30.0, outliers="one-sided")
    inliers = ~problem.outliers
    model = LowRankRegressor(2).fit(problem.X, problem.y)
    oracle = LowRankRegressor(2).fit(problem.X[inliers], problem.y[inliers])
    assert model.result_.status is rr.Status.ESTIMATED
    assert error(model, problem) < 1.1 * error(oracle, problem)
    noise = np.std(problem.clean) * 0.05
    assert model.scale_ == pytest.approx(noise, rel=0.15)
    assert abs(model.intercept_ - 30.0) < 3 * noise / np.sqrt(np.sum(inliers))
    residual = (problem.y - model.predict(problem.X))[model.inlier_mask_]
    assert abs(np.mean(residual)) < 1e-9 * noise


def test_unknown_rank_is_estimated() -> None:
    problem = regression(300, intercept=-4.0)
    model = LowRankRegressor().fit(problem.X, problem.y)
    assert model.rank_ == 2
    assert error(model, problem) < 1e-9


def test_without_an_intercept() -> None:
    problem = regression(240)
    model = LowRankRegressor(2, fit_intercept=False).fit(problem.X, problem.y)
    assert model.intercept_ == 0
    assert model.n_iter_ == model.result_.iterations > 0
    assert error(model, problem) < 1e-9


def test_symmetric_coefficients() -> None:
    problem = regression(70, (8, 8), 1, share=0.1)
    factor = problem.matrix[:, :1]
    y = np.where(problem.outliers, problem.y, np.sum(problem.X * (factor @ factor.T), axis=(1, 2)))
    model = LowRankRegressor(1, symmetric=True).fit(problem.X, y)
    np.testing.assert_allclose(model.coef_matrix_, factor @ factor.T, atol=1e-9)


def test_two_dimensional_data_without_a_shape_is_linear_regression() -> None:
    problem = regression(100, (1, 7), 1, intercept=2.0)
    model = LowRankRegressor().fit(problem.X[:, 0], problem.y)
    assert model.coef_matrix_.shape == (1, 7)
    assert (model.rank_, model.n_features_in_) == (1, 7)
    assert error(model, problem) < 1e-9


def test_three_dimensional_and_flat_data_are_the_same() -> None:
    problem = regression(240)
    flat = problem.X.reshape(240, -1)
    one = LowRankRegressor(2, fit_intercept=False).fit(problem.X, problem.y)
    other = LowRankRegressor(2, fit_intercept=False, shape=(10, 8)).fit(flat, problem.y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict(problem.X), one.predict(flat))
    assert one.coef_matrix_.shape == (10, 8)


@pytest.mark.parametrize(
    ("X", "shape", "message"),
    [
        (np.ones((20, 12)), (3, 5), r"shape=\(3, 5\) has 15 entries, but X has 12 features"),
        (np.ones((20, 4, 3)), (3, 4), r"samples of shape \(4, 3\), but shape=\(3, 4\)"),
    ],
)
def test_shapes_that_do_not_match(X: Any, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LowRankRegressor(1, shape=shape).fit(X, np.arange(20.0))


def test_predicting_from_samples_of_another_shape() -> None:
    problem = regression(150, (6, 5), 1)
    model = LowRankRegressor(1, fit_intercept=False).fit(problem.X, problem.y)
    with pytest.raises(ValueError, match=r"samples of shape \(5, 6\); expected \(6, 5\)"):
        model.predict(problem.X.transpose(0, 2, 1))


def test_result_that_is_not_certified_is_a_warning() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 12)), rng.standard_normal(5)
    with pytest.warns(UncertifiedFitWarning, match="LowRankRegressor: the result is not") as caught:
        LowRankRegressor(1, shape=(4, 3)).fit(X, y)
    assert issubclass(UncertifiedFitWarning, ConvergenceWarning)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "too few measurements" in str(caught[0].message)


def test_mostly_equal_targets_are_fitted_by_a_constant() -> None:
    X, y = np.random.default_rng(0).standard_normal((10, 3)), np.full(10, 4.0)
    y[:4] = [1.0, 2.0, 3.0, 9.0]
    with pytest.warns(UncertifiedFitWarning, match="half of the targets are equal to 4"):
        model = LowRankRegressor().fit(X, y)
    assert (model.intercept_, model.rank_, model.result_) == (4.0, 0, None)
    np.testing.assert_array_equal(model.predict(X), np.full(10, 4.0))
    np.testing.assert_array_equal(model.inlier_mask_, y == 4)


@pytest.mark.parametrize("equal", [4, 5])
def test_half_of_the_targets_decide_what_is_mostly_equal(equal: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    y[:equal] = 4.0
    with pytest.warns(UncertifiedFitWarning):
        model = LowRankRegressor().fit(X, y)
    assert (model.result_ is None) == (equal == 5)


def test_time_limit_ends_the_fit() -> None:
    problem = regression(240)
    with pytest.warns(UncertifiedFitWarning, match="time limit"):
        model = LowRankRegressor(2, time_limit=1e-6).fit(problem.X, problem.y)
    assert model.result_.stopped is rr.StopReason.TIME_LIMIT


def test_data_frames_and_pipelines() -> None:
    problem = regression(240, intercept=7.0, mean=2.0)
    names = [f"pixel {k}" for k in range(80)]
    frame = pd.DataFrame(problem.X.reshape(240, -1), columns=names)
    model = LowRankRegressor(2, shape=(10, 8)).fit(frame, problem.y)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_allclose(model.predict(frame), problem.clean, atol=1e-7)
    # Scaling changes the rank, but with a shape of one row it does no harm.
    linear = regression(100, (1, 7), 1, intercept=2.0, mean=2.0)
    pipeline = make_pipeline(StandardScaler(), LowRankRegressor(1)).fit(linear.X[:, 0], linear.y)
    np.testing.assert_allclose(pipeline.predict(linear.X[:, 0]), linear.clean, atol=1e-8)


def test_single_precision_is_kept() -> None:
    problem = regression(240, intercept=2.0)
    X, y = problem.X.astype("float32"), problem.y.astype("float32")
    model = LowRankRegressor(2).fit(X, y)
    assert model.coef_.dtype == np.float32
    assert error(model, problem) < 1e-4


def test_robust_score_chooses_the_rank_where_plain_r2_does_not() -> None:
    problem = regression(240, noise=0.05, seed=1)
    model = LowRankRegressor(solver="gauss-newton", fit_intercept=False)

    def chosen(scoring: Any) -> int:
        search = GridSearchCV(model, {"rank": [1, 2, 3]}, scoring=scoring, cv=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertifiedFitWarning)  # those of the wrong ranks
            return int(search.fit(problem.X, problem.y).best_params_["rank"])

    assert chosen(robust_r2_scorer) == 2
    assert chosen("r2") != 2
