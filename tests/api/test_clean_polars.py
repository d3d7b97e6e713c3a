"""``clean`` on data frames of Polars, which are what the result has as well."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from damaged_frames import MISSING, ROWS, WRONG, damaged, numbers

import robustrank as rr

pl = pytest.importorskip("polars")


POLARS = (pl.Float64, pl.Float32, pl.Int64, pl.UInt8, pl.Int128, pl.Decimal(12, 2))


def polars_frame(dtype: Any = pl.Float64) -> Any:
    """The damaged table with a null, a NaN, and columns that are not numbers."""
    given = pl.DataFrame(damaged().to_dict("list")).with_columns(
        pl.col("tested").fill_nan(None).cast(dtype),
        pl.lit("x").alias("name"),
        pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 4, 30)).alias("when"),
        pl.Series("kind", ["u", None] * 60, dtype=pl.Categorical),
        pl.Series("none", [None] * ROWS, dtype=pl.Float64),
    )
    nan = pl.int_range(pl.len()) == 17
    return given.with_columns(pl.when(nan).then(float("nan")).otherwise("b").alias("b"))


@pytest.mark.parametrize("dtype", POLARS, ids=str)
def test_a_frame_of_polars_keeps_names_dtypes_and_order(dtype: Any) -> None:
    given = polars_frame(dtype)
    before = given.clone()
    result = rr.clean(given)
    assert given.equals(before)
    cleaned = result.frame
    assert cleaned.schema == given.schema
    assert result.outliers["tested"][WRONG]
    for row in (MISSING, WRONG):
        assert abs(float(cleaned["tested"][row]) - numbers().loc[row, "tested"]) < 12
    assert abs(cleaned["b"][17] - numbers().loc[17, "b"]) < 20
    others = [row for row in range(ROWS) if row not in (MISSING, WRONG, 17)]
    assert cleaned[others].equals(given[others])
    assert dict(result.summary())["kept"] == "as they are: name, when, kind"


def test_truth_values_of_polars_are_filled() -> None:
    truth = (numbers()["tested"] > 50).tolist()
    column = pl.Series("tested", [None if row == WRONG else one for row, one in enumerate(truth)])
    cleaned = rr.clean(polars_frame().with_columns(column)).frame
    assert cleaned["tested"].to_list() == truth


def test_what_is_found_in_a_frame_of_polars_is_one_too() -> None:
    given = polars_frame()
    result = rr.clean(given, ignore=["a"])
    assert result.frame["a"].equals(given["a"])
    line = result.cells.filter(row=WRONG, column="tested")
    assert line["value"].to_list() == [3.0]
    missing = result.cells.filter(row=MISSING, column="tested")
    assert missing["value"].to_list() == missing["probability"].to_list() == [None]
    assert result.rows["row"].to_list() == [*range(ROWS)]
    assert result.columns["column"].to_list() == result.outliers.columns
    assert result.outliers.columns == [*"bcde", "tested", "none"]
    assert result.error_by_column.equals(result.columns["error"])
    low, high = result.interval([WRONG], ["tested"])
    assert low < numbers().loc[WRONG, "tested"] < high
    np.testing.assert_array_equal(result.score_rows(given).distance, result.score_rows().distance)
    assert next(result.draw(1)).schema == given.schema
    assert pickle.loads(pickle.dumps(result)).frame.equals(result.frame)


def test_the_answer_is_that_for_the_same_frame_of_pandas(tmp_path: Path) -> None:
    result, expected = rr.clean(pl.DataFrame(damaged().to_dict("list"))), rr.clean(damaged())
    np.testing.assert_array_equal(result.frame.to_numpy(), expected.frame)
    np.testing.assert_array_equal(result.outliers.to_numpy(), expected.outliers)
    result.save(tmp_path / "table.npz")
    loaded = rr.load(tmp_path / "table.npz")
    assert isinstance(loaded, rr.Result)
    pd.testing.assert_frame_equal(loaded.cells, expected.cells)
    np.testing.assert_array_equal(loaded.frame, expected.frame)


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (
            pl.LazyFrame({"a": [1.0]}),
            {},
            TypeError,
            r"LazyFrame of Polars; pass table\.collect\(\)",
        ),
        (pl.DataFrame(), {}, ValueError, "0 rows and 0 columns"),
        (pl.DataFrame({"a": ["x", "y"]}), {}, ValueError, r"\(1 columns are not numbers\)"),
        (pl.DataFrame({"a": [1.0, 2.0]}), {"ignore": ["b"]}, KeyError, "ignore names 'b'"),
        (pl.DataFrame({"a": [None, None]}), {}, ValueError, "2 rows and 0 columns of numbers"),
    ],
)
def test_invalid_frames_of_polars(
    table: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rr.clean(table, **options)
