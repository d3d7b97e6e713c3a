"""Standard errors against repeated experiments, and what they refuse."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import robustrank as rr
from robustrank.simulate import Planted, plant, plant_entries
from robustrank.theory import degrees_of_freedom
from robustrank.uncertainty.covariance import TangentCovariance

SHAPE = (15, 12)
LEVEL = 0.05  # of the noise


@pytest.fixture(scope="module")
def noisy() -> tuple[Planted, Any, rr.Result]:
    planted, y = noisy_problem(1)
    return planted, y, rr.recover(planted.A, y, 2)


def noisy_problem(seed: int, outliers: float = 0.1) -> tuple[Planted, Any]:
    m = 6 * degrees_of_freedom(*SHAPE, 2)
    planted = plant(*SHAPE, 2, m, outliers=outliers, rng=3)
    noise = LEVEL * np.std(planted.y[~planted.outliers])
    return planted, planted.y + noise * np.random.default_rng(seed).standard_normal(m)


def grid() -> tuple[Any, Any]:
    rows, columns = np.indices(SHAPE)
    return rows, columns


def test_standard_errors_are_those_of_repeated_experiments() -> None:
    """The same measurements with new noise: the spread of the results is what was predicted."""
    found, predicted = [], []
    for seed in range(60):
        planted, y = noisy_problem(seed)
        result = rr.recover(planted.A, y, 2, solver="gauss-newton")
        found.append(result.matrix)
        if seed < 5:
            predicted.append(result.standard_error(*grid()))
    ratio = np.mean(predicted, axis=0) / np.std(found, axis=0)
    assert abs(np.median(ratio) - 1) < 0.05
    assert 0.7 < ratio.min() < ratio.max() < 1.4  # the deviation of 60 numbers is off by 9 %


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_contain_the_truth_as_often_as_they_say(level: float) -> None:
    inside = []
    for seed in range(20):
        planted, y = noisy_problem(100 + seed)
        low, high = rr.recover(planted.A, y, 2, solver="gauss-newton").interval(
            *grid(), level=level
        )
        truth = planted.left @ planted.right.T
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert abs(np.mean(inside) - level) < 0.03


def test_entries_measurements_and_functions_agree(noisy: tuple[Planted, Any, rr.Result]) -> None:
    _, _, result = noisy
    sensing = np.zeros((2, *SHAPE))
    sensing[0, 1, 2] = sensing[1, 7, 3] = 1
    entries = result.standard_error([1, 7], [2, 3])
    assert np.allclose(result.standard_error(sensing), entries, rtol=1e-5)
    by_function = result.standard_error_of(lambda M: M[[1, 7], [2, 3]])
    assert np.allclose(by_function, entries, rtol=1e-3)
    assert np.allclose(result.predict(sensing), result.predict([1, 7], [2, 3]))


def test_a_nonlinear_function(noisy: tuple[Planted, Any, rr.Result]) -> None:
    """The relative error of a square is twice that of the number."""
    _, _, result = noisy
    square = result.standard_error_of(lambda M: M[1, 2] ** 2)
    value = float(result.predict(1, 2))
    assert math.isclose(
        float(square), 2 * abs(value) * float(result.standard_error(1, 2)), rel_tol=1e-3
    )


def test_intervals_of_observations_contain_the_noise(
    noisy: tuple[Planted, Any, rr.Result],
) -> None:
    planted, y, result = noisy
    low, high = result.interval(planted.A, level=0.9, noise=True)
    inside = ((low <= y) & (y <= high))[~planted.outliers]
    assert 0.85 < np.mean(inside) < 0.97  # the fit has used these measurements


def test_solving_gives_what_the_inverse_gives(
    noisy: tuple[Planted, Any, rr.Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, y, result = noisy
    direct = result.standard_error([0, 3], [1, 5]), result.standard_error(planted.A[:2])
    monkeypatch.setattr("robustrank.uncertainty.covariance._LARGEST_INVERSE", 0)
    again = rr.with_data(result, planted.A, y)
    assert np.allclose(again.standard_error([0, 3], [1, 5]), direct[0], rtol=1e-3)
    assert np.allclose(again.standard_error(planted.A[:2]), direct[1], rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e25])
def test_the_units_of_the_user(noisy: tuple[Planted, Any, rr.Result], unit: float) -> None:
    planted, y, result = noisy
    scaled = rr.recover(planted.A, unit * y, 2)
    expected = unit * result.standard_error(3, 4)
    assert np.allclose(scaled.standard_error(3, 4), expected, rtol=1e-3)


@pytest.mark.parametrize("equal", [True, False])
def test_rows_of_different_norms(equal: bool) -> None:
    """Noise of equal size for all, or proportional to the norm of the row."""
    rng = np.random.default_rng(5)
    m = 6 * degrees_of_freedom(*SHAPE, 2)
    planted = plant(*SHAPE, 2, m, rng=6)
    norms = np.exp(rng.normal(size=m))
    A = norms[:, None, None] * planted.A
    clean = np.einsum("iab,ab->i", A, planted.left @ planted.right.T)
    size = 0.5 if equal else 0.5 * norms
    inside = []
    for _ in range(5):
        y = clean + size * rng.standard_normal(m)
        result = rr.recover(A, y, 2)
        low, high = result.interval(*grid(), level=0.9)
        truth = planted.left @ planted.right.T
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.84 < np.mean(inside) < 0.96


def test_an_exact_result_has_no_width() -> None:
    planted = plant(*SHAPE, 2, 400, outliers=0.1, rng=7)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.RECOVERED
    assert not np.any(result.standard_error(*grid()))
    low, high = result.interval(*grid())
    assert np.array_equal(low, high)
    assert np.array_equal(result.outlier_probability, planted.outliers.astype(float))


def test_outlier_probabilities_separate_the_outliers(
    noisy: tuple[Planted, Any, rr.Result],
) -> None:
    planted, _, result = noisy
    probability = result.outlier_probability
    assert probability.shape == (len(planted.y),)
    assert abs(probability.mean() - 0.1) < 0.03
    assert np.mean(probability[planted.outliers] > 0.9) > 0.95
    assert np.mean(probability[~planted.outliers] < 0.1) > 0.95


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_completions_have_error_bars(noise: float) -> None:
    entries = plant_entries(40, 30, 2, 6 * degrees_of_freedom(40, 30, 2), outliers=0.1, rng=8)
    size = noise * np.std(entries.values[~entries.outliers])
    values = entries.values + size * np.random.default_rng(9).standard_normal(len(entries.values))
    result = rr.complete((entries.rows, entries.columns, values), 2, shape=(40, 30))
    assert result.certified
    rows, columns = np.indices((40, 30))
    low, high = result.interval(rows, columns, level=0.9)
    if not noise:
        assert np.array_equal(low, high)
        return
    truth = entries.left @ entries.right.T
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.97
    assert result.outlier_probability.shape == values.shape
    agreed = (result.outlier_probability > 0.5) == entries.outliers
    assert agreed.mean() > 0.95
    assert float(result.standard_error_of(lambda M: M[3, 4])) == pytest.approx(
        float(result.standard_error(3, 4)), rel=1e-2
    )


def test_pickled_completions_have_error_bars() -> None:
    entries = plant_entries(30, 24, 1, 500, outliers=0.1, noise=0.05, rng=2)
    result = rr.complete(entries.incomplete, 1)
    low, high = result.interval([0, 1], [2, 3])
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.interval([0, 1], [2, 3]), (low, high))
    np.testing.assert_array_equal(again.outlier_probability, result.outlier_probability)
    given: Any = result
    with pytest.raises(TypeError, match="this result is a completion; it has its entries"):
        rr.with_data(given, entries.incomplete, entries.values)


def test_saved_and_pickled_results_ask_for_their_data(
    noisy: tuple[Planted, Any, rr.Result], tmp_path: Path
) -> None:
    planted, y, result = noisy
    result.save(tmp_path / "result.npz")
    for other in (rr.load(tmp_path / "result.npz"), pickle.loads(pickle.dumps(result))):
        with pytest.raises(ValueError, match="with_data"):
            other.standard_error(0, 0)
        again = rr.with_data(other, planted.A, y)
        assert np.allclose(again.standard_error(0, 0), result.standard_error(0, 0))
    with pytest.raises(ValueError, match="but the result is that of"):
        rr.with_data(result, planted.A[:100], y[:100])


def test_error_bars_of_a_result_that_is_not_certified_warn() -> None:
    rng = np.random.default_rng(10)
    result = rr.recover(rng.standard_normal((120, 8, 6)), rng.standard_normal(120), 1)
    assert not result.certified
    with pytest.warns(rr.NotCertifiedWarning, match="not certified"):
        result.standard_error(0, 0)


@pytest.mark.parametrize("function", ["recover", "complete"])
def test_each_method_warns_once_at_the_line_of_the_caller(function: str) -> None:
    rng = np.random.default_rng(10)
    result: Any
    if function == "recover":
        result = rr.recover(rng.standard_normal((120, 8, 6)), rng.standard_normal(120), 1)
    else:
        result = rr.complete(rng.standard_normal((12, 10)), 1)
    assert not result.certified
    methods: list[Callable[[], Any]] = [
        lambda: result.standard_error(0, 0),
        lambda: result.interval(0, 0),
        lambda: result.interval(0, 0, noise=True),
        lambda: result.standard_error_of(np.sum),
        lambda: result.outlier_probability,
    ]
    for method in methods:
        with pytest.warns(rr.NotCertifiedWarning) as caught:
            method()
        line = inspect.getsourcelines(method)[1]
        assert [(one.filename, one.lineno) for one in caught] == [(__file__, line)]


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((0, 12), {}, IndexError),
        ((-1, 0), {}, IndexError),
        ((0.5, 0), {}, TypeError),
        ((0, 0), {"level": 1.0}, ValueError),
        ((0, 0), {"level": "high"}, ValueError),
        ((np.zeros((3, 4, 5)),), {}, ValueError),
    ],
)
def test_bad_input(
    noisy: tuple[Planted, Any, rr.Result],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        noisy[2].interval(*arguments, **options)


def test_a_covariance_without_redundancy_is_not_needed_for_the_directions_of_the_factors() -> None:
    """Changing U and V without changing the matrix has no variance: the inverse is finite."""
    planted = plant(*SHAPE, 2, 60, rng=11)
    operator = rr.operators.as_operator(planted.A)
    U, V = (np.linalg.qr(factor)[0] for factor in (planted.left, planted.right))
    covariance = TangentCovariance(operator.tangent(U, V), np.ones(60))
    assert np.all(np.isfinite(covariance.of_entries(np.arange(5), np.arange(5))))


@pytest.mark.parametrize("declared", ["symmetric", "psd"])
def test_data_of_a_symmetric_result(declared: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    U = rng.standard_normal((14, 2))
    A = rng.standard_normal((300, 14, 14))
    y = np.sum(A * (U @ U.T), axis=(1, 2)) + 0.05 * rng.standard_normal(300)
    options: dict[str, Any] = {declared: True}
    result = rr.recover(A, y, 2, **options)
    assert result.certified
    result.save(tmp_path / "result.npz")
    again = rr.with_data(rr.load(tmp_path / "result.npz"), A, y)
    np.testing.assert_allclose(
        again.standard_error([0, 3], [1, 5]), result.standard_error([0, 3], [1, 5])
    )
    (one,) = rr.recover_many([(A, y)], 2, **options)
    np.testing.assert_allclose(
        rr.with_data(one, A, y).standard_error(0, 1), result.standard_error(0, 1), rtol=1e-6
    )


def test_symmetric_results_of_earlier_versions(tmp_path: Path) -> None:
    """Their files do not say that the matrix was known to be symmetric."""
    rng = np.random.default_rng(11)
    U = rng.standard_normal((8, 1))
    A = rng.standard_normal((120, 8, 8))
    y = np.sum(A * (U @ U.T), axis=(1, 2)) + 0.05 * rng.standard_normal(120)
    for symmetric in (True, False):
        result = rr.recover(A, y, 1, symmetric=symmetric)
        result.save(tmp_path / "new.npz")
        with np.load(tmp_path / "new.npz") as archive:
            arrays = dict(archive)
        header = json.loads(str(arrays["header"]))
        assert header.pop("symmetric") is symmetric
        header |= {"format": "robustrank-recovery", "version": 3, "status": "SETTLED"}
        np.savez(tmp_path / "old.npz", **arrays | {"header": np.asarray(json.dumps(header))})
        old = rr.load(tmp_path / "old.npz")
        assert old.symmetric is symmetric
        assert old.status is result.status is rr.Status.ESTIMATED


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_there_is_one_estimate_of_the_noise(law: str) -> None:
    """It is right for noise with tails and without."""

    def draw(rng: np.random.Generator, m: int) -> Any:
        if law == "normal":
            return rng.standard_normal(m)
        return rng.uniform(-math.sqrt(3), math.sqrt(3), m)

    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        planted = plant(*SHAPE, 2, 6 * degrees_of_freedom(*SHAPE, 2), rng=seed)
        size = LEVEL * np.std(planted.y)
        result = rr.recover(planted.A, planted.y + size * draw(rng, len(planted.y)), 2)
        assert result.error_bars is not None
        assert result.error_bars.deviation == result.noise
        found.append(result.noise / size)
    assert np.mean(found) == pytest.approx(1, abs=0.04)
    entries = plant_entries(30, 24, 1, 500, rng=2)
    size = LEVEL * np.std(entries.values)
    values = entries.values + size * draw(np.random.default_rng(5), 500)
    completed = rr.complete((entries.rows, entries.columns, values), 1, shape=(30, 24))
    assert completed.error_bars is not None
    assert completed.error_bars.deviation == completed.noise == pytest.approx(size, rel=0.06)


def test_rows_without_entries_change_no_error_bars() -> None:
    entries = plant_entries(30, 24, 1, 500, noise=0.05, rng=2)
    result, larger = (
        rr.complete(entries.triples, 1, shape=shape) for shape in ((30, 24), (300, 240))
    )
    np.testing.assert_allclose(result.interval(1, 2), larger.interval(1, 2), rtol=1e-9)


def test_large_completions_have_error_bars_without_a_dense_matrix() -> None:
    """A normal matrix with 500,000 rows and columns would not fit in memory."""
    entries = plant_entries(30, 24, 1, 500, noise=0.05, rng=2)
    result = rr.complete(entries.triples, 1, shape=(300_000, 200_000))
    expected = rr.complete(entries.triples, 1, shape=(30, 24)).standard_error(1, 2)
    assert float(result.standard_error(1, 2)) == pytest.approx(float(expected), rel=1e-3)


def test_predictions_by_sparse_matrices_and_linear_operators(
    noisy: tuple[Planted, Any, rr.Result],
) -> None:
    planted, _, result = noisy
    rows = planted.A[:4].reshape(4, -1)
    expected = result.predict(planted.A[:4])
    for A in (scipy.sparse.csr_array(rows), scipy.sparse.linalg.aslinearoperator(rows)):
        np.testing.assert_allclose(result.predict(A), expected)
        np.testing.assert_allclose(
            result.standard_error(A), result.standard_error(planted.A[:4]), rtol=1e-6
        )
    with pytest.raises(TypeError, match="as_operator"):
        result.predict("A.npy")
