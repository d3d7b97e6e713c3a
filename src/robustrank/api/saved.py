"""Results with their measurements: error bars of loaded results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from robustrank.api.running import checked_problem
from robustrank.backend import to_numpy
from robustrank.completion import fit_new_rows
from robustrank.files import PathLike
from robustrank.inputs import as_operator
from robustrank.result import Result, read_archive
from robustrank.uncertainty import recovery_error_bars, with_entry_error_bars


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


def load(path: PathLike) -> Result:
    """Read a result that ``Result.save`` wrote, also with an earlier version.

    The arrays are NumPy arrays, whatever they were before. A result of ``recover`` has no error
    bars until ``with_data`` adds the measurements; a completion has its entries. The labels of a
    data frame come back as such, which needs pandas.

    Parameters
    ----------
    path
        The name of the file.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    ValueError
        For any other file, also for a damaged or malicious one, or one of another version of the
        format; nothing in the file is executed.
    OSError
        If the file cannot be read.

    See Also
    --------
    robustrank.with_data : Add the measurements, for error bars.

    Examples
    --------
    >>> import tempfile
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rr.recover(planted.A, planted.y, rank=1).save(f"{folder}/result.npz")
    ...     result = rr.load(f"{folder}/result.npz")
    >>> result.status.name
    'RECOVERED'
    """
    result = read_archive(path)
    if not result.of_entries:
        return result
    return with_entry_error_bars(replace(result, fit_new_rows=fit_new_rows), as_operator)
