"""``partial_fit`` of ``RobustPCA`` and ``RobustImputer``."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from robustrank.estimators import RobustImputer, RobustPCA

Matrix = np.ndarray[Any, Any]

RNG = np.random.default_rng(0)
ROWS, COLUMNS = 1500, 8
UNITS = np.exp(RNG.standard_normal(COLUMNS))
TRUTH = RNG.standard_normal((ROWS, 2)) @ RNG.standard_normal((2, COLUMNS))
TRUTH = 5 + UNITS * (TRUTH + 0.4 * RNG.standard_normal(TRUTH.shape))
WRONG = RNG.random(TRUTH.shape) < 0.03
MISSING = RNG.random(TRUTH.shape) < 0.1
TABLE = np.where(WRONG, TRUTH + 15 * UNITS, TRUTH)
TABLE[::50] = 5 + 4 * UNITS * RNG.standard_normal(TABLE[::50].shape)
TABLE[MISSING] = np.nan
SEEN, NEW = slice(0, 1200), slice(1200, None)
KINDS: list[type[Any]] = [RobustPCA, RobustImputer]


def in_batches(estimator: Any, table: Any, size: int) -> Any:
    for first in range(0, len(table), size):
        assert estimator.partial_fit(table[first : first + size]) is estimator
    return estimator


def error(imputer: RobustImputer) -> float:
    """Of the missing cells of new rows that are not broken, in units of the columns."""
    residual = (imputer.transform(TABLE[NEW]) - TRUTH[NEW]) / UNITS
    counted = MISSING[NEW].copy()
    counted[::50] = False
    return float(np.sqrt(np.mean(residual[counted] ** 2)))


@pytest.mark.parametrize("size", [40, 300])
def test_missing_cells_are_predicted_as_after_one_fit(size: int) -> None:
    stream = in_batches(RobustImputer(), TABLE[SEEN], size)
    assert error(stream) < 1.05 * error(RobustImputer().fit(TABLE[SEEN]))
    assert stream.predicted_features_.all()
    np.testing.assert_allclose(stream.statistics_, np.median(TRUTH, axis=0), atol=0.2 * UNITS.max())


def test_components_are_those_of_one_fit() -> None:
    stream, whole = in_batches(RobustPCA(), TABLE[SEEN], 100), RobustPCA().fit(TABLE[SEEN])
    assert stream.n_components_ == whole.n_components_
    cosines = np.abs(np.sum(stream.components_ * whole.components_, axis=1))
    assert cosines.min() > 0.999
    np.testing.assert_allclose(stream.explained_variance_, whole.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(stream.noise_variance_, whole.noise_variance_, rtol=0.1)
    np.testing.assert_allclose(stream.mean_, whole.mean_, atol=0.05)
    difference = stream.score_samples(TABLE[NEW]) - whole.score_samples(TABLE[NEW])
    assert np.abs(np.median(difference)) < 0.05
    assert (stream.predict(TABLE[NEW]) == whole.predict(TABLE[NEW])).mean() > 0.98


@pytest.mark.parametrize("kind", KINDS)
def test_every_batch_gives_a_model(kind: Any) -> None:
    estimator = kind()
    for size, first in ((2, 0), (1, 2), (3, 3), (30, 6), (700, 40), (1, 800)):
        estimator.partial_fit(TABLE[first : first + size])
        assert np.isfinite(estimator.transform(TABLE[NEW])).all()
    assert estimator.n_samples_seen_ == 737


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_is_no_first_batch(kind: Any) -> None:
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        kind().partial_fit(TABLE[:1])


def test_exact_rows_are_completed_exactly() -> None:
    rng = np.random.default_rng(1)
    truth = 3 + rng.standard_normal((400, 3)) @ rng.standard_normal((3, 20))
    table = np.where(rng.random(truth.shape) < 0.05, 40.0, truth)
    hidden = rng.random(truth.shape) < 0.1
    table[hidden] = np.nan
    imputer = in_batches(RobustImputer(replace_outliers=True), table[:300], 50)
    np.testing.assert_allclose(imputer.transform(table[300:]), truth[300:], atol=1e-8)
    pca = in_batches(RobustPCA(), table[:300], 50)
    assert pca.n_components_ == 3
    back = pca.inverse_transform(pca.transform(table[300:]))
    np.testing.assert_allclose(back, truth[300:], atol=1e-8)
    assert np.isfinite(pca.score_samples(table[300:])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_continues_from_fit_and_fit_starts_anew(kind: Any) -> None:
    whole = kind().fit(TABLE[:800])
    continued = kind().fit(TABLE[:800]).partial_fit(TABLE[800:900])
    assert continued.n_samples_seen_ == 900
    near, moved = whole.transform(TABLE[NEW]), continued.transform(TABLE[NEW])
    assert 0 < np.max(np.abs(near - moved) / np.std(near, axis=0)) < 0.5
    again = in_batches(kind(), 7 * TABLE[:100], 50).fit(TABLE[:800])
    np.testing.assert_array_equal(again.transform(TABLE[NEW]), near)
    assert again.n_samples_seen_ == 800
    again.partial_fit(TABLE[800:900])
    np.testing.assert_array_equal(again.transform(TABLE[NEW]), moved)
    first = kind().partial_fit(TABLE[:50]).transform(TABLE[NEW])
    np.testing.assert_array_equal(kind().fit(TABLE[:50]).transform(TABLE[NEW]), first)


@pytest.mark.parametrize("kind", KINDS)
def test_what_belongs_to_rows_that_are_not_kept_is_removed(kind: Any) -> None:
    estimator = kind().fit(TABLE[:100]).partial_fit(TABLE[100:120])
    for name in ("result_", "cell_outliers_", "row_outliers_", "low_rank_", "sparse_"):
        assert not hasattr(estimator, name), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_the_state_does_not_grow(kind: Any) -> None:
    estimator = in_batches(kind(), TABLE[:700], 100)
    before = len(pickle.dumps(estimator))
    assert len(pickle.dumps(in_batches(estimator, TABLE[700:], 100))) < 1.02 * before


@pytest.mark.parametrize("kind", KINDS)
def test_pickled_and_the_same_every_time(kind: Any) -> None:
    estimator = in_batches(kind(forgetting=0.999), TABLE[:600], 100)
    loaded = pickle.loads(pickle.dumps(estimator)).partial_fit(TABLE[600:700])
    again = in_batches(clone(estimator), TABLE[:700], 100)
    np.testing.assert_array_equal(loaded.transform(TABLE[NEW]), again.transform(TABLE[NEW]))


def test_forgetting_is_a_half_life() -> None:
    """Rows from before some half-lives count hardly."""
    table = np.vstack([TRUTH, TRUTH[:300] + 0.5 * UNITS])
    means = [
        in_batches(RobustPCA(forgetting=forgetting), table, 100).mean_ / UNITS
        for forgetting in (1.0, 0.5 ** (1 / 50))
    ]
    now = table[-300:].mean(axis=0) / UNITS
    assert np.abs(means[1] - now).max() < 0.2 < np.abs(means[0] - now).min()


@pytest.mark.parametrize("forgetting", [0, -1.0, 1.5, np.nan, "0.9", None])
def test_forgetting_that_makes_no_sense(forgetting: Any) -> None:
    with pytest.raises(ValueError, match="expected a number greater than 0 and at most 1"):
        RobustPCA(forgetting=forgetting).partial_fit(TABLE)


def test_features_are_checked_by_the_first_batch() -> None:
    frame = pd.DataFrame(TABLE, columns=list("abcdefgh"))
    imputer = RobustImputer().partial_fit(frame[:100])
    assert imputer.feature_names_in_.tolist() == list("abcdefgh")
    with pytest.raises(ValueError, match="feature names should match"):
        imputer.partial_fit(frame[100:200][list("hgfedcba")])
    with pytest.raises(ValueError, match="has 7 features, but RobustImputer is expecting 8"):
        RobustImputer().partial_fit(TABLE[:100]).partial_fit(TABLE[:, 1:])
    with pytest.raises(ValueError, match="n_components=9"):
        RobustPCA(9).partial_fit(TABLE)


def test_indicator_has_the_features_with_missing_cells_in_any_batch() -> None:
    imputer = RobustImputer(add_indicator=True)
    for column in (1, 5):
        batch = TRUTH[:60].copy()
        batch[3, column] = np.nan
        imputer.partial_fit(batch)
    assert imputer.indicator_.features_.tolist() == [1, 5]
    np.testing.assert_array_equal(imputer.transform(batch)[3, -2:], [0, 1])


def test_single_precision_is_kept() -> None:
    single = in_batches(RobustPCA(2), TABLE[SEEN].astype("float32"), 300)
    assert single.components_.dtype == single.transform(TABLE[NEW].astype("float32")).dtype
    assert single.components_.dtype == np.float32


EQUAL = {
    "constant": np.ones((100, 3)),
    "mostly constant": np.hstack([np.ones((100, 2)), TABLE[:100, :1]]),
    "equal rows": np.tile(TRUTH[0], (10, 1)),
    "many constant features": np.ones((40, 300)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EQUAL)
def test_first_rows_that_are_equal(kind: Any, name: str) -> None:
    table = EQUAL[name]
    estimator = kind().partial_fit(table)
    assert np.isfinite(estimator.transform(table)).all()
    estimator.partial_fit(table + np.random.default_rng(0).standard_normal(table.shape))
    assert np.isfinite(estimator.transform(table)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -9999.0, 9.97e36])
def test_rows_of_one_value_are_not_a_change(kind: Any, value: float) -> None:
    """They are what a broken instrument writes, until it is repaired."""
    estimator = in_batches(kind(forgetting=0.999), TABLE[:700], 100)
    in_batches(estimator, np.full((200, TABLE.shape[1]), value), 50)
    in_batches(estimator, TABLE[700:800], 50)
    before = in_batches(kind(forgetting=0.999), TABLE[:800], 100)
    near, far = (one.transform(TABLE[NEW]) for one in (before, estimator))
    assert near.shape == far.shape
    assert np.quantile(np.abs(near - far) / np.std(near, axis=0), 0.99) < 0.2
