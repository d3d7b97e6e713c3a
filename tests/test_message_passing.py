"""Message passing: its parts against what they stand for, and what it achieves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import robustrank as rr
from robustrank.metrics import evaluate, normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers import GaussNewtonState, MessagePassing, MessageState
from robustrank.solvers.message_passing.mixture import Mixture
from robustrank.solvers.message_passing.shrinkage import shrink

Array = np.ndarray[Any, Any]


def noisy(
    rng: np.random.Generator, shape: tuple[int, int], sizes: list[float], noise: float
) -> tuple[Array, Array]:
    """A matrix with the given singular values, and the same in white noise."""
    left, right = (np.linalg.qr(rng.standard_normal((n, len(sizes))))[0] for n in shape)
    clean = (left * np.asarray(sizes)) @ right.T
    return clean, clean + noise * rng.standard_normal(shape)


def denoise(matrix: Array, rank: int, noise: float) -> Array:
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    shrunk = shrink(s[:rank], np.asarray(noise), matrix.shape).values
    return np.asarray((u[:, :rank] * shrunk) @ vt[:rank])


@pytest.mark.parametrize("shape", [(150, 120), (120, 150), (200, 30)])
def test_shrinking_beats_every_other_scaling_of_the_kept_values(shape: tuple[int, int]) -> None:
    clean, seen = noisy(np.random.default_rng(1), shape, [60.0, 40.0, 33.0], 1.0)
    error = np.linalg.norm(denoise(seen, 3, 1.0) - clean)
    u, s, vt = np.linalg.svd(seen, full_matrices=False)
    best = np.diag(u[:, :3].T @ clean @ vt[:3].T)  # the best that one could do, knowing it
    assert error < 1.01 * np.linalg.norm((u[:, :3] * best) @ vt[:3] - clean)
    assert error < 0.97 * np.linalg.norm((u[:, :3] * s[:3]) @ vt[:3] - clean)


def test_what_is_below_the_noise_becomes_nothing() -> None:
    edge = math.sqrt(150) + math.sqrt(120)
    values = shrink(np.asarray([1.5 * edge, 0.999 * edge]), np.asarray(1.0), (150, 120)).values
    assert values[0] > 0
    assert values[1] == 0


@pytest.mark.parametrize("sizes", [[60.0, 40.0, 33.0], [50.0, 50.0, 50.0], [60.0, 40.0, 2.0]])
@pytest.mark.parametrize("shape", [(150, 120), (200, 40)])
def test_divergence_is_that_of_the_denoiser(shape: tuple[int, int], sizes: list[float]) -> None:
    rng = np.random.default_rng(2)
    _, seen = noisy(rng, shape, sizes, 1.0)
    values = np.linalg.svd(seen, compute_uv=False)[:3]
    claimed = float(shrink(values, np.asarray(1.0), shape).divergence)
    step, probes = 1e-4, rng.standard_normal((40, *shape))
    around = [
        (
            probe * (denoise(seen + step * probe, 3, 1.0) - denoise(seen - step * probe, 3, 1.0))
        ).sum()
        for probe in probes
    ]
    measured = np.mean(around) / (2 * step)
    assert claimed == pytest.approx(measured, rel=0.06)


def test_divergence_of_equal_values_is_the_limit() -> None:
    apart, equal = (
        float(shrink(np.asarray([50.0 + gap, 50.0]), np.asarray(1.0), (150, 120)).divergence)
        for gap in (1e-2, 0.0)
    )
    assert equal == pytest.approx(apart, rel=1e-3)


def mixed(rng: np.random.Generator, error: float, m: int = 4000) -> tuple[Array, Array, Array]:
    """Measurements, predictions of them, and which are right: 60 %, 15 % flipped, 25 % at 5."""
    truth = rng.standard_normal(m)
    y, right = truth.copy(), np.zeros(m, bool)
    right[: int(0.6 * m)] = True
    y[int(0.6 * m) : int(0.75 * m)] *= -1
    y[int(0.75 * m) :] = 5.0
    return y, truth + error * rng.standard_normal(m), right


def test_mixture_learns_shares_and_error() -> None:
    y, predicted, right = mixed(np.random.default_rng(3), 0.2)
    mixture = Mixture.of(y, float(np.median(np.abs(y))))
    for _ in range(60):
        mixture = mixture.learnt(predicted)
    assert float(mixture.error) == pytest.approx(0.2, rel=0.05)
    assert mixture.shares[0] == pytest.approx(0.6, abs=0.02)
    assert mixture.shares[1] == pytest.approx(0.15, abs=0.02)
    assert mixture.shares.sum() == pytest.approx(1.0)
    belief = mixture.believe(predicted)
    assert np.mean((belief.right > 0.5) == right) > 0.97


def test_belief_is_the_posterior_of_the_mixture() -> None:
    """Mean and its derivative against direct numerical integration over the true value."""
    y, predicted, _ = mixed(np.random.default_rng(4), 0.5, m=60)
    mixture = Mixture.of(y, float(np.median(np.abs(y))))
    mixture = replace(mixture, error=np.asarray(0.5))
    belief = mixture.believe(predicted)
    step = 1e-5
    slope = (
        mixture.believe(predicted - step).correction - mixture.believe(predicted + step).correction
    ) / (2 * step)
    assert float(belief.precision) == pytest.approx(slope.mean(), rel=1e-5)
    garbage = mixture.garbage @ mixture.shares[2:]
    for i in range(0, 60, 7):
        right = mixture.shares[0] * stats.norm.pdf(y[i], predicted[i], 0.5)
        flipped = mixture.shares[1] * stats.norm.pdf(-y[i], predicted[i], 0.5)
        total = right + flipped + garbage[i]
        mean = (right * y[i] - flipped * y[i] + garbage[i] * predicted[i]) / total
        assert belief.right[i] == pytest.approx(right / total)
        assert belief.correction[i] == pytest.approx(mean - predicted[i])


def test_infinite_measurements_are_garbage() -> None:
    y, predicted, _ = mixed(np.random.default_rng(5), 0.2)
    y[7], y[8] = np.inf, -np.inf
    mixture = Mixture.of(y, float(np.median(np.abs(y)))).learnt(predicted)
    belief = mixture.believe(predicted)
    assert belief.right[7] == belief.right[8] == 0
    assert np.all(np.isfinite(belief.correction))


def test_right_measurements_stay_the_majority() -> None:
    y = np.full(400, 5.0)
    y[:180] = np.random.default_rng(6).standard_normal(180)
    mixture = Mixture.of(y, 1.0)
    for _ in range(50):
        mixture = mixture.learnt(np.zeros(400))
    assert mixture.shares[0] >= 0.5
    assert mixture.shares.sum() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def flipped() -> Planted:
    """A fifth of the signs wrong: beyond what residuals alone can tell."""
    return plant(60, 50, 2, 880, outliers=0.2, outlier_model="flip", rng=11)


def test_error_it_believes_in_is_the_error_it_makes(flipped: Planted) -> None:
    given = Problem(as_operator(flipped.A), flipped.y, 2)
    problem, unit = given.normalized(), given.units.matrix
    solver = MessagePassing(near=0.02)
    state: MessageState | GaussNewtonState = solver.start(problem, np.random.default_rng(0))
    claimed, made = [], []
    while isinstance(state := solver.step(problem, state), MessageState):
        claimed.append(float(state.mixture.error) * unit)
        made.append(normalized_error((state.U * unit, state.V), (flipped.left, flipped.right)))
    norm = np.linalg.norm(flipped.left @ flipped.right.T)
    assert len(made) > 5
    assert made[-1] < 0.1 < made[0]
    assert np.allclose(claimed, norm * np.asarray(made), rtol=0.35)


@pytest.mark.parametrize(
    ("model", "share"),
    [("huge", 0.4), ("constant", 0.4), ("scale", 0.2), ("impostor", 0.2), ("flip", 0.2)],
)
def test_recovers_from_outliers_of_every_kind(model: str, share: float) -> None:
    planted = plant(60, 50, 2, 880, outliers=share, outlier_model=model, rng=12)
    result = rr.recover(planted.A, planted.y, 2, solver=MessagePassing())
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-9


def steps(problem: Problem, solver: MessagePassing) -> list[MessageState]:
    """The states of message passing until it hands over."""
    state: MessageState | GaussNewtonState = solver.start(problem, np.random.default_rng(0))
    seen = []
    while isinstance(state, MessageState):
        seen.append(state)
        state = solver.step(problem, state)
    return seen


def test_hands_over_the_best_when_it_gets_no_further() -> None:
    """Nearly half of the measurements are of another matrix: there is nothing to find."""
    planted = plant(40, 30, 2, 300, outliers=0.45, outlier_model="impostor", rng=13)
    problem = Problem(as_operator(planted.A), planted.y, 2).normalized()
    solver = MessagePassing(patience=5)
    seen = steps(problem, solver)
    errors = [float(state.mixture.error) for state in seen]
    best = seen[-1].best
    assert len(seen) < solver.max_steps
    assert seen[-1].iteration == best.iteration + 5
    assert best.error == errors[best.iteration]
    assert best.error < 1.002 * min(errors)
    handed = solver.step(problem, seen[-1])
    assert isinstance(handed, GaussNewtonState)
    assert np.allclose(handed.U, best.point.left * best.point.values)
    assert handed.width <= solver.finish.width * best.error
    result = rr.recover(planted.A, planted.y, 2, solver=solver)
    assert not result.converged


def test_an_estimate_of_nothing_is_not_handed_over() -> None:
    """So many flips that nothing rises above the noise: Gauss–Newton starts on its own."""
    planted = plant(30, 24, 2, 110, outliers=0.48, outlier_model="flip", rng=1)
    problem = Problem(as_operator(planted.A), planted.y, 2).normalized()
    solver = MessagePassing(patience=3)
    seen = steps(problem, solver)
    assert len(seen) > 3  # staying at zero is not an end
    handed = solver.step(problem, seen[-1])
    assert isinstance(handed, GaussNewtonState)
    assert float(np.abs(handed.U).max()) > 0


def test_sensing_entries_of_one_sign_end_in_a_stall_and_not_in_nan() -> None:
    planted = plant(30, 24, 2, 400, outliers=0.1, rng=2)
    A = np.abs(planted.A)
    y = np.einsum("ijk,jk->i", A, planted.matrix)
    result = rr.recover(A, y, 2, solver="message-passing")
    assert result.status is not rr.Status.DIVERGED


def test_scale_of_sensing_entries_does_not_matter(flipped: Planted) -> None:
    plain, scaled = (
        rr.recover(factor * flipped.A, flipped.y, 2, solver=MessagePassing())
        for factor in (1.0, 0.72)
    )
    assert scaled.status is plain.status is rr.Status.RECOVERED
    assert abs(scaled.iterations - plain.iterations) <= 3
    assert np.allclose(scaled.matrix * 0.72, plain.matrix, atol=1e-9)


def test_single_precision() -> None:
    planted = plant(60, 50, 2, 880, outliers=0.2, outlier_model="flip", rng=14)
    A, y = planted.A.astype("float32"), planted.y.astype("float32")
    result = rr.recover(A, y, 2, solver=MessagePassing())
    assert result.left.dtype == np.float32
    assert evaluate(result, planted).error < 1e-5


@pytest.mark.parametrize("bad", [{"near": 0.0}, {"patience": 0}, {"max_steps": -1}])
def test_senseless_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        MessagePassing(**bad)
