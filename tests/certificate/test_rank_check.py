"""Is the rank of a result too high or too low? Both show in any units."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate import rank_above_noise, rank_may_be_too_low
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import plant

SETTLES_EARLY = rr.solvers.GaussNewton(
    max_iterations=200, settling=rr.solvers.Settling(start_after=0)
)


@pytest.mark.parametrize("unit_of_A", [1.0, 1e-170, 1e160])
@pytest.mark.parametrize("unit_of_y", [1.0, 1e-25])
def test_wrong_ranks_are_noticed_in_any_units(unit_of_A: float, unit_of_y: float) -> None:
    planted = plant(24, 20, 2, 500, outliers=0.05, bounded_noise=0.2, rng=0)
    problem = Problem(as_operator(planted.A * unit_of_A), planted.y * unit_of_y, 3)
    results = {
        rank: rr.recover(problem.operator, problem.y, rank, solver=SETTLES_EARLY)
        for rank in (1, 2, 3)
    }
    assert [rank_above_noise(problem, results[rank]) for rank in (1, 2, 3)] == [1, 2, 2]
    assert [results[rank].certified for rank in (1, 2)] == [False, True]
    assert results[2].certificate.prediction_error < results[3].certificate.prediction_error


def test_nothing_is_above_noise_if_everything_is_noise() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((200, 12, 10)), rng.standard_normal(200)
    result = rr.recover(A, y, 1, solver=SETTLES_EARLY)
    assert rank_above_noise(Problem(as_operator(A), y, 1), result) == 0


@pytest.mark.parametrize("inliers", [0, 5])
def test_nothing_is_above_noise_of_unknown_size(inliers: int) -> None:
    planted = plant(12, 10, 1, 200, rng=0)
    result = rr.recover(planted.A, planted.y, 1)
    evidence = replace(result.certificate, inliers=inliers, prediction_error=math.inf)
    problem = Problem(as_operator(planted.A), planted.y, 1)
    assert rank_above_noise(problem, replace(result, certificate=evidence)) == 0


def test_with_few_measurements_a_missing_singular_value_is_not_taken_for_noise() -> None:
    """Exact data of rank 2, with singular values 10 : 1. A fit of rank 1 leaves small residuals."""
    planted = plant(40, 32, 2, 180, outliers=0.1, rng=2, condition_number=10.0)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is not rr.Status.ESTIMATED
    solver = rr.solvers.GaussNewton(settling=rr.solvers.Settling(start_after=0))
    rank_1 = rr.recover(planted.A, planted.y, 1, solver=solver)
    assert not rank_1.certified


@pytest.mark.parametrize(("inliers", "noise", "too_low"), [(190, 0.06, True), (200, 0.06, False)])
def test_large_noise_in_few_measurements_may_be_a_missing_column(
    inliers: int, noise: float, too_low: bool
) -> None:
    """A matrix of the given rank has 66 degrees of freedom."""
    planted = plant(20, 15, 1, 400, bounded_noise=0.02, rng=0)
    result = rr.recover(planted.A, planted.y, 1)
    problem = Problem(as_operator(planted.A), planted.y, 2)
    assert not rank_may_be_too_low(problem, result)
    certificate = replace(result.certificate, inliers=inliers, noise=noise)
    assert rank_may_be_too_low(problem, replace(result, certificate=certificate)) is too_low
