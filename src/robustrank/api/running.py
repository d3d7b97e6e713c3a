"""What all calls share: their arguments, the run, and what is done with a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import (
    as_seconds,
    check_count,
    check_not_negative,
    is_array,
    memory_bytes,
    move,
    move_to_device_of,
    namespace,
    shown,
    to_numpy,
)
from robustrank.inputs import as_operator
from robustrank.inputs.groups import numbered_groups
from robustrank.linalg import Factors
from robustrank.operators import DataLost, DenseOperator, Operator, OutOfTime
from robustrank.operators.views.delegating import family
from robustrank.outofcore import Engine, LocalEngine, ShardedOperator, StreamedOperator
from robustrank.planning import failure_of, what_would_help
from robustrank.problem import Problem
from robustrank.result import Result, Status, StopReason
from robustrank.run import Callback, Run
from robustrank.solvers import (
    DEFAULT,
    GaussNewton,
    MedianTGD,
    Portfolio,
    Solver,
    VanillaGD,
    message_passing_then_gauss_newton,
)


class SensingDataLost(RuntimeError):  # noqa: N818
    """The sensing data can no longer be read; the result so far is in ``result``.

    It is raised by ``recover`` if a file that is read in blocks cannot be read any more, or if all
    workers of a cluster are gone. Make the data available again and continue with
    ``recover(A, y, rank, start=error.result)``.

    Attributes
    ----------
    result
        The best ``Result`` that was found by then; its ``stopped`` is INTERRUPTED.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[SensingDataLost], tuple[str, Result]]:
        return SensingDataLost, (str(self), self.result)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a call; the result so far is in ``result``.

    It is a KeyboardInterrupt, so that a program that does not catch it ends.

    Attributes
    ----------
    result
        The best ``Result`` that was found by then; its ``stopped`` is INTERRUPTED.

    See Also
    --------
    robustrank.recover : Its parameter ``start`` continues from a result.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, rng=1)
    >>> def press_ctrl_c(progress):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     rr.recover(planted.A, planted.y, rank=1, callback=press_ctrl_c)
    ... except rr.Interrupted as interruption:
    ...     result = interruption.result
    >>> result.stopped.name, result.certified
    ('INTERRUPTED', False)
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted after {result.seconds:.1f} seconds")
        self.result = result

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Result]]:
        return Interrupted, (self.result,)


def new_run(callback: Callback | None, time_limit: float | None) -> Run:
    """The run of a call that begins now."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} cannot be called; expected a function")
    return Run(callback, None if time_limit is None else as_seconds(time_limit=time_limit))


@contextmanager
def validation() -> Iterator[None]:
    """While data is validated, there is no result to return if it is lost or the time is over."""
    try:
        yield
    except DataLost as error:
        raise OSError(str(error)) from error
    except OutOfTime:
        raise TimeoutError(
            "the time limit was reached while the sensing data was validated; allow at least as "
            "much time as a few passes over it take"
        ) from None


def returned(run: Run, result: Result) -> Result:
    """The result of a run; if Ctrl-C or lost data has ended it, an exception has the result."""
    if run.stopped is not StopReason.INTERRUPTED:
        return result
    if run.lost is None:
        raise Interrupted(result)
    raise SensingDataLost(str(run.lost), result) from run.lost


_NOISY = 3.0  # expected errors of the matrix


def positive_semidefinite(result: Result) -> Result:
    """A symmetric result as L Lᵀ, not certified if it has an eigenvalue that is clearly negative.

    The right factor of a symmetric result is the left one with the signs of the eigenvalues.
    """
    xp = namespace(result.left)
    eigenvalues = to_numpy(xp.sum(result.left * result.right, axis=0))
    negative = eigenvalues < 0
    if not negative.any():
        return result
    error = result.certificate.matrix_error
    allowed = result.certificate.tolerance if math.isnan(error) else _NOISY * error
    if float(-eigenvalues.min()) > allowed * float(np.max(np.abs(eigenvalues))):
        return replace(
            result,
            certificate=result.certificate.with_objections(
                "the matrix is not positive semidefinite"
            ),
        )
    kept = xp.asarray(np.flatnonzero(~negative), device=result.left.device)
    left = xp.take(result.left, kept, axis=1)
    return replace(result, left=left, right=left)


def with_remedy(result: Result, problem: Problem, rank: int | None) -> Result:
    """The result with a remedy, if the trials of the table are like the problem.

    ``rank`` is the given one, if any. With other statuses, there is another reason for the
    failure; if the run was stopped, the reason is not known.
    """
    dense = isinstance(family(problem.operator), DenseOperator | StreamedOperator | ShardedOperator)
    failed = result.status in (Status.INCONCLUSIVE, Status.UNDERDETERMINED)
    finished = result.stopped in (None, StopReason.ITERATIONS)
    if not (failed and finished and dense) or problem.symmetric:
        return result
    return replace(result, remedy=what_would_help(failure_of(result, rank)))


SOLVERS: dict[str, Callable[[], Solver[Any] | Portfolio]] = {
    "auto": lambda: DEFAULT,
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
    noise_scale: Any = None,
    groups: Any = None,
) -> Problem:
    """The validated problem, on ``device`` if it is given."""
    limit = None if memory_limit is None else memory_bytes(memory_limit)
    if device is not None and not isinstance(A, Operator):
        A = move(A, device)
        y = move_to_device_of(y, A) if is_array(y) else y
    operator = as_operator(A, shape, memory_limit=limit, engine=engine)
    labels: tuple[Any, ...] = ()
    if groups is not None:
        groups, names = numbered_groups(groups, operator.measurements)
        labels = tuple(names.tolist())
    problem = Problem(
        operator,
        y,
        rank,
        symmetric=symmetric,
        noise_scale=noise_scale,
        groups=groups,
        group_labels=labels,
    )
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
    size = getattr(A, "nbytes", 0)
    if isinstance(A, Operator):
        width = 4 if "32" in str(A.dtype) else 8
        size = width * A.measurements * math.prod(A.matrix_shape)
    return int(1.25 * size)


def solver_from(solver: str | Solver[Any] | Portfolio) -> Solver[Any] | Portfolio:
    """The solver with a given name, or the given solver."""
    if isinstance(solver, (Solver, Portfolio)):
        for one in solver.solvers:
            check_count(max_iterations=one.max_iterations)
            check_not_negative(tolerance=one.tolerance)
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    raise ValueError(
        f"solver={shown(solver)} is not known; expected one of {', '.join(map(repr, SOLVERS))}, or "
        "a solver object"
    )


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
    if shapes not in (((n1, r), (n2, r)) for r in range(1, largest + 1)):
        raise ValueError(
            f"the factors to start from have the shapes {shapes[0]} and {shapes[1]}; expected "
            f"({n1}, r) and ({n2}, r) with r ≤ {largest}"
        )
    values = [to_numpy(factor) for factor in (left, right)]
    if not all(bool(np.isfinite(factor).all()) for factor in values):
        raise ValueError("the factors to start from contain NaN or infinity")
    return (left, right) if all(factor.any() for factor in values) else None
