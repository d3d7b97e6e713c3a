"""The solution that most equations agree on."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.consensus import best_solution


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_outliers_do_not_matter(noise: float) -> None:
    rng = np.random.default_rng(1)
    V, truth = rng.standard_normal((20, 3)), rng.standard_normal(3)
    values = V @ truth + noise * rng.standard_normal(20)
    values[:8] = 5 * rng.standard_normal(8)
    solution, count = best_solution(V, values, max(4 * noise, 1e-9), rng)
    assert count >= 11
    np.testing.assert_allclose(solution, truth, atol=max(4 * noise, 1e-9))


def test_singular_equations() -> None:
    rng = np.random.default_rng(1)
    V = np.ones((6, 2))
    solution, count = best_solution(V, np.full(6, 3.0), 1e-6, rng)
    assert count == 6
    assert V[0] @ solution == pytest.approx(3)
