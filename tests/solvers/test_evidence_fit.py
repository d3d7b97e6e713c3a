"""The final fit: least squares on the set of inliers with the most evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import as_generator
from robustrank.linalg import point_of
from robustrank.metrics import normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.run import Run
from robustrank.simulate import Planted, plant
from robustrank.solvers import Drive
from robustrank.solvers.driver import Outcome
from robustrank.solvers.evidence_fit import EvidenceFit, EvidenceFitState

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def clean() -> Planted:
    return plant(16, 12, 2, 300, rng=4)


def near(planted: Planted, error: float) -> tuple[Array, Array]:
    """Factors with this relative error."""
    rng = np.random.default_rng(1)

    def moved(factor: Array) -> Array:
        size = error * np.linalg.norm(factor) / np.sqrt(factor.size)
        return np.asarray(factor + size * rng.standard_normal(factor.shape))

    return moved(planted.left), moved(planted.right)


def fitted(planted: Planted, y: Array, error: float = 0.05, **options: Any) -> Outcome:
    """The outcome of the final fit from factors with this error."""
    problem = Problem(as_operator(planted.A), y, planted.rank)
    unit = problem.units.matrix
    U, V = near(planted, error)
    solver = EvidenceFit(point_of(U / unit, V), **options)
    (outcome,) = Drive([problem], solver, Run()).to_the_end(as_generator(0))
    return outcome


def error_of(outcome: Outcome, planted: Planted, y: Array) -> float:
    unit = Problem(as_operator(planted.A), y, planted.rank).units.matrix
    return normalized_error(
        (outcome.state.U * unit, outcome.state.V), (planted.left, planted.right)
    )


@pytest.mark.parametrize(
    ("count", "offset"), [(30, 0.01), (30, 0.1), (30, 0.3), (60, 0.1), (60, 0.3)]
)
def test_exact_core_is_found_below_small_offsets(count: int, offset: float, clean: Planted) -> None:
    """The offsets are as small as noise: a fit of all measurements has small residuals."""
    y = clean.y.copy()
    y[:count] += offset * np.std(clean.y)
    outcome = fitted(clean, y, error=offset / 2)
    assert outcome.reason is None
    assert error_of(outcome, clean, y) < 1e-10
    assert np.array_equal(outcome.state.weights > 0, np.arange(300) >= count)


def test_gaussian_noise_is_kept(clean: Planted) -> None:
    """Narrower weights have less evidence, so that nothing is rejected."""
    noise = 0.05 * np.std(clean.y) * np.random.default_rng(2).standard_normal(300)
    outcome = fitted(clean, clean.y + noise)
    assert outcome.reason is None
    assert np.count_nonzero(outcome.state.weights) >= 298
    J = as_operator(clean.A).tangent(clean.left, clean.right)
    W = np.linalg.lstsq(J.stored.reshape(300, -1), noise, rcond=None)[0]  # type: ignore[attr-defined]
    best = np.linalg.norm(J.stored.reshape(300, -1) @ W)  # type: ignore[attr-defined]
    problem = Problem(as_operator(clean.A), clean.y + noise, 2)
    residual = outcome.state.residual * problem.units.measurement
    assert np.linalg.norm(noise - residual) == pytest.approx(best, rel=0.05)


def test_noise_and_outliers_are_separated(clean: Planted) -> None:
    rng = np.random.default_rng(3)
    y = clean.y + 0.02 * np.std(clean.y) * rng.standard_normal(300)
    y[:75] += 0.5 * np.std(clean.y) * rng.standard_normal(75)
    outcome = fitted(clean, y)
    inliers = outcome.state.weights > 0
    assert np.count_nonzero(inliers[75:]) >= 220
    assert np.count_nonzero(inliers[:75]) <= 15
    assert error_of(outcome, clean, y) < 0.02


def test_noise_of_equal_size_is_weighted_by_the_size_of_the_rows() -> None:
    """Half of the rows are a hundred times smaller: with equal noise they say nothing."""
    rng = np.random.default_rng(5)
    planted = plant(16, 12, 2, 500, rng=5)
    sizes = np.where(np.arange(500) < 250, 1.0, 1e-2)
    A, y = sizes[:, None, None] * planted.A, sizes * planted.y
    y += 0.02 * np.std(planted.y) * rng.standard_normal(500)
    result = rr.recover(A, y, 2)
    large = rr.recover(A[:250], y[:250], 2)
    assert result.status is rr.Status.ESTIMATED
    true = planted.left, planted.right
    errors = [normalized_error((one.left, one.right), true) for one in (result, large)]
    assert errors[0] < 1.1 * errors[1]
    # Small rows fit within the noise; in units of their own size, most of them would not.
    assert np.count_nonzero(result.outliers) < 10


def test_state_is_the_best_point_with_its_evidence(clean: Planted) -> None:
    y = clean.y.copy()
    y[:60] += 0.1 * np.std(clean.y)
    first = fitted(clean, y, max_iterations=1)
    last = fitted(clean, y)
    assert isinstance(first.state, EvidenceFitState)
    assert isinstance(last.state, EvidenceFitState)
    assert last.state.evidence > first.state.evidence + 1000
    assert last.state.evidence >= last.state.best.evidence
    assert last.iterations < 40


def test_weights_that_are_all_zero_end_the_narrowing(clean: Planted) -> None:
    """Near the information limit, every leave-one-out residual may be far beyond the width."""
    given = Problem(as_operator(clean.A), clean.y, 2)
    U, V = near(clean, 0.05)
    problem, solver = given.normalized(), EvidenceFit(point_of(U / given.units.matrix, V))
    state = solver.start(problem, as_generator(0))
    after = solver.step(problem, replace(state, weights=np.zeros(300)))
    assert after.fitting_since == 1
    assert np.isfinite(after.median)
    assert np.count_nonzero(after.weights) > 150


def test_positive_number_of_iterations_is_required() -> None:
    point = point_of(np.ones((3, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="max_iterations=0"):
        EvidenceFit(point, max_iterations=0)
