"""Sums over the entries of each row: compiled, by whole arrays, and by a simple loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import to_numpy
from robustrank.operators import SortedEntries, soft_weights, sorted_entries

N1, N2, R = 30, 20, 3
Matrix = np.ndarray[Any, Any]


GPUS = [pytest.param(name, marks=pytest.mark.gpu) for name in ("torch-cuda", "cupy")]


@pytest.fixture(params=["compiled", "arrays", "blocks", "torch", *GPUS])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the sums are computed."""
    if request.param == "compiled":
        pytest.importorskip("numba")
        monkeypatch.setattr(sorted_entries, "_WORTH_COMPILING", 0)
    if request.param == "blocks":
        monkeypatch.setattr(sorted_entries, "_BLOCK_SIZE", 40)
    return str(request.param)


class Example:
    """Random entries, with two rows that have none, and the same sums by a simple loop."""

    def __init__(self, way: str, dtype: str) -> None:
        rng = np.random.default_rng(1)
        owners = np.sort(rng.integers(0, N1, 400))
        owners = owners[(owners != 7) & (owners != N1 - 1)]
        others = rng.integers(0, N2, len(owners)).astype(np.int32)
        starts = np.searchsorted(owners, np.arange(N1 + 1))
        self.owners, self.others = owners, others
        self.P, self.Q, self.dQ = (rng.standard_normal((n, R)).astype(dtype) for n in (N1, N2, N2))
        self.z = rng.random(len(owners)).astype(dtype)
        self.tolerance = 1e-4 if dtype == "float32" else 1e-12
        self.convert: Callable[[Matrix], Any] = np.asarray
        if way.startswith("torch"):
            torch = pytest.importorskip("torch")
            device = "cuda" if way == "torch-cuda" else "cpu"
            self.convert = lambda array: torch.asarray(array, device=device)
        elif way == "cupy":
            self.convert = pytest.importorskip("cupy").asarray
        self.entries = SortedEntries(self.convert(starts), self.convert(others))

    def summed(self, terms: Matrix) -> Matrix:
        result = np.zeros((N1, *terms.shape[1:]))
        for owner, term in zip(self.owners, terms.astype(float), strict=True):
            result[owner] += term
        return result

    def check(self, computed: Any, expected: Matrix) -> None:
        values = to_numpy(computed)
        assert values.dtype == self.P.dtype
        np.testing.assert_allclose(values, expected, rtol=self.tolerance, atol=self.tolerance)


@pytest.fixture
def example(way: str, dtype: str) -> Example:
    return Example(way, dtype)


def test_rows_and_counts(example: Example) -> None:
    assert example.entries.rows == N1
    assert example.entries.size == len(example.owners)
    np.testing.assert_array_equal(to_numpy(example.entries.owners), example.owners)
    np.testing.assert_array_equal(
        to_numpy(example.entries.counts), np.bincount(example.owners, minlength=N1)
    )


def test_dot(example: Example) -> None:
    it = example
    expected = np.sum(it.P[it.owners] * it.Q[it.others], axis=1)
    it.check(it.entries.dot(it.convert(it.P), it.convert(it.Q)), expected)


def test_sums(example: Example) -> None:
    it = example
    expected = it.summed(it.z[:, None] * it.Q[it.others])
    it.check(it.entries.sums(it.convert(it.z), it.convert(it.Q)), expected)


def test_cross_sums(example: Example) -> None:
    it = example
    products = np.sum(it.P[it.owners] * it.dQ[it.others], axis=1)
    expected = it.summed((it.z * products)[:, None] * it.Q[it.others])
    given = (it.convert(values) for values in (it.z, it.P, it.Q, it.dQ))
    it.check(it.entries.cross_sums(*given), expected)


def test_normal_matrices(example: Example) -> None:
    it = example
    q = it.Q[it.others]
    expected = it.summed(it.z[:, None, None] * q[:, :, None] * q[:, None, :])
    it.check(it.entries.normal_matrices(it.convert(it.z), it.convert(it.Q)), expected)


@pytest.mark.parametrize("width", [0.5, 1e9])
def test_fit_solves_weighted_least_squares_for_each_row(example: Example, width: float) -> None:
    it, ridge = example, 0.1
    residual = it.z - np.sum(it.P[it.owners] * it.Q[it.others], axis=1)
    w = soft_weights(residual.astype(float), width)
    expected = np.zeros((N1, R))
    for i in range(N1):
        own = it.owners == i
        q = it.Q[it.others[own]].astype(float)
        normal = (q.T * w[own]) @ q + ridge * np.eye(R)
        expected[i] = np.linalg.solve(normal, (q.T * w[own]) @ it.z[own])
    z, P, Q = (it.convert(values) for values in (it.z, it.P, it.Q))
    it.check(it.entries.fit(z, P, Q, width, ridge), expected)


def test_rows_without_entries_are_fitted_as_zero_without_a_ridge(example: Example) -> None:
    it = example
    z, P, Q = (it.convert(values) for values in (it.z, it.P, it.Q))
    fitted = to_numpy(it.entries.fit(z, P, Q, 1e9, 0.0))
    assert np.isfinite(fitted).all()
    assert not fitted[[7, N1 - 1]].any()


def test_result_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(sorted_entries, "_WORTH_COMPILING", 0)
    it = Example("compiled", "float64")
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        results.append(it.entries.fit(it.z, it.P, it.Q, 1.0, 0.1))
        results.append(it.entries.sums(it.z, it.Q))
    for k in (2, 4):
        np.testing.assert_array_equal(results[k], results[0])
        np.testing.assert_array_equal(results[k + 1], results[1])
