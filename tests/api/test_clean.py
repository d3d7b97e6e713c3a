"""``clean``: what is filled, what is wrong, what is claimed, and in which form it is returned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from odd_tables import ODD_TABLES

import robustrank as rr

Array = np.ndarray[Any, Any]

LOADINGS = np.array([1.0, 20.0, 0.3, 500.0, -3.0, 8.0])
WRONG = ((7, 1), (20, 3), (21, 0), (40, 5))


Change = Callable[[Array], Array]


def planted(rows: int = 200, noise: float = 0.3, seed: int = 1) -> Array:
    """Rows with one factor, columns with different units."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((rows, 1))
    return np.asarray((factor + noise * rng.standard_normal((rows, 6))) * LOADINGS)


def broken(seed: int = 1) -> tuple[Array, Array]:
    """A table with missing cells, wrong cells and two wrong rows; and the truth."""
    truth, rng = planted(seed=seed), np.random.default_rng(seed)
    table = truth.copy()
    table[60:62] = 4 * LOADINGS * [[1, -1, 1, -1, 1, -1]]
    table[rng.random(table.shape) < 0.05] = np.nan
    for i, j in WRONG:
        table[i, j] = truth[i, j] + 8 * np.abs(LOADINGS[j])
    return table, truth


def test_wrong_cells_and_rows_are_named_and_missing_cells_filled() -> None:
    table, truth = broken()
    result = rr.clean(table)
    assert result.status is rr.Status.PREDICTIVE
    assert not result.certified
    assert result.row_outliers.nonzero()[0].tolist() == [60, 61]
    right = ~result.row_outliers[:, None]
    assert set(map(tuple, np.argwhere(result.outliers & right).tolist())) >= {*WRONG}
    assert np.count_nonzero(result.outliers & right) <= len(WRONG) + 3
    replaced = (np.isnan(table) | result.outliers) & right
    error = ((result.frame - truth) / LOADINGS)[replaced]
    assert np.sqrt(np.mean(error**2)) < 0.45  # the noise is 0.3
    assert np.array_equal(result.frame[~replaced & right], table[~replaced & right])


def test_intervals_contain_what_is_missing() -> None:
    inside = []
    for seed in range(5):
        truth = planted(seed=seed)
        hidden = np.less(np.random.default_rng(seed).random(truth.shape), 0.2)
        result = rr.clean(np.where(hidden, np.nan, truth))
        low, high = result.interval(*hidden.nonzero(), level=0.9)
        inside.append((low <= truth[hidden]) & (truth[hidden] <= high))
    assert 0.86 <= np.mean(np.concatenate(inside)) <= 0.94


def test_intervals_of_skewed_columns_have_equal_tails_and_are_within_their_range() -> None:
    below, above = [], []
    for seed in range(5):
        truth = np.exp(planted(300, 0.6, seed=seed) / np.abs(LOADINGS)) * np.abs(LOADINGS)
        hidden = np.less(np.random.default_rng(seed).random(truth.shape), 0.2)
        result = rr.clean(np.where(hidden, np.nan, truth))
        assert result.table is not None
        assert result.table.model.units.skewness.all()
        low, high = result.interval(*hidden.nonzero(), level=0.9)
        below.append(truth[hidden] < low)
        above.append(truth[hidden] > high)
        assert np.mean(low < 0) < 0.1
        assert result.table.held_out.inside == pytest.approx(0.9, abs=0.07)
    assert 0.03 <= np.mean(np.concatenate(below)) <= 0.07
    assert 0.03 <= np.mean(np.concatenate(above)) <= 0.07


def test_errors_by_column_are_those_of_left_out_cells() -> None:
    """One factor: the conditional deviation of a column is 0.3 √(1 + 1 / (5 + 0.09))."""
    result = rr.clean(planted(1000))
    expected = np.abs(LOADINGS) * 0.3 * np.sqrt(1 + 1 / (5 + 0.09))
    assert np.asarray(result.error_by_column) == pytest.approx(expected, rel=0.25)
    assert np.asarray(result.columns["noise"]) == pytest.approx(expected, rel=0.1)
    assert (result.columns["skill"] > 0.8).all()


