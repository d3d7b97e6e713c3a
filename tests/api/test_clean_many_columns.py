"""Tables with many columns, and those of low rank up to noise, whose model has a few factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robustrank as rr
from robustrank.estimators import RobustImputer, RobustPCA
from robustrank.tables import MANY, Mask, Normal, Values
from robustrank.tables.factors import FactorNormal


def planted(
    rows: int, columns: int, noise: float, rank: int = 3, seed: int = 0
) -> tuple[Values, Values, Mask]:
    """A matrix of low rank, a table with noise, wrong and missing cells, and which are wrong."""
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
    low += 3 * rng.standard_normal(columns)
    table = low + noise * low.std() * rng.standard_normal(low.shape)
    wrong = rng.random(low.shape) < 0.03
    table[wrong] += 8 * low.std() * rng.choice([-1, 1], np.count_nonzero(wrong))
    table[(rng.random(low.shape) < 0.1) & ~wrong] = np.nan
    return low, table, wrong


@pytest.fixture(scope="module")
def wide() -> tuple[Values, Values, Mask, rr.Result]:
    low, table, wrong = planted(80, 3 * MANY, noise=0.5)
    return low, table, wrong, rr.clean(table)


def test_cells_of_a_wide_table_are_predicted(wide: tuple[Values, Values, Mask, rr.Result]) -> None:
    low, table, wrong, result = wide
    assert result.status is rr.Status.PREDICTIVE
    missing = np.isnan(table)
    noise = 0.5 * low.std()
    error = np.sqrt(np.mean((result.frame - low)[missing] ** 2))
    assert error < 0.45 * noise  # of three factors that are known, 0.2
    assert np.asarray(result.outliers)[wrong].mean() > 0.99
    assert np.asarray(result.outliers)[~wrong & ~missing].mean() < 0.01


def test_intervals_of_a_wide_table_hold(wide: tuple[Values, Values, Mask, rr.Result]) -> None:
    low, table, _, result = wide
    rows, columns = np.nonzero(np.isnan(table))
    truth = low[rows, columns] + 0.5 * low.std() * np.random.default_rng(1).standard_normal(
        len(rows)
    )
    lower, upper = result.interval(rows, columns, level=0.9)
    assert 0.86 < np.mean((lower <= truth) & (truth <= upper)) < 0.98


def test_a_wide_table_has_everything_that_others_have(
    wide: tuple[Values, Values, Mask, rr.Result],
) -> None:
    _, table, _, result = wide
    assert len(result.rows) == len(table)
    assert len(result.columns) == table.shape[1]
    assert np.isfinite(result.score_rows(table[:3]).residual).all()
    for drawn in result.draw(2):
        assert np.isfinite(drawn).all()
    assert result.table is not None
    axes, variances = result.table.components()
    assert axes.shape == (len(variances), table.shape[1])
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-8)


def test_a_saved_wide_table_is_the_same(
    wide: tuple[Values, Values, Mask, rr.Result], tmp_path: Path
) -> None:
    _, table, _, result = wide
    result.save(tmp_path / "table.npz")
    loaded = rr.load(tmp_path / "table.npz")
    np.testing.assert_array_equal(loaded.frame, result.frame)
    np.testing.assert_array_equal(
        loaded.score_rows(table[:3]).residual, result.score_rows(table[:3]).residual
    )


def test_a_saved_table_of_both_kinds_is_refused(
    wide: tuple[Values, Values, Mask, rr.Result], tmp_path: Path
) -> None:
    result = wide[-1]
    result.save(tmp_path / "table.npz")
    with np.load(tmp_path / "table.npz") as file:
        arrays = dict(file)
    arrays["table_model_normal_covariance"] = np.eye(result.shape[1])
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match=r"other\.npz"):
        rr.load(tmp_path / "other.npz")


def test_estimators_take_wide_tables(wide: tuple[Values, Values, Mask, rr.Result]) -> None:
    _, table, _, result = wide
    imputer = RobustImputer().fit(table)
    filled = np.isnan(table) & imputer.predicted_features_
    assert filled.mean() > 0.09
    np.testing.assert_allclose(imputer.transform(table)[filled], np.asarray(result.frame)[filled])
    pca = RobustPCA(n_components=3).fit(table)
    assert pca.transform(table[:2]).shape == (2, 3)
    assert pca.score_samples(table[:2]).shape == (2,)


def test_batches_of_a_wide_table() -> None:
    table = planted(50, MANY + 10, noise=0.5)[1]
    imputer = RobustImputer().partial_fit(table[:30]).partial_fit(table[30:])
    assert np.isfinite(imputer.transform(table)).all()


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_low_rank_with_noise_is_found_among_wrong_rows(seed: int) -> None:
    """Its factors tell wrong rows, which the start of the normal model cannot recognize."""
    low, table, wrong = planted(120, 60, noise=0.02, seed=seed)
    rows, rng = np.arange(120) < 36, np.random.default_rng(100 + seed)
    table[rows] = np.nanmedian(table, axis=0) + low.std() * rng.standard_normal((36, 60))
    result = rr.clean(table)
    assert result.status is rr.Status.PREDICTIVE
    np.testing.assert_array_equal(result.row_outliers, rows)
    assert result.table is not None
    assert isinstance(result.table.model.normal, FactorNormal)
    error = (result.table.expected - low)[~rows][np.isnan(table[~rows]) | wrong[~rows]]
    assert np.sqrt(np.mean(error**2)) < 0.5 * 0.02 * low.std()


@pytest.mark.parametrize("shape", [(3, 2 * MANY), (2, 2 * MANY), (40, 2 * MANY)])
def test_few_rows_and_columns_without_values_or_spread(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal(shape)
    table[:, 5], table[:, 6] = np.nan, 3.0
    table[0, 7] = np.inf
    result = rr.clean(table)
    frame = np.asarray(result.frame)
    assert np.isnan(frame[:, 5]).all()
    np.testing.assert_array_equal(frame[:, 6], 3.0)
    assert np.isfinite(np.delete(frame, 5, axis=1)).all()


@pytest.mark.parametrize("columns", [MANY - 10, MANY + 10])
def test_most_cells_may_be_missing(columns: int) -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((60, 3)) @ rng.standard_normal((3, columns))
    table += 0.5 * rng.standard_normal(table.shape)
    hidden = rng.random(table.shape) < 0.6
    result = rr.clean(np.where(hidden, np.nan, table), transform_skewed=False)
    assert result.status is rr.Status.PREDICTIVE
    assert np.sqrt(np.mean((result.frame - table)[hidden] ** 2)) < 0.45 * table.std()


def test_many_columns_of_noise_say_nothing_about_each_other() -> None:
    """That means are better than medians is not a prediction."""
    result = rr.clean(np.random.default_rng(0).standard_normal((100, 1000)))
    assert result.status is rr.Status.INCONCLUSIVE


def test_precise_and_noisy_columns_have_intervals_of_their_own() -> None:
    rng = np.random.default_rng(0)
    noise = np.where(np.arange(50) < 35, 0.01, 3.0)
    table = rng.standard_normal((100, 2)) @ rng.choice([-1.0, 1.0], (2, 50))
    table += noise * rng.standard_normal(table.shape)
    hidden = rng.random(table.shape) < 0.1
    result = rr.clean(np.where(hidden, np.nan, table))
    assert np.asarray(result.outliers).mean() < 0.01
    at = np.nonzero(hidden & (noise > 1))
    low, high = result.interval(*at, level=0.9)
    assert np.mean((low <= table[at]) & (table[at] <= high)) > 0.6  # it was 0.2


@pytest.mark.parametrize(
    ("stage", "noise"),
    [("search", 0.0), ("rank", 0.0), ("factors", 0.02), ("held out", 0.02)],
)
def test_a_callback_that_returns_true_once_stops_the_call(stage: str, noise: float) -> None:
    answers: list[str] = []

    def stop(progress: rr.Progress) -> bool:
        if progress.stage.startswith(stage):
            answers.append(progress.stage)
        return len(answers) == 1 and progress.stage.startswith(stage)

    result = rr.clean(planted(120, 60, noise=noise)[1], callback=stop)
    assert result.stopped is rr.StopReason.CALLBACK
    assert len(answers) == 1
    assert np.isfinite(result.frame).all()


def test_a_call_that_is_stopped_while_factors_are_tried_has_the_fit_before() -> None:
    table = planted(120, 60, noise=0.02)[1]
    stopped = rr.clean(table, callback=lambda now: now.stage == "factors")
    assert stopped.stopped is rr.StopReason.CALLBACK
    assert stopped.table is not None
    assert isinstance(stopped.table.model.normal, Normal)
    whole = rr.clean(table).table
    assert whole is not None
    assert isinstance(whole.model.normal, FactorNormal)
