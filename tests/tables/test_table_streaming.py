"""The model of a table whose rows arrive in batches: its sums and what they give."""

from __future__ import annotations

import numpy as np
import pytest
from tables import correlated, some

from robustrank.tables import TableStream, Values, fit_table, recent_weights

TABLE = correlated(rows=1200, columns=6)


def with_errors(table: Values) -> Values:
    found = table.copy()
    found[some(table.shape, 0.1, seed=1)] = np.nan
    found[some(table.shape, 0.03, seed=2)] = 20.0
    found[::40] = 8 * np.random.default_rng(3).standard_normal(found[::40].shape)
    return found


def streamed(table: Values, first: int, size: int, forgetting: float = 1.0) -> TableStream:
    stream = TableStream.of(fit_table(table[:first])[0], table[:first], forgetting)
    for start in range(first, len(table), size):
        stream = stream.updated(table[start : start + size], forgetting)
    return stream


def test_weights_of_rows() -> None:
    old, new = recent_weights(3, 0.5)
    assert old == 0.125
    np.testing.assert_array_equal(new, [0.25, 0.5, 1.0])


def test_sums_of_a_table_without_errors_are_those_of_all_rows() -> None:
    """Wherever the batches end, also with forgetting."""
    stream = streamed(TABLE, 300, 100, 0.99)
    again = TableStream.of(stream.model, TABLE[:300], 0.99)
    for rows in np.split(TABLE[300:], [1, 17, 500]):
        again = again.updated(rows, 0.99)
    assert again.count == pytest.approx(stream.count, rel=0.01)
    weights = 0.99 ** np.arange(len(TABLE) - 1.0, -1.0, -1.0)
    mean = weights @ TABLE / weights.sum()
    deviations = TABLE.std(axis=0)
    assert np.max(np.abs(stream.model.mean - mean) / deviations) < 0.05
    np.testing.assert_allclose(again.model.covariance, stream.model.covariance, rtol=0.2, atol=0.1)


def test_batches_give_the_model_of_all_rows_despite_errors() -> None:
    table = with_errors(TABLE)
    stream, whole = streamed(table, 300, 50), fit_table(table)[0]
    deviations = np.sqrt(np.diagonal(whole.covariance))
    difference = (stream.model.covariance - whole.predictive_covariance) / np.outer(
        deviations, deviations
    )
    assert np.abs(difference).max() < 0.05
    assert stream.shares == pytest.approx((whole.wrong_cells, whole.wrong_rows), abs=0.01)
    assert stream.count == pytest.approx(np.sum(stream.row_weights * [-1, 1]))


def test_missing_cells_do_not_shrink_the_covariance() -> None:
    table = np.where(some(TABLE.shape, 0.4, seed=4), np.nan, TABLE)
    variances = np.diagonal(streamed(table, 300, 100).model.covariance)
    np.testing.assert_allclose(variances, TABLE.var(axis=0), rtol=0.15)


def test_a_far_value_changes_nothing() -> None:
    spoiled = TABLE.copy()
    spoiled[700, 2], moved = 1e3, spoiled.copy()
    moved[700, 2] = -1e5
    one, other = streamed(spoiled, 300, 100), streamed(moved, 300, 100)
    np.testing.assert_allclose(one.model.covariance, other.model.covariance, rtol=1e-12)


def test_only_what_is_recent_counts_with_forgetting() -> None:
    later = TABLE[:600] + 0.5
    table = np.vstack([TABLE, later])
    deviation = TABLE.std(axis=0)
    recent = streamed(table, 300, 50, 0.98).model.mean - later.mean(axis=0)
    equal = streamed(table, 300, 50).model.mean - later.mean(axis=0)
    assert np.max(np.abs(recent) / deviation) < 0.2
    assert np.max(np.abs(equal)) > 0.3


def test_columns_without_values_remain_unused() -> None:
    table = TABLE.copy()
    table[:300, 3] = np.nan
    mean, covariance, _ = streamed(table, 300, 100).moments()
    assert np.isnan(mean[3])
    assert not covariance[3].any()
    assert np.isfinite(np.delete(mean, 3)).all()


def test_predictions_reach_the_range_of_later_rows() -> None:
    stream = TableStream.of(fit_table(TABLE[:300])[0], TABLE[:300])
    later = stream.updated(1.3 * TABLE[:300])
    assert (later.model.high > stream.model.high).all()
    assert (later.updated(TABLE[300:]).model.high >= later.model.high).all()