def test_independent_columns_are_not_predicted() -> None:
    table = np.random.default_rng(2).standard_normal((150, 5))
    table[3, 2] = np.nan
    result = rr.clean(table)
    assert result.status is rr.Status.INCONCLUSIVE
    assert "not predicted clearly better" in str(dict(result.summary())["status"])
    assert np.isfinite(result.frame).all()


@pytest.mark.parametrize("seed", range(3))
def test_independent_columns_are_not_predicted_if_there_are_more_of_them_than_rows(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((60, 300))
    table[rng.random(table.shape) < 0.2] = np.nan
    assert rr.clean(table).status is rr.Status.INCONCLUSIVE


def test_only_columns_that_are_clearly_not_predicted_are_named() -> None:
    rng = np.random.default_rng(4)

    few = rr.clean(planted(60) + 0.5 * rng.standard_normal((60, 6)) * LOADINGS)
    assert "columns" not in dict(few.summary())
    table = np.hstack([planted(400), rng.standard_normal((400, 1))])
    many = rr.clean(pd.DataFrame(table, columns=[*"abcdef", "noise"]))
    assert dict(many.summary())["columns"] == "not predicted by the others: noise"
    verdicts = many.columns["verdict"]
    assert verdicts.index[verdicts == "not predicted"].tolist() == ["noise"]


def test_skewed_columns_that_predict_each_other_are_predictive() -> None:
    """Although the largest values have most of the errors in the units of the data."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8))
        table = np.exp(factors / np.sqrt(2) + 0.4 * rng.standard_normal((300, 8)))
        assert rr.clean(table).status is rr.Status.PREDICTIVE


def test_a_table_of_low_rank_is_recovered_exactly() -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15)) + 5
    table = truth.copy()
    table[rng.random(table.shape) < 0.05] = 100.0
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:8] = 3 * rng.standard_normal((8, 15))
    result = rr.clean(table)
    assert result.status is rr.Status.RECOVERED
    assert result.row_outliers.nonzero()[0].tolist() == [*range(8)]
    np.testing.assert_allclose(result.frame[8:], truth[8:], atol=1e-8)
    np.testing.assert_allclose(result.matrix[8:], truth[8:], atol=1e-8)


def test_columns_that_the_low_rank_does_not_determine_are_named() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15)) + 5
    table[3:, 4] = np.nan
    result = rr.clean(table)
    assert result.status is rr.Status.RECOVERED
    assert result.undecided_columns.tolist() == [4]
    assert np.isfinite(result.frame).all()
    with pytest.raises(ValueError, match="for new rows of a table, use score_rows or"):
        result.fit_rows(table[:3])


def frame() -> pd.DataFrame:
    """Columns of many kinds, with labels in no order, one of them twice."""
    table, _ = broken()
    found = pd.DataFrame(table, columns=[*"dcbafe"], index=np.arange(200)[::-1])
    found["name"] = "x"
    found["when"] = pd.Timestamp("2026-01-01")
    found["count"] = np.round(20 + 5 * table[:, 0]).astype("float64")
    found["count"] = found["count"].astype("Int64")
    found["exact"] = np.arange(200, dtype=np.int16)
    found["yes"] = planted()[:, 0] > 0
    found["empty"] = np.nan
    found["constant"] = 7.5
    found["small"] = planted()[:, 1].astype(np.float32)
    return found


def test_a_data_frame_keeps_labels_dtypes_and_order() -> None:
    given = frame()
    before = given.copy()
    result = rr.clean(given, ignore=["exact"])
    pd.testing.assert_frame_equal(given, before)
    cleaned = result.frame
    assert cleaned.columns.equals(given.columns)
    assert cleaned.index.equals(given.index)
    assert cleaned.dtypes.equals(given.dtypes)
    for name in ("name", "when", "exact", "empty", "constant"):
        pd.testing.assert_series_equal(cleaned[name], given[name])
    assert cleaned.drop(columns="empty").notna().all().all()
    assert dict(result.summary())["kept"] == "as they are: name, when, exact"
    assert "without values: empty" in dict(result.summary())["columns"]
    assert result.undecided_columns.tolist() == ["empty"]
    assert (200 - 1 - 7, "c") in zip(result.cells["row"], result.cells["column"], strict=True)
    assert result.outliers.loc[200 - 1 - 7, "c"]
    assert result.rows.index.equals(given.index)
    assert result.rows.loc[200 - 1 - 60, "verdict"] == "wrong"
    assert result.error_by_column["a"] > result.error_by_column["d"]


def test_cells_list_missing_and_wrong_ones_with_what_is_expected() -> None:
    table, truth = broken()
    cells = rr.clean(table).cells
    missing = cells[cells["value"].isna()]
    assert len(missing) == np.isnan(table).sum()
    assert missing["probability"].isna().all()
    line = cells[(cells["row"] == 7) & (cells["column"] == 1)].iloc[0]
    assert line["value"] == table[7, 1]
    assert line["probability"] > 0.999
    assert abs(line["expected"] - truth[7, 1]) < 4 * line["standard_error"]


def test_columns_with_the_same_name() -> None:
    table, _ = broken()
    given = pd.DataFrame(table, columns=["a", "b", "a", "c", "d", "e"])
    result = rr.clean(given)
    np.testing.assert_array_equal(result.frame.to_numpy(), rr.clean(table).frame)


def test_labelled_arrays_are_stacked_and_returned_in_their_shape() -> None:
    xarray = pytest.importorskip("xarray")
    table, _ = broken()
    cube = xarray.DataArray(
        table.reshape(200, 2, 3),
        dims=("time", "lat", "lon"),
        coords={"lat": [10.0, 20.0], "lon": [1.0, 2.0, 3.0]},
        name="temperature",
    )
    cleaned = rr.clean(cube).frame
    assert cleaned.dims == cube.dims
    assert cleaned.name == "temperature"
    np.testing.assert_array_equal(cleaned.lat, cube.lat)
    np.testing.assert_array_equal(cleaned.values.reshape(200, 6), rr.clean(table).frame)


def test_masked_arrays_and_integers() -> None:
    table, _ = broken()
    masked = np.ma.masked_invalid(table)
    np.testing.assert_array_equal(rr.clean(masked).frame, rr.clean(table).frame)
    whole = np.round(10 * planted()).astype(np.int32)
    whole[7, 1] = 5000
    cleaned = rr.clean(whole).frame
    assert cleaned.dtype == np.int32
    assert np.argwhere(cleaned != whole).tolist() == [[7, 1]]


def test_long_tables_are_explained_by_a_model_of_some_rows() -> None:
    table = planted(30_000)
    table[29_999, 1] = 400
    result = rr.clean(table)
    assert result.frame.shape == table.shape
    assert result.outliers[29_999, 1]
    assert np.mean(result.outliers) < 1e-3
    noise = np.abs(LOADINGS) * 0.3 * np.sqrt(1 + 1 / (5 + 0.09))
    assert np.asarray(result.columns["noise"]) == pytest.approx(noise, rel=0.03)


def test_infinite_cells_are_wrong() -> None:
    table = planted()
    table[5, 2] = np.inf
    result = rr.clean(table)
    assert result.outliers[5, 2]
    assert np.isfinite(result.frame).all()


def test_draws_give_honest_errors_of_a_regression() -> None:
    """Rubin's rules: the 95 % intervals of a coefficient contain the true one."""
    covered, draws = [], 8
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(120)
        y = 0.8 * x + 0.6 * rng.standard_normal(120)
        z = x + 0.5 * rng.standard_normal(120)
        table = np.column_stack([x, y, z])
        table[rng.random(120) < 0.4, 0] = np.nan
        result = rr.clean(table)
        slopes, variances = zip(*(slope_of(one) for one in result.draw(draws)), strict=True)
        between = float(np.var(slopes, ddof=1))
        error = np.sqrt(np.mean(variances) + (1 + 1 / draws) * between)
        covered.append(abs(np.mean(slopes) - 0.8) < 2.1 * error)
        assert between > 0
    assert np.mean(covered) >= 0.85


def slope_of(table: Array) -> tuple[float, float]:
    """The coefficient of x in a regression of y on x, and its variance."""
    x, y = table[:, 0] - table[:, 0].mean(), table[:, 1] - table[:, 1].mean()
    slope = float(x @ y / (x @ x))
    return slope, float(np.sum((y - slope * x) ** 2) / (len(x) - 2) / (x @ x))


def test_draws_keep_what_is_known_and_repeat_with_the_seed() -> None:
    table, _ = broken()
    result = rr.clean(table)
    known = ~np.isnan(table) & ~result.outliers
    first, second = result.draw(2)
    np.testing.assert_array_equal(first[known], table[known])
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, next(result.draw(1)))


