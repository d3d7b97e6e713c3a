"""``RobustPCA``: components, scores, densities and outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

import robustrank as rr
from robustrank.api.streaming import table_of
from robustrank.estimators import RobustPCA

Matrix = np.ndarray[Any, Any]

RNG = np.random.default_rng(5)
MEAN = 100 * RNG.standard_normal(24)
AXES = np.linalg.qr(RNG.standard_normal((24, 3)))[0].T
SCORES = RNG.standard_normal((400, 3)) * [9.0, 6.0, 4.0]
TRUTH = SCORES @ AXES + MEAN
WRONG = RNG.random(TRUTH.shape) < 0.05
EXACT = np.where(WRONG, 100 * RNG.standard_normal(TRUTH.shape), TRUTH)
TRAIN, NEW = EXACT[:90], EXACT[90:120]

# With noise that is not the same in all columns, wrong rows, and missing cells.
DEVIATIONS = np.where(np.arange(24) % 2, 0.5, 1.0)
CLEAN = TRUTH + DEVIATIONS * RNG.standard_normal(TRUTH.shape)
TABLE = np.where(WRONG, CLEAN + 40, CLEAN)
ROWS = np.arange(0, 20)
TABLE[ROWS] = MEAN + 8 * RNG.standard_normal((20, 24))
TABLE[RNG.random(TABLE.shape) < 0.05] = np.nan
RIGHT = np.delete(CLEAN, ROWS, axis=0)


@pytest.fixture(scope="module")
def exact() -> RobustPCA:
    return RobustPCA().fit(TRAIN)


@pytest.fixture(scope="module")
def pca() -> RobustPCA:
    return RobustPCA().fit(TABLE)


def aligned(axes: Matrix, others: Matrix) -> Matrix:
    """The absolute cosines of the angles between axes."""
    return np.asarray(np.abs(np.sum(axes * others, axis=1)))


def test_exact_data_is_split_exactly(exact: RobustPCA) -> None:
    without = PCA(3).fit(TRUTH[:90])
    assert exact.result_.status is rr.Status.RECOVERED
    assert exact.n_components_ == 3
    np.testing.assert_allclose(exact.mean_, without.mean_, rtol=1e-9)
    np.testing.assert_allclose(exact.explained_variance_, without.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(aligned(exact.components_, without.components_), 1, rtol=1e-9)
    np.testing.assert_allclose(exact.explained_variance_ratio_.sum(), 1, rtol=1e-9)
    np.testing.assert_allclose(exact.noise_variance_, 0, atol=1e-9)
    np.testing.assert_allclose(exact.low_rank_, TRUTH[:90], rtol=1e-8)
    np.testing.assert_allclose(exact.low_rank_ + exact.sparse_.toarray(), TRAIN, atol=1e-7)
    np.testing.assert_array_equal(exact.cell_outliers_, WRONG[:90])
    assert not exact.row_outliers_.any()
    assert aligned(PCA(3).fit(TRAIN).components_, without.components_)[0] < 0.9


def test_scores_of_new_rows_of_exact_data(exact: RobustPCA) -> None:
    scores = exact.transform(NEW)
    expected = (TRUTH[90:120] - exact.mean_) @ exact.components_.T
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(exact.inverse_transform(scores), TRUTH[90:120], rtol=1e-6)
    junk = MEAN + 20 * np.random.default_rng(2).standard_normal((3, 24))
    assert exact.predict(np.concatenate([NEW, junk])).tolist() == [1] * 30 + [-1] * 3


def test_components_are_those_of_the_correct_cells(pca: RobustPCA) -> None:
    without = PCA(3).fit(RIGHT)
    assert pca.n_components_ == 3
    assert aligned(pca.components_, without.components_).min() > 0.99
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-12)
    ratio = pca.explained_variance_ / without.explained_variance_
    np.testing.assert_allclose(ratio, 1, atol=0.1)
    ratio = pca.explained_variance_ratio_ / without.explained_variance_ratio_
    np.testing.assert_allclose(ratio, 1, atol=0.1)
    np.testing.assert_allclose(np.sqrt(pca.noise_variance_) / DEVIATIONS, 1, atol=0.2)
    np.testing.assert_allclose(pca.mean_, without.mean_, atol=0.5)
    # All of this fails without robustness.
    assert aligned(PCA(3).fit(np.nan_to_num(TABLE)).components_, without.components_).min() < 0.5


def test_outliers_are_found_and_the_parts_sum_up(pca: RobustPCA) -> None:
    assert np.flatnonzero(pca.row_outliers_).tolist() == ROWS.tolist()
    right, seen = ~pca.row_outliers_, ~np.isnan(TABLE)
    wrong = (WRONG & seen)[right]
    assert np.mean(pca.cell_outliers_[right][wrong]) > 0.99
    assert np.mean(pca.cell_outliers_[right][~wrong]) < 0.01
    rest = (TABLE - pca.low_rank_ - pca.sparse_.toarray())[right]
    assert np.sqrt(np.nanmean((rest / DEVIATIONS) ** 2)) < 1.1


def test_wrong_and_missing_cells_of_new_rows_do_not_move_scores(pca: RobustPCA) -> None:
    rows = CLEAN[30:60]
    broken = rows.copy()
    broken[:, 3], broken[:, 8] = 1e3, np.nan
    scores = pca.transform(rows)
    np.testing.assert_allclose(scores, (rows - pca.mean_) @ pca.components_.T, atol=2.5)
    assert np.sqrt(np.mean((pca.transform(broken) - scores) ** 2)) < 0.5
    np.testing.assert_array_equal(pca.transform(np.full((1, 24), np.nan)).round(9), 0)
    for i in (0, 11):
        np.testing.assert_allclose(pca.transform(broken[i : i + 1])[0], pca.transform(broken)[i])


def test_predictions_agree_with_the_log_odds(pca: RobustPCA) -> None:
    verdict = np.where(pca.row_outliers_, -1, 1)
    np.testing.assert_array_equal(pca.predict(TABLE), verdict)
    np.testing.assert_array_equal(np.sign(pca.decision_function(TABLE)), verdict)
    np.testing.assert_array_equal(RobustPCA().fit_predict(TABLE), verdict)
    few = RobustPCA(1).fit(TABLE)
    np.testing.assert_array_equal(few.decision_function(TABLE), pca.decision_function(TABLE))


def test_predictions_are_those_of_the_model_in_borderline_cases() -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((2000, 2)) @ rng.standard_normal((2, 6))
    table = (table + 0.5 * rng.standard_normal(table.shape)) * np.exp(
        rng.standard_normal((2000, 1))
    )
    table[rng.random(table.shape) < 0.1] = np.nan
    pca = RobustPCA().fit(table)
    odds = pca.decision_function(table)
    assert pca.row_outliers_.any()
    np.testing.assert_array_equal(odds < 0, pca.row_outliers_)


def test_scores_are_log_densities_of_the_correct_cells(pca: RobustPCA) -> None:
    """Up to the logarithms of the shares of wrong cells and rows."""
    model, used = (
        table_of(pca.result_).model,
        np.flatnonzero(~pca.cell_outliers_.any(axis=1))[20:40],
    )
    constant = np.log1p(-model.wrong_rows)
    for i in used:
        seen = ~np.isnan(TABLE[i])
        covariance = pca.get_covariance()[np.ix_(seen, seen)]
        expected = multivariate_normal(pca.mean_[seen], covariance).logpdf(TABLE[i, seen])
        expected += constant + seen.sum() * np.log1p(-model.wrong_cells)
        assert pca.score_samples(TABLE[i : i + 1])[0] == pytest.approx(expected, abs=1e-4)
    assert pca.score(TABLE) == pytest.approx(np.mean(pca.score_samples(TABLE)))


def test_a_wrong_cell_costs_a_bounded_part_of_the_score(pca: RobustPCA) -> None:
    row = CLEAN[50:51]
    scores = []
    for error in (0.0, 1e2, 1e4, 1e6):
        broken = row.copy()
        broken[0, 3] += error
        scores.append(pca.score_samples(broken)[0])
    assert scores[0] > scores[1] > scores[2] > scores[3] > scores[0] - 60


def test_all_components_are_the_whole_covariance(pca: RobustPCA) -> None:
    full = RobustPCA(24).fit(TABLE)
    np.testing.assert_allclose(
        full.get_covariance(), table_of(pca.result_).model.predictive_covariance, atol=1e-9
    )
    np.testing.assert_allclose(full.noise_variance_, 0, atol=1e-9)
    np.testing.assert_allclose(full.explained_variance_[:3], pca.explained_variance_, rtol=1e-9)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(80, 15, 2), (60, 40, 3), (40, 60, 2)])
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_the_number_of_components_with_noise(
    rows: int, columns: int, rank: int, spread: float
) -> None:
    """Also if the noise differs from column to column."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        noise = 0.3 * np.exp(spread * rng.standard_normal(columns))
        table = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
        table += noise * rng.standard_normal(table.shape)
        assert RobustPCA().fit(table).n_components_ == rank


