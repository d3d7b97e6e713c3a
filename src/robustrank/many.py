"""Many independent problems, one answer each."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robustrank.attempts import solve
from robustrank.backend import (
    Seed,
    as_generator,
    check_count,
    explained_shortage,
    free_memory,
    on_card,
)
from robustrank.operators import Operator, can_be_stacked
from robustrank.problem import Problem
from robustrank.recover import Interrupted, checked_problem, memory_needed, solver_of
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
    solved one after another. Each answer is the one that ``recover`` gives, to rounding.

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
    check_count(rank=rank)
    if batch is not None:
        check_count(batch=batch)
    return _answers(_tasks(iter(problems), rank, shape, device), chosen, batch, generator)


class _Task(NamedTuple):
    problem: Problem
    passes_before: float  # an operator may have been used already


def _tasks(
    problems: Iterator[Any], rank: int, shape: tuple[int, int] | None, device: str | None
) -> Iterator[_Task]:
    """The problems, each taken and validated when it is asked for, and not held on to."""
    for number in itertools.count():
        try:
            yield _task(next(problems), rank, shape, device)
        except StopIteration:
            return
        except Exception as error:
            error.add_note(f"This was problem {number}, counted from zero.")
            raise


def _task(given: Any, rank: int, shape: tuple[int, int] | None, device: str | None) -> _Task:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"a problem is a {type(given).__name__}; expected a pair (A, y)")
    A, y = given
    before = A.passes if isinstance(A, Operator) else 0.0
    with explained_shortage(memory_needed(A)):
        return _Task(checked_problem(A, y, rank, shape, device), before)


def _answers(
    tasks: Iterator[_Task],
    chosen: Solver[Any] | Portfolio,
    batch: int | None,
    generator: np.random.Generator,
) -> Iterator[Recovery]:
    waiting: list[_Task] = []
    size, failure, more = 1, None, True
    while more:
        try:
            task = next(tasks, None)
        except Exception as error:  # those before it are answered first
            task, failure = None, error
        more = task is not None
        if waiting and not (task and task.problem.can_be_stacked_with(waiting[0].problem)):
            yield from _solve_together(waiting, chosen, generator)
            waiting = []
        if task is not None:
            size = size if waiting else _how_many(task.problem, chosen, batch)
            waiting.append(task)
        del task
        if len(waiting) == size:
            yield from _solve_together(waiting, chosen, generator)
            waiting = []
    if failure is not None:
        raise failure


def _how_many(problem: Problem, chosen: Solver[Any] | Portfolio, batch: int | None) -> int:
    """How many problems like this one to solve together."""
    stackable = all(candidate.stackable for candidate in chosen.candidates(problem))
    if not (stackable and can_be_stacked(problem.operator)):
        return 1
    if batch is not None or not on_card(problem.y):
        return batch or 1
    each = memory_needed(problem.operator)
    return max(1, min(_MOST, int(0.8 * free_memory(problem.y) / each)))


def _solve_together(
    tasks: list[_Task], chosen: Solver[Any] | Portfolio, generator: np.random.Generator
) -> Iterator[Recovery]:
    began = time.perf_counter()
    problems = [task.problem for task in tasks]
    needed = sum(memory_needed(problem.operator) for problem in problems)
    with explained_shortage(needed, "solve fewer at a time (batch=)"):
        recoveries = solve(problems, chosen, generator)
    share = (time.perf_counter() - began) / len(problems)
    for (problem, before), recovery in zip(tasks, recoveries, strict=True):
        passes = problem.operator.passes - before
        whole = replace(recovery, passes=passes, seconds=share)
        if whole.status is Status.INTERRUPTED:
            raise Interrupted(whole)
        yield whole
