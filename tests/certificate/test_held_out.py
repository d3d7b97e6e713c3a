"""Predictions of measurements that were left out of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision
from robustrank.certificate.held_out import predict_held_out
from robustrank.operators import as_operator

N1, N2, R = 9, 7, 2
FREEDOM = R * (N1 + N2 - R)
Array = np.ndarray[Any, Any]


def fitted_problem(m: int, target: Array, repeat: int = 1) -> tuple[Any, Array]:
    """The tangent map at a random matrix, and what its best fit leaves of the target."""
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.standard_normal((n, R)))[0] for n in (N1, N2))
    A = np.repeat(rng.standard_normal((m // repeat, N1, N2)), repeat, axis=0)
    tangent = as_operator(A).tangent(left, right)
    J = tangent.stored.reshape(m, -1)  # type: ignore[attr-defined]
    return tangent, target - J @ np.linalg.lstsq(J, target, rcond=None)[0]


def typical(errors: Array) -> float:
    return float(np.median(np.abs(errors))) / 0.6745


@pytest.mark.parametrize("m", [60, 150, 600])
def test_errors_have_the_size_of_noise_and_of_the_error_of_the_fit(m: int) -> None:
    """Left-out measurements are predicted with an error of σ √(1 + d / N), about."""
    noise = 0.1 * np.random.default_rng(2).standard_normal(m)
    tangent, residual = fitted_problem(m, noise)
    predicted, errors = predict_held_out(tangent, np.ones(m), residual, np.arange(m), FREEDOM)
    kept = 0.8 * m if m > 60 else m - (m - FREEDOM) / 3
    expected = 0.1 * np.sqrt(1 + FREEDOM / (kept - FREEDOM))
    assert typical(errors[predicted]) == pytest.approx(expected, rel=0.25)
    assert np.count_nonzero(predicted) >= min(m, 150)


def test_a_fit_of_pure_noise_predicts_nothing() -> None:
    """Near the limit it leaves small residuals, but its errors are larger than the noise."""
    m = FREEDOM + 10
    noise = np.random.default_rng(3).standard_normal(m)
    tangent, residual = fitted_problem(m, noise)
    assert np.std(residual) < 0.75
    predicted, errors = predict_held_out(tangent, np.ones(m), residual, np.arange(m), FREEDOM)
    assert typical(errors[predicted]) > 1.5


def test_rejected_measurements_are_predicted_but_not_fitted() -> None:
    m = 120
    noise = 1e-3 * np.random.default_rng(4).standard_normal(m)
    tangent, residual = fitted_problem(m, noise)
    residual[:20] += 50.0
    weights = (np.arange(m) >= 20).astype(float)
    predicted, errors = predict_held_out(tangent, weights, residual, np.arange(m), FREEDOM)
    rejected = predicted & (weights == 0)
    assert rejected.any()
    assert np.allclose(errors[rejected], 50.0, atol=0.1)
    assert typical(errors[predicted & ~rejected]) < 3e-3


def test_repetitions_are_left_out_together() -> None:
    """Copies would predict each other: with the same noise, the error would be nearly zero."""
    m = 160
    noise = np.repeat(np.random.default_rng(7).standard_normal(m // 2), 2)
    tangent, residual = fitted_problem(m, noise, repeat=2)
    labels = np.repeat(np.arange(m // 2), 2)
    together, errors = predict_held_out(tangent, np.ones(m), residual, labels, FREEDOM)
    separate, separate_errors = predict_held_out(
        tangent, np.ones(m), residual, np.arange(m), FREEDOM
    )
    assert typical(errors[together]) > 1.3 * typical(separate_errors[separate])
    assert np.array_equal(together[::2], together[1::2])


def test_libraries_agree(xp: Any) -> None:
    m = 90
    noise = 0.1 * np.random.default_rng(2).standard_normal(m)
    tangent, residual = fitted_problem(m, noise)
    expected, expected_errors = predict_held_out(
        tangent, np.ones(m), residual, np.arange(m), FREEDOM
    )
    A = np.random.default_rng(1)
    left, right = (np.linalg.qr(A.standard_normal((n, R)))[0] for n in (N1, N2))
    operator = as_operator(xp.asarray(A.standard_normal((m, N1, N2))))
    values = [xp.asarray(part) for part in (left, right, np.ones(m), residual)]
    with full_precision(values[0]):
        other = operator.tangent(values[0], values[1])
        predicted, errors = predict_held_out(other, values[2], values[3], np.arange(m), FREEDOM)
    assert np.array_equal(predicted, expected)
    assert np.allclose(errors, expected_errors, atol=1e-3)
