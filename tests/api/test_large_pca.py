"""``robust_pca`` of matrices that are split by blocks of columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.completion import by_columns

COMPLETE = import_module("robustrank.api.complete")  # the function has the same name
N1, N2, R = 60, 900, 2
Matrix = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are split like large ones: 200 columns first, then blocks of 50."""
    monkeypatch.setattr(COMPLETE, "_LARGE", 10_000)
    monkeypatch.setattr(by_columns, "_ENTRIES", 200 * N1)
    monkeypatch.setattr(by_columns, "_BLOCK", 50 * N1)


def planted(noise: float = 0.0, share: float = 0.2) -> tuple[Matrix, Matrix, Matrix]:
    """The data, the matrix of low rank, and where the data is wrong."""
    rng = np.random.default_rng(1)
    L = rng.standard_normal((N1, R)) @ rng.standard_normal((R, N2))
    wrong = rng.random((N1, N2)) < share
    X = np.where(wrong, 3 * rng.standard_normal((N1, N2)), L)
    return X + noise * rng.standard_normal((N1, N2)), L, wrong


def relative_error(result: rr.Result, L: Matrix) -> float:
    return float(np.linalg.norm(result.matrix - L) / np.linalg.norm(L))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [R, None])
def test_exact_data_is_recovered(rank: int | None, transposed: bool) -> None:
    X, L, wrong = (part.T if transposed else part for part in planted(share=0.3))
    result = rr.robust_pca(X, rank)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == R
    assert relative_error(result, L) < 1e-9
    np.testing.assert_array_equal(result.outliers, wrong)
    np.testing.assert_allclose(result.sparse.toarray(), np.where(wrong, X - L, 0), atol=1e-8)
    assert result.certificate.measurements == X.size


def test_noise_is_found_as_without_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, L, _ = planted(noise=0.05)
    result = rr.robust_pca(X, R)
    monkeypatch.setattr(COMPLETE, "_LARGE", X.size)
    whole = rr.robust_pca(X, R)
    assert result.status is whole.status is rr.Status.ESTIMATED
    assert result.noise == pytest.approx(0.05, rel=0.1)
    assert relative_error(result, L) < 1.3 * relative_error(whole, L)
    assert np.mean(result.outliers == whole.outliers) > 0.99


def test_integers_and_float32_are_accepted() -> None:
    X, L, _ = planted()
    assert relative_error(rr.robust_pca(X.astype(np.float32), R), L) < 1e-4
    few = slice(0, 300)  # rounding is noise, which takes longer
    rounded = np.round(1000 * X[:, few]).astype(np.int16)
    assert relative_error(rr.robust_pca(rounded, R), 1000 * L[:, few]) < 1e-3


def test_infinite_values_are_outliers() -> None:
    X, _, wrong = planted()
    X[wrong] = np.inf
    result = rr.robust_pca(X, R)
    assert result.status is rr.Status.RECOVERED
    np.testing.assert_array_equal(result.outliers, wrong)


def test_columns_without_a_majority_are_undecided() -> None:
    X, L, _ = planted()
    X[:, [3, 500]] = np.random.default_rng(2).standard_normal((N1, 2))
    result = rr.robust_pca(X, R)
    assert result.status is rr.Status.RECOVERED
    assert result.undecided_columns.tolist() == [3, 500]
    decided = np.setdiff1d(np.arange(N2), [3, 500])
    assert np.allclose(result.matrix[:, decided], L[:, decided])


@pytest.mark.parametrize("stage", ["search", "columns"])
def test_a_run_that_is_stopped_returns_what_was_found(stage: str) -> None:
    X, _, _ = planted()
    result = rr.robust_pca(X, R, callback=lambda progress: progress.stage == stage)
    assert result.stopped is rr.StopReason.CALLBACK
    assert result.matrix.shape == X.shape
    assert np.isfinite(result.matrix).all()
    assert len(result.undecided_columns) == N2


def test_ctrl_c_keeps_the_result() -> None:
    def interrupt(progress: rr.Progress) -> None:
        if progress.stage == "columns":
            raise KeyboardInterrupt

    X, _, _ = planted()
    with pytest.raises(rr.Interrupted) as caught:
        rr.robust_pca(X, R, callback=interrupt)
    assert caught.value.result.shape == X.shape


def test_a_rank_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="rank=61 is larger than min"):
        rr.robust_pca(planted()[0], 61)


def test_infinite_values_are_missing_and_marked_as_outliers() -> None:
    X, L, _ = planted(noise=0.05)
    X[5, ::50], X[7], X[:, 30] = np.inf, -np.inf, np.inf
    result = rr.robust_pca(X, R)
    infinite = np.isinf(X)
    assert result.status is rr.Status.ESTIMATED
    assert result.outliers[infinite].all()
    assert result.certificate.measurements == X.size - infinite.sum()
    assert result.noise == pytest.approx(0.05, rel=0.1)
    assert result.undecided_rows.tolist() == [7]
    assert 30 in result.undecided_columns
    empty = np.zeros(X.shape, bool)
    empty[7], empty[:, 30] = True, True
    np.testing.assert_array_equal(np.isnan(result.matrix), empty)
    assert np.abs((result.matrix - L)[~empty]).max() < 0.2
