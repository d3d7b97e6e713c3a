"""Results with what their error bars need: the measurements."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from robustrank.api.inputs import checked_problem
from robustrank.backend import Array, to_numpy
from robustrank.completion import Completion, Observations
from robustrank.inputs import as_operator
from robustrank.problem import Problem
from robustrank.result import Recovery
from robustrank.uncertainty import (
    DeferredErrorBars,
    ErrorBars,
    completion_error_bars,
    recovery_error_bars,
)


def with_data(
    result: Recovery,
    A: Any,
    y: Any,
    *,
    shape: tuple[int, int] | None = None,
) -> Recovery:
    """A result together with its measurements, so that it has error bars.

    A result of ``recover`` has them already. One that was loaded from a file, unpickled, or
    returned by ``recover_many`` does not, because they may be large. A result of ``complete``
    always has its entries.

    Parameters
    ----------
    result
        A result for these measurements.
    A, y, shape
        As for ``recover``; ``shape`` is that of the result.

    Returns
    -------
    Recovery
        The same result, whose methods ``standard_error``, ``interval`` and ``standard_error_of``
        and whose ``outlier_probability`` can be used. It refers to A and y.

    Raises
    ------
    ValueError
        If the number of measurements or the shape of the matrix is not that of the result.
    TypeError
        If the result is a completion.

    See Also
    --------
    robustrank.load : Read a saved result.

    Examples
    --------
    >>> import tempfile
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, 1, 200, noise=0.05, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rr.recover(planted.A, planted.y, 1).save(f"{folder}/result.npz")
    ...     loaded = rr.load(f"{folder}/result.npz")
    >>> result = rr.with_data(loaded, planted.A, planted.y)
    >>> result.standard_error([0, 1], [3, 3]).shape
    (2,)
    """
    if not isinstance(result, Recovery):
        raise TypeError(
            f"result is a {type(result).__name__}; expected a Recovery. A Completion has its "
            "entries, and so has error bars already"
        )
    given = result.shape if shape is None and getattr(A, "ndim", 0) == 2 else shape
    problem = checked_problem(A, y, result.rank, given, None, result.symmetric)
    m, size = problem.operator.shape
    if (m, size) != (len(to_numpy(result.residual)), result.shape):
        raise ValueError(
            f"A has {m} measurements of a {size[0]} × {size[1]} matrix, but the result is that of "
            f"{len(to_numpy(result.residual))} measurements of a {result.shape[0]} × "
            f"{result.shape[1]} matrix"
        )
    return recovery_with_error_bars(result, problem)


def recovery_with_error_bars(result: Recovery, problem: Problem) -> Recovery:
    """The result of a problem, with error bars that are computed when they are needed."""
    return replace(
        result,
        error_bars=DeferredErrorBars(lambda: recovery_error_bars(problem, result), as_operator),
    )


def completion_with_error_bars(result: Completion) -> Completion:
    """The same for a completion, which has its entries, also after pickling."""
    compute = partial(
        _error_bars_of_entries,
        result.left,
        result.right,
        result.observations,
        result.outliers,
        result.noise,
    )
    return replace(result, error_bars=DeferredErrorBars(compute, as_operator))


def _error_bars_of_entries(
    left: Array, right: Array, observations: Observations, outliers: Array, noise: float
) -> ErrorBars:
    rows, columns, residual = (to_numpy(part) for part in observations.all())
    flags = to_numpy(outliers)
    inlier = ~(flags[rows, columns] if flags.ndim == 2 else flags)
    return completion_error_bars(left, right, rows, columns, residual, inlier, noise)
