"""``complete`` and ``robust_pca`` on planted problems."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from experiments.battery.entries import draw
from robustrank.simulate import PlantedEntries, plant_entries

Matrix = np.ndarray[Any, Any]
N1, N2, R = 60, 50, 2
FREE = R * (N1 + N2 - R)


def planted(oversampling: float = 6.0, **options: Any) -> PlantedEntries:
    return plant_entries(N1, N2, R, round(oversampling * FREE), **{"rng": 1} | options)


def error_of_decided(result: rr.Result, truth: Matrix) -> float:
    """The error in the rows and columns that are decided, relative to the matrix there."""
    rows = np.setdiff1d(np.arange(result.shape[0]), result.undecided_rows)
    columns = np.setdiff1d(np.arange(result.shape[1]), result.undecided_columns)
    part = np.ix_(rows, columns)
    return float(np.linalg.norm((result.matrix - truth)[part]) / np.linalg.norm(truth[part]))


def test_a_surplus_component_that_fits_an_outlier_is_removed() -> None:
    """The bound is 6 for a rank of 3. One component was confined to a row and a column."""
    problem = draw("power-law", 180, 10_420_000)
    planted = problem.planted
    for seed in (0, 3):
        result = rr.complete(planted.triples, problem.bound, shape=planted.shape, rng=seed)
        assert result.status is rr.Status.ESTIMATED
        assert result.rank == 3
        assert error_of_decided(result, planted.matrix) < 1e-3


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_outliers_that_are_small_beside_a_large_mean(
    rank: int | None, noise: float, seed: int
) -> None:
    """They are found once the mean is explained, and not before."""
    rng = np.random.default_rng(seed)
    truth = 20 + rng.standard_normal((80, 3)) @ rng.standard_normal((3, 40))
    X = truth + noise * rng.standard_normal(truth.shape)
    wrong = rng.random(truth.shape) < 0.1
    X[wrong] += 10 * rng.standard_normal(int(wrong.sum()))
    X[rng.random(truth.shape) < 0.2] = np.nan
    result = rr.complete(X, rank)
    assert result.certified
    assert result.rank == 4
    assert error_of_decided(result, truth) < 1e-9 + noise / 20


@pytest.mark.parametrize(
    ("oversampling", "options"),
    [
        (6, {"outliers": 0.2, "outlier_model": "huge"}),
        (6, {"outliers": 0.1, "outlier_model": "scale"}),
        (6, {"outliers": 0.1, "outlier_model": "flip"}),
        (8, {"outliers": 0.2, "outlier_model": "max"}),
        (6, {"outliers": 0.2, "outlier_model": "offset"}),
        (6, {"outliers": 0.05, "condition_number": 100.0}),
        (6, {"outliers": 0.05, "scales": 1.0}),
        (6, {"outliers": 0.05, "sampling": "power-law"}),
        (3, {}),
    ],
    ids=lambda it: ", ".join(map(str, it.values())) if isinstance(it, dict) else str(it),
)
@pytest.mark.parametrize("rank", [R, 2 * R, None])
def test_exact_recovery(oversampling: float, options: dict[str, Any], rank: int | None) -> None:
    problem = planted(oversampling, **options)
    result = rr.complete(problem.triples, rank, shape=problem.shape)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == R
    assert error_of_decided(result, problem.matrix) < 1e-9
    assert result.noise == 0
    decided = ~np.isin(problem.rows, result.undecided_rows)
    decided &= ~np.isin(problem.columns, result.undecided_columns)
    np.testing.assert_array_equal(result.outliers[decided], problem.outliers[decided])


def test_float32() -> None:
    problem = planted(outliers=0.1)
    values = problem.values.astype(np.float32)
    result = rr.complete((problem.rows, problem.columns, values), R, shape=problem.shape)
    assert result.status is rr.Status.RECOVERED
    assert result.left.dtype == np.float32
    assert error_of_decided(result, problem.matrix) < 1e-4


@pytest.mark.parametrize("rank", [R, None])
@pytest.mark.parametrize("noise", [0.001, 0.05, 0.15])
def test_noise_and_outliers(noise: float, rank: int | None) -> None:
    problem = plant_entries(
        150, 120, R, round(6 * R * 268), noise=noise, outliers=0.1, outlier_model="huge", rng=1
    )
    result = rr.complete(problem.triples, rank, shape=problem.shape)
    assert result.status is rr.Status.ESTIMATED
    assert result.rank == R
    assert result.noise == pytest.approx(noise * problem.matrix.std(), rel=0.1)
    # Least squares with the outliers known has about this error.
    assert error_of_decided(result, problem.matrix) < 1.3 * noise / np.sqrt(0.9 * 6)
    assert np.mean(result.outliers == problem.outliers) > 0.98


@pytest.mark.parametrize("rank", [2, None])
def test_recover_completes_matrices_of_which_entries_are_measured(rank: int | None) -> None:
    problem = plant_entries(40, 30, 2, 600, outliers=0.1, rng=3)
    rows, columns, values = problem.triples
    found = rr.recover(rr.operators.Entries(rows, columns, problem.shape), values, rank)
    expected = rr.complete(problem.triples, rank, shape=problem.shape)
    assert found.status is rr.Status.RECOVERED
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    np.testing.assert_array_equal(found.outliers, expected.outliers)


def test_too_much_noise_is_named() -> None:
    problem = plant_entries(40, 30, 1, 1000, noise=0.5, rng=1)
    result = rr.complete(problem.triples, 1, shape=problem.shape)
    assert result.status is rr.Status.INCONCLUSIVE
    text = r"The residuals are [\d.]+% of a typical entry, and results with more than 30% noise"
    assert re.match(text, dict(result.summary())["objections"])


def test_rank_too_low_is_not_certified() -> None:
    for noise in (0.0, 0.05):
        problem = planted(10, noise=noise)
        result = rr.complete(problem.triples, 1, shape=problem.shape)
        assert result.status is rr.Status.INCONCLUSIVE
        assert any("a higher rank may fit" in text for text in result.certificate.objections)


@pytest.mark.parametrize(
    ("oversampling", "options"),
    [
        (0.9, {}),
        (2, {"outliers": 0.4, "outlier_model": "scale"}),
        (6, {"outliers": 0.6, "outlier_model": "scale"}),
    ],
)
def test_impossible_problems_are_not_certified(
    oversampling: float, options: dict[str, Any]
) -> None:
    for seed in range(3):
        problem = planted(oversampling, rng=seed, **options)
        result = rr.complete(problem.triples, R, shape=problem.shape)
        assert not result.certified or error_of_decided(result, problem.matrix) < 1e-6


def test_numbers_without_structure_are_not_certified() -> None:
    X = np.random.default_rng(1).standard_normal((40, 30))
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    for rank in (1, None):
        assert not rr.complete(X, rank).certified


def test_rows_and_columns_with_few_entries_are_undecided() -> None:
    problem = planted(8, outliers=0.05)
    scarce_row, empty_row, scarce_column = 5, 6, 7
    kept = np.ones(len(problem.rows), bool)
    for positions, index, left in (
        (problem.rows, scarce_row, R),
        (problem.rows, empty_row, 0),
        (problem.columns, scarce_column, R),
    ):
        places = np.flatnonzero((positions == index) & kept)
        kept[places[left:]] = False
    triples = tuple(part[kept] for part in problem.triples)
    result = rr.complete(triples, R, shape=problem.shape)
    assert result.status is rr.Status.RECOVERED
    assert {scarce_row, empty_row} <= set(result.undecided_rows.tolist())
    assert scarce_column in result.undecided_columns
    assert len(result.undecided_rows) < 6
    assert error_of_decided(result, problem.matrix) < 1e-9


def test_blocks_that_share_no_row_do_not_determine_each_other() -> None:
    """Each block is determined, but not the parts of the matrix between them."""
    problem = plant_entries(60, 60, R, 3600, rng=1)
    X = problem.matrix.copy()
    X[:40, 30:] = X[40:, :30] = np.nan
    result = rr.complete(X, R)
    decided = np.setdiff1d(np.arange(60), result.undecided_rows)
    assert not (result.certified and (decided < 40).any() and (decided >= 40).any())


def test_robust_pca() -> None:
    problem = plant_entries(80, 70, 3, 5600, outliers=0.3, outlier_model="max", rng=1)
    X = problem.incomplete
    result = rr.robust_pca(X)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 3
    np.testing.assert_allclose(result.matrix, problem.matrix, atol=1e-9 * np.abs(X).max())
    np.testing.assert_allclose(result.matrix + result.sparse.toarray(), X, atol=1e-9)
    assert result.sparse.nnz == 1680
    with pytest.raises(ValueError, match="use complete"):
        rr.robust_pca(np.where(X > 0, X, np.nan))


def test_predict_and_new_rows() -> None:
    problem = planted(8, outliers=0.1, outlier_model="huge")
    result = rr.complete(problem.triples, shape=problem.shape)
    rows, columns = np.arange(4)[:, None], np.arange(3)
    predicted = result.predict(rows, columns)
    np.testing.assert_allclose(predicted, problem.matrix[:4, :3], rtol=1e-9)
    rng = np.random.default_rng(1)
    new = rng.standard_normal((4, R)) @ problem.right.T
    X = np.where(rng.random(new.shape) < 0.5, new, np.nan)
    X[0, np.flatnonzero(np.isfinite(X[0]))[:4]] = 1e3
    X[1, 3:] = np.nan
    fitted = result.fit_rows(X)
    assert fitted.undecided.tolist() == [1]
    np.testing.assert_allclose(fitted.matrix[[0, 2, 3]], new[[0, 2, 3]], rtol=1e-8)
    assert fitted.outliers.sum() == 4
    assert fitted.outliers[0].sum() == 4


@pytest.mark.parametrize(
    ("rows", "columns", "error", "message"),
    [
        ([0, N1], [0, 0], IndexError, f"rows contains {N1}; expected numbers from 0 to {N1 - 1}"),
        ([0], [-1], IndexError, "columns contains -1"),
        ([0.5], [0], TypeError, "expected integers"),
    ],
)
def test_predict_of_invalid_positions(
    rows: Any, columns: Any, error: type[Exception], message: str
) -> None:
    problem = planted()
    result = rr.complete(problem.triples, R, shape=problem.shape)
    with pytest.raises(error, match=message):
        result.predict(rows, columns)


def test_matrix_that_does_not_fit_in_memory_is_refused() -> None:
    n = 3_000_000
    problem = planted()
    rows = np.concatenate([problem.rows, [n - 1]])
    columns = np.concatenate([problem.columns, [n - 1]])
    values = np.concatenate([problem.values, [1.0]])
    result = rr.complete((rows, columns, values), R)
    assert result.shape == (n, n)
    assert result.status is rr.Status.RECOVERED
    assert len(result.undecided_rows) >= n - N1
    with pytest.raises(MemoryError, match="use predict"):
        _ = result.matrix


def test_callback_and_time_limit_stop_the_run() -> None:
    problem = planted()
    stages = []

    def callback(progress: rr.Progress) -> bool:
        stages.append((progress.stage, progress.fraction, progress.left.shape))
        return progress.stage.startswith("rank")

    result = rr.complete(problem.triples, R, shape=problem.shape, callback=callback)
    assert result.stopped is rr.StopReason.CALLBACK
    assert stages[0] == ("search", 1 / 25, (N1, R))
    assert len(stages) == 13
    assert not result.certified
    assert len(result.undecided_rows) == N1
    limited = rr.complete(problem.triples, R, shape=problem.shape, time_limit=1e-9)
    assert limited.stopped is rr.StopReason.TIME_LIMIT


def test_progress_has_the_factors_in_the_units_and_rows_of_the_data() -> None:
    X = 1000 * planted().incomplete
    X[3] = np.nan  # no entries
    latest = None

    def callback(progress: rr.Progress) -> None:
        nonlocal latest
        latest = progress.left @ progress.right.T

    result = rr.complete(X, R, callback=callback)
    assert latest is not None
    others = np.arange(N1) != 3
    np.testing.assert_allclose(latest[others], result.matrix[others], rtol=1e-3, atol=1)


@pytest.mark.usefixtures("default_signals")
def test_interruption_keeps_the_factors() -> None:
    problem = planted()

    def interrupt(progress: rr.Progress) -> None:
        if progress.stage.startswith("rank"):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(rr.Interrupted) as caught:
        rr.complete(problem.triples, R, shape=problem.shape, callback=interrupt)
    result = caught.value.result
    assert result.stopped is rr.StopReason.INTERRUPTED
    relative = np.linalg.norm(result.matrix - problem.matrix) / np.linalg.norm(problem.matrix)
    assert relative < 0.5


def test_result_in_words() -> None:
    problem = planted(outliers=0.1)
    text = repr(rr.complete(problem.triples, R, shape=problem.shape))
    assert "A 60 × 50 matrix of rank 2" in text
    assert "recovered" in text
    assert "none: the fit is exact" in text
    noisy = planted(10, noise=0.1)
    result = rr.complete(noisy.triples, R, shape=noisy.shape)
    assert "by a constant" in repr(result)
    assert "<table>" in result._repr_html_()


def test_surplus_component_that_fits_flipped_signs_is_not_certified() -> None:
    """28 % of the signs are flipped; a second component fits 36 of 770 wrong entries."""
    problem = draw("all", 524, 410_000)
    result = rr.complete(problem.planted.triples, 2, shape=problem.planted.shape)
    assert not (result.certified and result.rank == 2)


def mostly_zero(share: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((60, 20)) < share, rng.random((60, 20)), 0.0)


@pytest.mark.parametrize(
    "X",
    [
        *(mostly_zero(share, seed) for share in (0.1, 0.2) for seed in range(3)),
        np.eye(20),
        np.eye(30, 12),
        np.random.default_rng(2).poisson(0.2, (60, 20)).astype(float),
        np.zeros((5, 4)),
    ],
)
def test_zero_matrix_explains_data_that_is_mostly_zero(X: Any) -> None:
    result = rr.robust_pca(X)
    assert (result.status, result.rank) == (rr.Status.RECOVERED, 0)
    assert np.array_equal(result.matrix, np.zeros(X.shape))
    assert np.array_equal(result.sparse.toarray(), X)
    assert np.array_equal(result.outliers, X != 0)
    assert "the zero matrix (rank 0)" in str(result)
    assert result.fit_rows(X[:2]).matrix.shape == (2, X.shape[1])


def test_sparse_factors_are_not_taken_for_zero() -> None:
    """Most entries of the matrix are zero, but the others are not explained by outliers."""
    rng = np.random.default_rng(5)
    left = rng.standard_normal((60, 1)) * (np.arange(60)[:, None] < 35)
    X = left @ rng.standard_normal((1, 40)) * (np.arange(40) < 26)
    assert np.mean(X == 0) > 0.6
    result = rr.robust_pca(X)
    assert (result.status, result.rank) == (rr.Status.RECOVERED, 1)
    assert np.abs(result.matrix - X).max() < 1e-9


@pytest.mark.parametrize("shape", [(3, 3), (1, 12), (12, 1)])
def test_zeros_of_any_shape_are_completed_by_zero(shape: tuple[int, int]) -> None:
    assert np.array_equal(rr.complete(np.zeros(shape)).matrix, np.zeros(shape))


def test_columns_that_are_mostly_zero_beside_others() -> None:
    """No majority of zeros, but the noise of most rows would be estimated as zero."""
    rng = np.random.default_rng(1)
    X = np.zeros((60, 20))
    X[:, ::2] = rng.standard_normal((60, 10))
    result = rr.complete(X)
    assert not result.certified
    assert np.isfinite(result.matrix).all()
