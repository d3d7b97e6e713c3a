"""Saving and loading completions: the same result, labels included, and errors for other files."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robustrank as rr
from robustrank.simulate import plant_entries

COMPLETE = import_module("robustrank.api.complete")  # the function has the same name
PLANTED = plant_entries(30, 24, 1, 500, outliers=0.1, noise=0.05, rng=2)


def data() -> Any:
    """The entries as a matrix, with a row and a column without entries and an infinite one."""
    X = PLANTED.incomplete
    X[4], X[:, 7], X[2, 3] = np.nan, np.nan, np.inf
    return X


def check_same(found: rr.Result, expected: rr.Result) -> None:
    for name in ("left", "right", "outliers", "undecided_rows", "undecided_columns"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for one, other in zip(found.entries, expected.entries, strict=True):
        np.testing.assert_array_equal(one, other)
    assert repr(found.certificate) == repr(expected.certificate)
    for name in ("status", "noise", "typical_size", "seconds", "rank_table"):
        assert getattr(found, name) == getattr(expected, name)
    assert repr(found) == repr(expected)


def saved(result: rr.Result, path: Path) -> rr.Result:
    result.save(path)
    loaded = rr.load(path)
    assert isinstance(loaded, rr.Result)
    check_same(loaded, result)
    return loaded


@pytest.mark.parametrize("rank", [1, None])
def test_matrices(rank: int | None, tmp_path: Path) -> None:
    result = rr.complete(data(), rank)
    loaded = saved(result, tmp_path / "result.npz")
    np.testing.assert_array_equal(loaded.matrix, result.matrix)
    np.testing.assert_array_equal(loaded.sparse.toarray(), result.sparse.toarray())


def test_triples_and_error_bars(tmp_path: Path) -> None:
    result = rr.complete(PLANTED.triples, 1, shape=PLANTED.shape)
    assert result.status is rr.Status.ESTIMATED
    loaded = saved(result, tmp_path / "result.npz")
    np.testing.assert_array_equal(loaded.interval([0, 1], [2, 3]), result.interval([0, 1], [2, 3]))
    np.testing.assert_array_equal(loaded.outlier_probability, result.outlier_probability)


def test_nothing_decided(tmp_path: Path) -> None:
    """All rows and columns are undecided, by number and by label."""
    X = np.random.default_rng(1).standard_normal((4, 2))
    for given in (X, pd.DataFrame(X, index=[f"r{k}" for k in range(4)])):
        result = rr.complete(given)
        loaded = saved(result, tmp_path / "result.npz")
        assert len(loaded.undecided_rows) == 4
        assert len(loaded.undecided_columns) == 2


INDICES: dict[str, Callable[[int], Any]] = {
    "text": lambda n: pd.Index([f"label {k}" for k in range(n)], name="station"),
    "integers": lambda n: pd.RangeIndex(10, 10 + n),
    "numbers": lambda n: pd.Index(np.arange(n) / 4),
    "dates": lambda n: pd.date_range("2020-01-31 06:00", periods=n, freq="h"),
    "time zone": lambda n: pd.date_range("2020-03-28", periods=n, freq="h", tz="Europe/Berlin"),
    "periods": lambda n: pd.period_range("2020-01", periods=n, freq="M"),
}


@pytest.mark.parametrize("kind", INDICES)
def test_labels_come_back(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(data(), index=INDICES[kind](30), columns=INDICES[kind](24)[::-1])
    result = rr.complete(frame, 1)
    loaded = saved(result, tmp_path / "result.npz")
    pd.testing.assert_frame_equal(
        loaded.matrix, result.matrix, check_index_type="equiv", check_freq=False
    )
    row, column = frame.index[3], frame.columns[5]
    assert loaded.predict(row, column) == result.predict(row, column)
    assert loaded.undecided_rows.dtype == result.undecided_rows.dtype
    assert loaded.fit_rows(frame.iloc[:2]).matrix.equals(result.fit_rows(frame.iloc[:2]).matrix)


def test_labels_that_cannot_be_saved(tmp_path: Path) -> None:
    for index in (
        pd.MultiIndex.from_arrays([np.arange(30), np.arange(30)]),
        pd.Index([0, *(f"row {k}" for k in range(29))], dtype=object),
    ):
        result = rr.complete(pd.DataFrame(data(), index=index), 1)
        with pytest.raises(ValueError, match="make them text first"):
            result.save(tmp_path / "result.npz")
    assert not any(tmp_path.iterdir())


def test_large_matrices_keep_their_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COMPLETE, "_LARGE", 10)
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(20), rng.standard_normal(30))
    X[0, :3] = 5
    loaded = saved(rr.robust_pca(X, 1), tmp_path / "result.npz")
    with pytest.raises(ValueError, match="error bars are not computed for matrices with more than"):
        loaded.interval(0, 0)
    with np.load(tmp_path / "result.npz") as stored:
        arrays = dict(stored)
    for values in (arrays["values"].T, arrays["values"].astype(str)):
        np.savez(tmp_path / "odd.npz", **arrays | {"values": values})
        with pytest.raises(ValueError, match="'values' is missing or malformed"):
            rr.load(tmp_path / "odd.npz")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("archive") / "result.npz"
    rr.complete(pd.DataFrame(data()).rename(index=str), 1).save(path)
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


CHANGES: dict[str, dict[str, Any]] = {
    "positions": {"rows": lambda old: old + 1},
    "negative positions": {"columns": lambda old: old - 1},
    "real positions": {"rows": lambda old: old.astype(float)},
    "length": {"residuals": lambda old: old[1:]},
    "flags": {"outliers": lambda old: old[1:]},
    "numbers as flags": {"outliers": lambda old: old.astype(int)},
    "labels": {"row_labels": lambda old: old[1:]},
    "undecided": {"undecided_rows": lambda old: old[None]},
    "infinite factor": {"left": lambda old: old * np.inf},
    "no factor": {"left": None},
}
HEADERS: dict[str, Any] = {
    "stopped": "BORED",
    "noise": "small",
    "is_frame": 1,
    "row_labels": {"dtype": "os.system", "name": None},
    "certificate": {"measurements": -1},
    "rank_table": {"rows": 3, "chosen": 1, "largest": 1},
}


@pytest.mark.parametrize("change", [*CHANGES, *HEADERS])
def test_malformed_files_are_refused(change: str, archive: dict[str, Any], tmp_path: Path) -> None:
    arrays = dict(archive)
    for name, function in CHANGES.get(change, {}).items():
        if function is None:
            del arrays[name]
        else:
            with np.errstate(invalid="ignore"):
                arrays[name] = function(arrays[name])
    if change in HEADERS:
        header = json.loads(str(arrays["header"])) | {change: HEADERS[change]}
        arrays["header"] = np.asarray(json.dumps(header))
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match=r"is not a saved result: .* is missing or malformed"):
        rr.load(tmp_path / "odd.npz")


@pytest.mark.parametrize("status", ["RECOVERED", "INCONCLUSIVE"])
def test_the_status_in_a_file_is_not_believed(
    status: str, archive: dict[str, Any], tmp_path: Path
) -> None:
    """It is there for people, and follows from the certificate."""
    header = json.loads(str(archive["header"]))
    assert header["status"] == "ESTIMATED"
    header["status"] = status
    np.savez(tmp_path / "odd.npz", **archive | {"header": np.asarray(json.dumps(header))})
    assert rr.load(tmp_path / "odd.npz").status is rr.Status.ESTIMATED


def test_other_versions_are_named(archive: dict[str, Any], tmp_path: Path) -> None:
    header = json.loads(str(archive["header"])) | {"version": 99}
    np.savez(tmp_path / "new.npz", **archive | {"header": np.asarray(json.dumps(header))})
    with pytest.raises(ValueError, match=r"has format 99, but .* reads format 1"):
        rr.load(tmp_path / "new.npz")
