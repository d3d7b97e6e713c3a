"""``recover``, ``complete`` and ``robust_pca`` without a rank."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.metrics import evaluate
from robustrank.simulate import plant, plant_entries
from robustrank.solvers import Portfolio
from robustrank.solvers.portfolio import SOFT
from robustrank.theory import degrees_of_freedom

SHAPE = (40, 32)


def planted(rank: int, **other: Any) -> rr.simulate.Planted:
    return plant(*SHAPE, rank, 3 * degrees_of_freedom(*SHAPE, rank), outliers=0.1, **other)


@pytest.mark.parametrize("model", ["huge", "scale"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(("rank", "kappa"), [(1, 1.0), (2, 10.0), (5, 1.0)])
def test_the_rank_is_found(rank: int, kappa: float, noise: float, model: str) -> None:
    problem = planted(
        rank, bounded_noise=noise, outlier_model=model, condition_number=kappa, rng=11
    )
    result = rr.recover(problem.A, problem.y)
    assert result.rank == rank
    assert result.certified
    assert result.rank_table is not None
    assert result.rank_table.chosen == rank
    assert result.rank_table.is_clear
    assert "rank" in dict(result.summary())
    told = rr.recover(problem.A, problem.y, rank)
    assert evaluate(result, problem).error < 1.01 * evaluate(told, problem).error + 1e-9
    assert told.rank_table is None


@pytest.mark.parametrize("seed", [0, 1, 6, 8])
def test_near_the_limit_the_rank_is_found_where_the_call_with_the_rank_succeeds(seed: int) -> None:
    """119 measurements for 104 degrees of freedom, of which a certificate needs 115."""
    problem = plant(30, 24, 2, 119, rng=seed)
    assert rr.recover(problem.A, problem.y, 2).status is rr.Status.RECOVERED
    result = rr.recover(problem.A, problem.y)
    assert result.status is rr.Status.RECOVERED
    assert result.rank == 2
    assert evaluate(result, problem).error < 1e-9
    assert result.rank_table is not None
    assert result.rank_table.chosen == 2
    assert result.rank_table.is_clear


@pytest.mark.parametrize("seed", [1004, 1007])
def test_near_the_limit_the_largest_possible_rank_is_tried_early(seed: int) -> None:
    """Fits that begin at a lower rank explain nothing; message passing would take longer."""
    problem = plant(30, 24, 2, 128, outliers=0.1, rng=seed)
    result = rr.recover(problem.A, problem.y)
    assert (result.status, result.rank) == (rr.Status.RECOVERED, 2)
    assert [attempt.solver for attempt in result.attempts] == ["Gauss–Newton"]


def test_the_table_has_the_error_of_the_result_where_the_fit_of_its_rank_failed() -> None:
    """Growing the rank ends at rank one, because the fit of rank two predicts no better."""
    problem = plant(30, 24, 2, 119, rng=9)
    result = rr.recover(problem.A, problem.y)
    assert [(attempt.solver, attempt.rank) for attempt in result.attempts] == [
        ("Gauss–Newton", 1),
        ("message passing", 2),
    ]
    assert result.rank_table is not None
    first, second = result.rank_table.rows
    assert first.error > 0.3
    assert second.error < 1e-9
    assert second.singular_value == pytest.approx(np.divide(*result.singular_values()[::-1]))


def test_the_work_is_that_of_few_solutions_with_the_rank() -> None:
    problem = planted(5, condition_number=10.0, rng=12)
    told = rr.recover(problem.A, problem.y, 5).passes
    assert rr.recover(problem.A, problem.y).passes <= 3 * told


def test_a_matrix_of_full_rank_is_called_that() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((250, 12, 10))
    y = np.einsum("iab,ab->i", A, rng.standard_normal((12, 10)))
    result = rr.recover(A, y)
    assert result.rank == 10
    assert result.status is rr.Status.RECOVERED
    assert "full" in dict(result.summary())["rank"]
    assert result.rank_table is not None
    assert not result.rank_table.is_clear


def test_without_structure_the_result_says_so() -> None:
    rng = np.random.default_rng(1)
    result = rr.recover(rng.standard_normal((150, 12, 10)), rng.standard_normal(150))
    assert not result.certified
    assert "no low-rank structure" in dict(result.summary())["rank"]


def test_a_spectrum_without_a_gap_is_called_that() -> None:
    spectrum = [0.6**k for k in range(12)]
    problem = plant(24, 20, 12, 800, spectrum=spectrum, bounded_noise=0.05, rng=2)
    table = rr.recover(
        problem.A, problem.y + 0.02 * np.random.default_rng(3).normal(size=800)
    ).rank_table
    assert table is not None
    assert not table.is_clear
    assert len(table.rows) > 2


def test_a_single_solver_gets_the_rank_that_was_found() -> None:
    problem = planted(2, rng=13)
    for solver in ("median-tgd", "message-passing", "gauss-newton"):
        result = rr.recover(problem.A, problem.y, solver=solver)
        assert result.rank == 2
        assert evaluate(result, problem).error < 1e-5


@pytest.mark.parametrize(("rank", "noise"), [(1, 0.0), (1, 0.05), (4, 0.0)])
def test_a_result_to_start_from_does_not_fix_the_rank(rank: int, noise: float) -> None:
    problem = planted(2, bounded_noise=noise, rng=14)
    start = rr.recover(problem.A, problem.y, rank, solver="gauss-newton")
    result = rr.recover(problem.A, problem.y, start=start)
    assert result.certified
    assert result.rank == 2
    assert result.rank_table is not None


def test_a_finished_result_is_continued_in_few_passes() -> None:
    problem = planted(2, rng=14)
    first = rr.recover(problem.A, problem.y)
    again = rr.recover(problem.A, problem.y, start=first)
    assert again.rank == 2
    assert again.certified
    assert again.iterations <= 1
    assert again.passes < first.passes


@pytest.mark.parametrize("rank", [None, 2])
def test_a_zero_matrix_is_no_place_to_start(rank: int | None) -> None:
    """A run that was stopped before its first step returns one."""
    problem = planted(2, rng=14)
    result = rr.recover(problem.A, problem.y, rank, start=(np.zeros((40, 1)), np.zeros((32, 1))))
    assert result.certified
    assert result.passes == rr.recover(problem.A, problem.y, rank).passes


def test_a_solver_that_cannot_continue_says_so_without_a_rank() -> None:
    problem = planted(2, rng=14)
    start = rr.recover(problem.A, problem.y, 2)
    with pytest.raises(ValueError, match="cannot continue from a result"):
        rr.recover(problem.A, problem.y, solver="message-passing", start=start)


def test_the_callback_and_the_time_limit_stop_the_search() -> None:
    problem = planted(5, condition_number=10.0, bounded_noise=0.05, rng=15)
    stopped = rr.recover(problem.A, problem.y, callback=lambda _: True)
    assert stopped.stopped is rr.StopReason.CALLBACK
    began = time.perf_counter()
    late = rr.recover(problem.A, problem.y, time_limit=0.02)
    assert late.stopped is rr.StopReason.TIME_LIMIT
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("at", [1, 6])
def test_ctrl_c_returns_the_matrix_so_far(at: int) -> None:
    problem, calls = planted(5, condition_number=10.0, rng=16), []

    def interrupt(progress: rr.Progress) -> None:
        calls.append(progress)
        if len(calls) == at:
            raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as stopped:
        rr.recover(problem.A, problem.y, callback=interrupt)
    assert stopped.value.result.stopped is rr.StopReason.INTERRUPTED
    assert np.all(np.isfinite(stopped.value.result.left))


class Moment:
    """Ends a run without a rank by the callback, a time limit or Ctrl-C.

    The moment is that when the solver with the name ``stage`` has begun for the ``run``-th time and
    its misfit is at most ``misfit``.
    """

    def __init__(self, stage: str, run: int, misfit: float, event: str, clock: Clock) -> None:
        self._stage, self._run, self._misfit = stage, run, misfit
        self._event, self._clock, self._began = event, clock, 0
        self.seen: list[tuple[float, Any]] = []  # misfits and matrices until then

    def __call__(self, progress: rr.Progress) -> bool:
        if progress.stage != self._stage:
            return False
        self._began += progress.iteration == 0
        if self._began < self._run or progress.misfit > self._misfit:
            self.seen.append((progress.misfit, progress.left @ progress.right.T))
            return False
        if self._event == "Ctrl-C":
            raise KeyboardInterrupt
        if self._event == "time":
            self._clock.forward(100)
        return self._event == "callback"

    def stopped(self, problem: rr.simulate.Planted) -> rr.Result:
        """The result of the run that is stopped at this moment."""
        limit = 100 if self._event == "time" else None
        try:
            result = rr.recover(problem.A, problem.y, callback=self, time_limit=limit)
        except rr.Interrupted as interruption:
            assert self._event == "Ctrl-C"
            result = interruption.result
        assert (
            result.stopped
            is {
                "callback": rr.StopReason.CALLBACK,
                "time": rr.StopReason.TIME_LIMIT,
                "Ctrl-C": rr.StopReason.INTERRUPTED,
            }[self._event]
        )
        return result


EVENTS = pytest.mark.parametrize("event", ["callback", "time", "Ctrl-C"])


@EVENTS
def test_a_run_that_is_stopped_while_the_rank_grows_keeps_the_best_fit(
    event: str, clock: Clock
) -> None:
    """At the start of its second fit, whose misfit is larger than that of the first."""
    problem = plant(30, 24, 2, 119, rng=9)
    moment = Moment("Gauss–Newton", run=2, misfit=1.0, event=event, clock=clock)
    result = moment.stopped(problem)
    assert len(moment.seen) > 1
    misfit, matrix = moment.seen[-1]
    assert result.rank == 1
    np.testing.assert_allclose(result.matrix, matrix, atol=1e-9)
    assert result.certificate.misfit == pytest.approx(misfit)
    assert result.rank_table is None  # no comparison has ended
    assert [attempt.rank for attempt in result.attempts] == [1]


@EVENTS
def test_a_run_that_is_stopped_in_message_passing_keeps_the_result_of_the_first_solver(
    event: str, clock: Clock
) -> None:
    problem = plant(30, 24, 2, 119, rng=9)
    alone = rr.recover(problem.A, problem.y, solver=Portfolio((SOFT,)))
    assert not alone.certified
    result = Moment("message passing", 1, misfit=0.3, event=event, clock=clock).stopped(problem)
    assert np.array_equal(result.matrix, alone.matrix)
    assert result.certificate == alone.certificate
    assert result.rank_table == alone.rank_table
    assert [attempt.solver for attempt in result.attempts] == ["Gauss–Newton"]


@EVENTS
def test_a_run_that_is_stopped_in_the_fit_after_message_passing_keeps_the_better_result(
    event: str, clock: Clock
) -> None:
    problem = plant(30, 24, 2, 119, rng=9)
    early = Moment("message passing", 2, misfit=1.0, event=event, clock=clock).stopped(problem)
    late = Moment("message passing", 2, misfit=1e-9, event=event, clock=clock).stopped(problem)
    for result in (early, late):
        assert [attempt.rank for attempt in result.attempts] == [1, 2]
    # At first, the fit of rank two may have less evidence than that of rank one.
    alone = rr.recover(problem.A, problem.y, solver=Portfolio((SOFT,)))
    if early.rank == 1:
        assert np.array_equal(early.matrix, alone.matrix)
    else:
        assert early.certificate.evidence > alone.certificate.evidence
        assert evaluate(early, problem).error < evaluate(alone, problem).error
    assert late.certificate.misfit == min(attempt.misfit for attempt in late.attempts)
    assert late.rank == 2
    assert evaluate(late, problem).error < 1e-6


@EVENTS
def test_a_solver_that_begins_again_does_not_lose_what_the_search_for_the_rank_found(
    event: str, clock: Clock
) -> None:
    """Message passing as the only solver begins at zero."""
    problem = planted(2, rng=13)

    def stop(progress: rr.Progress) -> bool:
        begins = progress.stage == "message passing"
        if begins and event == "Ctrl-C":
            raise KeyboardInterrupt
        if begins and event == "time":
            clock.forward(100)
        return begins and event == "callback"

    try:
        result = rr.recover(
            problem.A, problem.y, solver="message-passing", callback=stop, time_limit=100
        )
    except rr.Interrupted as interruption:
        result = interruption.result
    assert result.stopped is not None
    assert result.rank == 2
    assert evaluate(result, problem).error < 1e-3


@pytest.mark.parametrize(("rank", "noise"), [(1, 0.05), (2, 0.0), (2, 0.05), (4, 0.05)])
def test_the_rank_of_a_completion_is_found(rank: int, noise: float) -> None:
    count = 6 * degrees_of_freedom(80, 60, rank)
    entries = plant_entries(80, 60, rank, count, outliers=0.1, noise=noise, rng=17)
    result = rr.complete(entries.triples, shape=(80, 60))
    assert result.rank == rank
    assert result.certified
    assert result.rank_table is not None
    assert result.rank_table.is_clear
    assert [row.rank for row in result.rank_table.rows][:rank] == list(range(1, rank + 1))
    assert "rank" in dict(result.summary())
    assert rr.complete(entries.triples, rank, shape=(80, 60)).rank_table is None


def test_robust_pca_has_a_table_too() -> None:
    entries = plant_entries(60, 50, 3, 3000, outliers=0.1, rng=18)
    result = rr.robust_pca(entries.incomplete)
    assert result.rank == 3
    assert result.rank_table is not None
    assert math.isclose(result.rank_table.rows[0].singular_value, 1.0)
