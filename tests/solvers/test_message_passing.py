"""Message passing: the accuracy it reaches, its estimate of its own error, and when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.metrics import evaluate, normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.run import Run
from robustrank.simulate import Planted, plant
from robustrank.solvers import Drive, MessagePassing, MessagePassingState
from robustrank.solvers.portfolio import FAULTS as FAULTS_CANDIDATE


@pytest.fixture(scope="module")
def flipped() -> Planted:
    """A fifth of the signs flipped: more than weights based on residuals can handle."""
    return plant(60, 50, 2, 880, outliers=0.2, outlier_model="flip", rng=11)


def states_until_finished(problem: Problem, solver: MessagePassing) -> list[MessagePassingState]:
    states = [solver.start(problem, np.random.default_rng(0))]
    while not solver.is_finished(states[-1]):
        states.append(solver.step(problem, states[-1]))
    return states


def test_estimated_error_is_close_to_the_true_error(flipped: Planted) -> None:
    given = Problem(as_operator(flipped.A), flipped.y, 2)
    problem, unit = given.normalized(), given.units.matrix
    states = states_until_finished(
        problem, MessagePassing(target_error=0.02, target_error_at_full_rank=None)
    )[1:]
    truth = flipped.left, flipped.right
    estimated = [float(state.mixture.error) * unit for state in states]
    actual = [normalized_error((state.U * unit, state.V), truth) for state in states]
    norm = np.linalg.norm(flipped.left @ flipped.right.T)
    assert len(actual) > 5
    assert actual[-1] < 0.1 < actual[0]
    assert np.allclose(estimated, norm * np.asarray(actual), rtol=0.35)


@pytest.mark.parametrize(
    ("model", "share"),
    [("huge", 0.4), ("constant", 0.4), ("scale", 0.2), ("impostor", 0.2), ("flip", 0.2)],
)
def test_recovers_with_every_outlier_model(model: str, share: float) -> None:
    planted = plant(60, 50, 2, 880, outliers=share, outlier_model=model, rng=12)
    result = rr.recover(planted.A, planted.y, 2, solver="message-passing")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-9


FAULTS = ["offset:0.01", "offset:-0.3", "offset:1", "gain:1.2", "gain:2", "gain:0.5", "dead"]


@pytest.mark.parametrize("model", FAULTS)
def test_learns_the_faults_that_sensors_share(model: str) -> None:
    """With 30 % outliers in 2 d measurements, fewer than the plain mixture needs."""
    planted = plant(60, 50, 2, 440, outliers=0.3, outlier_model=model, rng=12)
    result = rr.recover(planted.A, planted.y, 2, solver=FAULTS_CANDIDATE)
    assert evaluate(result, planted).error < 1e-9


def test_faulty_sensors_in_a_batch() -> None:
    """Each problem has its own offsets, gains and rescaling of the matrix."""
    planted = [
        plant(30, 24, 1, 300, outliers=0.3, outlier_model=model, rng=3)
        for model in ("gain:1.2", "offset:0.3", "dead")
    ]
    data = [(one.A, one.y) for one in planted]
    results = rr.recover_many(data, 1, solver=FAULTS_CANDIDATE)
    for one, together in zip(planted, results, strict=True):
        alone = rr.recover(one.A, one.y, 1, solver=FAULTS_CANDIDATE)
        assert evaluate(together, one).error < 1e-9
        assert together.iterations >= alone.iterations


def test_alone_it_stops_at_a_rough_estimate(flipped: Planted) -> None:
    result = rr.recover(flipped.A, flipped.y, 2, solver=MessagePassing())
    error = evaluate(result, flipped).error
    assert 1e-3 < error < 0.5
    assert result.status is not rr.Status.RECOVERED


def test_stops_when_the_error_no_longer_decreases() -> None:
    """With 45 % measurements of another matrix, there is nothing to find."""
    planted = plant(40, 30, 2, 300, outliers=0.45, outlier_model="impostor", rng=13)
    problem = Problem(as_operator(planted.A), planted.y, 2).normalized()
    solver = MessagePassing(patience=5)
    states = states_until_finished(problem, solver)
    errors = [float(state.mixture.error) for state in states]
    best = states[-1].best
    assert len(states) < solver.max_iterations
    assert states[-1].iteration == best.iteration + 5
    assert best.error == errors[int(best.iteration)]
    assert best.error < 1.002 * min(errors)
    estimate = solver.estimate(problem, states[-1])
    assert np.array_equal(estimate.point.left, best.point.left)
    assert estimate.error == best.error
    two_stages = rr.solvers.TwoStage(solver, rr.solvers.GaussNewton())
    assert not rr.recover(planted.A, planted.y, 2, solver=two_stages).certified


def test_an_estimate_of_zero_does_not_end_the_run() -> None:
    """With 48 % flipped signs, no singular value rises above the noise."""
    planted = plant(30, 24, 2, 110, outliers=0.48, outlier_model="flip", rng=1)
    problem = Problem(as_operator(planted.A), planted.y, 2).normalized()
    assert len(states_until_finished(problem, MessagePassing(patience=3))) > 3


def test_stops_earlier_once_all_singular_values_are_found(flipped: Planted) -> None:
    problem = Problem(as_operator(flipped.A), flipped.y, 2).normalized()
    states = states_until_finished(problem, MessagePassing())
    full_rank = [bool(np.all(state.best.point.values > 0)) for state in states]
    assert full_rank[-1]
    assert len(states) < len(
        states_until_finished(problem, MessagePassing(target_error_at_full_rank=None))
    )


def test_in_a_batch_each_problem_ends_when_it_is_finished() -> None:
    planted = [plant(16, 12, 1, 260, outliers=share, rng=1) for share in (0.0, 0.3)]
    problems = [Problem(as_operator(one.A), one.y, 1) for one in planted]
    solver, rng = (
        MessagePassing(target_error=0.05, target_error_at_full_rank=None),
        np.random.default_rng(0),
    )
    together = Drive(problems, solver, Run()).to_the_end(rng)
    alone = [Drive([problem], solver, Run()).to_the_end(rng)[0] for problem in problems]
    assert alone[0].iterations < alone[1].iterations
    for one, other in zip(together, alone, strict=True):
        assert one.reason is other.reason is None
        assert one.iterations == other.iterations
        assert np.allclose(one.state.U @ one.state.V.T, other.state.U @ other.state.V.T)


def test_sensing_entries_of_one_sign_do_not_cause_divergence() -> None:
    planted = plant(30, 24, 2, 400, outliers=0.1, rng=2)
    A = np.abs(planted.A)
    y = np.einsum("ijk,jk->i", A, planted.matrix)
    result = rr.recover(A, y, 2, solver="message-passing")
    assert result.stopped is not rr.StopReason.DIVERGED


def test_scale_of_the_sensing_entries_does_not_matter(flipped: Planted) -> None:
    plain, scaled = (
        rr.recover(factor * flipped.A, flipped.y, 2, solver="message-passing")
        for factor in (1.0, 0.72)
    )
    assert scaled.status is plain.status is rr.Status.RECOVERED
    assert abs(scaled.iterations - plain.iterations) <= 3
    assert np.allclose(scaled.matrix * 0.72, plain.matrix, atol=1e-9)


def test_float32() -> None:
    planted = plant(60, 50, 2, 880, outliers=0.2, outlier_model="flip", rng=14)
    A, y = planted.A.astype("float32"), planted.y.astype("float32")
    result = rr.recover(A, y, 2, solver="message-passing")
    assert result.left.dtype == np.float32
    assert evaluate(result, planted).error < 1e-5


@pytest.mark.parametrize(
    "invalid", [{"target_error": 0.0}, {"patience": 0}, {"max_iterations": -1}]
)
def test_invalid_parameters_raise(invalid: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(invalid))):
        MessagePassing(**invalid)


@pytest.mark.parametrize("model", ["dead", "scale", "huge"])
@pytest.mark.parametrize("mean", [0.5, 5.0])
def test_sensing_entries_with_a_mean_are_centered(mean: float, model: str) -> None:
    """The common part of the A_i hides how they differ, unless it is removed."""
    planted = plant(30, 24, 2, 420, outliers=0.3, outlier_model=model, rng=6)
    common = np.where(planted.outliers, 0.0, mean * np.sum(planted.left @ planted.right.T))
    result = rr.recover(planted.A + mean, planted.y + common, 2, solver="message-passing")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-6


@pytest.mark.parametrize("symmetric_already", [False, True])
def test_symmetric_matrices_are_found_near_the_limit(symmetric_already: bool) -> None:
    """Two measurements for each of 47 degrees of freedom, a fifth of them outliers of their size.

    With the noise and the divergence of other matrices, 19 and 20 of 40 such problems were solved;
    30 are now.
    """
    solved = 0
    for seed in range(8):
        rng = np.random.default_rng(seed + 77)
        half, A = rng.standard_normal((24, 2)), rng.standard_normal((94, 24, 24))
        if symmetric_already:
            A = (A + A.transpose(0, 2, 1)) / 2
        y = np.einsum("mij,ij->m", A, half @ half.T)
        wrong = rng.permutation(94)[:18]
        y[wrong] = rng.standard_normal(18) * y.std()
        solved += rr.recover(A, y, 2, symmetric=True, solver="message-passing").certified
    assert solved >= 5
