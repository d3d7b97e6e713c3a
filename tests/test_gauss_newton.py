"""Gauss–Newton: its parts against plain linear algebra, and what it achieves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import solve_positive, to_numpy
from robustrank.linalg.least_squares import damped_least_squares, directly, iteratively
from robustrank.linalg.retraction import Point, retract
from robustrank.metrics import evaluate, normalized_error
from robustrank.operators import StreamedOperator, as_operator
from robustrank.simulate import Planted, plant
from robustrank.solvers import GaussNewton
from robustrank.solvers.gauss_newton import GaussNewtonState, Phase

Array = np.ndarray[Any, Any]


def random_point(rng: np.random.Generator, n1: int = 9, n2: int = 7, r: int = 3) -> Point:
    left, right = (np.linalg.qr(rng.standard_normal((n, r)))[0] for n in (n1, n2))
    return Point(left, np.asarray([5.0, 3.0, 1.0]), right)


def dense(point: Point) -> Array:
    return (point.left * point.values) @ point.right.T  # type: ignore[no-any-return]


@pytest.mark.parametrize("rank", [2, 3, 5])
def test_retraction_is_the_best_approximation_of_the_sum(rank: int) -> None:
    rng = np.random.default_rng(0)
    point = random_point(rng)
    W = 0.3 * rng.standard_normal((16, 3))
    total = dense(point) + W[:9] @ point.right.T + point.left @ W[9:].T
    u, s, vt = np.linalg.svd(total)
    back = retract(point, W, rank)
    assert np.allclose(dense(back), (u[:, :rank] * s[:rank]) @ vt[:rank])
    assert np.allclose(back.left.T @ back.left, np.eye(rank))
    assert np.allclose(back.right.T @ back.right, np.eye(rank))


def test_retraction_of_nothing_is_the_point() -> None:
    point = random_point(np.random.default_rng(1))
    assert np.allclose(dense(retract(point, np.zeros((16, 3)), 3)), dense(point))


@pytest.mark.parametrize("way", ["iteratively", "directly"])
@pytest.mark.parametrize("damping", [1e-3, 2.5])
def test_a_step_solves_the_damped_normal_equations(xp: Any, way: str, damping: float) -> None:
    rng = np.random.default_rng(2)
    host = random_point(rng)
    point = Point(*(xp.asarray(part) for part in (host.left, host.values, host.right)))
    A, w, target = (rng.random(shape) for shape in ((60, 9, 7), 60, 60))
    columns = np.concatenate([A @ host.right, A.mT @ host.left], axis=1)  # (60, 16, 3)
    tangent = as_operator(xp.asarray(A)).tangent(point.left, point.right)
    weights, right = xp.asarray(w), tangent.adjoint(xp.asarray(w * target))
    much, near = (xp.asarray(np.asarray(number)) for number in (damping, 1e-13))
    if way == "directly":
        W = directly(tangent, (point.left, point.right), weights, right, much)
    else:
        W = iteratively(tangent, weights, right, much, near)
    J = columns.reshape(60, 48)
    normal = J.T @ (w[:, None] * J) + damping * np.eye(48)
    expected = np.linalg.solve(normal, J.T @ (w * target)).reshape(16, 3)
    assert np.allclose(to_numpy(W), expected, atol=1e-6)


def test_a_step_that_cannot_be_solved_for_goes_along_the_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("robustrank.linalg.least_squares.on_gpu", lambda _: True)
    monkeypatch.setattr(
        "robustrank.linalg.least_squares.solve_positive",
        lambda _, right: np.full_like(right, np.nan),
    )
    rng = np.random.default_rng(2)
    point = random_point(rng)
    tangent = as_operator(rng.standard_normal((60, 9, 7))).tangent(point.left, point.right)
    w, target = rng.random(60), rng.standard_normal(60)
    bases, damping = (point.left, point.right), np.asarray(3.0)
    W = damped_least_squares(tangent, bases, w, target, damping, np.asarray(0.01))
    assert np.allclose(W, tangent.adjoint(w * target) / (w.sum() + 3.0))


def test_a_factorisation_that_fails_says_so(xp: Any) -> None:
    solution = to_numpy(solve_positive(xp.asarray(-np.eye(3)), xp.asarray(np.ones(3))))
    assert not np.any(solution == 1)


def test_search_step_is_weighted_least_squares(small: Planted) -> None:
    """A step of the search with soft weights, against the same problem solved densely."""
    solver = GaussNewton(damping_misfit=1e-13)
    problem = rr.Problem(as_operator(small.A), small.y, 2)
    state = solver.start(problem, np.random.default_rng(0))
    assert len(np.unique(state.weights)) > 100  # soft indeed
    after = solver.step(problem, state)
    left, right = state.point.left, state.point.right
    columns = [np.einsum("iab,bk->iak", small.A, right), np.einsum("iab,ak->ibk", small.A, left)]
    root = np.sqrt(state.weights)
    J = root[:, None] * np.concatenate([part.reshape(400, -1) for part in columns], axis=1)
    step = np.linalg.lstsq(J, root * np.where(root > 0, state.residual, 0), rcond=None)[0]
    dU, dV = step[:40].reshape(20, 2), step[40:].reshape(15, 2)
    u, s, vt = np.linalg.svd(state.U @ state.V.T + dU @ right.T + left @ dV.T)
    expected = (u[:, :2] * s[:2]) @ vt[:2]
    error = np.linalg.norm(after.U @ after.V.T - expected) / np.linalg.norm(expected)
    assert error < 0.05  # the inner solve is inexact; squared weights would be off by far more


def test_a_settling_step_is_gauss_newton_on_the_believed_measurements(small: Planted) -> None:
    """One undamped step solves the linearized least squares, written out densely."""
    solver = GaussNewton()
    problem = rr.Problem(as_operator(small.A), small.y, 2)
    state = solver.start(problem, np.random.default_rng(0))
    while state.phase < Phase.SETTLING:
        before, state = state, solver.step(problem, state)
    previous, state = state, solver.step(problem, state)
    assert before.iteration == previous.iteration - 1
    kept = previous.weights > 0
    left, right = previous.point.left, previous.point.right
    columns = [np.einsum("iab,bk->iak", small.A, right), np.einsum("iab,ak->ibk", small.A, left)]
    J = np.concatenate([part.reshape(400, -1) for part in columns], axis=1)[kept]
    step = np.linalg.lstsq(J, previous.residual[kept], rcond=None)[0]
    dU, dV = step[:40].reshape(20, 2), step[40:].reshape(15, 2)
    total = previous.U @ previous.V.T + dU @ right.T + left @ dV.T
    u, s, vt = np.linalg.svd(total)
    assert np.allclose(state.U @ state.V.T, (u[:, :2] * s[:2]) @ vt[:2], atol=1e-6)


def test_tail_converges_quadratically() -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.05, rng=3)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    misfit = result.history.column("misfit")
    tail = [m for m in misfit if 1e-14 < m < 1e-2]
    assert len(tail) >= 2
    # The number of right digits at least multiplies by 1.5 in the last two steps.
    assert np.log(tail[-1]) / np.log(tail[-2]) > 1.5
    assert evaluate(result, planted).error < 1e-12


def test_one_pass_a_step_where_the_kernel_is_fused() -> None:
    pytest.importorskip("numba")
    planted = plant(60, 50, 2, 1500, outliers=0.05, rng=4)  # large enough to be worth compiling
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert result.status is rr.Status.RECOVERED
    # One to check A, one for the start, one to see it, one for each step.
    assert result.passes == 3 + result.iterations


@pytest.mark.parametrize("model", ["huge", "scale", "impostor", "flip", "cauchy", "one-sided"])
def test_recovers_from_every_kind_of_outlier(model: str) -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.10, outlier_model=model, rng=5)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-10
    assert np.array_equal(result.outliers, planted.outliers)


@pytest.mark.parametrize("condition", [1, 100, 10_000])
def test_condition_number_costs_nothing(condition: float) -> None:
    planted = plant(30, 24, 3, 1500, outliers=0.05, condition_number=condition, rng=6)
    result = rr.recover(planted.A, planted.y, 3, solver="gauss-newton")
    assert evaluate(result, planted).error < 1e-9
    assert result.iterations < 40


def test_noise_leaves_the_error_of_least_squares_told_the_clean_set() -> None:
    planted = plant(30, 24, 2, 1000, outliers=0.05, noise=0.05, rng=7)
    keep = ~planted.outliers
    told = rr.recover(planted.A[keep], planted.y[keep], 2, solver=GaussNewton(alpha_h=100.0))
    graph_capturable = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    truth = plant(30, 24, 2, 1000, rng=7)
    errors = [
        np.linalg.norm(result.matrix - truth.matrix) / np.linalg.norm(truth.matrix)
        for result in (graph_capturable, told)
    ]
    assert graph_capturable.status is rr.Status.SETTLED
    assert errors[0] < 1.02 * errors[1]


def test_single_precision_sensing_data_reaches_1e_6(small: Planted) -> None:
    A = small.A.astype("float32")
    clean = np.einsum("ijk,jk->i", A.astype(float), small.matrix)
    y = np.where(small.outliers, small.y, clean)
    result = rr.recover(A, y, 2, solver="gauss-newton")
    assert evaluate(result, small).error < 1e-6


def test_extra_rank_is_given_back(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=GaussNewton(extra_rank=2))
    assert result.rank == 2
    assert evaluate(result, small).error < 1e-10


@pytest.mark.parametrize(
    "arguments", [{"width": 0.0}, {"narrowing": -1.0}, {"cut": 0.5}, {"max_iterations": 0}]
)
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        GaussNewton(**arguments)


# The portfolio behind solver="auto".


def test_auto_costs_one_candidate_when_the_first_succeeds(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2)
    assert result.status is rr.Status.RECOVERED
    assert [attempt.status for attempt in result.attempts] == [rr.Status.RECOVERED]
    assert result.solver == result.attempts[0].solver == "Gauss–Newton"


def test_auto_goes_on_until_a_candidate_is_certified() -> None:
    planted = plant(30, 24, 2, 450, outliers=0.42, outlier_model="constant", rng=4)
    result = rr.recover(planted.A, planted.y, 2)
    assert evaluate(result, planted).error < 1e-6
    assert len(result.attempts) > 1
    assert [attempt.status for attempt in result.attempts[:-1]].count(rr.Status.RECOVERED) == 0
    assert result.solver == result.attempts[-1].solver
    assert "tried" in str(result)
    assert str(result.attempts[0]) in str(result)


def test_attempts_are_kept_with_the_result(small: Planted, tmp_path: Any) -> None:
    result = rr.recover(small.A, small.y, 2)
    result.save(tmp_path / "answer.npz")
    assert rr.load(tmp_path / "answer.npz").attempts == result.attempts


def test_auto_never_certifies_garbage() -> None:
    for seed in range(5):
        planted = plant(12, 10, 2, 90 + 20 * seed, rng=seed)
        y = np.random.default_rng(seed).standard_normal(90 + 20 * seed)
        result = rr.recover(planted.A, y, 2)
        assert not result.converged, result.attempts
        assert len(result.attempts) == 5


@pytest.mark.parametrize("outliers", [0.3, 0.45])
def test_auto_says_so_when_there_are_too_many_outliers(outliers: float) -> None:
    for seed in range(4):
        planted = plant(12, 10, 2, 80, outliers=outliers, outlier_model="scale", rng=seed)
        result = rr.recover(planted.A, planted.y, 2)
        assert result.converged == (evaluate(result, planted).error < 1e-6)


@pytest.mark.parametrize(("m", "noise", "seed"), [(200, 0.05, 1), (240, 0.05, 2), (420, 0.5, 3)])
def test_with_noise_nothing_right_is_left_out(m: int, noise: float, seed: int) -> None:
    """Near the limit too, where a fit leaves little of the residuals it knows of: d is 140."""
    planted = plant(40, 32, 2, m, outliers=0.05, noise=noise, rng=seed)
    result = rr.recover(planted.A, planted.y, 2)
    right = ~planted.outliers
    told = rr.recover(planted.A[right], planted.y[right], 2, solver=rr.GaussNewton(alpha_h=1e9))
    truth = planted.left, planted.right
    assert result.status is rr.Status.SETTLED
    assert evaluate(result, planted).error < 1.02 * normalized_error((told.left, told.right), truth)
    assert not result.outliers[right].any()
    assert result.solver == "Gauss–Newton"  # the first candidate


@pytest.mark.parametrize("seed", [1, 5, 7])
def test_with_noise_at_the_very_limit_the_best_answer_is_given(seed: int) -> None:
    """350 right measurements for 315 unknowns cannot prove it, and wrong answers fit better."""
    planted = plant(60, 48, 3, 370, outliers=0.05, noise=0.05, rng=seed)
    result = rr.recover(planted.A, planted.y, 3)
    right = ~planted.outliers
    finish = rr.GaussNewton(alpha_h=1e9)
    solver = rr.MessagePassing(near=0.1, settles_at_once=True, finish=finish)
    told = rr.recover(planted.A[right], planted.y[right], 3, solver=solver)
    truth = planted.left, planted.right
    assert evaluate(result, planted).error < 1.02 * normalized_error((told.left, told.right), truth)
    assert any(attempt.misfit < result.certificate.misfit for attempt in result.attempts)


def test_a_small_outlier_that_was_believed_at_first_is_not_believed_for_ever() -> None:
    """It was final which to believe after so many steps, however large they still were."""
    planted = plant(60, 48, 5, 690, outliers=0.05, rng=6888966790970329511)
    result = rr.recover(planted.A, planted.y, 5)
    assert result.status is rr.Status.RECOVERED
    assert np.array_equal(result.outliers, planted.outliers)


def test_time_limit_and_callback_reach_every_candidate() -> None:
    planted = plant(12, 10, 2, 100, rng=1)
    y = np.random.default_rng(1).standard_normal(100)
    seen: list[str] = []

    def stop_in_the_second(progress: rr.Progress) -> bool:
        seen.append(progress.solver)
        return len(set(seen)) == 2

    result = rr.recover(planted.A, y, 2, callback=stop_in_the_second)
    assert result.status is rr.Status.STOPPED
    assert len(result.attempts) == 2
    limited = rr.recover(planted.A, y, 2, time_limit=0.02)
    assert limited.status is rr.Status.TIME_LIMIT
    assert limited.seconds < 1


def test_candidates_run_from_the_cheapest_to_the_most_patient() -> None:
    problem = rr.Problem(as_operator(plant(12, 10, 2, 50, rng=0).A), np.arange(1.0, 51.0), 2)
    names = [candidate.name for candidate in rr.Portfolio().candidates(problem)]
    assert names == [
        "Gauss–Newton",
        "rank search",
        "message passing",
        "Gauss–Newton, strict",
        "Gauss–Newton, patient",
        "message passing, noisy",
    ]


def test_what_looks_like_a_measurement_is_left_to_message_passing() -> None:
    planted = plant(60, 50, 3, 680, outliers=0.2, outlier_model="flip", rng=15)
    result = rr.recover(planted.A, planted.y, 3)
    assert result.status is rr.Status.RECOVERED
    assert result.solver == "message passing"
    assert [attempt.status for attempt in result.attempts][-1] is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-9


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_rank_given_too_large_comes_back_as_it_is(dtype: str) -> None:
    planted = plant(40, 30, 2, 700, outliers=0.05, rng=16)
    result = rr.recover(planted.A.astype(dtype), planted.y.astype(dtype), 4)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2
    assert result.left.dtype == dtype
    assert evaluate(result, planted).error < (1e-9 if dtype == "float64" else 1e-5)


def test_what_an_earlier_candidate_found_survives_the_time_limit() -> None:
    planted = plant(30, 24, 2, 450, outliers=0.1, rng=5)
    stopped_early = GaussNewton(max_iterations=3)
    endless = rr.MedianTGD(max_iterations=10**7, tolerance=0, step_size=1e-6)
    solver = rr.Portfolio((stopped_early, endless))
    result = rr.recover(planted.A, planted.y, 2, solver=solver, time_limit=0.3)
    assert result.status is rr.Status.TIME_LIMIT
    assert len(result.attempts) == 2
    assert result.solver == stopped_early.name


def test_nothing_at_all_is_not_better_than_an_answer_without_evidence() -> None:
    """Zero leaves as little to chance as what it has not looked at, and was given for it."""
    planted = plant(40, 32, 2, 170, outliers=0.1, noise=0.05, rng=0)
    strict = rr.Portfolio().solvers[3]

    def interrupt_the_second(progress: rr.Progress) -> None:
        if progress.solver == "message passing":
            raise KeyboardInterrupt

    solver = rr.Portfolio((strict, rr.MessagePassing()))
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(planted.A, planted.y, 2, solver=solver, callback=interrupt_the_second)
    assert caught.value.recovery.solver == strict.name


def test_a_measurement_that_goes_in_and_out_for_ever_does_not_keep_it_from_settling() -> None:
    planted = plant(8, 6, 1, 40, outliers=0.2, noise=0.3, rng=43)
    assert rr.recover(planted.A, planted.y, 1).attempts[0].iterations < 25


@pytest.mark.parametrize(
    ("noise", "phase"), [(0.05, Phase.SETTLING), (1.0, Phase.SETTLING), (9.0, Phase.SEARCHING)]
)
def test_only_what_is_not_lost_is_settled_at_once(noise: float, phase: int) -> None:
    planted = plant(30, 24, 2, 450, outliers=0.1, noise=noise, rng=5)
    problem = rr.Problem(as_operator(planted.A), planted.y, 2).normalized()
    solver = rr.MessagePassing(near=0.1, settles_at_once=True)
    state: Any = solver.start(problem, np.random.default_rng(0))
    while not isinstance(state, GaussNewtonState):
        state = solver.step(problem, state)
    assert int(state.phase) == phase


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_whole_numbers_are_solved_exactly(dtype: str) -> None:
    rng = np.random.default_rng(7)
    A = rng.integers(-2, 3, (200, 12, 10)).astype(dtype)
    M = np.outer(rng.integers(1, 3, 12), rng.integers(-2, 0, 10)).astype(dtype)
    y = np.einsum("ijk,jk->i", A, M)
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, M, rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "sensing", "measured"), [("f4", 1e-20, 1e15), ("f8", 1e-20, 1e280)]
)
def test_the_rank_is_told_at_every_scale(dtype: str, sensing: float, measured: float) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=17)
    A, y = (planted.A * sensing).astype(dtype), (planted.y * measured).astype(dtype)
    result = rr.recover(A, y, 4)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2


@pytest.mark.parametrize(("m", "name"), [(1000, "Gauss–Newton"), (60_000, "median-TGD")])
def test_a_file_larger_than_memory_is_left_to_the_method_that_stores_nothing(
    m: int, name: str, tmp_path: Any
) -> None:
    A = np.lib.format.open_memmap(tmp_path / "A.npy", mode="w+", dtype="f4", shape=(m, 150, 120))
    operator = StreamedOperator(A, (150, 120))  # a sparse file: 4 GB that take no room
    problem = rr.Problem(operator, np.arange(1.0, m + 1, dtype="f4"), 3)
    assert next(rr.Portfolio().candidates(problem)).name == name
