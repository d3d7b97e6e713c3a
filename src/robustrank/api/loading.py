"""``load``: results that were saved."""

from __future__ import annotations

from dataclasses import replace

from robustrank.completion import fit_new_rows
from robustrank.files import PathLike
from robustrank.inputs import as_operator
from robustrank.result import Result, read_archive
from robustrank.uncertainty import with_entry_error_bars


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
