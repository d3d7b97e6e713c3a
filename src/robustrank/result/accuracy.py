"""What knows the accuracy of a result, for its standard errors and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

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
