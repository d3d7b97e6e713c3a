"""A tangent map by products whose rows can be computed in blocks where they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from robustrank.backend import Array, namespace
from robustrank.operators.tangent import StoredTangent
from robustrank.operators.tangent_views import TangentView

_BLOCK_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class RowwiseTangent(TangentView):
    """Another tangent map, with what follows from its rows; see ``StoredTangent``.

    ``rows`` returns those of a slice of the measurements, (k, r, n1 + n2). They are used for the
    normal matrix, the leverages and the shares, and never stored all at once; ``apply``,
    ``adjoint`` and ``gram`` are those of the inner map.
    """

    rows: Callable[[slice], Array]
    measurements: int

    def gram(self, weights: Array, W: Array) -> Array:
        return self.inner.gram(weights, W)

    def normal_matrix(self, weights: Array) -> Array:
        total: Array = 0.0
        for block, part in self._parts():
            total = total + part.normal_matrix(weights[block])
        return total

    def quadratic_forms(self, matrix: Array) -> Array:
        forms = [part.quadratic_forms(matrix) for _, part in self._parts()]
        return namespace(matrix).concat(forms, axis=0)

    def share_maxima(self, rows: Array) -> Array:
        xp = namespace(rows)
        maxima = [part.share_maxima(rows[block]) for block, part in self._parts()]
        return xp.max(xp.stack(maxima, axis=0), axis=0)

    def share_counts(self, least: Array, weights: Array) -> Array:
        total: Array = 0.0
        for block, part in self._parts():
            total = total + part.share_counts(least, weights[:, block])
        return total

    def _parts(self) -> Iterator[tuple[slice, StoredTangent]]:
        """The measurements in blocks, each with its stored tangent map."""
        unknowns = self.U.shape[1] * (self.U.shape[0] + self.V.shape[0])
        height = max(1, _BLOCK_ENTRIES // unknowns)
        for first in range(0, self.measurements, height):
            block = slice(first, min(first + height, self.measurements))
            yield block, StoredTangent(self.rows(block), self.U, self.V)
