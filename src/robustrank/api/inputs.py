"""What ``recover`` and ``recover_many`` share: validation, the choice of a solver, Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from robustrank.backend import (
    check_count,
    check_not_negative,
    is_array,
    move,
    move_to_device_of,
    shown,
)
from robustrank.operators import Operator, as_operator
from robustrank.problem import Problem
from robustrank.result import Recovery
from robustrank.solvers import (
    GaussNewton,
    MedianTGD,
    Portfolio,
    Solver,
    VanillaGD,
    message_passing_then_gauss_newton,
)

SOLVERS: dict[str, Callable[[], Solver[Any] | Portfolio]] = {
    "auto": Portfolio,
    "gauss-newton": GaussNewton,
    "message-passing": message_passing_then_gauss_newton,
    "median-tgd": MedianTGD,
    "vanilla-gd": VanillaGD,
}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during ``recover``. The result so far is in ``recovery``."""

    def __init__(self, recovery: Recovery) -> None:
        super().__init__(f"interrupted after {recovery.iterations} iterations")
        self.recovery = recovery

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Recovery]]:
        return Interrupted, (self.recovery,)


def checked_problem(
    A: Any,
    y: Any,
    rank: int,
    shape: tuple[int, int] | None,
    device: str | None,
    symmetric: bool = False,
) -> Problem:
    """The validated problem, on ``device`` if it is given."""
    if device is not None and not isinstance(A, Operator):
        A = move(A, device)
        y = move_to_device_of(y, A) if is_array(y) else y
    problem = Problem(as_operator(A, shape), y, rank, symmetric=symmetric)
    if not isinstance(A, Operator):
        problem.counter.add(1)  # the check for NaN and infinity
    return problem


def memory_needed(A: Any) -> int:
    """The approximate memory in bytes for dense sensing data and the work arrays of a solver."""
    if isinstance(A, Operator):
        width = 4 if "32" in str(A.dtype) else 8
        return int(1.25 * width * A.measurements * math.prod(A.matrix_shape))
    return int(1.25 * getattr(A, "nbytes", 0))


def solver_from(solver: str | Solver[Any] | Portfolio) -> Solver[Any] | Portfolio:
    """The solver with a given name, or the given solver."""
    if isinstance(solver, (Solver, Portfolio)):
        for one in solver.solvers if isinstance(solver, Portfolio) else (solver,):
            check_count(max_iterations=one.max_iterations)
            check_not_negative(tolerance=one.tolerance)
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    known = ", ".join(repr(name) for name in SOLVERS)
    raise ValueError(
        f"solver={shown(solver)} is not known; expected one of {known}, or a solver object"
    )
