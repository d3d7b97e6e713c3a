"""A tangent map by products that finds out which part of the matrix each measurement depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.operators.tangent import StoredTangent
from robustrank.operators.tangent_views import TangentView

# In two random directions, a measurement that depends on a part shows it, up to one in a million.
_DIRECTIONS = 2


@dataclass(frozen=True, eq=False)
class ProbedTangent(TangentView):
    """Another tangent map whose shares are found by changing one row or column at a time.

    Each row and each column of the matrix is changed along at most two random directions, which
    takes 2 (n1 + n2) products, the first time that shares are needed. The shares are exact up to
    rank two. Beyond that they are those of the two directions: zero for a measurement that does not
    depend on the row or column, and for others only by chance.
    """

    def share_maxima(self, rows: Array) -> Array:
        return self._in_some_directions.share_maxima(rows)

    def share_counts(self, least: Array, weights: Array) -> Array:
        return self._in_some_directions.share_counts(least, weights)

    @cached_property
    def _in_some_directions(self) -> StoredTangent:
        """Changes of the measurements, (m, 2, n1 + n2), in place of the rows of the map."""
        left, right = self.U, self.V
        r, parts = left.shape[1], left.shape[0] + right.shape[0]
        xp, count = namespace(left), min(r, _DIRECTIONS)
        random = np.random.default_rng(0).standard_normal((r, count))
        directions = xp.asarray(np.linalg.qr(random)[0].T, **like(left))
        number = xp.arange(parts, device=like(left)["device"])[:, None]

        def change(part: int, k: int) -> Array:
            chosen = xp.astype(number == part, left.dtype)
            return self.inner.apply(chosen * directions[k : k + 1, :])

        changes = [
            xp.stack([change(part, k) for part in range(parts)], axis=1) for k in range(count)
        ]
        return StoredTangent(xp.stack(changes, axis=1), left, right)
