"""The intercept: centering by means of inliers, in rounds."""

from __future__ import annotations

import numpy as np
import pytest
from regression_samples import Array, regression

import robustrank as rr
from robustrank.estimators.intercept import recover_with_intercept


def test_outliers_are_removed_from_the_means_in_rounds() -> None:
    problem = regression(240, intercept=30.0, outliers="alike")
    X = problem.X.reshape(240, -1)
    shifts: list[float] = []

    def solve(X: Array, y: Array, time_limit: float | None) -> rr.Result:
        assert time_limit is None
        # What is left of the intercept after centering.
        exact = X @ problem.matrix.reshape(-1)
        shifts.append(abs(float(np.mean((y - exact)[~problem.outliers]))))
        return rr.recover(X, y, 2, shape=(10, 8), rng=0)

    result, intercept = recover_with_intercept(solve, X, problem.y, None)
    assert shifts[0] > 0.1
    assert shifts[-1] < 1e-9
    assert len(shifts) <= 6
    assert result.status is rr.Status.RECOVERED
    assert intercept == pytest.approx(30.0, abs=1e-9)


def test_hopeless_data_ends_after_few_rounds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 20)), rng.standard_normal(60) ** 3
    rounds = []

    def solve(X: Array, y: Array, time_limit: float | None) -> rr.Result:
        rounds.append(time_limit)
        return rr.recover(X, y, 1, shape=(5, 4), solver="gauss-newton")

    result, intercept = recover_with_intercept(solve, X, y, 60.0)
    residual = y - X @ result.matrix.reshape(-1) - intercept
    assert abs(np.mean(residual[~result.outliers])) < 1e-9
    assert len(rounds) <= 3
    assert all(limit is not None and limit <= 60 for limit in rounds)


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 1e6), (1e6, 0.0)])
def test_the_result_scales_with_the_targets(scale: float, offset: float) -> None:
    problem = regression(240, intercept=3.0)

    def fitted(y: Array) -> tuple[Array, float]:
        result, intercept = recover_with_intercept(
            lambda X, y, _: rr.recover(X, y, 2, shape=(10, 8), rng=0),
            problem.X.reshape(240, -1),
            y,
            None,
        )
        return result.matrix, intercept

    matrix, intercept = fitted(scale * (problem.y + offset))
    np.testing.assert_allclose(matrix, scale * problem.matrix, atol=scale * 1e-7)
    assert intercept == pytest.approx(scale * (3 + offset), rel=1e-9)
