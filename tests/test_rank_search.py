"""A rank that is given too large: the answer has the rank of the truth, exact or in noise."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.metrics import judge, normalised_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers import RankSearch, drive

N1, N2, RANK = 40, 32, 2


def planted_with(noise: float, m: int = 420, seed: int = 0, **more: Any) -> Planted:
    return plant(N1, N2, RANK, m, outliers=0.05, noise=noise, rng=seed, **more)


def told(planted: Planted) -> float:
    """The error of least squares at the true rank on the measurements that are right."""
    right = ~planted.outliers
    everything = rr.GaussNewton(alpha_h=1e9)
    answer = rr.recover(planted.A[right], planted.y[right], RANK, solver=everything)
    return normalised_error((answer.left, answer.right), (planted.left, planted.right))


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
    error = judge(answer, planted).error
    if noise:
        assert answer.status is rr.Status.SETTLED
        assert error < 1.02 * told(planted)
    else:
        assert answer.status is rr.Status.RECOVERED
        assert error < 1e-9
    assert answer.attempts[-1].rank == RANK


def test_a_settled_answer_with_surplus_columns_is_not_the_last_word() -> None:
    planted = planted_with(0.05, m=900)
    only = rr.recover(planted.A, planted.y, 3, solver=rr.GaussNewton(max_iterations=200))
    assert only.rank == 3
    answer = rr.recover(planted.A, planted.y, 3)
    assert answer.rank == RANK
    assert judge(answer, planted).error < judge(only, planted).error
    assert answer.certificate.prediction_error < only.certificate.prediction_error


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_small_singular_value_is_no_surplus(noise: float) -> None:
    planted = planted_with(noise, condition_number=20.0)
    answer = rr.recover(planted.A, planted.y, RANK)
    assert answer.rank == RANK
    assert answer.converged
    assert judge(answer, planted).error < 0.005


def test_sensing_that_is_not_centred_leads_to_no_claim_of_too_low_a_rank() -> None:
    rng = np.random.default_rng(45)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (30, 24))
    M = U * np.array([1.0, 0.3]) @ V.T
    for m in (260, 440):
        A = rng.standard_normal((m, 30, 24)) + 0.5
        y = np.einsum("mij,ij->m", A, M)
        y += 0.01 * y.std() * rng.standard_normal(m)
        y[: m // 10] = 100 * y.std() * rng.standard_normal(m // 10)
        answer = rr.recover(A, y, 5)
        if answer.converged:
            assert np.linalg.norm(answer.matrix - M) < 0.1 * np.linalg.norm(M)


def test_nothing_but_noise_has_no_rank() -> None:
    rng = np.random.default_rng(3)
    problem = Problem(as_operator(rng.standard_normal((150, 12, 9))), rng.standard_normal(150), 3)
    search = RankSearch()
    (outcome,) = drive([problem], search, rng)
    assert search.rank_seen(problem.normalised(), outcome.state) is None


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
            import time

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
    assert answer.attempts[-1].solver == "rank search"
    assert np.isfinite(answer.matrix).all()


def test_a_portfolio_begins_with_a_solver() -> None:
    with pytest.raises(ValueError, match="no answer to give"):
        rr.Portfolio((RankSearch(),))
    with pytest.raises(ValueError, match="no answer to give"):
        rr.Portfolio(())
