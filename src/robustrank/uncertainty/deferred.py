"""Error bars that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.operators import Operator
from robustrank.uncertainty.error_bars import ErrorBars

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class DeferredErrorBars:
    """Forwards to the error bars that ``compute`` returns; see ``result.Accuracy``."""

    compute: Callable[[], ErrorBars]
    as_operator: Callable[[Any, tuple[int, int]], Operator]  # from sensing matrices of a user

    @cached_property
    def _bars(self) -> ErrorBars:
        return self.compute()

    def __getstate__(self) -> dict[str, Any]:
        given = ("compute", "as_operator")  # what was computed is computed again
        return {name: vars(self)[name] for name in given}

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return self._bars.deviation

    @property
    def redundancy(self) -> int:
        """The number of inliers minus that of the degrees of freedom."""
        return self._bars.redundancy

    def of_entries(self, rows: Matrix, columns: Matrix) -> Matrix:
        """The standard errors of entries of the matrix."""
        return self._bars.of_entries(rows, columns)

    def of_measurements(self, A: Any, shape: tuple[int, int]) -> Matrix:
        """The standard errors of <A_i, M>."""
        return self._bars.of_measurements(self.as_operator(A, shape))

    def of_function(self, function: Callable[[Matrix], Any], matrix: Matrix) -> Matrix:
        """The standard errors of a function of the matrix."""
        return self._bars.of_function(function, matrix)

    def outlier_probabilities(self) -> Matrix:
        """The probability that each measurement is an outlier."""
        return self._bars.outlier_probabilities()
