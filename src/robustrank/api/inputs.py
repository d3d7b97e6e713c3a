"""What ``recover`` and ``recover_many`` share: validation, the choice of a solver, Ctrl-C."""

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
from robustrank.outofcore import Engine
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


class SensingDataLost(RuntimeError):  # noqa: N818
    """The sensing data can no longer be read; the result so far is in ``recovery``.

    It is raised by ``recover`` if a file that is read in blocks cannot be read any more, or if all
    workers of a cluster are gone. Make the data available again and continue with
    ``recover(A, y, rank, start=error.recovery)``.

    Attributes
    ----------
    recovery
        A ``Recovery`` with the status INTERRUPTED, which is not certified.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.
    """

    def __init__(self, message: str, recovery: Recovery) -> None:
        super().__init__(message)
        self.recovery = recovery

    def __reduce__(self) -> tuple[type[SensingDataLost], tuple[str, Recovery]]:
        return SensingDataLost, (str(self), self.recovery)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during ``recover`` or ``recover_many``; the result so far is in ``recovery``.

    It is a KeyboardInterrupt, so that a program that does not catch it ends.

    Attributes
    ----------
    recovery
        A ``Recovery`` with the status INTERRUPTED, which is not certified. Its factors are the best
        that were found by then.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.
    robustrank.InterruptedCompletion : The same for ``complete``.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, rng=1)
    >>> def press_ctrl_c(progress):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     rr.recover(planted.A, planted.y, rank=1, callback=press_ctrl_c)
    ... except rr.Interrupted as interruption:
    ...     result = interruption.recovery
    >>> result.status.name
    'INTERRUPTED'
    """

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


def checked_start(
    start: Recovery | tuple[Any, Any], shape: tuple[int, int], rank: int | None
) -> Factors | None:
    """The factors to start from, None if they are zero; raises if they do not fit the matrix.

    Without a rank, they may have any.
    """
    given = (start.left, start.right) if isinstance(start, Recovery) else start
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
