"""Standard errors and intervals of a result, given what knows its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtrit  # the quantiles of Student's t

from robustrank.backend import is_array, to_numpy

Values = np.ndarray[Any, Any]


class Accuracy(Protocol):
    """What is known about the accuracy of a fitted matrix."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a typical measurement; zero if there is none."""

    @property
    def redundancy(self) -> int:
        """The number of inliers minus that of the degrees of freedom."""

    def of_entries(self, rows: Values, columns: Values) -> Values:
        """The standard errors of entries of the matrix."""

    def of_measurements(self, A: Any, shape: tuple[int, int]) -> Values:
        """The standard errors of <A_i, M>."""

    def of_function(self, function: Callable[[Values], Any], matrix: Values) -> Values:
        """The standard errors of a function of the matrix."""

    def outlier_probabilities(self) -> Values:
        """The probability that each measurement is an outlier, (m,)."""


class NotCertifiedWarning(UserWarning):
    """A result that is not certified is used: its error bars, or an estimator that was fitted.

    ``standard_error``, ``interval``, ``standard_error_of`` and ``outlier_probability`` assume that
    the right measurements were rejected. If the result is not certified this may be wrong, and the
    errors may be much larger. Use them only if you know from elsewhere that the result is right.

    See Also
    --------
    robustrank.Result : Its ``status`` says why it is not certified, ``advice`` what to do.
    robustrank.Status : The meaning of the status.

    Examples
    --------
    To raise an error instead:

    >>> import warnings
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(16, 12, rank=1, measurements=37, outliers=0.1, rng=2)
    >>> result = rr.recover(planted.A, planted.y, rank=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", rr.NotCertifiedWarning)
    ...     try:
    ...         result.standard_error(0, 0)
    ...     except rr.NotCertifiedWarning:
    ...         print("no error bars")
    no error bars
    """


def checked_positions(given: Any, size: int, name: str) -> Values:
    """Row or column numbers, from zero to ``size`` − 1."""
    numbers = to_numpy(given) if is_array(given) else np.asarray(given)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise TypeError(f"{name} has dtype {numbers.dtype}; expected integers")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise IndexError(f"{name} contains {wrong}; expected numbers from 0 to {size - 1}")
    return numbers


def interval_around(
    center: Any, error: Values, level: float, accuracy: Accuracy, *, noise: bool = False
) -> tuple[Values, Values]:
    """The bounds of intervals that contain the truth with a probability of ``level``.

    With ``noise`` they contain a new observation, which has the noise of the others.
    """
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level={level!r}; expected a number between 0 and 1")
    if noise:
        error = np.hypot(error, accuracy.deviation)
    middle = to_numpy(center)
    half = float(stdtrit(max(accuracy.redundancy, 1), (1 + level) / 2)) * error
    return middle - half, middle + half
