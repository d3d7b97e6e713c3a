"""``RobustImputer``: missing cells of training data and of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import robustrank as rr
from robustrank.api.streaming import table_of
from robustrank.estimators import RobustImputer
from robustrank.simulate import plant_entries

Matrix = np.ndarray[Any, Any]

# Data of rank 2.
PROBLEM = plant_entries(90, 20, 2, 90 * 12, outliers=0.05, outlier_model="huge", rng=3)
X, TRUTH = PROBLEM.incomplete, PROBLEM.matrix
TRAIN, NEW = X[:70], X[70:]

# Two factors and noise; the last column has nothing to do with the others.
SCALE = np.array([1.0, 20.0, 0.3, 500.0, 3.0, 8.0, 1.0])


def noisy(seed: int = 0, rows: int = 300) -> tuple[Matrix, Matrix]:
    """A table with missing and wrong cells, and the truth."""
    rng, loadings = np.random.default_rng(seed), np.random.default_rng(5).standard_normal((2, 7))
    loadings[:, -1] = 0
    truth = rng.standard_normal((rows, 2)) @ loadings + 0.3 * rng.standard_normal((rows, 7))
    table = np.where(rng.random(truth.shape) < 0.03, truth + 10, truth)
    table[rng.random(truth.shape) < 0.15] = np.nan
    return table * SCALE, truth * SCALE


TABLE, _ = noisy()


@pytest.fixture(scope="module")
def imputer() -> RobustImputer:
    return RobustImputer().fit(TABLE)


@pytest.fixture(scope="module")
def exact() -> RobustImputer:
    return RobustImputer().fit(TRAIN)


def errors(filled: Matrix, truth: Matrix, where: Matrix) -> Matrix:
    """The root mean square error of the cells of each column, in its scale."""
    squares = np.where(where, (filled - truth) / SCALE, 0.0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=0) / where.sum(axis=0)))


def test_missing_cells_are_those_of_the_cleaned_table(imputer: RobustImputer) -> None:
    result, missing = rr.clean(TABLE), np.isnan(TABLE)
    filled = imputer.transform(TABLE)
    predicted = missing & imputer.predicted_features_
    np.testing.assert_allclose(filled[predicted], result.frame[predicted], rtol=1e-12)
    np.testing.assert_array_equal(filled[~missing], TABLE[~missing])
    np.testing.assert_array_equal(imputer.cell_outliers_, result.outliers)
    np.testing.assert_array_equal(imputer.row_outliers_, result.row_outliers)


def test_features_without_skill_get_their_median(imputer: RobustImputer) -> None:
    skill = table_of(imputer.result_).held_out.skill
    np.testing.assert_array_equal(imputer.predicted_features_, skill > 0)
    assert imputer.predicted_features_.tolist() == [True] * 6 + [False]
    np.testing.assert_array_equal(imputer.statistics_, np.nanmedian(TABLE, axis=0))
    missing = np.isnan(TABLE[:, -1])
    assert np.all(imputer.transform(TABLE)[missing, -1] == np.nanmedian(TABLE[:, -1]))


@pytest.mark.filterwarnings("ignore::robustrank.estimators.UncertifiedFitWarning")
def test_features_with_too_few_cells_to_tell_are_predicted() -> None:
    small, truth = noisy(rows=30)
    imputer = RobustImputer().fit(small)
    assert np.isnan(table_of(imputer.result_).held_out.skill).all()
    assert imputer.predicted_features_.all()
    missing, median = np.isnan(small), SimpleImputer(strategy="median").fit_transform(small)
    found, other = (errors(one, truth, missing) for one in (imputer.transform(small), median))
    assert np.linalg.norm(found[:-1]) < 0.8 * np.linalg.norm(other[:-1])


def test_new_rows_are_predicted_in_spite_of_their_wrong_cells(imputer: RobustImputer) -> None:
    new, truth = noisy(1)
    missing = np.isnan(new)
    found = errors(imputer.transform(new), truth, missing)[:-1]
    np.testing.assert_array_equal(imputer.transform(new)[~missing], new[~missing])
    without = np.where(np.abs(new - truth) > 5 * SCALE, np.nan, new)
    best = errors(imputer.transform(without), truth, missing)[:-1]
    median = errors(SimpleImputer(strategy="median").fit(TABLE).transform(new), truth, missing)[:-1]
    assert np.all(found < 0.85 * median)
    assert np.mean(found) < 1.15 * np.mean(best)


def test_wrong_cells_are_replaced_on_request(imputer: RobustImputer) -> None:
    new, truth = noisy(1)
    wrong = np.abs(new - truth) > 5 * SCALE
    wrong[:, -1] = False  # the others say nothing about this one
    replaced = RobustImputer(replace_outliers=True).fit(TABLE).transform(new)
    changed = (replaced != new) & ~np.isnan(new)
    assert np.mean(changed[wrong]) > 0.95
    assert np.mean(changed[~wrong]) < 0.02
    assert errors(replaced, truth, wrong | np.isnan(new))[:-1].max() < 0.8
    np.testing.assert_array_equal(imputer.transform(new)[changed], new[changed])


def test_data_of_low_rank_is_completed_exactly(exact: RobustImputer) -> None:
    assert exact.result_.status is rr.Status.RECOVERED
    assert exact.predicted_features_.all()
    for rows, truth in ((TRAIN, TRUTH[:70]), (NEW, TRUTH[70:])):
        filled = exact.transform(rows)
        np.testing.assert_allclose(filled[np.isnan(rows)], truth[np.isnan(rows)], rtol=1e-7)
        np.testing.assert_array_equal(filled[~np.isnan(rows)], rows[~np.isnan(rows)])
    replacing = RobustImputer(replace_outliers=True).fit(TRAIN)
    np.testing.assert_allclose(replacing.transform(NEW), TRUTH[70:], rtol=1e-6, atol=1e-9)


def test_columns_that_a_low_rank_does_not_determine_are_predicted_by_the_model() -> None:
    data = TRAIN.copy()
    data[3:, 4] = np.nan
    imputer = RobustImputer().fit(data)
    assert imputer.result_.status is rr.Status.RECOVERED
    assert imputer.result_.undecided_columns.tolist() == [4]
    filled = imputer.transform(data)
    others = np.isnan(TRAIN) & (np.arange(20) != 4)
    np.testing.assert_allclose(filled[others], TRUTH[:70][others], rtol=1e-7)
    expected = table_of(imputer.result_).model.explain(data).expected
    np.testing.assert_array_equal(filled[3:, 4], expected[3:, 4])


def test_rows_that_their_cells_do_not_determine_are_predicted_by_the_model(
    exact: RobustImputer,
) -> None:
    rows = np.full((2, 20), np.nan)
    rows[0, 0] = TRUTH[80, 0]
    rows[1, :2] = [TRUTH[80, 0], 1e9]
    expected = table_of(exact.result_).model.explain(rows).expected
    filled = exact.transform(rows)
    np.testing.assert_array_equal(filled[np.isnan(rows)], expected[np.isnan(rows)])
    assert np.ptp(filled[0]) > 0.1
    np.testing.assert_allclose(filled[1, 2:], filled[0, 2:], rtol=1e-6)


@pytest.mark.parametrize(("which", "rows"), [("imputer", TABLE[:40]), ("exact", NEW)])
def test_a_row_does_not_depend_on_the_others(
    which: str, rows: Matrix, request: pytest.FixtureRequest
) -> None:
    imputer = request.getfixturevalue(which)
    together = imputer.transform(rows)
    for i in (0, 7, 19):
        np.testing.assert_allclose(imputer.transform(rows[i : i + 1])[0], together[i], rtol=1e-9)
    large = np.concatenate([1e3 * rows[:2], rows[2:]])
    np.testing.assert_allclose(imputer.transform(large)[2:], together[2:], rtol=1e-9)


def test_rows_without_values_get_the_mean(imputer: RobustImputer) -> None:
    filled = imputer.transform(np.full((1, 7), np.nan))
    mean, median = table_of(imputer.result_).model.mean, imputer.statistics_
    expected = np.where(imputer.predicted_features_, mean, median)
    np.testing.assert_allclose(filled[0], expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("indicator", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_shapes_and_names_are_those_of_scikit_learn(keep: bool, indicator: bool) -> None:
    frame = pd.DataFrame(TABLE[:60], columns=[*"abcdefg"]).assign(empty=np.nan)
    options = {"keep_empty_features": keep, "add_indicator": indicator}
    imputer = RobustImputer(**options).set_output(transform="pandas").fit(frame)
    expected = SimpleImputer(**options).set_output(transform="pandas").fit(frame).transform(frame)
    filled = imputer.transform(frame)
    assert list(filled.columns) == list(expected.columns)
    assert list(imputer.get_feature_names_out()) == list(expected.columns)
    added = [name for name in expected.columns if name.startswith("missingindicator")]
    assert len(added) == (8 if indicator else 0)
    np.testing.assert_array_equal(filled[added], expected[added])
    if keep:
        assert (filled["empty"] == 0).all()
    assert filled[[*"abcdefg"]].notna().all().all()


def test_a_value_in_a_feature_that_had_none_says_nothing() -> None:
    data = np.column_stack([TABLE[:60], np.full(60, np.nan)])
    imputer = RobustImputer(keep_empty_features=True).fit(data)
    new = data.copy()
    new[:, -1] = 1e6
    np.testing.assert_array_equal(imputer.transform(new)[:, -1], 1e6)
    np.testing.assert_array_equal(imputer.transform(new)[:, :-1], imputer.transform(data)[:, :-1])


def test_infinite_cells_are_replaced() -> None:
    data, missing = TABLE.copy(), TABLE.copy()
    data[::7, 5], missing[::7, 5] = np.inf, np.nan
    filled = RobustImputer(add_indicator=True).fit_transform(data)
    assert np.isfinite(filled).all()
    assert np.all(filled[::7, 7 + 5] == 1)
    close = RobustImputer().fit_transform(missing)
    np.testing.assert_allclose(filled[:, :7] / SCALE, close / SCALE, atol=0.1)


def test_in_a_pipeline_with_data_frames() -> None:
    names = [f"sensor {k}" for k in range(20)]
    frame = pd.DataFrame(X, columns=names, index=[f"day {k}" for k in range(90)])
    imputer = RobustImputer(replace_outliers=True).set_output(transform="pandas")
    filled = imputer.fit_transform(frame)
    assert list(filled.columns) == names
    assert list(filled.index) == list(frame.index)
    weights = np.arange(1.0, 21)
    pipeline = make_pipeline(RobustImputer(replace_outliers=True), LinearRegression())
    pipeline.fit(frame[:70], TRUTH[:70] @ weights)
    np.testing.assert_allclose(pipeline.predict(frame[70:]), TRUTH[70:] @ weights, rtol=1e-6)


def test_single_precision_is_kept(imputer: RobustImputer) -> None:
    single = RobustImputer().fit(TABLE.astype("float32"))
    filled = single.transform(TABLE.astype("float32"))
    assert filled.dtype == single.statistics_.dtype == np.float32
    np.testing.assert_allclose(filled / SCALE, imputer.transform(TABLE) / SCALE, atol=0.01)


def test_constant_features_are_filled_with_their_values() -> None:
    rows = np.column_stack([TABLE, np.full(len(TABLE), 7.0)])
    rows[3, 7] = np.nan
    assert RobustImputer().fit_transform(rows)[3, 7] == pytest.approx(7.0, rel=1e-12)
