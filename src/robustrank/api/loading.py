"""``load``: results that were saved."""

from __future__ import annotations

from typing import Any

from robustrank.api.error_bars import completion_with_error_bars
from robustrank.completion import COMPLETION, Completion, SampledObservations
from robustrank.files import PathLike
from robustrank.result import RECOVERY, read_archive


def load(path: PathLike) -> Any:
    """Read a result that ``Recovery.save`` or ``Completion.save`` wrote.

    The arrays are NumPy arrays, whatever they were before. A ``Recovery`` has no error bars until
    ``with_data`` adds the measurements; a ``Completion`` has its entries. The labels of a data
    frame come back as such, which needs pandas.

    Parameters
    ----------
    path
        The name of the file.

    Returns
    -------
    Recovery or Completion
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
    result = read_archive(path, [RECOVERY, COMPLETION])
    if isinstance(result, Completion) and isinstance(result.observations, SampledObservations):
        return completion_with_error_bars(result)
    return result
