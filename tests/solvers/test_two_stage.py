"""Two solvers in sequence: the hand-over, waiting in a batch, and the limits of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import plant
from robustrank.solvers import (
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Portfolio,
    TwoStage,
    TwoStageState,
    message_passing_then_gauss_newton,
)
from robustrank.solvers.gauss_newton import Phase

FIRST, SECOND = 0, 1
TO_A_TENTH = MessagePassing(target_error=0.1, target_error_at_full_rank=None)


def problem_of(m: int = 300, rank: int = 2, **given: Any) -> Problem:
    planted = plant(30, 24, rank, m, **given)
    return Problem(as_operator(planted.A), planted.y, rank).normalized()


def hand_over(problem: Problem, solver: TwoStage) -> tuple[TwoStageState, TwoStageState]:
    """The last state of the first solver and the first state of the second."""
    state = solver.start(problem, np.random.default_rng(0))
    while state.stage == FIRST:
        before, state = state, solver.step(problem, state)
    return before, state


def test_the_second_solver_starts_from_the_best_estimate_of_the_first() -> None:
    problem = problem_of(outliers=0.45, outlier_model="impostor", rng=0)
    solver = TwoStage(MessagePassing(patience=5), GaussNewton())
    before, after = hand_over(problem, solver)
    best = before.inner.best
    assert best.iteration < before.inner.iteration  # the best is not the last
    assert np.allclose(after.U, best.point.left * best.point.values)
    assert np.allclose(after.V, best.point.right)
    assert after.inner.width <= solver.second.weighting.width * best.error  # type: ignore[attr-defined]
    assert after.inner.iteration == 0


def test_after_the_hand_over_the_second_solver_steps() -> None:
    problem = problem_of(outliers=0.1, rng=5)
    solver = TwoStage(MessagePassing(), GaussNewton())
    _, state = hand_over(problem, solver)
    for _ in range(2):
        expected = solver.second.step(problem, state.inner)
        state = solver.step(problem, state)
        assert state.stage == SECOND
        assert np.array_equal(state.U, expected.U)
        assert np.array_equal(state.change(), expected.change())
        assert solver.cutoff(state) == solver.second.cutoff(expected)
        assert solver.tangent(problem, state) is state.inner.held.tangent


def test_an_estimate_of_zero_is_replaced_by_the_spectral_initialization() -> None:
    """With 48 % flipped signs, no singular value rises above the noise."""
    problem = problem_of(m=110, outliers=0.48, outlier_model="flip", rng=1)
    before, after = hand_over(problem, TwoStage(MessagePassing(patience=3), GaussNewton()))
    assert not np.any(before.inner.best.point.values)
    assert float(np.abs(after.U).max()) > 0


@pytest.mark.parametrize("noise", [0.05, 9.0])
def test_the_second_solver_begins_with_a_search(noise: float) -> None:
    problem = problem_of(m=450, outliers=0.1, bounded_noise=noise, rng=5)
    _, state = hand_over(problem, TwoStage(TO_A_TENTH, GaussNewton()))
    assert int(state.inner.phase) == Phase.SEARCHING


def test_in_a_batch_the_second_solver_starts_when_all_problems_are_ready() -> None:
    problems = [problem_of(outliers=share, rng=2) for share in (0.0, 0.25)]
    solver = TwoStage(TO_A_TENTH, GaussNewton())
    alone = [hand_over(problem, solver) for problem in problems]
    waits = [int(before.inner.iteration) for before, _ in alone]
    assert waits[0] < waits[1]
    before, after = hand_over(Problem.batched(problems), solver)
    assert before.inner.iteration == max(waits)
    assert after.stage == SECOND
    for k, (_, expected) in enumerate(alone):
        matrix = after.U[k] @ after.V[k].T
        assert np.allclose(matrix, expected.U @ expected.V.T, atol=1e-8)


def test_a_problem_that_waits_for_its_batch_does_not_end_before_it_is_solved() -> None:
    planted = [plant(30, 24, 2, 300, outliers=share, rng=2) for share in (0.0, 0.25)]
    solver = TwoStage(TO_A_TENTH, GaussNewton())
    results = list(rr.recover_many([(p.A, p.y) for p in planted], 2, solver=solver, batch=2))
    assert [result.status for result in results] == [rr.Status.RECOVERED] * 2


def test_exhausted_when_the_second_solver_has_had_its_iterations() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((160, 12, 9))
    A /= np.linalg.norm(A, axis=(1, 2), keepdims=True)
    problem = Problem(as_operator(A), rng.standard_normal(160), 2)
    solver = TwoStage(MessagePassing(patience=3), GaussNewton(max_iterations=4, tolerance=0))
    before, state = hand_over(problem, solver)
    assert not solver.is_exhausted(before)
    for _ in range(4):
        assert not solver.is_exhausted(state)
        state = solver.step(problem, state)
    assert solver.is_exhausted(state)
    result = rr.recover(problem.operator, problem.y, 2, solver=solver)
    assert result.iterations == before.inner.iteration + 1 + 4
    assert result.status is not rr.Status.RECOVERED


def test_max_iterations_limits_both_solvers_together() -> None:
    planted = plant(30, 24, 2, 300, outliers=0.1, rng=5)
    solver = TwoStage(MessagePassing(), GaussNewton(), max_iterations=3)
    result = rr.recover(planted.A, planted.y, 2, solver=solver)
    assert result.iterations == 3
    assert result.stopped is rr.StopReason.ITERATIONS


def test_after_an_estimate_of_zero_the_rank_is_that_of_the_problem() -> None:
    """Message passing finds nothing; the second solver starts with the rank of the problem."""
    rng = np.random.default_rng(0)
    second = GaussNewton(max_iterations=3)
    solver = TwoStage(MessagePassing(max_iterations=1), second, max_iterations=4)
    data = [(rng.standard_normal((60, 20, 15)), rng.standard_normal(60)) for _ in range(3)]
    with pytest.warns(rr.UndersampledWarning):
        results = list(rr.recover_many(data, 2, solver=solver, batch=3))
    assert [result.rank for result in results] == [2, 2, 2]


def test_message_passing_by_name_is_followed_by_gauss_newton() -> None:
    solver = message_passing_then_gauss_newton()
    assert solver == TwoStage(MessagePassing(), GaussNewton(), name="message passing")
    planted = plant(30, 24, 2, 300, outliers=0.1, rng=5)
    by_name = rr.recover(planted.A, planted.y, 2, solver="message-passing")
    assert by_name.solver == "message passing"
    assert np.array_equal(by_name.matrix, rr.recover(planted.A, planted.y, 2, solver=solver).matrix)


def test_both_solvers_have_the_name_of_the_two_in_a_search() -> None:
    first, second = MessagePassing(patience=7), GaussNewton(alpha_y=5.0)
    solver = TwoStage(first, second, name="both")
    assert solver.named(first) == replace(first, name="both")
    assert solver.named(second, after=40) == replace(second, name="both")


@pytest.mark.parametrize(("after", "left"), [(0, 60), (30, 30), (59, 1), (60, 1)])
def test_the_limit_of_both_applies_in_a_search(after: int, left: int) -> None:
    solver = TwoStage(MessagePassing(), GaussNewton(), max_iterations=60)
    assert solver.named(solver.first).max_iterations == 60
    assert solver.named(solver.second, after).max_iterations == left


def test_max_iterations_limits_both_solvers_together_in_a_portfolio() -> None:
    planted = plant(30, 24, 2, 300, outliers=0.1, rng=5)
    limited = TwoStage(MessagePassing(), GaussNewton(tolerance=0), max_iterations=20)
    solver = Portfolio((MedianTGD(max_iterations=3), limited))
    result = rr.recover(planted.A, planted.y, 2, solver=solver)
    assert [attempt.iterations for attempt in result.attempts] == [3, 20]


def test_invalid_parameters_raise() -> None:
    with pytest.raises(ValueError, match="max_iterations=0; expected at least 1"):
        TwoStage(MessagePassing(), GaussNewton(), max_iterations=0)
