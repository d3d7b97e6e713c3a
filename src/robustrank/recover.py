"""The front door: validate, choose a solver, solve, certify."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    Seed,
    as_generator,
    check_positive,
    explained_shortage,
    full_precision,
    is_array,
    move,
    move_beside,
    namespace,
)
from robustrank.certificate import certify, conclude, explained, explained_tolerance
from robustrank.determination import pins_down
from robustrank.metrics import balance
from robustrank.operators import Operator, as_operator
from robustrank.problem import Problem
from robustrank.result import Attempt, Recovery, Status, singular_values
from robustrank.solvers import (
    Callback,
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Outcome,
    Portfolio,
    RankSearch,
    Solver,
    State,
    VanillaGD,
    drive,
)
from robustrank.theory import half_normal_quantile

SOLVERS: dict[str, Callable[[], Solver[Any] | Portfolio]] = {
    "auto": Portfolio,
    "gauss-newton": GaussNewton,
    "message-passing": MessagePassing,
    "median-tgd": MedianTGD,
    "vanilla-gd": VanillaGD,
}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during ``recover``. The state so far is in ``recovery``; nothing is lost."""

    def __init__(self, recovery: Recovery) -> None:
        super().__init__(f"interrupted after {recovery.iterations} iterations")
        self.recovery = recovery

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Recovery]]:
        return Interrupted, (self.recovery,)


def recover(
    A: Any,
    y: Any,
    rank: int,
    *,
    shape: tuple[int, int] | None = None,
    solver: str | Solver[Any] | Portfolio = "auto",
    callback: Callback | None = None,
    time_limit: float | None = None,
    device: str | None = None,
    rng: Seed = None,
) -> Recovery:
    """Recover a low-rank matrix M from measurements y_i = <A_i, M>, some of which may be garbage.

    Parameters
    ----------
    A
        The sensing matrices: an (m, n1, n2) array, an (m, n1*n2) array together with ``shape``, a
        memory-mapped file, or an operator. Of NumPy, PyTorch, JAX or CuPy; it is never copied.
    y
        The m measurements. Any of them may be wrong by any amount, infinity included.
    rank
        The rank of M, or an upper bound on it: the answer comes with the rank it turns out to have.
    shape
        (n1, n2), needed only where A is two-dimensional.
    solver
        ``"auto"`` (Gauss–Newton and message passing, in several forms, until an answer proves
        itself), ``"gauss-newton"``, ``"message-passing"``, ``"median-tgd"`` (the paper's),
        ``"vanilla-gd"``, or a solver such as ``MedianTGD(alpha_h=5, step_size=0.3)``.
    callback
        Called with a ``Progress`` every few iterations; return True to stop.
    time_limit
        Stop after this many seconds, with the best there is by then.
    device
        ``"cuda"``, ``"cuda:1"`` or ``"cpu"``: move A and y there first, NumPy arrays by PyTorch.
        The answer stays there. Without it the work is done where A is.
    rng
        Seed or generator for the little that is random: the start vector of a large SVD.

    Returns
    -------
    Recovery
        The factors, the measurements that were not believed, and a status that says whether to
        trust them.

    Raises
    ------
    ValueError, TypeError
        When the input cannot be used; the message says what was got and what was expected.
    Interrupted
        On Ctrl-C. It is a KeyboardInterrupt that carries the state so far.
    """
    began = time.perf_counter()
    chosen = solver_of(solver)
    if time_limit is not None:
        check_positive(time_limit=time_limit)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} cannot be called; expected a function")
    passes_before = A.passes if isinstance(A, Operator) else 0.0
    with explained_shortage(memory_needed(A)):
        problem = checked_problem(A, y, rank, shape, device)
        if time_limit is not None:
            time_limit -= time.perf_counter() - began
        (recovery,) = solve(
            [problem], chosen, as_generator(rng), callback=callback, time_limit=time_limit
        )
    recovery = replace(
        recovery,
        passes=problem.operator.passes - passes_before,  # the check of A for NaN included
        seconds=time.perf_counter() - began,
    )
    if recovery.status is Status.INTERRUPTED:
        raise Interrupted(recovery)
    return recovery


def checked_problem(
    A: Any, y: Any, rank: int, shape: tuple[int, int] | None, device: str | None
) -> Problem:
    """The problem that a user gives, moved to a device if asked for, and validated."""
    if device is not None and not isinstance(A, Operator):
        A = move(A, device)
        y = move_beside(y, A) if is_array(y) else y
    return Problem(as_operator(A, shape), y, rank)


