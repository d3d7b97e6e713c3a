"""``clean`` on data frames of pandas: dtypes, labels and shapes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from damaged_frames import MISSING, ROWS, WRONG, damaged, numbers

import robustrank as rr

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "dtype",
    [
        *("float64", "float32", "float16", "Float64", "Float32", "Int64", "Int8", "UInt8"),
        *("int64[pyarrow]", "uint8[pyarrow]", "double[pyarrow]", "float[pyarrow]"),
        "Sparse[float64]",
    ],
)
def test_numbers_of_every_dtype_are_cleaned_and_keep_it(dtype: str) -> None:
    given = damaged().astype({"tested": dtype})
    before = given.copy()
    result = rr.clean(given)
    cleaned = result.frame
    pd.testing.assert_frame_equal(given, before)
    assert cleaned.dtypes.equals(given.dtypes)
    assert result.outliers.loc[WRONG, "tested"]
    for row in (MISSING, WRONG):
        assert abs(float(cleaned.loc[row, "tested"]) - numbers().loc[row, "tested"]) < 12
    others = given.index.difference([MISSING, WRONG])
    pd.testing.assert_frame_equal(cleaned.loc[others], given.loc[others])


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]"])
def test_truth_values_with_missing_ones_are_filled(dtype: str) -> None:
    given = numbers()
    truth = given["tested"] > 50
    given["tested"] = truth.astype("boolean").mask(given.index == WRONG).astype(dtype)
    cleaned = rr.clean(given).frame
    assert cleaned["tested"].dtype == dtype
    assert cleaned["tested"].astype(bool).equals(truth)


def _object(value: float, kind: Any) -> Any:
    return None if np.isnan(value) else kind(value)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (float, object),
        (int, object),
        (lambda value: Decimal(f"{value:.2f}"), object),
        (lambda value: Decimal(f"{value:.2f}"), pd.ArrowDtype(pa.decimal128(12, 2))),
    ],
    ids=["float", "int", "Decimal", "decimal of Arrow"],
)
def test_objects_that_are_all_numbers_are_cleaned_and_stay_such_objects(
    kind: Any, dtype: Any
) -> None:
    given = damaged()
    objects = [_object(value, kind) for value in given["tested"]]
    given["tested"] = pd.Series(objects, dtype=dtype)
    result = rr.clean(given)
    cleaned = result.frame["tested"]
    assert cleaned.dtype == dtype
    assert result.outliers.loc[WRONG, "tested"]
    for row in (MISSING, WRONG):
        assert type(cleaned[row]) is type(objects[0])
        assert abs(float(cleaned[row]) - numbers().loc[row, "tested"]) < 12
    others = given.index.difference([MISSING, WRONG])
    pd.testing.assert_series_equal(cleaned[others], given["tested"][others])


def test_objects_that_are_truth_values_are_filled() -> None:
    given = numbers()
    truth = given["tested"] > 50
    given["tested"] = truth.astype(object).mask(given.index == WRONG, None)
    assert rr.clean(given).frame["tested"].tolist() == truth.tolist()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["x", None] * 60),
        pd.Series(["x", None] * 60, dtype="category"),
        pd.Series([1, 2] * 60, dtype="category"),
        pd.Series(["x", None] * 60, dtype="string[pyarrow]"),
        pd.Series(pd.date_range("2026", periods=ROWS, tz="UTC")),
        pd.Series(pd.to_timedelta(range(ROWS), unit="h")),
        pd.Series(pd.period_range("2026", periods=ROWS, freq="D")),
        pd.Series([1 + 2j] * ROWS),
        pd.Series([None] * ROWS),
        pd.Series([1, "x"] * 60, dtype=object),
    ],
    ids=lambda column: f"{column.dtype} {column[0]}",
)
def test_other_columns_stay_as_they_are(column: pd.Series) -> None:
    given = damaged()
    given.insert(2, "other", column)
    result = rr.clean(given)
    pd.testing.assert_series_equal(result.frame["other"], given["other"])
    assert result.frame.columns.equals(given.columns)
    assert dict(result.summary())["kept"] == "as they are: other"
    assert "other" not in result.columns.index
    pd.testing.assert_frame_equal(
        result.frame.drop(columns="other"), rr.clean(damaged()).frame, check_exact=True
    )
    np.testing.assert_array_equal(result.score_rows(given).distance, result.score_rows().distance)


@pytest.mark.parametrize("dtype", ["float64", "Int64", "double[pyarrow]", "boolean"])
def test_a_column_without_values_stays_empty(dtype: str) -> None:
    given = damaged()
    given["none"] = pd.Series([None] * ROWS, dtype=dtype)
    result = rr.clean(given)
    pd.testing.assert_series_equal(result.frame["none"], given["none"])
    assert result.columns.loc["none", "verdict"] == "empty"


def test_labels_of_several_levels() -> None:
    given = damaged()
    given.index = pd.MultiIndex.from_product([range(12), range(10)], names=["day", "hour"])
    given.columns = pd.MultiIndex.from_product([["Rome"], given.columns])
    result = rr.clean(given)
    row, column = (0, WRONG), ("Rome", "tested")
    assert result.frame.index.equals(given.index)
    assert result.frame.columns.equals(given.columns)
    assert result.outliers.loc[row, column]
    assert (row, column) in zip(result.cells["row"], result.cells["column"], strict=True)
    assert result.rows.index.equals(given.index)
    assert result.columns.index.equals(given.columns)
    low, high = result.interval([row], [column])
    plain = rr.clean(given.to_numpy())
    assert (low, high) == plain.interval([WRONG], [5])
    assert result.interval(row, column)[0].shape == ()
    with pytest.raises(KeyError, match=r"rows: '\(0, 99\)' is not a label"):
        result.interval([(0, 99)], [column])


@pytest.mark.parametrize("labels", [[*"ababcc"], [1, 1, 1, 2, 2, 2], [None] * 6])
def test_labels_that_occur_several_times(labels: list[Any]) -> None:
    given = damaged().set_axis(labels, axis=1).set_axis([0, 1] * 60)
    result = rr.clean(given)
    assert result.frame.columns.equals(given.columns)
    assert result.frame.index.equals(given.index)
    np.testing.assert_array_equal(result.frame, rr.clean(damaged()).frame)
    assert len(result.columns) == 6


@pytest.mark.parametrize(
    ("table", "shape"),
    [
        (damaged()[:1], "1 rows and 6 columns"),
        (damaged()[:0], "0 rows and 6 columns"),
        (damaged()[[]], "120 rows and 0 columns"),
    ],
    ids=["one row", "no row", "no column"],
)
def test_frames_that_are_too_small(table: pd.DataFrame, shape: str) -> None:
    with pytest.raises(ValueError, match=shape):
        rr.clean(table)


def test_a_frame_with_one_column() -> None:
    result = rr.clean(damaged()[["tested"]])
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.frame["tested"].notna().all()
