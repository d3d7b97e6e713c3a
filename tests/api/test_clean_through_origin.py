"""``clean(table, center=False)``: rows and columns of any scale, and transposed tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_tables import ODD_TABLES

import robustrank as rr
from robustrank.tables.units import units_through_origin

Array = np.ndarray[Any, Any]

LONG, WIDE, SQUARE = (200, 20), (20, 50), (30, 30)
SHAPES = LONG, WIDE, SQUARE


@cache
def damaged(rows: int, columns: int, seed: int = 0) -> tuple[Array, Array]:
    """A table of rank two with 5 % noise, missing and wrong cells and a broken row; the truth."""
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, columns))
    truth = low + 0.05 * rng.standard_normal(low.shape)
    table = np.where(rng.random(low.shape) < 0.05, 10 * truth, truth)
    table[3] = rng.standard_normal(columns)
    table[rng.random(low.shape) < 0.1] = np.nan
    return table, truth


@cache
def answer(rows: int, columns: int) -> rr.Result:
    return rr.clean(damaged(rows, columns)[0], center=False)


def same(result: rr.Result, outliers: Array, frame: Array, rows: Array, columns: Array) -> None:
    """The flags are equal, and the filled table is, up to rounding."""
    np.testing.assert_array_equal(result.outliers, outliers)
    np.testing.assert_array_equal(result.row_outliers, rows)
    np.testing.assert_array_equal(result.column_outliers, columns)
    np.testing.assert_allclose(result.frame, frame, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), decades=st.integers(0, 30))
def test_scales_of_rows_and_columns_do_not_matter(
    shape: tuple[int, int], seed: int, decades: int
) -> None:
    table, plain, rng = damaged(*shape)[0], answer(*shape), np.random.default_rng(seed)
    rows, columns = (10 ** rng.uniform(-decades, decades, size) for size in shape)
    scale = rows[:, None] * columns
    found = rr.clean(table * scale, center=False)
    flags = plain.row_outliers, plain.column_outliers
    same(found, plain.outliers, plain.frame * scale, *flags)
    assert found.certificate.least_skill == pytest.approx(plain.certificate.least_skill)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), transposed=st.booleans())
def test_order_and_orientation_do_not_matter(
    shape: tuple[int, int], seed: int, transposed: bool
) -> None:
    table, plain, rng = damaged(*shape)[0], answer(*shape), np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) for size in shape)
    both = np.ix_(rows, columns)
    outliers, frame = plain.outliers[both], plain.frame[both]
    flags = plain.row_outliers[rows], plain.column_outliers[columns]
    if transposed:
        same(rr.clean(table[both].T, center=False), outliers.T, frame.T, *flags[::-1])
    else:
        same(rr.clean(table[both], center=False), outliers, frame, *flags)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_broken_row_of_a_long_table_is_named_and_cells_are_found(transposed: bool) -> None:
    table, truth = damaged(*LONG)
    result = rr.clean(table.T if transposed else table, center=False)
    lines = result.column_outliers if transposed else result.row_outliers
    assert lines.nonzero()[0].tolist() == [3]
    outliers, frame = result.outliers, result.frame
    outliers, frame = (outliers.T, frame.T) if transposed else (outliers, frame)
    right = np.arange(len(table)) != 3
    wrong = (np.abs(table) > 5 * np.abs(truth))[right]
    large = wrong & (np.abs(table) > 2)[right]
    assert np.mean(outliers[right][large]) > 0.9
    assert np.mean(outliers[right][~wrong]) < 0.02
    missing = np.isnan(table) & right[:, None]
    assert np.median(np.abs(frame - truth)[missing]) < 0.06


def test_broken_columns_of_a_wide_table_are_named_and_rows_by_their_wrong_cells() -> None:
    table = damaged(*LONG)[0].T.copy()
    broken = [3, 20, 40]
    table[:, broken] = np.random.default_rng(1).standard_normal((20, 3))
    result = rr.clean(table, center=False)
    assert result.column_outliers.nonzero()[0].tolist() == broken
    seen = ~np.isnan(table) & ~result.column_outliers
    shares = (result.outliers & seen).sum(axis=1) / seen.sum(axis=1)
    np.testing.assert_array_equal(result.row_outliers, shares > 0.5)


@pytest.mark.parametrize(("spread", "better"), [(1.0, False), (0.0, True)])
def test_scales_of_rows_need_no_center_and_shifted_columns_do(spread: float, better: bool) -> None:
    """Errors relative to the scales of rows and columns; without row scales, after shifts."""
    errors: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table, truth = damaged(100, 15, seed)
        scale = np.exp(spread * rng.standard_normal((100, 1))) * np.exp(rng.standard_normal(15))
        shift = 0.0 if spread else 50 * rng.standard_normal(15)
        missing = np.isnan(table)
        for center in errors:
            filled = rr.clean(scale * (table + shift), center=center).frame / scale - shift
            errors[center].append(float(np.sqrt(np.mean((filled - truth)[missing] ** 2))))
    assert (np.mean(errors[True]) < 0.9 * np.mean(errors[False])) == better
    assert (np.mean(errors[False]) < 0.9 * np.mean(errors[True])) != better


@pytest.mark.parametrize("shape", SHAPES)
def test_errors_noise_and_scores_are_in_the_units_of_the_columns(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    rows, columns = (np.exp(rng.standard_normal(size)) for size in shape)
    table, plain = damaged(*shape)[0], answer(*shape)
    columns *= 1000
    result = rr.clean(rows[:, None] * columns * table, center=False)
    for name in ("error", "error_of_median", "noise"):
        found = np.asarray(result.columns[name]) / np.asarray(plain.columns[name]) / columns
        np.testing.assert_allclose(found[np.isfinite(found)], np.nanmedian(found))
    np.testing.assert_allclose(result.score_rows().distance, plain.score_rows().distance)
    np.testing.assert_allclose(result.score_rows().residual, plain.score_rows().residual)
    right = ~result.row_outliers
    assert np.median(result.score_rows().residual[right]) < 1
    cleaned = result.table
    assert cleaned is not None
    assert 0.7 < np.nanmedian(cleaned.deviation / cleaned.sizes[0] / cleaned.noise) < 1.5
    assert np.median(cleaned.sizes[0]) == pytest.approx(1, rel=1e-3)
    close = np.abs(result.matrix - result.frame) / (rows[:, None] * columns)
    assert np.median(close[right]) < 0.06
    assert result.matrix.shape == shape
    assert result.left.shape[1] == result.right.shape[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_draws_are_spread_as_the_standard_errors_say(shape: tuple[int, int]) -> None:
    table, result = damaged(*shape)[0], answer(*shape)
    low, high = result.interval(*np.isnan(table).nonzero(), level=0.9)
    draws = np.array([one[np.isnan(table)] for one in result.draw(20)])
    assert 0.8 < np.mean((low <= draws) & (draws <= high)) < 0.97


def test_new_rows_of_any_size_are_scored() -> None:
    table, result = damaged(*LONG)[0], answer(*LONG)
    sizes = np.array([1e-9, 1.0, 1e9])[:, None]
    scores = [result.score_rows(sizes[k] * table[:5]) for k in range(3)]
    for one in scores:
        np.testing.assert_allclose(one.residual, result.score_rows().residual[:5])
        assert one.wrong.tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("shape", [WIDE])
def test_new_rows_are_refused_where_the_model_is_one_of_the_columns(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"20 rows and 50 columns .* together with the new rows"):
        answer(*shape).score_rows(damaged(*shape)[0][:2])


@pytest.mark.parametrize("shape", SHAPES)
def test_saved_results_are_the_same(shape: tuple[int, int], tmp_path: Path) -> None:
    result = answer(*shape)
    result.save(tmp_path / "table.npz")
    loaded = rr.load(tmp_path / "table.npz")
    assert isinstance(loaded, rr.Result)
    assert repr(loaded) == repr(result)
    same(loaded, result.outliers, result.frame, result.row_outliers, result.column_outliers)
    np.testing.assert_allclose(loaded.score_rows().residual, result.score_rows().residual)
    assert np.array_equal(next(loaded.draw(1)), next(result.draw(1)))


@pytest.mark.parametrize("transposed", [False, True])
def test_a_table_of_low_rank_is_recovered_without_a_center(transposed: bool) -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15))
    truth *= np.exp(2 * rng.standard_normal((80, 1))) * np.exp(2 * rng.standard_normal(15))
    table = np.where(rng.random(truth.shape) < 0.05, 30 * truth, truth)
    table[rng.random(truth.shape) < 0.1] = np.nan
    table, truth = (table.T, truth.T) if transposed else (table, truth)
    result = rr.clean(table, center=False)
    assert result.status is rr.Status.RECOVERED
    assert result.left.shape[1] == 2
    np.testing.assert_allclose(result.frame, truth, rtol=1e-6)


def test_sizes_of_rows_and_columns_are_medians() -> None:
    rng = np.random.default_rng(2)
    rows, columns = np.exp(rng.standard_normal((51, 1))), np.exp(rng.standard_normal(9))
    table = rows * columns * rng.choice([-1, 1], (51, 9))
    table[rng.random(table.shape) < 0.1] *= 1e6
    table[4, 1], table[5, 2], table[6, 3] = 0.0, np.nan, np.inf
    units = units_through_origin(table)
    found = units.sizes(table)
    np.testing.assert_allclose(found / rows, np.median(found / rows))
    assert np.median(found) == pytest.approx(1)
    np.testing.assert_allclose(units.scale / columns, np.median(units.scale / columns))
    assert units.sizes(np.array([[0.0] * 9, [np.nan] * 9])) == pytest.approx(
        units.sizes(np.zeros((2, 9)))
    )


def test_rarer_values_of_columns_that_are_mostly_zero_are_not_wrong() -> None:
    rng = np.random.default_rng(0)
    depth = np.exp(rng.standard_normal((150, 1)))
    counts = rng.poisson(5 * depth * np.r_[np.ones(8), 0.03 * np.ones(4)])
    result = rr.clean(counts, center=False)
    assert np.mean(counts[:, 8:] == 0) > 0.6
    assert np.mean(result.outliers) < 0.02


@pytest.mark.parametrize(
    "table",
    [
        *ODD_TABLES.values(),
        np.zeros((6, 3)),
        np.array([[1.7e308, 5e-324], [1e-300, 1.0], [3.0, np.inf]]),
    ],
    ids=[*ODD_TABLES, "zeros", "extreme"],
)
def test_odd_tables_are_answered_without_warnings(table: Array) -> None:
    result = rr.clean(table, center=False)
    assert result.frame.dtype == table.dtype
    known = np.isfinite(table.astype(float)) & ~result.outliers
    np.testing.assert_array_equal(result.frame[known], table[known])
    assert np.isfinite(result.frame.astype(float)).all()
    assert isinstance(repr(result), str)


@pytest.mark.parametrize("shape", SHAPES)
def test_empty_rows_and_columns_stay_empty(shape: tuple[int, int]) -> None:
    table = damaged(*shape)[0].copy()
    table[2], table[:, 4] = np.nan, np.nan
    frame = rr.clean(table, center=False).frame
    assert np.isnan(frame[2]).all()
    assert np.isnan(frame[:, 4]).all()
    assert np.isnan(frame).sum() == sum(shape) - 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 5])
def test_a_stopped_run_has_the_shape_of_the_table(shape: tuple[int, int], steps: int) -> None:
    seen: list[rr.Progress] = []

    def stop(progress: rr.Progress) -> bool:
        seen.append(progress)
        return len(seen) == steps

    result = rr.clean(damaged(*shape)[0], center=False, callback=stop)
    assert result.stopped is rr.StopReason.CALLBACK
    assert np.isfinite(result.frame).all()
    assert result.matrix.shape == shape