def solve(
    problems: Sequence[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> list[Recovery]:
    """The answers to problems of one shape, each with the best of what the candidates came to."""
    with full_precision(problems[0].y):
        return _solve(problems, chosen, generator, callback, time_limit)


def _solve(
    problems: Sequence[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    callback: Callback | None,
    time_limit: float | None,
) -> list[Recovery]:
    ends = None if time_limit is None else time.perf_counter() + time_limit
    search = _Search(chosen, generator, callback, ends)
    return [
        replace(_best(tried), attempts=tuple(map(_attempt, tried)))
        for tried in search.attempts(problems)
    ]


@dataclass(frozen=True)
class _Search:
    """The candidates, tried on problems in turn."""

    chosen: Solver[Any] | Portfolio
    generator: np.random.Generator
    callback: Callback | None
    ends: float | None  # the time at which to stop

    def attempts(self, problems: Sequence[Problem]) -> list[list[Recovery]]:
        """For each problem what the candidates came to, until an answer was good enough."""
        attempts: list[list[Recovery]] = [[] for _ in problems]
        unsolved = list(range(len(problems)))
        doubtful: list[int] = []  # those that nothing helps but a lower rank than was given
        for candidate in self.chosen.candidates(problems[0]):
            if isinstance(candidate, RankSearch):
                self._try_lower_rank(candidate, problems, attempts, unsolved + doubtful)
                doubtful = []
            else:
                self._try(candidate, problems, attempts, unsolved)
                doubtful += [k for k in unsolved if _is_doubtful(problems[k], attempts[k][-1])]
            if any(tried[-1].status is Status.INTERRUPTED for tried in attempts):
                for number in unsolved + doubtful:
                    attempts[number][-1] = replace(attempts[number][-1], status=Status.INTERRUPTED)
                break
            unsolved = [k for k in unsolved if k not in doubtful and not _is_over(attempts[k])]
            if not unsolved + doubtful:
                break
        return attempts

    def _try(
        self,
        candidate: Solver[Any],
        problems: Sequence[Problem],
        attempts: list[list[Recovery]],
        numbers: list[int],
    ) -> None:
        """Add what a candidate comes to on some of the problems."""
        outcomes = self._drive(candidate, [problems[number] for number in numbers])
        for number, outcome in zip(numbers, outcomes, strict=True):
            attempts[number].append(_recovery(problems[number], candidate, outcome))

    def _try_lower_rank(
        self,
        candidate: RankSearch,
        problems: Sequence[Problem],
        attempts: list[list[Recovery]],
        numbers: list[int],
    ) -> None:
        """Add the attempts at the rank that is seen, where that is lower than the one given."""
        lower: dict[int, list[int]] = {}
        outcomes = self._drive(candidate, [problems[number] for number in numbers])
        for number, outcome in zip(numbers, outcomes, strict=True):
            if outcome.ended in _TOLD_TO_STOP:
                attempts[number].append(_recovery(problems[number], candidate, outcome))
                continue
            rank = candidate.rank_seen(problems[number].normalised(), outcome.state)
            if rank is not None and rank < problems[number].rank:
                lower.setdefault(rank, []).append(number)
        for rank, group in lower.items():
            tried = self.attempts([problems[number].of_rank(rank) for number in group])
            for number, more in zip(group, tried, strict=True):
                attempts[number] += more

    def _drive(self, solver: Solver[Any], problems: list[Problem]) -> list[Outcome]:
        if not problems:
            return []
        remaining = None if self.ends is None else self.ends - time.perf_counter()
        return drive(problems, solver, self.generator, callback=self.callback, time_limit=remaining)


def memory_needed(A: Any) -> int:
    """In bytes, about: sensing data, as an array or an operator, and what solving adds to it."""
    if isinstance(A, Operator):
        width = 4 if "32" in str(A.dtype) else 8
        return int(1.25 * width * A.measurements * math.prod(A.matrix_shape))
    return int(1.25 * getattr(A, "nbytes", 0))


# Singular values below this share of what counts as explained come of a rank given too large.
_EMPTY = 0.01

_TOLD_TO_STOP = {Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED}
# A fit's surplus columns, made of noise, have singular values of up to twice its edge.
_CLEAR_OF_NOISE = 3.0


def _is_over(tried: list[Recovery]) -> bool:
    """Whether there is no point in another candidate: there is an answer, or someone said stop."""
    return tried[-1].status in _TOLD_TO_STOP or any(attempt.converged for attempt in tried)


def _is_doubtful(problem: Problem, recovery: Recovery) -> bool:
    """Whether the rank may be too large, and no other candidate would do better with it."""
    if recovery.status is Status.SETTLED:
        return _may_have_surplus_columns(problem, recovery)
    return recovery.status is Status.UNDERDETERMINED


def _may_have_surplus_columns(problem: Problem, recovery: Recovery) -> bool:
    """Whether noise alone might have made the smallest singular value."""
    seen, (n1, n2) = recovery.certificate, recovery.shape
    if recovery.rank == 1:
        return False
    deviation = seen.prediction_error * problem.scale / half_normal_quantile(0.5)
    edge = deviation * (math.sqrt(n1) + math.sqrt(n2)) / math.sqrt(seen.believed)
    return bool(
        recovery.singular_values()[-1] < _CLEAR_OF_NOISE * edge / float(problem.operator.gain)
    )


def _best(attempts: list[Recovery]) -> Recovery:
    """The answer that is best founded: recovered, or settled and the better at predicting.

    Without one, that which explains most. Where the callback stopped it, what it stopped.
    """
    last = attempts[-1]
    if last.status is Status.STOPPED:
        return last
    best = max(attempts, key=_standing)
    return replace(best, status=last.status) if last.status in _TOLD_TO_STOP else best


def _standing(recovery: Recovery) -> tuple[float, ...]:
    seen = recovery.certificate
    if recovery.status is Status.RECOVERED:
        return (2.0,)
    if recovery.status is Status.SETTLED:
        return (1.0, -seen.prediction_error)
    return (0.0, seen.explained, -seen.misfit)


def _attempt(recovery: Recovery) -> Attempt:
    seen = recovery.certificate
    return Attempt(
        recovery.solver,
        recovery.status,
        recovery.rank,
        seen.explained,
        seen.misfit,
        recovery.iterations,
        recovery.seconds,
    )


def solver_of(solver: str | Solver[Any] | Portfolio) -> Solver[Any] | Portfolio:
    """The solver that a name stands for, or the one that is given."""
    if isinstance(solver, (Solver, Portfolio)):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    known = ", ".join(repr(name) for name in SOLVERS)
    raise ValueError(f"solver={solver!r} is not known; expected one of {known}, or a solver object")


def _recovery(problem: Problem, solver: Solver[Any], outcome: Outcome) -> Recovery:
    state, units = outcome.state, problem.units
    residual = problem.in_its_units(state.residual)
    believed = namespace(residual).astype(state.weights > 0, residual.dtype)
    with np.errstate(over="ignore"):  # a run that diverged may leave anything
        certificate = certify(problem, residual, believed)
    status = conclude(outcome.ended, certificate)
    if status.converged:  # a claim: see whether what it rests on can bear it
        certificate = replace(
            certificate, determined=_is_determined(problem, solver, state, residual, believed)
        )
        status = conclude(outcome.ended, certificate)
    left, right = state.U, state.V
    if certificate.holds:
        left, right = _of_its_rank(left, right, _EMPTY * explained_tolerance(problem))
    root = math.sqrt(units.matrix)
    cutoff = solver.cutoff(state)
    return Recovery(
        left=left * root,
        right=right * root,
        outliers=(believed == 0) & ~explained(problem, residual),
        status=status,
        certificate=certificate,
        residual=residual,
        cutoff=None if cutoff is None else float(cutoff * units.measurement),
        history=outcome.history,
        solver=solver.name,
        iterations=outcome.iterations,
        passes=outcome.history.checks[-1].passes if outcome.history.checks else 0.0,
        seconds=outcome.history.checks[-1].seconds if outcome.history.checks else 0.0,
    )


def _is_determined(
    problem: Problem, solver: Solver[Any], state: State, residual: Array, believed: Array
) -> bool:
    """Whether the measurements that are met, or believed where none are met, leave nothing open."""
    xp = namespace(residual)
    met = explained(problem, residual)
    exact = int(xp.count_nonzero(met)) > problem.degrees_of_freedom
    rests_on = xp.astype(met if exact else believed > 0, residual.dtype)
    return pins_down(*solver.linearised(problem.normalised(), state), rests_on)


def _of_its_rank(left: Array, right: Array, negligible: float) -> tuple[Array, Array]:
    """Factors of the same matrix without the columns it has no use for."""
    values = singular_values(left, right)
    rank = int((values > negligible * values[0]).sum())
    if rank in (0, left.shape[1]):  # none where they are not finite
        return left, right
    left, right = balance(left, right)
    return left[:, :rank], right[:, :rank]
