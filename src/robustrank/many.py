"""Many independent problems, one answer each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import (
    Seed,
    as_generator,
    check_count,
    explained_shortage,
    free_memory,
    full_precision,
    move,
    on_card,
)
from robustrank.operators import Operator, as_operator
from robustrank.problem import Problem
from robustrank.recover import Interrupted, memory_needed, solve, solver_of
from robustrank.result import Recovery, Status
from robustrank.solvers import Portfolio, Solver

# More would not be faster: by then a card is busy with the problems, and not with waiting.
_MOST = 32


def recover_many(
    problems: Iterable[tuple[Any, Any]],
    rank: int,
    *,
    shape: tuple[int, int] | None = None,
    solver: str | Solver[Any] | Portfolio = "auto",
    device: str | None = None,
    batch: int | None = None,
    rng: Seed = None,
) -> Iterator[Recovery]:
    """Recover a matrix from each of many problems, and yield the answers in their order.

    On a graphics card problems of one shape are solved together, which takes far less time than
    one after another: a card is fast, and one problem does not keep it busy. On a CPU they are
    solved one after another. Each answer is the one that ``recover`` gives.

    Parameters
    ----------
    problems
        Pairs (A, y) as for ``recover``. They are taken as they are needed, so that a generator
        never has more of them in memory than are solved together.
    rank, shape, solver, device, rng
        As for ``recover``, for all of them.
    batch
        How many to solve together. By default what fits on the card, 32 at most.

    Yields
    ------
    Recovery
        One for each problem. Its ``seconds`` are its share of the time.
    """
    chosen, generator = solver_of(solver), as_generator(rng)
    if batch is not None:
        check_count(batch=batch)
    return _answers(_checked(problems, rank, shape, device), chosen, batch, generator)


def _checked(
    problems: Iterable[tuple[Any, Any]],
    rank: int,
    shape: tuple[int, int] | None,
    device: str | None,
) -> Iterator[Problem]:
    """The problems, each validated when it is asked for."""
    for number, (A, y) in enumerate(problems):
        try:
            with full_precision(A), explained_shortage(memory_needed(A)):
                if device is not None and not isinstance(A, Operator):
                    A, y = move(A, device), move(y, device)
                problem = Problem(as_operator(A, shape), y, rank)
        except Exception as error:
            error.add_note(f"This was problem {number}, counted from zero.")
            raise
        del A, y
        yield problem


def _answers(
    problems: Iterator[Problem],
    chosen: Solver[Any] | Portfolio,
    batch: int | None,
    generator: np.random.Generator,
) -> Iterator[Recovery]:
    waiting: list[Problem] = []
    size = 1
    for problem in problems:
        if waiting and not problem.can_be_stacked_with(waiting[0]):
            yield from _solve_together(waiting, chosen, generator)
            waiting = []
        if not waiting:
            size = _how_many(problem, chosen, batch)
        waiting.append(problem)
        del problem
        if len(waiting) == size:
            yield from _solve_together(waiting, chosen, generator)
            waiting = []
    if waiting:
        yield from _solve_together(waiting, chosen, generator)


def _how_many(problem: Problem, chosen: Solver[Any] | Portfolio, batch: int | None) -> int:
    """How many problems like this one to solve together."""
    candidates = chosen.candidates(problem) if isinstance(chosen, Portfolio) else (chosen,)
    if not all(candidate.stackable for candidate in candidates):
        return 1
    if not problem.can_be_stacked_with(problem):
        return 1
    if batch is not None or not on_card(problem.y):
        return batch or 1
    each = memory_needed(problem.operator)
    return max(1, min(_MOST, int(0.8 * free_memory(problem.y) / each)))


def _solve_together(
    problems: list[Problem], chosen: Solver[Any] | Portfolio, generator: np.random.Generator
) -> Iterator[Recovery]:
    began = time.perf_counter()
    needed = sum(memory_needed(problem.operator) for problem in problems)
    with full_precision(problems[0].y), explained_shortage(needed):
        recoveries = solve(problems, chosen, generator)
    share = (time.perf_counter() - began) / len(problems)
    for problem, recovery in zip(problems, recoveries, strict=True):
        whole = replace(recovery, passes=problem.operator.passes, seconds=share)
        if whole.status is Status.INTERRUPTED:
            raise Interrupted(whole)
        yield whole
