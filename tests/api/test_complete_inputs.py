"""The forms of the data of ``complete``: the same answer for each, and errors that say why."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import robustrank as rr
from robustrank.backend import library, to_numpy
from robustrank.simulate import PlantedEntries, plant_entries

PROBLEM = plant_entries(40, 30, 2, 800, outliers=0.1, outlier_model="huge", rng=1)
EXPECTED = rr.complete(PROBLEM.triples, 2, shape=PROBLEM.shape)


def masked(problem: PlantedEntries) -> dict[str, Any]:
    X = problem.incomplete
    return {"X": np.ma.masked_array(np.nan_to_num(X, nan=7.0), mask=np.isnan(X))}


def with_mask(problem: PlantedEntries) -> dict[str, Any]:
    X = problem.incomplete
    return {"X": np.nan_to_num(X, nan=7.0), "mask": ~np.isnan(X)}


def frame(problem: PlantedEntries) -> dict[str, Any]:
    return {"X": pd.DataFrame(problem.incomplete)}


def sparse(kind: str) -> Callable[[PlantedEntries], dict[str, Any]]:
    def form(problem: PlantedEntries) -> dict[str, Any]:
        positions = problem.rows, problem.columns
        stored: Any = scipy.sparse.coo_array((problem.values, positions), shape=problem.shape)
        return {"X": stored.asformat(kind)}

    return form


def torch_matrix(problem: PlantedEntries) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    return {"X": torch.asarray(problem.incomplete)}


def torch_triples(problem: PlantedEntries) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    return {"X": tuple(map(torch.asarray, problem.triples)), "shape": problem.shape}


def jax_matrix(problem: PlantedEntries) -> dict[str, Any]:
    jnp = pytest.importorskip("jax.numpy")
    return {"X": jnp.asarray(problem.incomplete)}


FORMS: dict[str, Callable[[PlantedEntries], dict[str, Any]]] = {
    "matrix": lambda problem: {"X": problem.incomplete},
    "Fortran order": lambda problem: {"X": np.asfortranarray(problem.incomplete)},
    "lists": lambda problem: {"X": problem.incomplete.tolist()},
    "masked": masked,
    "mask": with_mask,
    "frame": frame,
    "csr": sparse("csr"),
    "csc": sparse("csc"),
    "coo": sparse("coo"),
    "torch": torch_matrix,
    "torch triples": torch_triples,
    "jax": jax_matrix,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_answer(form: str) -> None:
    given = FORMS[form](PROBLEM)
    result = rr.complete(rank=2, **given)
    assert result.status is rr.Status.RECOVERED
    left, right = to_numpy(result.left), to_numpy(result.right)
    np.testing.assert_allclose(left @ right.T, PROBLEM.matrix, atol=1e-10)
    flags = to_numpy(result.outliers)
    if flags.ndim == 2:
        expected = np.zeros(PROBLEM.shape, bool)
        expected[PROBLEM.rows, PROBLEM.columns] = PROBLEM.outliers
        np.testing.assert_array_equal(flags, expected)
    else:
        X: Any = given["X"]
        positions = PROBLEM.rows, PROBLEM.columns
        places = positions if isinstance(X, tuple) else X.tocoo().coords
        truth = np.zeros(PROBLEM.shape, bool)
        truth[PROBLEM.rows, PROBLEM.columns] = PROBLEM.outliers
        np.testing.assert_array_equal(flags, truth[places])
    if form in ("torch", "torch triples", "jax"):
        name = form.split()[0]
        assert {library(result.left), library(result.right), library(result.outliers)} == {name}


def test_labels_of_a_data_frame_are_kept() -> None:
    rows = [f"row {i}" for i in range(40)]
    columns = pd.date_range("2020-01-01", periods=30, freq="MS")
    X = PROBLEM.incomplete.copy()
    X[4] = np.nan
    result = rr.complete(pd.DataFrame(X, index=rows, columns=columns), 2)
    assert result.undecided_rows.tolist() == ["row 4"]
    assert list(result.matrix.index) == rows
    assert (result.matrix.columns == columns).all()
    value = result.predict("row 7", columns[3])
    assert float(value) == pytest.approx(PROBLEM.matrix[7, 3])
    with pytest.raises(KeyError, match="'row 99' is not a label"):
        result.predict(["row 99"], [columns[0]])


def test_order_of_the_triples_changes_nothing() -> None:
    order = np.random.default_rng(5).permutation(len(PROBLEM.rows))
    triples = tuple(part[order] for part in PROBLEM.triples)
    result = rr.complete(triples, 2, shape=PROBLEM.shape)
    np.testing.assert_array_equal(result.left, EXPECTED.left)
    np.testing.assert_array_equal(result.outliers, EXPECTED.outliers[order])


def test_transposition_exchanges_the_factors() -> None:
    transposed = rr.complete((PROBLEM.columns, PROBLEM.rows, PROBLEM.values), 2)
    assert transposed.status is rr.Status.RECOVERED
    np.testing.assert_allclose(transposed.matrix, EXPECTED.matrix.T, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-200, 1e-6, 1e6, 1e200])
def test_units_change_nothing(factor: float) -> None:
    triples = PROBLEM.rows, PROBLEM.columns, PROBLEM.values * factor
    result = rr.complete(triples, 2, shape=PROBLEM.shape)
    assert result.status is rr.Status.RECOVERED
    np.testing.assert_allclose(result.matrix / factor, PROBLEM.matrix, atol=1e-10)


def test_duplicates_that_disagree_are_measurements() -> None:
    again = np.arange(40)
    rows, columns = (np.concatenate([p, p[again]]) for p in (PROBLEM.rows, PROBLEM.columns))
    values = np.concatenate([PROBLEM.values, PROBLEM.values[again] + 1000.0])
    result = rr.complete((rows, columns, values), 2, shape=PROBLEM.shape)
    assert result.status is rr.Status.RECOVERED
    assert result.outliers[800:].all()
    np.testing.assert_array_equal(result.outliers[:800], PROBLEM.outliers)


NOISY = plant_entries(30, 24, 1, 500, outliers=0.1, noise=0.05, rng=2)


def with_infinite(form: str, missing: bool) -> dict[str, Any]:
    """Data with some infinite entries, or without those entries."""
    which, fill = np.arange(0, 500, 100), np.nan if missing else np.inf
    if form == "triples":
        values = NOISY.values.copy()
        values[which] = [fill, -fill, fill, fill, -fill]
        kept = ~np.isnan(values)
        triples = NOISY.rows[kept], NOISY.columns[kept], values[kept]
        return {"X": triples, "shape": NOISY.shape}
    X = NOISY.incomplete
    X[NOISY.rows[which], NOISY.columns[which]] = fill
    if form == "torch":
        return {"X": pytest.importorskip("torch").asarray(X)}
    return {"X": pd.DataFrame(X) if form == "frame" else X}


@pytest.mark.parametrize("form", ["triples", "matrix", "frame", "torch"])
def test_infinite_values_are_missing_and_marked_as_outliers(form: str) -> None:
    result = rr.complete(rank=1, **with_infinite(form, missing=False))
    expected = rr.complete(rank=1, **with_infinite(form, missing=True))
    assert result.status is expected.status is rr.Status.ESTIMATED
    assert result.certificate == expected.certificate
    assert result.noise == expected.noise
    np.testing.assert_array_equal(to_numpy(result.left), to_numpy(expected.left))
    np.testing.assert_array_equal(to_numpy(result.right), to_numpy(expected.right))
    flags, others = to_numpy(result.outliers).copy(), to_numpy(expected.outliers)
    infinite = np.isinf(to_numpy(result.entries[2]))
    assert infinite.sum() == 5
    if form == "triples":
        assert flags[infinite].all()
        np.testing.assert_array_equal(flags[~infinite], others)
    else:
        places = tuple(to_numpy(part)[infinite] for part in result.entries[:2])
        assert flags[places].all()
        flags[places] = False
        np.testing.assert_array_equal(flags, others)
    np.testing.assert_array_equal(result.standard_error(0, 1), expected.standard_error(0, 1))
    probability = np.asarray(result.outlier_probability)
    assert probability.shape == flags.shape
    assert (probability[infinite if form == "triples" else places] == 1).all()
    if form != "triples":  # nothing is known about entries that are not observed
        assert np.isnan(probability).sum() == probability.size - len(infinite)


def test_infinite_values_in_robust_pca() -> None:
    X = PROBLEM.matrix.copy()
    X[3, 4], X[7, :] = np.inf, -np.inf
    result = rr.robust_pca(X, 2)
    expected = rr.complete(np.where(np.isinf(X), np.nan, X), 2)
    np.testing.assert_array_equal(result.matrix, expected.matrix)
    np.testing.assert_array_equal(result.outliers, np.isinf(X) | expected.outliers)
    assert result.undecided_rows.tolist() == [7]
    assert np.isnan(result.matrix[7]).all()


def test_infinite_values_in_new_rows() -> None:
    new, missing = PROBLEM.matrix[:3].copy(), PROBLEM.matrix[:3].copy()
    new[0, 2], missing[0, 2] = np.inf, np.nan
    new[1, 3:], missing[1, 3:] = -np.inf, np.nan  # too few are left
    rows, expected = EXPECTED.fit_rows(new), EXPECTED.fit_rows(missing)
    np.testing.assert_array_equal(rows.matrix, expected.matrix)
    np.testing.assert_array_equal(rows.undecided, [1])
    np.testing.assert_array_equal(rows.outliers, np.isinf(new) | expected.outliers)


@pytest.mark.parametrize("form", ["matrix", "frame", "triples"])
def test_rows_and_columns_without_entries_are_nan(form: str) -> None:
    X = PROBLEM.incomplete
    X[4], X[:, 7], X[:, 8] = np.nan, np.nan, np.inf
    if form == "triples":
        rows, columns = np.nonzero(~np.isnan(X))
        result = rr.complete((rows, columns, X[rows, columns]), 2, shape=X.shape)
    else:
        result = rr.complete(pd.DataFrame(X) if form == "frame" else X, 2)
    empty = np.zeros(X.shape, bool)
    empty[4], empty[:, 7:9] = True, True
    np.testing.assert_array_equal(np.isnan(np.asarray(result.matrix)), empty)
    i, j = np.indices(X.shape)
    np.testing.assert_array_equal(np.isnan(result.predict(i, j)), empty)
    np.testing.assert_array_equal(np.isnan(result.standard_error(i, j)), empty)
    np.testing.assert_allclose(np.asarray(result.matrix)[~empty], PROBLEM.matrix[~empty])
    assert result.undecided_rows.tolist() == [4]
    assert {7, 8} <= set(result.undecided_columns.tolist())
    rows_found = result.fit_rows(PROBLEM.matrix[:2])  # columns that are not known are not used
    np.testing.assert_array_equal(np.isnan(rows_found.matrix), empty[:2])
    assert not rows_found.outliers.any()


def labelled() -> Any:
    rows = [f"row {i}" for i in range(40)]
    columns = pd.date_range("2020-01-01", periods=30, freq="MS")
    return pd.DataFrame(PROBLEM.incomplete, index=rows, columns=columns)


@pytest.mark.parametrize("copied", [lambda result: pickle.loads(pickle.dumps(result)), deepcopy])
def test_copies_of_the_completion_of_a_data_frame(copied: Callable[[Any], Any]) -> None:
    result = rr.complete(labelled(), 2)
    result.standard_error("row 0", labelled().columns[0])  # what was computed is not copied
    again = copied(result)
    pd.testing.assert_frame_equal(again.matrix, result.matrix)
    np.testing.assert_array_equal(again.outliers, result.outliers)
    assert repr(again.certificate) == repr(result.certificate)
    assert again.predict("row 3", labelled().columns[5]) == result.matrix.iloc[3, 5]


def test_new_rows_of_a_data_frame_are_matched_by_label() -> None:
    result, X = rr.complete(labelled(), 2), labelled()
    expected = result.fit_rows(X.iloc[:5])
    np.testing.assert_allclose(expected.matrix, PROBLEM.matrix[:5], atol=1e-9)
    assert list(expected.matrix.index) == list(X.index[:5])
    order = np.random.default_rng(0).permutation(30)
    rows = result.fit_rows(X.iloc[:5, order])
    pd.testing.assert_frame_equal(rows.matrix, expected.matrix.iloc[:, order])
    np.testing.assert_array_equal(rows.outliers, expected.outliers[:, order])
    np.testing.assert_array_equal(result.fit_rows(X.iloc[:5].to_numpy()).matrix, expected.matrix)
    other = X.iloc[:5].rename(columns={X.columns[3]: "other"})
    with pytest.raises(ValueError, match=r"does not have '2020-04-01.*'; unknown are 'other'"):
        result.fit_rows(other)
    with pytest.raises(ValueError, match="occur several times"):
        result.fit_rows(X.iloc[:5, [*range(30), 0]])


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pd.date_range("2020-01-01", periods=6), "'wrong' \\(datetime64"),
        (pd.to_timedelta(np.arange(6), "s"), "'wrong' \\(timedelta64"),
        (pd.Categorical([1, 2, 3, 1, 2, 3]), "'wrong' \\(category"),
        (["1", "2", "3", "4", "5", "6"], "'wrong' \\(str|object"),
        (pd.Series(["1", 2, 3, 4, 5, 6], dtype=object), "'wrong' \\(object"),
    ],
)
@pytest.mark.parametrize("function", [rr.complete, rr.robust_pca])
def test_columns_that_are_not_numbers_are_refused(
    column: Any, shown: str, function: Callable[..., Any]
) -> None:
    frame = pd.DataFrame(np.outer(np.arange(1.0, 7.0), [1.0, 2.0, 3.0]), columns=list("abc"))
    frame["wrong"] = column
    with pytest.raises(TypeError, match=f"not numbers: {shown}.*set_index"):
        function(frame)


def test_booleans_and_numbers_with_missing_values_are_numbers() -> None:
    n = 12
    frame = pd.DataFrame(
        {
            "flag": pd.array([True, None] * 6, dtype="boolean"),
            "count": pd.array([1, None] * 6, dtype="Int64"),
            "object": pd.Series([1.5, None] * 6, dtype=object),
            **{str(k): np.ones(n) for k in range(6)},
        }
    )
    result = rr.complete(frame, 1)
    assert result.certificate.measurements == 3 * 6 + 6 * n


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float16"])
def test_other_dtypes_are_converted(dtype: str) -> None:
    rng = np.random.default_rng(1)
    X = np.outer(rng.integers(1, 4, 40), rng.integers(1, 4, 30))
    if dtype == "bool":
        X = np.outer(rng.integers(0, 2, 40), np.ones(30, int))
    given = X.astype(dtype)
    result = rr.complete((*np.nonzero(np.ones_like(X)), given.ravel()), 1, shape=X.shape)
    assert result.left.dtype == ("float32" if dtype == "float16" else "float64")
    np.testing.assert_allclose(result.matrix, X, atol=1e-3)


def test_special_matrices() -> None:
    """One row, one column, equal entries: an answer without an exception."""
    ones = rr.complete(np.ones((12, 10)), 1)
    assert ones.status is rr.Status.RECOVERED
    np.testing.assert_allclose(ones.matrix, 1, atol=1e-12)
    for X in (np.arange(1.0, 9.0)[None], np.arange(1.0, 9.0)[:, None], np.ones((1, 1))):
        result = rr.complete(X)
        assert not result.certified
        assert result.shape == X.shape


def test_explicit_zeros_are_observed() -> None:
    X = PROBLEM.matrix.copy()
    X[:20] = 0
    rows, columns = np.nonzero(np.ones_like(X))
    stored = scipy.sparse.coo_array((X.ravel(), (rows, columns)), shape=X.shape)
    result = rr.complete(stored, 2)
    assert result.certificate.measurements == X.size
    np.testing.assert_allclose(result.matrix, X, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"X": ([0], [0])}, ValueError, "expected \\(rows, columns, values\\)"),
        ({"X": ([0, 1], [0, 1], [1.0])}, ValueError, "three vectors of the same length"),
        ({"X": ([0, 5], [0, 1], [1.0, 2.0]), "shape": (2, 2)}, ValueError, "rows contains 5"),
        ({"X": ([0, -1], [0, 1], [1.0, 2.0])}, ValueError, "rows contains -1"),
        ({"X": ([0.5, 1], [0, 1], [1.0, 2.0])}, TypeError, "rows has dtype float64"),
        ({"X": ([0, 1], [0, 1], [1.0, np.nan])}, ValueError, "values contains NaN \\(1 times\\)"),
        ({"X": ([0, 1], [0, 1], ["a", "b"])}, TypeError, "values has dtype"),
        ({"X": ([], [], [])}, ValueError, "no triples"),
        ({"X": np.ones(5)}, ValueError, "X has shape \\(5,\\); expected a matrix"),
        ({"X": np.ones((3, 0))}, ValueError, "expected a matrix with rows and columns"),
        ({"X": np.full((3, 3), np.nan)}, ValueError, "no observed entries"),
        ({"X": np.ones((3, 3)), "rank": 4}, ValueError, "rank=4 is larger than"),
        ({"X": np.ones((3, 3)), "rank": 0}, ValueError, "rank=0"),
        ({"X": np.ones((3, 3)), "rank": 1.5}, TypeError, "rank=1.5"),
        ({"X": np.ones((3, 3)), "shape": (3, 3)}, TypeError, "only with triples"),
        ({"X": np.ones((3, 3)), "mask": np.ones((2, 3), bool)}, ValueError, "mask has shape"),
        ({"X": np.ones((3, 3)), "mask": np.ones((3, 3))}, TypeError, "expected booleans"),
        ({"X": np.ones((3, 3), complex)}, TypeError, "X has dtype complex128"),
        ({"X": scipy.sparse.eye_array(3), "mask": True}, TypeError, "not with a sparse matrix"),
        ({"X": scipy.sparse.csr_array((3, 3))}, ValueError, "no stored entries"),
        ({"X": pd.DataFrame({"a": ["x", "y"]})}, TypeError, "not numbers"),
        ({"X": np.ones((3, 3)), "callback": 3}, TypeError, "cannot be called"),
        ({"X": np.ones((3, 3)), "time_limit": 0}, ValueError, "time_limit=0"),
        ({"X": np.ones((3, 3)), "rng": -1}, ValueError, "rng=-1"),
    ],
)
def test_invalid_input(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rr.complete(**given)
