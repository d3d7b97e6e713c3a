"""The tangent map of sampled entries, and on which rows and columns they depend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import Array, epsilon, is_numpy, like, namespace, to_numpy
from robustrank.linalg import NormalMap, Shares, scale_columns
from robustrank.operators.sorted_entries import SortedEntries

Values = np.ndarray[Any, Any]

# With fewer entries, products with the matrix of the map take a tenth of the time.
_FEW_ENTRIES = 10_000


@dataclass(frozen=True, eq=False)
class EntryTangent:
    """The tangent map of entries that are sorted by rows and by columns; see ``linalg.TangentMap``.

    Measurements are in the order of ``by_rows``, unless another one is given.
    """

    by_rows: SortedEntries
    by_columns: SortedEntries
    column_order: Array  # the number of the entry at each place of ``by_columns``
    U: Array
    V: Array
    row_order: Array | None = None  # the number of the entry at each place of ``by_rows``
    row_places: Array | None = None  # its inverse

    reads = 0
    rows = None

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the factors."""
        return epsilon(self.U)

    @property
    def measurements(self) -> int:
        """m."""
        return self.by_rows.size

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        return _taken(self.by_rows.dot(scale_columns(self.U, values), self.V), self.row_places)

    def apply(self, W: Array) -> Array:
        """The change of the entries along W."""
        dU, dV = self._parts(W)
        change = self.by_rows.dot(dU, self.V) + self.by_rows.dot(self.U, dV)
        return _taken(change, self.row_places)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        left = self.by_rows.sums(_taken(w, self.row_order), self.V)
        right = self.by_columns.sums(_taken(w, self.column_order), self.U)
        return namespace(w).concat([left, right])

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``, with its diagonal blocks."""
        xp, by_rows, by_columns = namespace(weights), self.by_rows, self.by_columns
        U, V = self.U, self.V
        own, across = _taken(weights, self.row_order), _taken(weights, self.column_order)

        @cache
        def blocks() -> Array:
            return xp.concat(
                [by_rows.normal_matrices(own, V), by_columns.normal_matrices(across, U)]
            )

        def product(W: Array) -> Array:
            dU, dV = self._parts(W)
            mixed = by_rows.cross_sums(own, U, V, dV), by_columns.cross_sums(across, V, U, dU)
            return (blocks() @ W[..., None])[..., 0] + xp.concat([*mixed])

        if (matrices := self._matrices) is not None:
            matrix, transposed = matrices
            return NormalMap(
                lambda W: (transposed @ (own * (matrix @ W.reshape(-1)))).reshape(W.shape), blocks
            )
        return NormalMap(product, blocks)

    def normal_matrix(self, weights: Array) -> Array | None:
        """The matrix of ``normal_map(weights)`` for ``as_vector(W)``; None if not in NumPy."""
        if not is_numpy(self.U):
            return None
        matrix, (n1, r) = self._matrix(), self.U.shape
        weighted = scipy.sparse.diags_array(_taken(weights, self.row_order)) @ matrix
        parts = (matrix.T @ weighted).toarray().reshape(-1, r, n1 + len(self.V), r)
        return parts.transpose(1, 0, 3, 2).reshape(matrix.shape[1], -1)

    @cached_property
    def shares(self) -> Shares:
        """From the positions."""
        counts, others = to_numpy(self.by_rows.counts), to_numpy(self.by_rows.others)
        owners = np.repeat(np.arange(len(counts)), counts)
        if self.row_places is not None:
            places = to_numpy(self.row_places)
            owners, others = owners[places], others[places]
        return EntryShares(owners, others, self.U, self.V)

    @cached_property
    def _matrices(self) -> tuple[Any, Any] | None:
        """The matrix of the map in the order of the rows, and its transpose.

        None if there are many entries, or not in NumPy.
        """
        if not is_numpy(self.U) or self.by_rows.size >= _FEW_ENTRIES or self.U.shape[1] == 0:
            return None
        matrix = self._matrix()
        return matrix, matrix.T

    def _matrix(self) -> scipy.sparse.csr_array:
        """The matrix of the map, whose factors are in NumPy, in the order of the rows."""
        at, (n1, r) = self.by_rows, self.U.shape
        own, other = at.owners, n1 + at.others
        places = np.stack([own, other], axis=1)[:, :, None] * r + np.arange(r)
        values = np.stack([self.V[at.others], self.U[own]], axis=1)
        starts = np.arange(at.size + 1) * (2 * r)
        shape = at.size, r * (n1 + len(self.V))
        return scipy.sparse.csr_array((values.reshape(-1), places.reshape(-1), starts), shape)

    def _parts(self, W: Array) -> tuple[Array, Array]:
        n1 = self.U.shape[0]
        return W[:n1, :], W[n1:, :]


def _taken(values: Array, places: Array | None) -> Array:
    return values if places is None else namespace(values).take(values, places)


@dataclass(frozen=True, eq=False)
class EntryShares:
    """Shares of measurements that are entries of the matrix U Vᵀ.

    Each depends on its own row and its own column only, so the shares need no rows of the map. They
    are computed in host memory.
    """

    rows: Array  # (m,)
    columns: Array
    U: Array
    V: Array

    def maxima(self, chosen: Array) -> Array:
        counted = to_numpy(chosen) > 0
        maxima = [np.zeros(factor.shape[0]) for factor in (self.U, self.V)]
        for largest, (parts, shares) in zip(maxima, self._shares, strict=True):
            np.maximum.at(largest, parts[counted], shares[counted])
        return self._returned(np.concatenate(maxima))

    def counts(self, least: Array, weights: Array) -> Array:
        counts = [
            [np.bincount(parts, w * larger, size) for w in to_numpy(weights)]
            for (parts, larger), size in zip(self._larger(least), self._sizes, strict=True)
        ]
        return self._returned(np.concatenate(counts, axis=1))

    def sums(self, least: Array, parts: Array) -> Array:
        weights = np.split(to_numpy(parts), self._sizes[:1])
        sides = zip(weights, self._larger(least), strict=True)
        of_rows, of_columns = (weight[own] * larger for weight, (own, larger) in sides)
        return self._returned(of_rows + of_columns)

    def _larger(self, least: Array) -> Iterator[tuple[Values, Values]]:
        """The row of each entry and whether its share is larger, and the same of its column."""
        limits = np.split(to_numpy(least), self._sizes[:1])
        for limit, (parts, shares) in zip(limits, self._shares, strict=True):
            yield parts, shares > limit[parts]

    @property
    def _sizes(self) -> tuple[int, int]:
        return int(self.U.shape[0]), int(self.V.shape[0])

    @cached_property
    def _shares(self) -> list[tuple[Values, Values]]:
        """The row of each entry with its share, and the column with its share."""
        rows, columns = to_numpy(self.rows), to_numpy(self.columns)
        if self.U.shape[1] == 0:  # of the zero matrix
            return [(rows, np.ones(len(rows))), (columns, np.ones(len(rows)))]
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