def test_new_rows_are_scored() -> None:
    result = rr.clean(planted())
    rows = np.array([LOADINGS, -LOADINGS, 6 * LOADINGS, LOADINGS * [1, -1, 1, -1, 1, -1]])
    scores = result.score_rows(rows)
    assert (scores.distance[:2] < 1).all()
    assert scores.distance[2] > 1.5
    assert scores.residual[3] > 2 > scores.residual[2]
    assert scores.wrong.tolist() == [False, False, False, True]
    with pytest.raises(ValueError, match=r"X has shape \(4, 2\); expected \(rows, 6\)"):
        result.score_rows(rows[:, :2])


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("change", ["scale", "extreme scale", "shift", "rows", "columns"])
def test_the_answer_does_not_depend_on_units_or_order(change: str, skewed: bool) -> None:
    table, _ = broken()
    if skewed:
        table[:, 2] = np.exp(table[:, 2] / np.abs(LOADINGS[2]))
    rng = np.random.default_rng(5)
    scale, shift = 10.0 ** rng.uniform(-6, 6, 6), 100 * rng.standard_normal(6) * LOADINGS
    extreme = np.array([1e-200, 1e200, 1.0, 1e-200, 1e200, 1e3])
    rows, columns = rng.permutation(200), rng.permutation(6)
    changes: dict[str, Change] = {
        "scale": lambda x: x * scale,
        "extreme scale": lambda x: x * extreme,
        "shift": lambda x: x + shift,
        "rows": lambda x: x[rows],
        "columns": lambda x: x[:, columns],
    }
    there = changes[change]
    plain, changed = rr.clean(table), rr.clean(there(table))
    order: Change = there if change in ("rows", "columns") else (lambda x: x)
    np.testing.assert_array_equal(changed.outliers, order(plain.outliers))
    spread = np.ptp(there(plain.frame), axis=0)
    np.testing.assert_allclose((changed.frame - there(plain.frame)) / spread, 0, atol=1e-6)
    assert np.isfinite(np.asarray(changed.left)).all()
    if change.endswith("scale"):
        skill = np.asarray(changed.columns["skill"])
        np.testing.assert_allclose(skill, plain.columns["skill"], atol=1e-6)


