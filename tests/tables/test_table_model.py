"""The robust normal model of the rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import correlated, some

from robustrank.tables import Explained, TableModel, fit_table
from robustrank.tables.model import refitted
from robustrank.tables.units import Mask, Values


def corrupted(seed: int = 0, rows: int = 80) -> tuple[Values, Values, Mask]:
    """A table with missing and wrong cells, the truth, and which are wrong."""
    truth = correlated(rows=rows)
    wrong, missing = some(truth.shape, 0.05, seed), some(truth.shape, 0.15, seed + 1)
    table = np.where(wrong, truth + 30.0, truth)
    table[missing] = np.nan
    return table, truth, wrong & ~missing


def answer(table: Values) -> tuple[TableModel, Explained]:
    model = fit_table(table)[0]
    return model, model.explain(table)


def test_wrong_cells_are_found_and_predicted() -> None:
    table, truth, wrong = corrupted(rows=300)
    model, found = answer(table)
    np.testing.assert_array_equal(found.wrong & wrong, wrong)
    assert np.count_nonzero(found.wrong & ~wrong) <= 0.01 * wrong.size
    assert 0.02 < model.wrong_cells < 0.08
    unknown = wrong | np.isnan(table)
    inside = np.abs(found.expected - truth) <= 1.645 * found.deviation
    assert 0.8 < np.mean(inside[unknown]) < 0.97
    error = np.sqrt(np.mean((found.expected - truth)[unknown] ** 2))
    assert error < 0.5 * truth.std()


def test_wrong_rows_are_found() -> None:
    table = correlated(rows=200)
    table[:20] = table[:20, ::-1] * [3, -3, 3, -3, 3, -3]
    found = answer(table)[1]
    assert np.mean(found.wrong_rows[:20]) > 0.8
    assert np.mean(found.wrong_rows[20:]) < 0.05


def test_log_odds_are_positive_where_cells_are_wrong() -> None:
    table, _, wrong = corrupted()
    found = answer(table)[1]
    assert np.all(found.log_odds[wrong] > 0)
    assert np.all(np.isneginf(found.log_odds[np.isnan(table)]))
    assert np.mean(found.log_odds[~wrong] < 0) > 0.98


def same(one: Explained, other: Explained, scale: Values | float = 1.0) -> None:
    """Two answers are equal, where the other is in units that are ``scale`` larger."""
    np.testing.assert_array_equal(one.wrong, other.wrong)
    np.testing.assert_array_equal(one.wrong_rows, other.wrong_rows)
    size = np.abs(one.deviation).max(axis=0)
    close = np.abs(one.deviation - other.deviation / np.abs(scale)) <= 1e-6 * size
    assert close.all()
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-6)


def part(found: Explained, rows: Values, columns: Values) -> Explained:
    """Some rows and columns of an answer."""
    block = np.ix_(rows, columns)
    return Explained(
        found.expected[block],
        found.deviation[block],
        found.wrong[block],
        found.log_odds[block],
        found.wrong_rows[rows],
        found.row_log_odds[rows],
        found.variance[block],
    )


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_does_not_matter(seed: int) -> None:
    table = corrupted()[0]
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) for size in table.shape)
    first, second = answer(table)[1], answer(table[np.ix_(rows, columns)])[1]
    same(part(first, rows, columns), second)
    np.testing.assert_allclose(first.expected[np.ix_(rows, columns)], second.expected, rtol=1e-5)


@settings(max_examples=10)
@given(
    exponents=st.lists(st.integers(-8, 8), min_size=6, max_size=6),
    shifts=st.lists(st.floats(-5, 5), min_size=6, max_size=6),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=6, max_size=6),
)
def test_shifted_and_scaled_columns_have_the_same_answer(
    exponents: list[int], shifts: list[float], signs: list[float]
) -> None:
    table = corrupted()[0]
    scale = np.array(signs) * 2.0 ** np.array(exponents)
    first, second = answer(table)[1], answer(scale * (table + shifts))[1]
    same(first, second, scale)
    error = np.abs(second.expected / scale - shifts - first.expected)
    assert np.all(error <= 1e-6 * first.deviation.max(axis=0))


@settings(max_examples=10)
@given(exponent=st.floats(4, 300), sign=st.sampled_from([-1.0, 1.0]))
def test_the_value_of_a_far_cell_does_not_matter(exponent: float, sign: float) -> None:
    table, _, wrong = corrupted()
    reference = answer(np.where(wrong, sign * 1e7, table))[1]
    found = answer(np.where(wrong, sign * 10.0**exponent, table))[1]
    np.testing.assert_array_equal(found.wrong, reference.wrong)
    np.testing.assert_allclose(found.expected, reference.expected, rtol=0.01, atol=0.01)


def test_a_left_out_prediction_is_that_without_the_cell() -> None:
    table = correlated()
    model, found = answer(table)
    for i in np.flatnonzero(~found.wrong.any(axis=1))[:10]:
        for j in range(table.shape[1]):
            row = table[i : i + 1].copy()
            row[0, j] = np.nan
            without = model.explain(row)
            if not without.wrong.any():
                assert without.expected[0, j] == pytest.approx(found.expected[i, j], abs=1e-9)


def test_new_rows_are_explained_as_those_of_the_fit() -> None:
    table = corrupted()[0]
    model, found = answer(table)
    again = model.explain(table[10:20])
    np.testing.assert_allclose(again.expected, found.expected[10:20])
    np.testing.assert_array_equal(again.wrong, found.wrong[10:20])


def test_a_fit_reports_its_progress() -> None:
    shares: list[float] = []
    model = fit_table(corrupted()[0], report=lambda share, _: shares.append(share))[0]
    assert len(shares) >= model.sweeps
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


def test_a_fit_that_starts_from_its_own_model_ends_at_once() -> None:
    table = corrupted()[0]
    model = fit_table(table)[0]
    again = refitted(model, table)
    assert again.sweeps <= 3
    np.testing.assert_allclose(
        again.predictive_covariance, model.predictive_covariance, rtol=0.02, atol=0.02
    )


def test_skewed_columns_are_transformed_where_that_predicts_better() -> None:
    normal = correlated(rows=400)
    skewed = np.exp(normal / normal.std(axis=0))
    assert not fit_table(normal)[0].units.skewness.any()
    hidden = some(skewed.shape, 0.2)
    table = np.where(hidden, np.nan, skewed)
    errors = []
    for transform in (True, False):
        model = fit_table(table, transform_skewed=transform)[0]
        assert model.units.skewness.all() == transform
        found = model.explain(table)
        errors.append(np.abs(found.expected - skewed)[hidden].mean())
        if transform:
            inside = np.abs(found.expected - skewed) <= 1.645 * found.deviation
            assert 0.85 < np.mean(inside[hidden]) < 0.95
    assert errors[0] < 0.9 * errors[1]


def test_moments_of_transformed_columns_are_in_the_units_of_the_data() -> None:
    normal = correlated(rows=4000, columns=3)
    table = np.hstack([np.exp(0.5 * normal / normal.std(axis=0)), -normal[:, :1]])
    model = fit_table(table)[0]
    np.testing.assert_array_equal(model.units.skewness != 0, [True, True, True, False])
    spread = table.std(axis=0)
    np.testing.assert_allclose(model.mean, table.mean(axis=0), atol=0.05 * spread.max())
    covariance = np.cov(table.T) / np.outer(spread, spread)
    found = model.covariance / np.outer(spread, spread)
    np.testing.assert_allclose(found, covariance, atol=0.15)


def changed(change: Callable[[Values], None], rows: int = 40, columns: int = 5) -> Values:
    table = correlated(rows, columns)
    change(table)
    return table


def put(place: object, value: float) -> Callable[[Values], None]:
    return lambda table: table.__setitem__(place, value)  # type: ignore[call-overload]


HARD: dict[str, Values] = {
    "one column": correlated(columns=1),
    "two rows": correlated(rows=2),
    "one row": correlated(rows=1),
    "a constant column": changed(put((slice(None), 1), 3.0)),
    "all constant": np.ones((20, 3)),
    "two equal rows": np.ones((2, 3)),
    "a column of NaN": changed(put((slice(None), 1), np.nan)),
    "a row of NaN": changed(put(3, np.nan)),
    "all NaN": np.full((5, 3), np.nan),
    "one number": changed(put((slice(1, None), slice(None)), np.nan), columns=1),
    "an infinite cell": changed(put((2, 1), np.inf)),
    "an infinite row": changed(put(2, -np.inf)),
    "an infinite column": changed(put((slice(None), 1), np.inf)),
    "the largest number": changed(put((3, 1), 1.7e308)),
    "more columns than rows": correlated(rows=8, columns=30),
    "one value in most rows": changed(put((slice(0, 30), 1), 7.0)),
    "one value in all rows but one": changed(put((slice(0, 39), 1), 7.0)),
    "equal columns": np.hstack([correlated(columns=3)] * 2),
    "rank one": np.outer(np.arange(1.0, 41), np.arange(1.0, 9)),
    "zeros and ones": (correlated() > 0).astype(float),
    "large numbers": 1e150 * correlated(),
    "small numbers": 1e-300 * correlated(),
    "denormal": changed(put((3, 1), 5e-324)) * 0.0 + np.eye(40, 5) * 5e-324,
    "a large offset": correlated() + 1e12,
    "half missing": changed(lambda table: table.__setitem__(some(table.shape, 0.5), np.nan)),
    "most missing": np.where(some((40, 6), 0.95), np.nan, correlated(40, 6)),
}


@pytest.mark.parametrize("name", HARD)
def test_every_table_has_a_finite_answer(name: str) -> None:
    table = HARD[name]
    given = table.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, found = answer(table)
        covariance = model.covariance
    np.testing.assert_array_equal(table, given)
    assert found.expected.shape == found.deviation.shape == found.wrong.shape == table.shape
    assert found.wrong_rows.shape == (len(table),)
    for values in (found.expected, found.deviation, model.mean, covariance, found.variance):
        assert np.isfinite(values).all()
    assert not np.isnan(found.log_odds).any()
    assert np.all(found.deviation >= 0)
    assert not np.any(found.wrong & np.isnan(table))
    np.testing.assert_array_equal(found.wrong & np.isinf(table), np.isinf(table))


def test_wrong_cells_within_the_range_of_wide_tables_are_found() -> None:
    truth = correlated(rows=60, columns=250, rank=3)
    wrong = some(truth.shape, 0.1)
    lowest, highest = truth.min(axis=0), truth.max(axis=0)
    table = np.where(wrong, np.where(truth > 0, lowest, highest), truth)
    found = answer(table)[1]
    assert np.mean(found.wrong[wrong]) > 0.9
    assert np.mean(found.wrong[~wrong]) < 0.01
