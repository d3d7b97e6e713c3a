"""``recover_many``: independent problems, solved in batches on a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from robustrank.api.running import (
    checked_problem,
    memory_needed,
    positive_semidefinite,
    returned,
    solver_from,
    with_remedy,
)
from robustrank.backend import (
    Seed,
    as_generator,
    check_count,
    explain_memory_errors,
    free_memory,
    full_precision,
    limited_blas_threads,
    on_gpu,
    threads_for,
)
from robustrank.operators import can_be_batched
from robustrank.problem import Problem
from robustrank.result import Result, StopReason
from robustrank.run import Run
from robustrank.search import nothing_found, solve
from robustrank.search.results import assemble, summarize
from robustrank.solvers import Drive, Outcome, Portfolio, Solver

# A larger batch is not faster: 32 problems use a GPU fully.
_LARGEST_BATCH = 32


def recover_many(
    problems: Iterable[tuple[Any, Any]],
    rank: int | None = None,
    *,
    shape: tuple[int, int] | None = None,
    solver: str | Solver[Any] | Portfolio = "auto",
    device: str | None = None,
    batch: int | None = None,
    rng: Seed = 0,
    symmetric: bool = False,
    psd: bool = False,
) -> Iterator[Result]:
    """Recover a matrix from each of many problems, and yield the results in order.

    On a GPU, consecutive problems with the same shape and dtype are solved in batches, because a
    single problem does not use the whole GPU. On a CPU they are solved one after another. Each
    matrix equals that of ``recover`` up to rounding. The results have no error bars; ``with_data``
    adds them.

    Parameters
    ----------
    problems
        Pairs (A, y) as for ``recover``. They are read as needed, so a generator never has more
        than one batch in memory.
    rank
        The rank of the matrices or an upper bound on it. None: it is estimated for each of them,
        one problem at a time.
    shape, solver, device, rng, symmetric, psd
        As for ``recover``; the same for all problems.
    batch
        The batch size. Default: on a GPU the problems that fit in memory, at most 32; on a CPU 1.

    Yields
    ------
    Result
        One for each problem. Its ``seconds`` are its share of the time of the batch.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the result of the first unfinished problem in ``result``.

    See Also
    --------
    robustrank.recover : One problem.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = [rr.simulate.plant(12, 10, 1, 200, outliers=0.1, rng=seed) for seed in range(3)]
    >>> results = rr.recover_many(((one.A, one.y) for one in planted), rank=1)
    >>> [result.status.name for result in results]
    ['RECOVERED', 'RECOVERED', 'RECOVERED']
    """
    chosen, generator = solver_from(solver), as_generator(rng)
    if rank is not None:
        check_count(rank=rank)
    if batch is not None:
        check_count(batch=batch)

    return _results(
        iter(problems),
        validated=partial(
            _problem, rank=rank or 1, shape=shape, device=device, symmetric=symmetric or psd
        ),
        batch_size=partial(_batch_size, chosen=chosen, batch=1 if rank is None else batch),
        solved=partial(
            _solve_batch,
            rank=rank,
            chosen=chosen,
            generator=generator,
            symmetric=symmetric or psd,
            psd=psd,
        ),
    )


def _problem(
    pair: Any, rank: int, shape: tuple[int, int] | None, device: str | None, symmetric: bool
) -> Problem:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"a problem is a {type(pair).__name__}; expected a pair (A, y)")
    A, y = pair
    with explain_memory_errors(memory_needed(A)):
        return checked_problem(A, y, rank, shape, device, symmetric)


def _results(
    pairs: Iterator[Any],
    validated: Callable[[Any], Problem],
    batch_size: Callable[[Problem], int],
    solved: Callable[[list[Problem]], Iterator[Result]],
) -> Iterator[Result]:
    """The results of all problems, each of which is read and validated when it is needed."""
    waiting: list[Problem] = []
    size, failure = 1, None
    for number in itertools.count():
        problem: Problem | None = None
        try:
            problem = validated(next(pairs))
        except StopIteration:
            pass
        except Exception as error:  # raised after the results of the problems before it
            error.add_note(f"This was problem {number}, counted from zero.")
            failure = error
        if waiting and not (problem and problem.can_be_batched_with(waiting[0])):
            yield from solved(waiting)
            waiting = []
        if problem is None:
            break
        size = size if waiting else batch_size(problem)
        waiting.append(problem)
        del problem
        if len(waiting) == size:
            yield from solved(waiting)
            waiting = []
    if failure is not None:
        raise failure


def _batch_size(problem: Problem, chosen: Solver[Any] | Portfolio, batch: int | None) -> int:
    """How many problems like this one to solve together."""
    if not (chosen.solvers[0].batchable and can_be_batched(problem.operator)):
        return 1
    if batch is not None or not on_gpu(problem.y):
        return batch or 1
    fitting = int(0.8 * free_memory(problem.y) / memory_needed(problem.operator))
    return max(1, min(_LARGEST_BATCH, fitting))


def _solve_batch(
    problems: list[Problem],
    rank: int | None,
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    symmetric: bool,
    psd: bool,
) -> Iterator[Result]:
    """The results of problems that are solved together: the first solver runs on all at once.

    The others, if they are needed, run on each problem by itself.
    """
    run, results = Run(), list[Result]()
    with (
        explain_memory_errors(
            sum(memory_needed(problem.operator) for problem in problems),
            "use a smaller batch (batch=)",
        ),
        limited_blas_threads(threads_for(sum(problem.numbers for problem in problems))),
    ):
        firsts = _first_outcomes(problems, chosen, generator, run)
        finish = solve if run.stopped is None else _as_far_as_known
        for problem, first in zip(problems, firsts, strict=True):
            found = finish(
                problem, chosen, generator, run, rank_is_known=rank is not None, first=first
            )
            results.append(found)
            if run.stopped is not None and (finish is solve or not found.certified):
                break
    share = run.seconds / len(problems)
    for problem, result in zip(problems, results, strict=False):
        whole = replace(
            with_remedy(result, problem, rank),
            passes=problem.counter.passes,
            seconds=share,
            symmetric=symmetric,
        )
        whole = positive_semidefinite(whole) if psd else whole
        if run.stopped is StopReason.INTERRUPTED and result is results[-1]:
            whole = returned(run, replace(whole, stopped=run.stopped))
        yield whole


def _first_outcomes(
    problems: list[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    run: Run,
) -> list[Outcome | None]:
    """What the first solver finds for each problem of a batch; None for a single problem."""
    if len(problems) == 1:
        return [None]
    solver, drive = chosen.solvers[0], None
    with full_precision(problems[0].y), np.errstate(all="ignore"):
        with run:
            drive = Drive([solver.solved(one) for one in problems], solver, run)
            return [*drive.to_the_end(generator)]
        return [None] * len(problems) if drive is None else [*drive.outcomes()]


def _as_far_as_known(
    problem: Problem,
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    run: Run,
    *,
    rank_is_known: bool,
    first: Outcome | None,
) -> Result:
    """The result of the first solver for one problem of a batch that was stopped."""
    solver = chosen.solvers[0]
    if first is not None and first.reason is not StopReason.INTERRUPTED:
        alone: Solver[Any] | Portfolio = (
            replace(chosen, solvers=(solver,)) if isinstance(chosen, Portfolio) else solver
        )
        result = solve(problem, alone, generator, Run(), rank_is_known=rank_is_known, first=first)
        return result if result.certified else replace(result, stopped=run.stopped)
    with full_precision(problem.y), np.errstate(all="ignore"):
        if first is None:
            return nothing_found(problem, solver)
        result = assemble(problem, solver, replace(first, reason=run.stopped), tested=False)
        return replace(result, attempts=(summarize(result),))