def test_of_a_long_table_a_low_rank_is_searched_in_some_rows_first() -> None:
    rng = np.random.default_rng(2)
    low_rank = rng.standard_normal((5_200, 2)) @ rng.standard_normal((2, 20))
    wrong = rng.random(low_rank.shape) < 0.02
    for noise, sizes in ((0.0, {5_000, 5_200}), (0.05, {5_000})):
        table = np.where(wrong, 9.0, low_rank + noise * rng.standard_normal(low_rank.shape))
        searched: set[int] = set()

        def note(now: rr.Progress, searched: set[int] = searched) -> None:
            if now.stage.startswith("rank"):
                searched.add(len(np.asarray(now.left)))

        result = rr.clean(table, callback=note)
        assert result.status.name == ("PREDICTIVE" if noise else "RECOVERED")
        assert searched == sizes


@pytest.mark.parametrize("labels", [True, False])
def test_saved_results_are_the_same(labels: bool, tmp_path: Path) -> None:
    table, _ = broken()
    result = rr.clean(frame() if labels else table, ignore=["exact"] if labels else [])
    result.save(tmp_path / "table.npz")
    loaded = rr.load(tmp_path / "table.npz")
    assert isinstance(loaded, rr.Result)
    assert repr(loaded) == repr(result)
    pd.testing.assert_frame_equal(loaded.cells, result.cells)
    pd.testing.assert_frame_equal(loaded.columns, result.columns)
    numbers = [*"dcbafe", "small"] if labels else slice(None)
    np.testing.assert_allclose(np.asarray(loaded.frame[numbers]), result.frame[numbers], rtol=1e-6)
    np.testing.assert_allclose(  # arrays are laid out differently when they are loaded
        loaded.score_rows(table[:3] if not labels else None).distance[:3],
        result.score_rows().distance[:3],
        rtol=1e-12,
    )


