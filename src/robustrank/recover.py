"""The front door: validate, choose a solver, solve, certify."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from robustrank.attempts import solve
from robustrank.backend import (
    Seed,
    as_generator,
    check_positive,
    explained_shortage,
    is_array,
    move,
    move_beside,
)
from robustrank.operators import Operator, as_operator
from robustrank.problem import Problem
from robustrank.result import Recovery, Status
from robustrank.solvers import (
    Callback,
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Portfolio,
    RankSearch,
    Solver,
    VanillaGD,
)

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
        The rank of M, or an upper bound on it: by ``"auto"`` the answer comes with the rank that it
        turns out to have.
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


def memory_needed(A: Any) -> int:
    """In bytes, about: sensing data, as an array or an operator, and what solving adds to it."""
    if isinstance(A, Operator):
        width = 4 if "32" in str(A.dtype) else 8
        return int(1.25 * width * A.measurements * math.prod(A.matrix_shape))
    return int(1.25 * getattr(A, "nbytes", 0))


def solver_of(solver: str | Solver[Any] | Portfolio) -> Solver[Any] | Portfolio:
    """The solver that a name stands for, or the one that is given."""
    if isinstance(solver, RankSearch):
        raise ValueError("a rank search has no answer to give; put it into a Portfolio")
    if isinstance(solver, (Solver, Portfolio)):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    known = ", ".join(repr(name) for name in SOLVERS)
    raise ValueError(f"solver={solver!r} is not known; expected one of {known}, or a solver object")
