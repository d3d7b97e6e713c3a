"""Residuals corrected for leverage, against fits that leave one measurement out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.solvers.leave_one_out import leave_one_out_residuals, mean_leverage


def test_residuals_equal_those_of_fits_without_the_measurement() -> None:
    rng = np.random.default_rng(0)
    d, N, m = 30, 60, 80
    J, y = rng.standard_normal((m, d)), rng.standard_normal(m)
    weights = (np.arange(m) < N).astype(float)

    def residual(rows: Any) -> Any:
        return y - J @ np.linalg.lstsq(J[rows], y[rows], rcond=None)[0]

    used = np.flatnonzero(weights)
    leverage = mean_leverage(weights, d)
    predicted = leave_one_out_residuals(np.abs(residual(used)), weights, leverage)
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
    corrected = leave_one_out_residuals(np.ones(60), weights, mean_leverage(weights, 30))
    assert np.isfinite(corrected).all()
    assert (corrected >= 1).all()


def test_each_problem_of_a_batch_has_its_own_leverage() -> None:
    weights = np.stack([np.ones(60), (np.arange(60) < 40).astype(float)])
    leverage = mean_leverage(weights, 30)
    assert np.allclose(leverage, [30 / 60, 30 / 40])
    corrected = leave_one_out_residuals(np.ones((2, 60)), weights, leverage)
    assert np.allclose(corrected[0], 2.0)
    assert np.allclose(corrected[1], np.where(weights[1] > 0, 4.0, 1.0))
