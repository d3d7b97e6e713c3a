"""The tangent map of sampled entries: by products, with the parts that each entry depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.operators.tangent_views import TangentView

Values = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class EntryTangent(TangentView):
    """Another tangent map, whose measurements are entries of the matrix.

    Each depends on its own row and its own column only, so the shares need no rows of the map. They
    are computed in host memory.
    """

    rows: Array  # (m,)
    columns: Array

    def share_maxima(self, rows: Array) -> Array:
        chosen = to_numpy(rows) > 0
        maxima = [np.zeros(factor.shape[0]) for factor in (self.U, self.V)]
        for largest, (parts, shares) in zip(maxima, self._shares, strict=True):
            np.maximum.at(largest, parts[chosen], shares[chosen])
        return self._returned(np.concatenate(maxima))

    def share_counts(self, least: Array, weights: Array) -> Array:
        limits = np.split(to_numpy(least), [self.U.shape[0]])
        counts = [
            [np.bincount(parts, w * (shares > limit[parts]), len(limit)) for w in to_numpy(weights)]
            for limit, (parts, shares) in zip(limits, self._shares, strict=True)
        ]
        return self._returned(np.concatenate(counts, axis=1))

    @cached_property
    def _shares(self) -> list[tuple[Values, Values]]:
        """The row of each entry with its share, and the column with its share."""
        rows, columns = to_numpy(self.rows), to_numpy(self.columns)
        # Row a of A_i V is row b of V, if the entry is (a, b).
        of_rows, of_columns = (
            np.sum(to_numpy(factor).astype(float) ** 2, axis=1)[others]
            for factor, others in ((self.V, columns), (self.U, rows))
        )
        total = of_rows + of_columns
        total[total == 0] = 1
        return [(rows, of_rows / total), (columns, of_columns / total)]

    def _returned(self, values: Values) -> Array:
        return namespace(self.U).asarray(values, **like(self.U))
