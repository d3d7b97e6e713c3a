"""Gauss–Newton: its steps against plain linear algebra, and the accuracy it reaches."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.metrics import evaluate
from robustrank.operators import as_operator
from robustrank.simulate import Planted, plant
from robustrank.solvers import Damping, GaussNewton, GaussNewtonState, Settling
from robustrank.solvers.gauss_newton import Phase

Array = np.ndarray[Any, Any]


def dense_jacobian(A: Array, state: GaussNewtonState) -> Array:
    """The derivative of the measurements with respect to the factors, one row each."""
    products = [
        np.einsum("iab,bk->iak", A, state.point.right),
        np.einsum("iab,ak->ibk", A, state.point.left),
    ]
    return np.concatenate([part.reshape(len(A), -1) for part in products], axis=1)


def retracted(state: GaussNewtonState, step: Array) -> Array:
    """The best rank-2 approximation of the matrix after a step in the tangent space."""
    dU, dV = step[:40].reshape(20, 2), step[40:].reshape(15, 2)
    total = state.U @ state.V.T + dU @ state.point.right.T + state.point.left @ dV.T
    u, s, vt = np.linalg.svd(total)
    return np.asarray((u[:, :2] * s[:2]) @ vt[:2])


def test_search_step_is_weighted_least_squares(small: Planted) -> None:
    """A step with soft weights equals the same problem solved densely."""
    solver = GaussNewton(damping=Damping(initial=1e-13))
    problem = rr.solvers.Problem(as_operator(small.A), small.y, 2)
    state = solver.start(problem, np.random.default_rng(0))
    assert len(np.unique(state.weights)) > 100  # the weights are not only 0 and 1
    after = solver.step(problem, state)
    root = np.sqrt(state.weights)
    target = root * np.where(root > 0, state.residual, 0)
    step = np.linalg.lstsq(root[:, None] * dense_jacobian(small.A, state), target, rcond=None)[0]
    expected = retracted(state, step)
    error = np.linalg.norm(after.U @ after.V.T - expected) / np.linalg.norm(expected)
    assert error < 0.05  # the inner solve is inexact; squared weights would be off by far more


def test_settling_step_is_gauss_newton_on_the_inliers(small: Planted) -> None:
    """One undamped step solves the linearized least-squares problem."""
    solver = GaussNewton()
    problem = rr.solvers.Problem(as_operator(small.A), small.y, 2)
    state = solver.start(problem, np.random.default_rng(0))
    while state.phase < Phase.SETTLING:
        before, state = state, solver.step(problem, state)
    previous, state = state, solver.step(problem, state)
    assert before.iteration == previous.iteration - 1
    kept = previous.weights > 0
    J = dense_jacobian(small.A, previous)[kept]
    step = np.linalg.lstsq(J, previous.residual[kept], rcond=None)[0]
    assert np.allclose(state.U @ state.V.T, retracted(previous, step), atol=1e-6)


def test_convergence_is_quadratic() -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.05, rng=3)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    misfit = result.history.column("misfit")
    tail = [m for m in misfit if 1e-14 < m < 1e-2]
    assert len(tail) >= 2
    # The number of correct digits grows by a factor of at least 1.5 in the last two steps.
    assert np.log(tail[-1]) / np.log(tail[-2]) > 1.5
    assert evaluate(result, planted).error < 1e-12


def test_one_pass_per_step_with_compiled_kernels() -> None:
    pytest.importorskip("numba")
    planted = plant(60, 50, 2, 1500, outliers=0.05, rng=4)  # large enough to use the kernels
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert result.status is rr.Status.RECOVERED
    # One to validate A, one for the initialization, one for its residuals, and one for each step.
    assert result.passes == 3 + result.iterations


def test_a_step_releases_the_tangent_map_that_it_used(small: Planted) -> None:
    """Only one map is in memory at a time; the old one can be computed again."""
    solver = GaussNewton()
    problem = rr.solvers.Problem(as_operator(small.A), small.y, 2)
    state = solver.start(problem, np.random.default_rng(0))
    W = np.random.default_rng(1).standard_normal((35, 2))
    expected = solver.tangent(problem, state).apply(W)
    after = solver.step(problem, state)
    assert state.held.tangent is None
    assert after.held.tangent is not None
    assert np.allclose(solver.tangent(problem, state).apply(W), expected, rtol=1e-12)
    assert np.array_equal(solver.step(problem, state).U, after.U)  # steps can be repeated


def test_a_run_that_is_interrupted_within_a_step_keeps_its_state(small: Planted) -> None:
    """The map of the last complete step was released: it must not be missed."""

    class Interrupting(type(as_operator(small.A))):  # type: ignore[misc]
        maps = 0

        def tangent(self, U: Any, V: Any, *, precise: bool = False) -> Any:
            self.maps += 1
            if self.maps == 4:  # the first is at the start
                raise KeyboardInterrupt
            return super().tangent(U, V, precise=precise)

    operator = Interrupting(small.A.reshape(len(small.A), -1), small.A.shape[1:])
    with pytest.raises(rr.Interrupted) as stopped:
        rr.recover(operator, small.y, 2, solver=GaussNewton())
    assert stopped.value.result.iterations == 2
    assert stopped.value.result.rank == 2


@pytest.mark.parametrize("model", ["huge", "scale", "impostor", "flip", "cauchy", "one-sided"])
def test_recovers_with_every_outlier_model(model: str) -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.10, outlier_model=model, rng=5)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-10
    assert np.array_equal(result.outliers, planted.outliers)


@pytest.mark.parametrize("condition", [1, 100, 10_000])
def test_condition_number_does_not_matter(condition: float) -> None:
    planted = plant(30, 24, 3, 1500, outliers=0.05, condition_number=condition, rng=6)
    result = rr.recover(planted.A, planted.y, 3, solver="gauss-newton")
    assert evaluate(result, planted).error < 1e-9
    assert result.iterations < 40


def test_with_noise_the_error_is_that_of_least_squares_on_the_true_inliers() -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.05, bounded_noise=0.05, rng=7)
    keep = ~planted.outliers
    all_inliers = GaussNewton(settling=Settling(alpha_h=100.0))
    oracle = rr.recover(planted.A[keep], planted.y[keep], 2, solver=all_inliers)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    truth = plant(30, 24, 2, 1000, rng=7)
    error, oracle_error = (
        np.linalg.norm(found.matrix - truth.matrix) / np.linalg.norm(truth.matrix)
        for found in (result, oracle)
    )
    assert result.status is rr.Status.ESTIMATED
    assert error < 1.02 * oracle_error


def test_float32_sensing_data_reaches_1e_6(small: Planted) -> None:
    A = small.A.astype("float32")
    clean = np.einsum("ijk,jk->i", A.astype(float), small.matrix)
    y = np.where(small.outliers, small.y, clean)
    result = rr.recover(A, y, 2, solver="gauss-newton")
    assert evaluate(result, small).error < 1e-6


@pytest.mark.parametrize("arguments", [{"alpha_y": 0.5}, {"max_iterations": 0}])
def test_invalid_parameters_raise(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        GaussNewton(**arguments)


def test_gauss_newton_has_at_most_eight_parameters() -> None:
    assert len(fields(GaussNewton)) <= 8
