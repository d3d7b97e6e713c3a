"""The table of the groups: its text, as a data frame, and in a saved result."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import GroupRow, GroupTable
from robustrank.result.groups import with_error

TABLE = GroupTable(
    (
        GroupRow("a", 30, 0, 0.01, 0.02, 1.001, 0.002, 0.1, 0.01, "good"),
        GroupRow("b", 30, 1, 0.0, 0.02, 1.0, 0.002, 0.1, 0.01, "good"),
        GroupRow("c", 30, 30, 1.5, 0.02, 1.0, 0.002, 0.1, 0.01, "offset"),
        GroupRow("d", 10, 4, 0.0, 0.2, 1.0, 0.02, 1.1, 0.1, "noisy"),
        GroupRow("e", 1, 0, verdict="not checked"),
    )
)


def test_the_worst_groups_are_printed_first() -> None:
    lines = str(TABLE).splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["group", "c", "d", "b", "e"]
    cells = "30 of 30 1.500 ± 0.020 1.0000 ± 0.0020 0.1 offset"
    assert " ".join(lines[1].split()) == f"c {cells}"
    assert lines[-1] == "1 group is good, with no rejected measurements"
    assert [row.label for row in TABLE.wrong] == ["c"]
    assert TABLE.sentence == "1 of 5 wrong altogether: c (offset)"
    assert TABLE._repr_html_().count("<tr>") == 5


def test_many_groups_are_counted() -> None:
    table = GroupTable(tuple(GroupRow(k, 2, 1, verdict="good") for k in range(50)))
    assert "30 other groups are not listed; see to_frame()" in str(table)
    assert table.sentence == "none of 50 is wrong altogether"


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.2345, 0.0123, "1.234 ± 0.012"),
        (-105.2, 12.0, "-105 ± 12"),
        (2.0, 0.0, "2"),
        (1.0, 1e-15, "1 ± 1e-15"),
        (3e9, 2e7, "3e+09 ± 2e+07"),
        (math.nan, math.nan, "–"),
        (4.0, math.nan, "4"),
    ],
)
def test_numbers_have_the_digits_that_are_known(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text


def test_data_frame() -> None:
    frame = TABLE.to_frame()
    assert frame.index.tolist() == ["a", "b", "c", "d", "e"]
    assert frame.index.name == "group"
    assert frame.columns[0] == "count"
    assert frame.loc["c", "verdict"] == "offset"
    assert frame["is_wrong"].tolist() == [False, False, True, False, False]


@pytest.fixture(scope="module")
def result() -> rr.Result:
    planted = rr.simulate.plant(12, 10, 1, 200, rng=1)
    return rr.recover(planted.A, planted.y, 1)


@pytest.mark.parametrize(
    "labels", [["x", "y"], [1, -2], [0.5, 1.5], [True, False], np.asarray(["2026-01-01"] * 2)]
)
def test_table_is_saved(labels: Any, result: rr.Result, tmp_path: Path) -> None:
    rows = zip(labels, TABLE.rows[2::2], strict=True)
    table = GroupTable(tuple(replace(row, label=label) for label, row in rows))
    replace(result, groups=table).save(tmp_path / "result.npz")
    found = rr.load(tmp_path / "result.npz").groups
    assert found is not None
    assert [type(row.label) for row in found.rows] == [type(np.asarray(labels)[0].item())] * 2
    assert repr(found.to_frame().to_dict()) == repr(table.to_frame().to_dict())


def test_result_without_groups_is_saved(result: rr.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "result.npz")
    assert rr.load(tmp_path / "result.npz").groups is None


@pytest.mark.parametrize(
    "change",
    [
        {"count": -1},
        {"rejected": 40},
        {"verdict": 3},
        {"gain": "x"},
        {"other": 1},
        {"count": None},
    ],
)
def test_malformed_tables_are_refused(
    change: dict[str, Any], result: rr.Result, tmp_path: Path
) -> None:
    path = tmp_path / "result.npz"
    replace(result, groups=TABLE).save(path)
    with np.load(path) as saved:
        arrays = dict(saved)
    header = json.loads(str(arrays["header"]))
    header["groups"][2] |= change
    np.savez(path, **arrays | {"header": np.asarray(json.dumps(header))})
    with pytest.raises(ValueError, match="is not a saved result"):
        rr.load(path)
