"""A given rank that is too large: the result has the true rank, exactly or with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import to_numpy
from robustrank.metrics import evaluate, normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.run import Run
from robustrank.simulate import Planted, plant
from robustrank.solvers import Drive, GaussNewton, MessagePassing, Settling
from robustrank.solvers.base import Estimate

N1, N2, RANK = 40, 32, 2


def planted_with(noise: float, m: int = 420, seed: int = 0, **more: Any) -> Planted:
    return plant(N1, N2, RANK, m, outliers=0.05, bounded_noise=noise, rng=seed, **more)


def oracle_error(planted: Planted) -> float:
    """The error of least squares on the true inliers, with the true rank."""
    inliers = ~planted.outliers
    solver = GaussNewton(settling=Settling(alpha_h=1e9))
    result = rr.recover(planted.A[inliers], planted.y[inliers], RANK, solver=solver)
    return normalized_error((result.left, result.right), (planted.left, planted.right))


def estimated(A: Any, y: Any, bound: int) -> Estimate:
    """What message passing finds with an upper bound on the rank."""
    problem, solver = Problem(as_operator(A), y, bound), MessagePassing()
    (outcome,) = Drive([problem], solver, Run()).to_the_end(np.random.default_rng(0))
    state: Any = outcome.state
    return solver.estimate(problem.normalized(), state)


@pytest.mark.parametrize("given", [2, 3, 5, 12])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_result_has_the_true_rank(given: int, noise: float) -> None:
    planted = planted_with(noise)
    if given == 12:  # more degrees of freedom than there are measurements
        with pytest.warns(rr.UndersampledWarning):
            result = rr.recover(planted.A, planted.y, given)
    else:
        result = rr.recover(planted.A, planted.y, given)
    assert result.rank == RANK
    error = evaluate(result, planted).error
    if noise:
        assert result.status is rr.Status.ESTIMATED
        assert error < 1.02 * oracle_error(planted)
    else:
        assert result.status is rr.Status.RECOVERED
        assert error < 1e-9
    assert result.attempts[-1].rank == RANK


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_true_rank_in_both_precisions(dtype: str) -> None:
    planted = plant(40, 30, 2, 700, outliers=0.05, rng=16)
    result = rr.recover(planted.A.astype(dtype), planted.y.astype(dtype), 4)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2
    assert result.left.dtype == dtype
    assert evaluate(result, planted).error < (1e-9 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize(
    ("dtype", "sensing", "measured"), [("f4", 1e-20, 1e15), ("f8", 1e-20, 1e280)]
)
def test_true_rank_at_every_scale(dtype: str, sensing: float, measured: float) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=17)
    A, y = (planted.A * sensing).astype(dtype), (planted.y * measured).astype(dtype)
    result = rr.recover(A, y, 4)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2


def test_message_passing_is_tried_if_noise_may_explain_a_singular_value() -> None:
    planted = plant(
        N1, N2, RANK, 600, outliers=0.05, bounded_noise=1.5, condition_number=20.0, rng=0
    )
    solvers = []
    result = rr.recover(
        planted.A, planted.y, RANK, callback=lambda progress: solvers.append(progress.stage)
    )
    assert result.attempts[0].status is rr.Status.ESTIMATED
    assert "message passing" in solvers
    assert result.status is rr.Status.ESTIMATED


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_small_singular_values_are_kept(noise: float) -> None:
    planted = planted_with(noise, condition_number=20.0)
    result = rr.recover(planted.A, planted.y, RANK)
    assert result.rank == RANK
    assert result.certified
    assert evaluate(result, planted).error < 0.005


def test_sensing_entries_with_a_mean_do_not_lead_to_a_certified_result_of_too_low_rank() -> None:
    """The common part of the A_i hides the smaller of two singular values."""
    rng = np.random.default_rng(45)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (30, 24))
    M = U * np.array([1.0, 0.3]) @ V.T
    A = rng.standard_normal((440, 30, 24)) + 0.5
    y = np.einsum("mij,ij->m", A, M)
    y += 0.01 * y.std() * rng.standard_normal(440)
    y[:44] = 100 * y.std() * rng.standard_normal(44)
    result = rr.recover(A, y, 5)
    assert result.status is rr.Status.ESTIMATED
    assert result.rank == 2
    assert normalized_error((result.left, result.right), (U * np.array([1.0, 0.3]), V)) < 0.05


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_estimated_rank_is_the_true_one(rank: int) -> None:
    planted = plant(20, 16, rank, 400, outliers=0.1, bounded_noise=0.02, rng=rank)
    estimate = estimated(planted.A, planted.y, bound=5)
    assert estimate.rank == rank
    assert estimate.is_credible


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_a_truncated_estimate_has_the_leading_singular_values(rank: int) -> None:
    planted = plant(20, 16, 3, 400, outliers=0.1, bounded_noise=0.02, rng=3)
    whole = estimated(planted.A, planted.y, bound=4)
    part = whole.truncated(rank)
    left, values, right = whole.point.left, whole.point.values, whole.point.right
    assert part.rank == min(rank, 3)
    assert part.point.values.shape == (rank,)
    assert np.array_equal(part.point.left, left[:, :rank])
    assert np.array_equal(part.point.values, values[:rank])
    assert np.array_equal(part.point.right, right[:, :rank])
    assert part.error == whole.error
    assert part.is_credible == whole.is_credible


@pytest.mark.parametrize(("given", "m", "seed"), [(5, 100, 0), (12, 120, 1), (16, 100, 2)])
def test_with_too_few_measurements_for_the_given_rank_a_lower_one_is_found(
    given: int, m: int, seed: int
) -> None:
    planted = plant(20, 16, 2, m, rng=seed)  # 68 degrees of freedom
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(planted.A, planted.y, given)
    first, *others = result.attempts
    assert first.status is rr.Status.UNDERDETERMINED
    assert {attempt.rank for attempt in others} == {2}
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2
    assert evaluate(result, planted).error < 1e-9


def test_with_too_few_measurements_the_largest_rank_that_they_could_determine_is_tried() -> None:
    """Message passing finds no rank, but 47 measurements are enough for rank one."""
    planted = plant(15, 9, 1, 47, outliers=0.15, outlier_model="scale", rng=5)
    result = rr.recover(planted.A, planted.y, 2)
    assert [attempt.rank for attempt in result.attempts[1:]] == [1]
    assert result.status is rr.Status.RECOVERED


def test_pure_noise_has_no_estimated_rank() -> None:
    rng = np.random.default_rng(3)
    estimate = estimated(rng.standard_normal((150, 12, 9)), rng.standard_normal(150), bound=3)
    assert not estimate.is_credible


@pytest.mark.slow_with_jax
@pytest.mark.timeout(900)  # JAX compiles every operation, on a GPU more slowly
def test_each_problem_of_a_batch_has_its_own_rank(xp: Any) -> None:
    if "strict" in xp.__name__:
        pytest.skip("takes ten seconds; tests/api/test_recover_many.py has a batch of its arrays")
    ranks = [1, 3, 2, 1] if xp.__name__ == "numpy" else [1, 2]  # other libraries are slow
    planted = [plant(12, 9, r, 180, outliers=0.05, bounded_noise=0.02, rng=r) for r in ranks]
    data = [(xp.asarray(one.A), xp.asarray(one.y)) for one in planted]
    together = list(rr.recover_many(data, 3, batch=4))
    assert [result.rank for result in together] == ranks
    for (A, y), result in zip(data, together, strict=True):
        alone = rr.recover(A, y, 3)
        assert result.status is alone.status
        assert np.allclose(to_numpy(result.matrix), to_numpy(alone.matrix), atol=1e-6)
