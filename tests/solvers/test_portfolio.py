"""The portfolio behind ``solver="auto"``: which candidates are tried, and what they achieve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robustrank as rr
from robustrank.metrics import evaluate, normalized_error
from robustrank.outofcore import StreamedOperator
from robustrank.outofcore.file_rows import FileRows
from robustrank.run import Run
from robustrank.search.one_problem import Search
from robustrank.simulate import Planted, plant
from robustrank.solvers import (
    GaussNewton,
    MedianTGD,
    Portfolio,
    Problem,
    Settling,
)
from robustrank.solvers.portfolio import SOFT

ALL_INLIERS = GaussNewton(settling=Settling(alpha_h=1e9))  # rejects nothing


def oracle_error(planted: Planted, *, from_the_truth: bool = False) -> float:
    """The error of a fit to the true inliers."""
    inliers, truth = ~planted.outliers, (planted.left, planted.right)
    result = rr.recover(
        planted.A[inliers],
        planted.y[inliers],
        planted.rank,
        solver=ALL_INLIERS,
        start=truth if from_the_truth else None,
    )
    return normalized_error((result.left, result.right), truth)


def test_one_candidate_is_tried_if_it_succeeds(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2)
    assert result.status is rr.Status.RECOVERED
    assert [attempt.status for attempt in result.attempts] == [rr.Status.RECOVERED]
    assert result.solver == result.attempts[0].solver == "Gauss–Newton"


def test_candidates_are_tried_until_one_is_certified() -> None:
    planted = plant(30, 24, 2, 450, outliers=0.42, outlier_model="constant", rng=4)
    result = rr.recover(planted.A, planted.y, 2)
    assert evaluate(result, planted).error < 1e-6
    assert len(result.attempts) > 1
    assert [attempt.status for attempt in result.attempts[:-1]].count(rr.Status.RECOVERED) == 0
    assert result.solver == result.attempts[-1].solver
    assert "tried" in str(result)
    assert str(result.attempts[0]) in str(result)


def test_attempts_are_saved_with_the_result(small: Planted, tmp_path: Path) -> None:
    result = rr.recover(small.A, small.y, 2)
    result.save(tmp_path / "result.npz")
    assert rr.load(tmp_path / "result.npz").attempts == result.attempts


@pytest.mark.parametrize("m", [90, 130, 170])
def test_random_measurements_are_never_certified(m: int) -> None:
    planted = [plant(12, 10, 2, m, rng=seed) for seed in range(3)]
    y = [np.random.default_rng(seed).standard_normal(m) for seed in range(3)]
    data = [(one.A, values) for one, values in zip(planted, y, strict=True)]
    for result in rr.recover_many(data, 2, batch=3):
        assert not result.certified, result.attempts
        assert [attempt.solver for attempt in result.attempts] == [
            "Gauss–Newton",
            "message passing",
            "message passing, faults",
            "Gauss–Newton, from twice the rank",
        ]


@pytest.mark.parametrize("outliers", [0.3, 0.45])
def test_with_too_many_outliers_only_correct_results_are_certified(outliers: float) -> None:
    planted = [
        plant(12, 10, 2, 80, outliers=outliers, outlier_model="scale", rng=seed)
        for seed in range(4)
    ]
    results = rr.recover_many([(one.A, one.y) for one in planted], 2, batch=4)
    for one, result in zip(planted, results, strict=True):
        assert result.certified == (evaluate(result, one).error < 1e-6)


@pytest.mark.parametrize(("m", "noise", "seed"), [(280, 0.05, 1), (420, 0.05, 2), (600, 0.1, 3)])
def test_with_noise_no_inlier_is_rejected(m: int, noise: float, seed: int) -> None:
    """Also with twice as many measurements as unknowns, of which there are 140."""
    planted = plant(40, 32, 2, m, outliers=0.05, bounded_noise=noise, rng=seed)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.ESTIMATED
    assert evaluate(result, planted).error < 1.02 * oracle_error(planted)
    assert not result.outliers[~planted.outliers].any()


@pytest.mark.parametrize("seed", [5])
def test_with_noise_at_the_limit_the_best_result_is_returned(seed: int) -> None:
    """158 inliers for 140 unknowns are too few for a certificate, and wrong results fit better."""
    planted = plant(40, 32, 2, 166, outliers=0.05, bounded_noise=0.05, rng=seed)
    result = rr.recover(planted.A, planted.y, 2)
    assert not result.certified
    assert evaluate(result, planted).error < 1.02 * oracle_error(planted, from_the_truth=True)
    assert any(attempt.misfit < result.certificate.misfit for attempt in result.attempts)


def test_a_small_outlier_that_was_an_inlier_at_first_is_rejected_later() -> None:
    """The set of inliers must not be frozen while the steps are still large."""
    planted = plant(60, 48, 5, 690, outliers=0.05, rng=6888966790970329511)
    result = rr.recover(planted.A, planted.y, 5)
    assert result.status is rr.Status.RECOVERED
    assert np.array_equal(result.outliers, planted.outliers)


def test_a_measurement_near_the_cutoff_does_not_delay_settling() -> None:
    """One measurement is accepted and rejected in turn."""
    planted = plant(8, 6, 1, 40, outliers=0.2, bounded_noise=0.3, rng=43)
    assert rr.recover(planted.A, planted.y, 1, solver=SOFT).iterations < SOFT.max_iterations


def test_order_of_the_candidates() -> None:
    portfolio = Portfolio()
    assert [candidate.name for candidate in portfolio.solvers] == [
        "Gauss–Newton",
        "message passing",
        "message passing, faults",
    ]


def test_flipped_signs_are_left_to_message_passing() -> None:
    planted = plant(60, 50, 3, 680, outliers=0.2, outlier_model="flip", rng=15)
    result = rr.recover(planted.A, planted.y, 3)
    assert result.status is rr.Status.RECOVERED
    assert result.solver == "message passing"
    assert [attempt.status for attempt in result.attempts][-1] is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_integers_are_recovered_exactly(dtype: str) -> None:
    rng = np.random.default_rng(7)
    A = rng.integers(-2, 3, (200, 12, 10)).astype(dtype)
    M = np.outer(rng.integers(1, 3, 12), rng.integers(-2, 0, 10)).astype(dtype)
    y = np.einsum("ijk,jk->i", A, M)
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, M, rtol=1e-5)


@pytest.mark.parametrize("m", [1000, 60_000])
def test_the_candidates_do_not_depend_on_the_size_of_a_file(m: int, tmp_path: Path) -> None:
    """Not even for a sparse file of 4 GB, which uses little disk space."""
    A = np.lib.format.open_memmap(tmp_path / "A.npy", mode="w+", dtype="f4", shape=(m, 150, 120))
    operator = StreamedOperator(FileRows.from_npy(tmp_path / "A.npy"), A.shape[1:])
    vars(operator)["_norms"] = np.ones(m, "f4")  # without reading the file
    problem = Problem(operator, np.arange(1.0, m + 1, dtype="f4"), 3)
    chosen = rr.api.SOLVERS["auto"]()
    assert isinstance(chosen, Portfolio)
    search = Search(problem, chosen, np.random.default_rng(0), Run())
    assert search._solvers == Portfolio().solvers
    assert not any(isinstance(candidate, MedianTGD) for candidate in search._solvers)


def test_a_portfolio_without_solvers_raises() -> None:
    with pytest.raises(ValueError, match="at least one solver"):
        Portfolio(())
