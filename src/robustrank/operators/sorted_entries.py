"""Sampled entries sorted by rows: gathers, and sums over the entries of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import (
    Array,
    compiled,
    in_blocks,
    is_worth_compiling,
    like,
    namespace,
    segment_sums,
    solve_positive_definite,
    to_numpy,
)
from robustrank.operators import entry_loops

# With fewer entries, importing numba costs more than it saves.
_WORTH_COMPILING = 10_000
# Without compiled loops, temporary arrays have about this many numbers.
_BLOCK_SIZE = 2**26


def soft_weights(residual: Array, width: Array | float) -> Array:
    """(1 + (residual/width)²)^−2."""
    return (1 + (residual / width) ** 2) ** -2


@dataclass(frozen=True, eq=False)
class SortedEntries:
    """Positions of entries sorted by rows; those of row i are ``starts[i]:starts[i + 1]``.

    P has a row for each row of the matrix, and Q for each column. Values, weights and results with
    one number per entry are in the sorted order. Sorted by columns, with P and Q exchanged, the
    same class describes the transpose. Loops are compiled if numba is installed; no result depends
    on the number of threads.
    """

    starts: Array  # (n + 1,), int64
    others: Array  # the column of each entry

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.starts.shape[0]) - 1

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.others.shape[0])

    @cached_property
    def counts(self) -> Array:
        """The number of entries in each row."""
        return self.starts[1:] - self.starts[:-1]

    @cached_property
    def owners(self) -> Array:
        """The row of each entry."""
        xp = namespace(self.others)
        rows = xp.arange(self.rows, **like(self.others))
        return xp.repeat(rows, self.counts)

    def dot(self, P: Array, Q: Array) -> Array:
        """The entries of P Qᵀ."""
        if self._is_compiled:
            result = np.empty(self.size, P.dtype)
            self._run(entry_loops.dot, [], [P], [Q], result=result)
            return result
        return self._joined(lambda block: block.dot(P, Q), P.shape[1])

    def sums(self, z: Array, Q: Array) -> Array:
        """Σ z q over the entries of each row, where q is the entry's row of Q."""
        if self._is_compiled:
            return self._filled(entry_loops.sums, [z], [], [Q], Q.shape[1:])
        return self._joined(lambda block: block.sums(z, Q), Q.shape[1])

    def cross_sums(self, w: Array, P: Array, Q: Array, dQ: Array) -> Array:
        """Σ w (p · dq) q over the entries of each row."""
        if self._is_compiled:
            return self._filled(entry_loops.cross_sums, [w], [P], [Q, dQ], Q.shape[1:])
        return self.sums(w * self.dot(P, dQ), Q)

    def normal_matrices(self, w: Array, Q: Array) -> Array:
        """Σ w q qᵀ over the entries of each row, (n, r, r)."""
        r = Q.shape[1]
        if self._is_compiled:
            return self._filled(entry_loops.normal_matrices, [w], [], [Q], (r, r))
        xp = namespace(Q)
        products = xp.reshape(Q[:, :, None] * Q[:, None, :], (Q.shape[0], r * r))
        return xp.reshape(self.sums(w, products), (self.rows, r, r))

    def fit(self, values: Array, P: Array, Q: Array, width: float, ridge: float) -> Array:
        """P fitted again to the values, given Q: weighted least squares with a ridge.

        The weights are ``soft_weights`` of the residuals of P Qᵀ; they are not stored.
        """
        if self._is_compiled:
            scalars = (1 / width, float(ridge))
            return self._filled(entry_loops.fit, [values], [P], [Q, *scalars], Q.shape[1:])
        xp = namespace(P)
        w = soft_weights(values - self.dot(P, Q), width)
        normal = self.normal_matrices(w, Q)
        # A row without entries is zero.
        least = max(ridge, float(xp.finfo(P.dtype).smallest_normal))
        matrices = normal + least * xp.eye(Q.shape[1], **like(Q))
        return solve_positive_definite(matrices, self.sums(w * values, Q))

    @property
    def _is_compiled(self) -> bool:
        return is_worth_compiling(self.others, _WORTH_COMPILING)

    def _filled(
        self,
        loop: Callable[..., None],
        per_entry: list[Array],
        own: list[Array],
        shared: list[Any],
        shape: tuple[int, ...],
    ) -> Array:
        """The rows that a loop computes, of this shape each."""
        result = np.empty((self.rows, *shape), shared[0].dtype)
        self._run(loop, per_entry, own, shared, rows=result)
        return result

    def _run(
        self,
        loop: Callable[..., None],
        per_entry: list[Array],
        own: list[Array],
        shared: list[Any],
        rows: Array | None = None,
        result: Array | None = None,
    ) -> None:
        """Run a compiled loop in threads; each has about as many entries."""
        function = compiled(loop)

        def work(block: slice) -> None:
            # A block of entries, rounded to whole rows.
            first, last = self._row_at(block.start), self._row_at(block.stop)
            chosen = slice(first, self.rows if block.stop == self.size else last)
            function(
                self.starts[chosen.start : chosen.stop + 1],
                self.others,
                *per_entry,
                *(array[chosen] for array in own),
                *shared,
                result if rows is None else rows[chosen],
            )

        in_blocks(self.size, work)

    def _row_at(self, entry: int) -> int:
        """The first row that begins at this entry or after it."""
        found = self._rows_at.get(entry)
        if found is None:
            found = self._rows_at[entry] = int(np.searchsorted(self.starts, entry))
        return found

    @cached_property
    def _rows_at(self) -> dict[int, int]:
        """What ``_row_at`` has found: every call has the same blocks."""
        return {}

    def _joined(self, part: Callable[[_Block], Array], columns: int) -> Array:
        """The results of the blocks of rows, one after the other."""
        return namespace(self.others).concat([part(block) for block in self._blocks(columns)])

    def _blocks(self, columns: int) -> Iterator[_Block]:
        """Blocks of rows that have a limited number of entries."""
        limit = max(1, _BLOCK_SIZE // max(columns, 1))
        first = 0
        while first < self.rows:
            entry = int(self._host_starts[first])
            after = int(np.searchsorted(self._host_starts, entry + limit, side="right")) - 1
            last = min(max(after, first + 1), self.rows)
            yield _Block(self, slice(first, last), slice(entry, int(self._host_starts[last])))
            first = last

    @cached_property
    def _host_starts(self) -> np.ndarray[Any, Any]:
        return to_numpy(self.starts)


@dataclass(frozen=True)
class _Block:
    """Some of the rows, for computations by whole arrays."""

    all: SortedEntries
    rows: slice
    entries: slice

    def dot(self, P: Array, Q: Array) -> Array:
        xp = namespace(P)
        own, other = self.all.owners[self.entries], self.all.others[self.entries]
        return xp.sum(xp.take(P, own, axis=0) * xp.take(Q, other, axis=0), axis=1)

    def sums(self, z: Array, Q: Array) -> Array:
        starts = self.all.starts[self.rows.start : self.rows.stop + 1]
        if isinstance(Q, np.ndarray):
            places = z[self.entries], self.all.others[self.entries], starts - starts[0]
            return scipy.sparse.csr_array(places, (len(starts) - 1, len(Q))) @ Q
        terms = namespace(Q).take(Q, self.all.others[self.entries], axis=0)
        terms *= z[self.entries, None]
        return segment_sums(terms, starts - starts[0])
