"""Median-TGD and vanilla-GD: their updates against Algorithm 1, and the paper's claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank import theory
from robustrank.metrics import balance, factor_distance, normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers import MedianTGD, Solver, VanillaGD
from robustrank.solvers.gradient_descent import begin

Array = np.ndarray[Any, Any]


def algorithm_1_update(
    A: Array, y: Array, U: Array, V: Array, norms: tuple[float, float], solver: MedianTGD
) -> tuple[Array, Array]:
    """One iteration of the gradient loop, measurement by measurement."""
    m = len(y)
    residuals = np.asarray([np.sum(A_i * (U @ V.T)) - y_i for A_i, y_i in zip(A, y, strict=True)])
    median = np.sort(np.abs(residuals))[(m - 1) // 2]
    gradient_U, gradient_V = np.zeros_like(U), np.zeros_like(V)
    for A_i, r_i in zip(A, residuals, strict=True):
        if abs(r_i) <= solver.alpha_h * median:
            gradient_U += r_i * A_i @ V / (2 * m)
            gradient_V += r_i * A_i.T @ U / (2 * m)
    gradient_U += solver.lam * U @ (U.T @ U - V.T @ V)
    gradient_V += solver.lam * V @ (V.T @ V - U.T @ U)
    mu = solver.step_size
    return U - mu / norms[0] ** 2 * gradient_U, V - mu / norms[1] ** 2 * gradient_V


def test_update_equals_algorithm_1(small: Planted) -> None:
    solver = MedianTGD()
    problem = Problem(as_operator(small.A), small.y, 2)
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((20, 2)), rng.standard_normal((15, 2))  # not balanced: λ matters
    norms = float(np.linalg.norm(U, 2)), float(np.linalg.norm(V, 2))
    state = begin(problem, U, V, solver.weight_function, solver.step_size, solver.lam)
    for _ in range(3):
        state = solver.step(problem, state)
        U, V = algorithm_1_update(small.A, small.y, U, V, norms, solver)
        assert np.allclose(state.U, U, rtol=1e-10)
        assert np.allclose(state.V, V, rtol=1e-10)
        assert np.allclose(state.residual, small.y - np.einsum("ijk,jk->i", small.A, U @ V.T))


def test_update_is_the_gradient_of_the_truncated_loss(small: Planted) -> None:
    """(U − U')·‖U0‖²/μ is ∇h_t of Σ_E (y_i − A_i(UVᵀ))²/(4m) + λ/4 ‖UᵀU − VᵀV‖²."""
    solver = MedianTGD()
    problem = Problem(as_operator(small.A), small.y, 2)
    rng = np.random.default_rng(2)
    U, V, D = (rng.standard_normal((n, 2)) for n in (20, 15, 20))
    state = begin(problem, U, V, solver.weight_function, solver.step_size, solver.lam)

    def h(U: Array) -> float:
        residual = small.y - np.einsum("ijk,jk->i", small.A, U @ V.T)
        fit = np.sum(state.weights * residual**2) / (4 * len(small.y))
        return float(fit + solver.lam / 4 * np.sum((U.T @ U - V.T @ V) ** 2))

    U0_squared = np.linalg.norm(U, 2) ** 2
    gradient = (U - solver.step(problem, state).U) * U0_squared / solver.step_size
    slope = (h(U + 1e-6 * D) - h(U - 1e-6 * D)) / 2e-6
    assert np.sum(gradient * D) == pytest.approx(slope, rel=1e-5)


def test_vanilla_equals_median_tgd_without_truncation(small: Planted) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    rng = np.random.default_rng(0)
    vanilla, lenient = VanillaGD(), MedianTGD(alpha_y=1e12, alpha_h=1e12)
    first, second = vanilla.start(problem, rng), lenient.start(problem, rng)
    for _ in range(5):
        first, second = vanilla.step(problem, first), lenient.step(problem, second)
    assert np.allclose(first.U, second.U)
    assert np.allclose(first.V, second.V)


def error_of(planted: Planted, solver: Solver[Any], rank: int | None = None) -> float:
    result = rr.recover(planted.A, planted.y, rank or planted.rank, solver=solver)
    return normalized_error((result.left, result.right), (planted.left, planted.right))


@pytest.mark.parametrize("model", ["huge", "cauchy", "one-sided", "constant"])
def test_claim_exact_recovery_with_sparse_arbitrary_outliers(model: str) -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.05, outlier_model=model, rng=21)
    assert error_of(planted, MedianTGD()) < 1e-6


def test_claim_vanilla_fails_with_a_single_outlier() -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.001, rng=21)
    assert planted.outliers.sum() == 1
    assert error_of(planted, MedianTGD()) < 1e-6
    assert error_of(planted, VanillaGD(max_iterations=1000)) > 0.1