def test_the_number_of_components_can_be_searched() -> None:
    grid = {"robustpca__n_components": [1, 2, 3]}
    model = make_pipeline(RobustScaler(), RobustPCA())
    search = GridSearchCV(model, grid, cv=2).fit(TABLE[:200])
    assert search.best_params_ == {"robustpca__n_components": 3}
    assert np.ptp(search.cv_results_["mean_test_score"]) > 1


def test_features_without_values_are_left_out() -> None:
    table = np.column_stack([TABLE[:100], np.full(100, np.nan)])
    pca = RobustPCA(3).fit(table)
    assert np.isnan(pca.mean_).tolist() == [False] * 24 + [True]
    np.testing.assert_array_equal(pca.components_[:, -1], 0)
    filled = table.copy()
    filled[:, -1] = 1e6
    for method in (pca.transform, pca.score_samples, pca.decision_function):
        assert np.isfinite(method(table)).all()
        np.testing.assert_array_equal(method(filled), method(table))


@pytest.mark.parametrize(
    ("count", "message"), [(0, "at least 1"), (25, "X has 24 features"), (2.0, "an integer")]
)
def test_numbers_of_components_that_make_no_sense(count: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        RobustPCA(count).fit(TABLE)


def test_names_and_data_frames() -> None:
    frame = pd.DataFrame(TABLE[:100], columns=[f"gene {k}" for k in range(24)])
    pca = RobustPCA(3).set_output(transform="pandas").fit(frame)
    scores = pca.transform(frame)
    assert list(scores.columns) == ["robustpca0", "robustpca1", "robustpca2"]
    assert pca.feature_names_in_[0] == "gene 0"


def test_single_precision_is_kept(pca: RobustPCA) -> None:
    single = RobustPCA(3).fit(TABLE.astype("float32"))
    for values in (single.components_, single.mean_, single.low_rank_, single.get_covariance()):
        assert values.dtype == np.float32
    scores = single.transform(TABLE.astype("float32"))
    assert scores.dtype == np.float32
    assert single.inverse_transform(scores).dtype == np.float32
    np.testing.assert_allclose(scores, pca.transform(TABLE), atol=0.05)


def test_data_of_low_rank_up_to_noise() -> None:
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 20))
    table = truth + 0.05 * rng.standard_normal(truth.shape)
    table[rng.random(table.shape) < 0.03] = 15
    table[rng.random(table.shape) < 0.2] = np.nan
    pca = RobustPCA().fit(table)
    assert pca.result_.status is rr.Status.PREDICTIVE
    assert pca.n_components_ == 2
    np.testing.assert_allclose(np.sqrt(pca.noise_variance_), 0.05, rtol=0.4)
    assert np.sqrt(np.mean((pca.low_rank_ - truth) ** 2)) < 0.05
