"""The solution that most equations agree on."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.single_rows import best_solution


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


def test_many_equations_with_an_outlying_half() -> None:
    rng = np.random.default_rng(1)
    V, truth = rng.standard_normal((200, 3)), rng.standard_normal(3)
    values = V @ truth
    values[:90] = rng.standard_normal(90)
    solution, count = best_solution(V, values, 1e-9, rng)
    assert count == 110
    np.testing.assert_allclose(solution, truth, atol=1e-9)


def test_least_squares_on_what_fits_averages_the_noise() -> None:
    """A solution of three equations alone would have the noise of these."""
    rng = np.random.default_rng(1)
    V, truth = rng.standard_normal((400, 3)), np.asarray([1.0, -2.0, 0.5])
    solution, count = best_solution(V, V @ truth + 0.1 * rng.standard_normal(400), 0.5, rng)
    assert count == 400
    np.testing.assert_allclose(solution, truth, atol=0.02)