def damaged(path: Path, **changed: Any) -> Path:
    """A saved result of which arrays are replaced, or removed by None."""
    rr.clean(broken()[0]).save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays = {name: values for name, values in (arrays | changed).items() if values is not None}
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    "changed",
    [
        {"table_given": np.zeros((3, 6))},
        {"table_wrong": np.zeros((200, 6))},
        {"table_model_normal_mean": None},
        {"table_model_wrong_cells": np.zeros(2)},
        {"table_held_out_errors": np.zeros(6, np.float32)},
    ],
)
def test_damaged_tables_are_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    path = damaged(tmp_path / "table.npz", **changed)
    with pytest.raises(ValueError, match=r"is not a saved result: '?table_"):
        rr.load(path)


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (np.zeros(3), {}, ValueError, r"has shape \(3,\); expected \(rows, columns\)"),
        (np.zeros((2, 3, 4)), {}, ValueError, "or pass an xarray.DataArray"),
        (scipy.sparse.eye_array(9).tocsr(), {}, TypeError, r"sparse .* pass table\.toarray\(\)"),
        (SimpleNamespace(obs=0, to_df=0), {}, TypeError, r"AnnData object; pass its to_df\(\)"),
        (np.zeros((1, 3)), {}, ValueError, "1 rows and 3 columns"),
        (np.zeros((0, 3)), {}, ValueError, "expected at least two rows"),
        (np.full((4, 3), np.nan), {}, ValueError, "no finite number"),
        (np.array([["a", "b"], ["c", "d"]]), {}, TypeError, "dtype <U1; expected numbers"),
        (pd.DataFrame({"a": ["x", "y"]}), {}, ValueError, r"\(1 columns are not numbers\)"),
        (pd.DataFrame(), {}, ValueError, "0 rows and 0 columns"),
        (pd.DataFrame({"a": [1, 2]}), {"ignore": ["b"]}, KeyError, "ignore names 'b'"),
        (pd.DataFrame({"a": [1, 2]}), {"ignore": "a"}, TypeError, r"expected a list .* \['a'\]"),
        (np.zeros((4, 3)), {"ignore": ["a"]}, TypeError, "but the table is not one"),
        (np.zeros((4, 3)), {"callback": 3}, TypeError, "expected a function"),
        (np.zeros((4, 3)), {"time_limit": -1}, ValueError, "time_limit"),
    ],
)
def test_invalid_input(
    table: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rr.clean(table, **options)


@pytest.mark.parametrize(
    "table",
    [*ODD_TABLES.values(), np.vstack([planted(20), np.full((3, 6), np.nan)])],
    ids=[*ODD_TABLES, "empty rows"],
)
def test_odd_tables_are_answered_without_warnings(table: Array) -> None:
    result = rr.clean(table)
    assert result.frame.shape == table.shape
    assert result.frame.dtype == table.dtype
    known = np.isfinite(table.astype(float)) & ~result.outliers
    np.testing.assert_array_equal(result.frame[known], table[known])
    assert np.isfinite(result.frame[:, ~np.isnan(table.astype(float)).all(axis=0)]).all()
    assert isinstance(repr(result), str)


def test_a_callback_stops_the_run() -> None:
    stages = []

    def stop(progress: rr.Progress) -> bool:
        stages.append((progress.stage, progress.fraction))
        return len(stages) == 2

    result = rr.clean(broken()[0], callback=stop)
    assert [stage for stage, _ in stages] == ["normal model"] * 2
    assert result.stopped is rr.StopReason.CALLBACK
    assert result.status is rr.Status.INCONCLUSIVE
    assert np.isfinite(result.frame).all()
    assert rr.clean(broken()[0], time_limit=1e-9).stopped is rr.StopReason.TIME_LIMIT


@pytest.mark.parametrize("step", [1, 4, 7])
def test_ctrl_c_loses_nothing(step: int) -> None:
    steps = []

    def press(_progress: rr.Progress) -> None:
        steps.append(1)
        if len(steps) == step:
            raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as raised:
        rr.clean(broken()[0], callback=press)
    assert np.isfinite(raised.value.result.frame).all()


def test_other_results_are_no_tables() -> None:
    result = rr.complete(rr.simulate.plant_entries(30, 24, 1, 500, rng=2).incomplete)
    with pytest.raises(ValueError, match=r"not that of a table; use robustrank\.clean"):
        result.cells  # noqa: B018  # the property raises
