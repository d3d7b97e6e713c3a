"""What ``recover`` and ``recover_many`` share: validation, and the choice of a solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from robustrank.backend import (
    check_count,
    check_not_negative,
    is_array,
    memory_bytes,
    move,
    move_to_device_of,
    shown,
    to_numpy,
)
from robustrank.inputs import as_operator
from robustrank.linalg import Factors
from robustrank.operators import Operator
from robustrank.outofcore import Engine, LocalEngine
from robustrank.problem import Problem
from robustrank.result import Result
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


def checked_problem(
    A: Any,
    y: Any,
    rank: int,
    shape: tuple[int, int] | None,
    device: str | None,
    symmetric: bool = False,
    *,
    memory_limit: Any = None,
    engine: Engine | None = None,
) -> Problem:
    """The validated problem, on ``device`` if it is given."""
    limit = None if memory_limit is None else memory_bytes(memory_limit)
    if device is not None and not isinstance(A, Operator):
        A = move(A, device)
        y = move_to_device_of(y, A) if is_array(y) else y
    operator = as_operator(A, shape, memory_limit=limit, engine=engine)
    problem = Problem(operator, y, rank, symmetric=symmetric)
    if not isinstance(A, Operator):
        problem.counter.add(1)  # the check for NaN and infinity
    return problem


def engine_of(client: Any, check_time: Callable[[], None]) -> Engine:
    """The engine that computes with blocks: in this process, or on the workers of a cluster."""
    if client is None:
        return LocalEngine(check_time)
    from robustrank.outofcore.cluster import ClusterEngine

    return ClusterEngine(client, check_time)


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


def first_solver(chosen: Solver[Any] | Portfolio) -> Solver[Any]:
    """The solver that is tried first."""
    return chosen.solvers[0] if isinstance(chosen, Portfolio) else chosen


def checked_start(
    start: Result | tuple[Any, Any], shape: tuple[int, int], rank: int | None
) -> Factors | None:
    """The factors to start from, None if they are zero; raises if they do not fit the matrix.

    Without a rank, they may have any.
    """
    given = (start.left, start.right) if isinstance(start, Result) else start
    if not (isinstance(given, (tuple, list)) and len(given) == 2 and all(map(is_array, given))):
        raise TypeError(
            f"start={shown(start)}; expected a result of recover, or its factors (left, right)"
        )
    left, right = given
    n1, n2 = shape
    largest = min(shape) if rank is None else rank
    shapes = tuple(left.shape), tuple(right.shape)
    columns = shapes[0][1] if len(shapes[0]) == 2 else 0
    if not 1 <= columns <= largest or shapes != ((n1, columns), (n2, columns)):
        raise ValueError(
            f"the factors to start from have the shapes {shapes[0]} and {shapes[1]}; expected "
            f"({n1}, r) and ({n2}, r) with r ≤ {largest}"
        )
    values = [to_numpy(factor) for factor in (left, right)]
    if not all(bool(np.isfinite(factor).all()) for factor in values):
        raise ValueError("the factors to start from contain NaN or infinity")
    return (left, right) if all(factor.any() for factor in values) else None
