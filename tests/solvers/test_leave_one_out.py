"""Residuals corrected for leverage, against fits that leave one measurement out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import to_numpy
from robustrank.linalg import LEVERAGE_LIMIT, leverages
from robustrank.operators import RowScaledOperator, SubsetOperator, SymmetricOperator, as_operator
from robustrank.solvers.weights import leave_one_out_residuals, mean_leverage
from robustrank.theory import degrees_of_freedom


def test_residuals_equal_those_of_fits_without_the_measurement() -> None:
    rng = np.random.default_rng(0)
    d, N, m = 30, 60, 80
    J, y = rng.standard_normal((m, d)), rng.standard_normal(m)
    weights = (np.arange(m) < N).astype(float)

    def residual(rows: Any) -> Any:
        return y - J @ np.linalg.lstsq(J[rows], y[rows], rcond=None)[0]

    used = np.flatnonzero(weights)
    mean = weights * mean_leverage(weights, d)
    predicted = leave_one_out_residuals(np.abs(residual(used)), mean)
    without = np.array([abs(residual(used[used != i])[i]) for i in range(m)])
    assert np.allclose(predicted[N:], without[N:])  # these were not used in the fit
    assert 0.8 < np.median(predicted[:N] / without[:N]) < 1.25
    # Without the correction, the residuals of the measurements in the fit are half as large.
    assert np.median(np.abs(residual(used))[:N] / without[:N]) < 0.6


def test_mean_leverage_is_the_trace_of_the_hat_matrix_over_the_count() -> None:
    rng = np.random.default_rng(1)
    J = rng.standard_normal((50, 12))
    hat = J @ np.linalg.pinv(J)
    assert float(mean_leverage(np.ones(50), 12)) == pytest.approx(np.mean(np.diag(hat)))


@pytest.mark.parametrize("inliers", [0, 1, 29, 30])
def test_residuals_stay_finite_with_few_inliers(inliers: int) -> None:
    weights = (np.arange(60) < inliers).astype(float)
    corrected = leave_one_out_residuals(np.ones(60), weights * mean_leverage(weights, 30))
    assert np.isfinite(corrected).all()
    assert (corrected >= 1).all()


def test_each_problem_of_a_batch_has_its_own_leverage() -> None:
    weights = np.stack([np.ones(60), (np.arange(60) < 40).astype(float)])
    leverage = mean_leverage(weights, 30)
    assert np.allclose(leverage, [30 / 60, 30 / 40])
    corrected = leave_one_out_residuals(np.ones((2, 60)), weights * leverage[:, None])
    assert np.allclose(corrected[0], 2.0)
    assert np.allclose(corrected[1], np.where(weights[1] > 0, 4.0, 1.0))


N1, N2, R, M = 7, 6, 2, 70
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "plain": as_operator,
    "scaled rows": lambda A: RowScaledOperator(as_operator(A), row_factors(A)),
    "some rows": lambda A: SubsetOperator(as_operator(A), rows_of(A)),
    "symmetric": lambda A: SymmetricOperator(as_operator(A)),
}


def row_factors(A: Any) -> Any:
    return as_operator(A).asarray(np.linspace(0.5, 2, M))


def rows_of(A: Any) -> Any:
    return as_operator(A).asarray(np.flatnonzero(np.arange(M) % 4))


@pytest.mark.slow_with_jax
@pytest.mark.parametrize("kind", OPERATORS)
def test_leverages_are_those_of_weighted_least_squares(xp: Any, kind: str) -> None:
    """Against the hat matrix, with the map applied to every unit vector."""
    rng = np.random.default_rng(2)
    n2 = N1 if kind == "symmetric" else N2
    A = rng.standard_normal((M, N1, n2))
    U = np.linalg.qr(rng.standard_normal((N1, R)))[0]
    V = U * [1, -1] if kind == "symmetric" else np.linalg.qr(rng.standard_normal((N2, R)))[0]
    tangent = OPERATORS[kind](xp.asarray(A)).tangent(xp.asarray(U), xp.asarray(V))
    units = np.eye((N1 + n2) * R).reshape(-1, N1 + n2, R)
    J = np.stack([to_numpy(tangent.apply(xp.asarray(unit))) for unit in units], axis=1)
    weights = rng.uniform(0, 1, len(J))
    weights[:3] = 0
    root = np.sqrt(weights)[:, None]
    hat = np.diag(root * J @ np.linalg.pinv(root * J))
    found = to_numpy(leverages(tangent, xp.asarray(weights), degrees_of_freedom(N1, n2, R)))
    assert np.allclose(found, np.minimum(hat, 0.99), atol=1e-8)
    assert found.max() > 1.3 * found[weights > 0].mean()


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_leverages_of_a_large_problem_are_estimated_by_the_weights_alone(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A factorization would cost more than the fit; the sum is the degrees of freedom anyway."""
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.standard_normal((n, 4)))[0] for n in (60, 50))
    tangent = as_operator(rng.standard_normal((900, 60, 50))).tangent(U, V)
    weights = 10 ** rng.uniform(-spread, 0, 900)
    estimated = leverages(tangent, weights, 424, LEVERAGE_LIMIT)
    assert np.sum(estimated) == pytest.approx(424, rel=1e-3)
    monkeypatch.setattr("robustrank.linalg.least_squares._DIRECT_SIZE_ON_CPU", 1000)
    exact = leverages(tangent, weights, 424, LEVERAGE_LIMIT)
    assert not np.array_equal(estimated, exact)
    np.testing.assert_allclose(1 - estimated, 1 - exact, rtol=0.4)
    np.testing.assert_allclose(estimated, exact, atol=0.12)


def test_without_weights_no_measurement_has_leverage() -> None:
    rng = np.random.default_rng(4)
    U, V = (np.linalg.qr(rng.standard_normal((n, 1)))[0] for n in (5, 4))
    tangent = as_operator(rng.standard_normal((20, 5, 4))).tangent(U, V)
    assert np.array_equal(leverages(tangent, np.zeros(20), 8), np.zeros(20))
