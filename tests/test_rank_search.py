"""A rank that is given too large: the answer has the rank of the truth, exact or in noise."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate.rank_check import rank_may_be_too_high, rank_may_be_too_low
from robustrank.metrics import evaluate, normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers import RankSearch, drive
from robustrank.solvers.portfolio import SOFT

N1, N2, RANK = 40, 32, 2


def planted_with(noise: float, m: int = 420, seed: int = 0, **more: Any) -> Planted:
    return plant(N1, N2, RANK, m, outliers=0.05, noise=noise, rng=seed, **more)


def told(planted: Planted) -> float:
    """The error of least squares at the true rank on the measurements that are right."""
    right = ~planted.outliers
    everything = rr.GaussNewton(alpha_h=1e9)
    answer = rr.recover(planted.A[right], planted.y[right], RANK, solver=everything)
    return normalized_error((answer.left, answer.right), (planted.left, planted.right))


@pytest.mark.parametrize("given", [2, 3, 5, 12])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_rank_comes_out_whatever_was_given(given: int, noise: float) -> None:
    planted = planted_with(noise)
    if given == 12:  # more than 420 measurements could ever determine
        with pytest.warns(rr.UndersampledWarning):
            answer = rr.recover(planted.A, planted.y, given)
    else:
        answer = rr.recover(planted.A, planted.y, given)
    assert answer.rank == RANK
    error = evaluate(answer, planted).error
    if noise:
        assert answer.status is rr.Status.SETTLED
        assert error < 1.02 * told(planted)
    else:
        assert answer.status is rr.Status.RECOVERED
        assert error < 1e-9
    assert answer.attempts[-1].rank == RANK


def test_a_settled_answer_that_noise_might_have_made_is_looked_at_again() -> None:
    planted = plant(N1, N2, RANK, 420, outliers=0.05, noise=1.0, condition_number=3.0, rng=0)
    seen = []
    answer = rr.recover(planted.A, planted.y, RANK, callback=lambda at: seen.append(at.solver))
    assert answer.attempts[0].status is rr.Status.SETTLED
    assert "rank search" in seen
    assert answer.status is rr.Status.SETTLED


@pytest.mark.parametrize("unit_of_A", [1.0, 1e-170, 1e160])
@pytest.mark.parametrize("unit_of_y", [1.0, 1e-25])
def test_columns_too_many_and_too_few_are_seen_in_any_unit(
    unit_of_A: float, unit_of_y: float
) -> None:
    planted = planted_with(0.2, m=900)
    problem = Problem(as_operator(planted.A * unit_of_A), planted.y * unit_of_y, 3)
    seen = {}
    for rank in (1, 2, 3):
        solver = rr.GaussNewton(max_iterations=200, settle_from=0)
        seen[rank] = rr.recover(problem.operator, problem.y, rank, solver=solver)
    assert [rank_may_be_too_high(problem, seen[rank]) for rank in (2, 3)] == [False, True]
    assert [rank_may_be_too_low(problem, seen[rank]) for rank in (1, 2)] == [True, False]
    assert seen[2].certificate.prediction_error < seen[3].certificate.prediction_error


def test_so_few_measurements_that_a_missing_column_would_not_show() -> None:
    """Exact, and of two columns, one of which is a tenth of the other: rank 1 leaves little."""
    planted = plant(40, 32, 2, 180, outliers=0.1, rng=2, condition_number=10.0)
    answer = rr.recover(planted.A, planted.y, 2)
    assert answer.status is not rr.Status.SETTLED
    problem = Problem(as_operator(planted.A), planted.y, 2)
    of_rank_1 = rr.recover(planted.A, planted.y, 1, solver=rr.GaussNewton(settle_from=0))
    assert rank_may_be_too_low(problem, of_rank_1)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_small_singular_value_is_no_surplus(noise: float) -> None:
    planted = planted_with(noise, condition_number=20.0)
    answer = rr.recover(planted.A, planted.y, RANK)
    assert answer.rank == RANK
    assert answer.converged
    assert evaluate(answer, planted).error < 0.005


def test_sensing_that_is_not_centred_leads_to_no_claim_of_too_low_a_rank() -> None:
    """Message passing is astray then, and sees one column of the two."""
    rng = np.random.default_rng(45)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (30, 24))
    M = U * np.array([1.0, 0.3]) @ V.T
    A = rng.standard_normal((440, 30, 24)) + 0.5
    y = np.einsum("mij,ij->m", A, M)
    y += 0.01 * y.std() * rng.standard_normal(440)
    y[:44] = 100 * y.std() * rng.standard_normal(44)
    answer = rr.recover(A, y, 5)
    lower = [attempt for attempt in answer.attempts if attempt.rank == 1]
    assert lower, "the case is not the one it is meant to be"
    assert all(attempt.status is not rr.Status.SETTLED for attempt in lower)
    assert answer.rank > 1


def test_nothing_but_noise_has_no_rank() -> None:
    rng = np.random.default_rng(3)
    problem = Problem(as_operator(rng.standard_normal((150, 12, 9))), rng.standard_normal(150), 3)
    search = RankSearch()
    (outcome,) = drive([problem], search, rng)
    assert search.rank_seen(problem.normalized(), outcome.state) is None


def test_each_of_many_has_its_own_rank(xp: Any) -> None:
    if "jax" in xp.__name__:
        pytest.skip("it compiles every operation for every number of lanes")
    ranks = [1, 3, 2, 1]
    planted = [plant(16, 12, r, 260, outliers=0.05, noise=0.02, rng=r) for r in ranks]
    data = [(xp.asarray(one.A), xp.asarray(one.y)) for one in planted]
    together = list(rr.recover_many(data, 4, batch=4))
    assert [answer.rank for answer in together] == ranks
    for (A, y), answer in zip(data, together, strict=True):
        alone = rr.recover(A, y, 4)
        assert answer.status is alone.status
        assert np.allclose(np.asarray(answer.matrix), np.asarray(alone.matrix), atol=1e-6)


@pytest.mark.parametrize("how", ["callback", "Ctrl-C", "time"])
def test_a_search_that_is_stopped_keeps_what_there_is(how: str) -> None:
    planted = planted_with(0.05)

    def watch(progress: rr.Progress) -> bool:
        searching = progress.solver == "rank search" and progress.iteration >= 2
        if searching and how == "Ctrl-C":
            os.kill(os.getpid(), signal.SIGINT)
        if searching and how == "time":
            time.sleep(3)
        return searching and how == "callback"

    if how == "Ctrl-C":
        with pytest.raises(rr.Interrupted) as caught:
            rr.recover(planted.A, planted.y, 5, callback=watch)
        answer = caught.value.recovery
    else:
        answer = rr.recover(
            planted.A, planted.y, 5, callback=watch, time_limit=3 if how == "time" else None
        )
    wanted = {"callback": "STOPPED", "Ctrl-C": "INTERRUPTED", "time": "TIME_LIMIT"}
    assert answer.status.name == wanted[how]
    assert answer.attempts[-1].status is answer.status
    assert answer.solver == "Gauss–Newton"  # the answer that there was, not what the search saw
    assert evaluate(answer, planted).error < 0.1


@pytest.mark.parametrize("how", ["callback", "time"])
def test_a_search_that_is_stopped_does_not_lose_a_settled_answer(how: str) -> None:
    planted = plant(N1, N2, RANK, 420, outliers=0.05, noise=1.0, condition_number=3.0, rng=0)
    alone = rr.recover(planted.A, planted.y, RANK, solver=rr.Portfolio((SOFT,)))
    assert alone.status is rr.Status.SETTLED

    def watch(progress: rr.Progress) -> bool:
        if progress.solver == "rank search" and how == "time":
            time.sleep(2)
        return progress.solver == "rank search" and how == "callback"

    limit = 2 if how == "time" else None
    answer = rr.recover(planted.A, planted.y, RANK, callback=watch, time_limit=limit)
    assert answer.status is (rr.Status.STOPPED if how == "callback" else rr.Status.SETTLED)
    assert np.array_equal(answer.matrix, alone.matrix)


def test_answers_found_before_an_interruption_are_kept() -> None:
    easy = plant(16, 12, 2, 260, outliers=0.05, rng=1)
    hopeless = np.random.default_rng(0).standard_normal(260)

    class Interrupted(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 20:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(problem, state)

    solver = rr.Portfolio((Interrupted(), rr.GaussNewton()))
    data = [(easy.A, easy.y), (easy.A, hopeless)]
    answers = iter(rr.recover_many(data, 2, batch=2, solver=solver))
    assert next(answers).status is rr.Status.RECOVERED
    with pytest.raises(rr.Interrupted):
        next(answers)


def test_after_an_interrupted_search_nothing_else_is_tried() -> None:
    planted = [plant(16, 12, r, 260, outliers=0.05, noise=0.02, rng=r) for r in (1, 3)]
    tried = []

    class Noted(rr.GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            tried.append(problem.rank)
            return super().start(problem, rng)

    class Interrupted(RankSearch):
        def step(self, problem: Any, state: Any) -> Any:
            after = super().step(problem, state)
            if bool(np.any(after.moved == 0)):  # one of them has seen its rank
                os.kill(os.getpid(), signal.SIGINT)
            return after

    solver = rr.Portfolio((Noted(max_iterations=5), Interrupted(), Noted()))
    with pytest.raises(rr.Interrupted):
        list(rr.recover_many([(p.A, p.y) for p in planted], 4, batch=2, solver=solver))
    assert tried == [4]


def test_a_portfolio_begins_with_a_solver() -> None:
    with pytest.raises(ValueError, match="no answer to give"):
        rr.Portfolio((RankSearch(),))
    with pytest.raises(ValueError, match="no answer to give"):
        rr.Portfolio(())
    planted = planted_with(0.0)
    with pytest.raises(ValueError, match="no answer to give"):
        rr.recover(planted.A, planted.y, 2, solver=RankSearch())


def test_a_rank_of_one_is_not_searched() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    rr.recover(
        rng.standard_normal((90, 12, 9)),
        rng.standard_normal(90),
        1,
        callback=lambda at: seen.add(at.solver),
    )
    assert "rank search" not in seen