def test_claim_comparable_rates_without_outliers() -> None:
    planted = plant(30, 24, 2, 1000, rng=22)
    robust = rr.recover(planted.A, planted.y, 2, solver=MedianTGD())
    vanilla = rr.recover(planted.A, planted.y, 2, solver=VanillaGD())
    assert robust.certified
    assert vanilla.certified
    assert robust.iterations == pytest.approx(vanilla.iterations, rel=0.1)


def test_claim_sample_split_is_unnecessary() -> None:
    planted = plant(30, 24, 2, 1500, outliers=0.05, rng=23)
    assert error_of(planted, MedianTGD(sample_split=True)) < 1e-6
    assert error_of(planted, MedianTGD(sample_split=False)) < 1e-6


def test_claim_stability_to_bounded_noise() -> None:
    """Error with outliers and noise is comparable to vanilla-GD's on clean noisy measurements."""
    corrupted = plant(30, 24, 2, 1000, outliers=0.05, bounded_noise=0.05, rng=24)
    clean = plant(30, 24, 2, 1000, bounded_noise=0.05, rng=24)
    robust, reference = error_of(corrupted, MedianTGD()), error_of(clean, VanillaGD())
    assert reference / 1.5 < robust < 1.5 * reference
    assert error_of(corrupted, VanillaGD(max_iterations=1000)) > 100 * reference


def test_claim_an_upper_bound_on_the_rank_suffices() -> None:
    planted = plant(20, 16, 2, 700, outliers=0.05, bounded_noise=0.05, rng=25)
    exact, above = error_of(planted, MedianTGD()), error_of(planted, MedianTGD(), rank=4)
    assert above < 3 * exact


def test_theorem_1_linear_convergence_rate() -> None:
    """From within the basin, dist(W_t, Z) ≤ (1 − μ/(10κ))^(t/2) dist(W_0, Z) for every t."""
    planted = plant(16, 12, 2, 1500, outliers=0.01, rng=26)
    truth = balance(planted.left, planted.right)
    values = np.linalg.svd(planted.matrix, compute_uv=False)[:2]
    rng = np.random.default_rng(1)
    noise = tuple(rng.standard_normal(part.shape) for part in truth)
    radius = theory.BASIN * np.sqrt(2 * values[1])  # σ_r(Z)² = 2 σ_r(M)
    size = np.sqrt(sum(np.sum(part**2) for part in noise))
    U, V = (part + radius / size * step for part, step in zip(truth, noise, strict=True))

    solver = MedianTGD.theory(2, theory.average_condition_number(values.tolist()))
    problem = Problem(as_operator(planted.A), planted.y, 2)
    state = begin(problem, U, V, solver.weight_function, solver.step_size, solver.lam)
    rate = theory.contraction_factor(solver.step_size, theory.condition_number(values.tolist()))
    start = factor_distance((U, V), truth)
    assert start <= radius * (1 + 1e-9)
    for t in range(1, 1001):
        state = solver.step(problem, state)
        if t % 50 == 0:
            assert factor_distance((state.U, state.V), truth) <= rate**t * start
    assert factor_distance((state.U, state.V), truth) < 0.7 * start


def test_claim_convergence_is_linear() -> None:
    """The logarithm of the misfit decreases along a straight line."""
    planted = plant(30, 24, 2, 1000, outliers=0.05, rng=27)
    history = rr.recover(planted.A, planted.y, 2, solver="median-tgd").history
    misfit, t = history.column("misfit"), history.column("iteration")
    tail = (misfit < 1e-2) & (misfit > 1e-9)
    assert tail.sum() >= 5
    assert np.corrcoef(t[tail], np.log(misfit[tail]))[0, 1] < -0.995


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha_y": 0.5}, "alpha_y=0.5"),
        ({"alpha_h": 0.5}, "alpha_h=0.5"),
        ({"step_size": 0.0}, "step_size"),
        ({"step_size": float("nan")}, "step_size"),
        ({"step_size": float("inf")}, "step_size"),
        ({"balance": -1.0}, "balance"),
        ({"balance": float("nan")}, "balance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": float("inf")}, "tolerance"),
    ],
)
def test_invalid_parameters_raise(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MedianTGD(**arguments)


def test_parameters_of_the_wrong_type_raise() -> None:
    with pytest.raises(TypeError, match=r"max_iterations=10\.5 is a float"):
        MedianTGD(max_iterations=10.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="step_size='big' is a str"):
        VanillaGD(step_size="big")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rank=0"):
        MedianTGD.theory(0, 1.0)
