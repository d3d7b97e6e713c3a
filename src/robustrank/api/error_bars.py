"""``with_data``: a result together with its measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from robustrank.api.inputs import checked_problem
from robustrank.backend import to_numpy
from robustrank.inputs import as_operator
from robustrank.result import Result
from robustrank.uncertainty import recovery_error_bars


def with_data(
    result: Result,
    A: Any,
    y: Any,
    *,
    shape: tuple[int, int] | None = None,
) -> Result:
    """A result of ``recover`` together with its measurements, so that it has error bars.

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
    Result
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
    if not isinstance(result, Result):
        raise TypeError(f"result is a {type(result).__name__}; expected a Result")
    if result.of_entries:
        raise TypeError("this result is a completion; it has its entries, and so error bars")
    given = result.shape if shape is None and getattr(A, "ndim", 0) == 2 else shape
    problem = checked_problem(A, y, result.rank, given, None, result.symmetric)
    m, size = problem.operator.shape
    if (m, size) != (len(to_numpy(result.residual)), result.shape):
        raise ValueError(
            f"A has {m} measurements of a {size[0]} × {size[1]} matrix, but the result is that of "
            f"{len(to_numpy(result.residual))} measurements of a {result.shape[0]} × "
            f"{result.shape[1]} matrix"
        )
    return replace(result, accuracy=lambda: recovery_error_bars(problem, result, as_operator))
