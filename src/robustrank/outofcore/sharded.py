"""Measurements in shards, which an engine computes in this process or on a cluster.

Sums are added in the order of the shards, which do not depend on the engine. So the results have
the same bits in one process and on any number of workers.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from robustrank.backend import Array, epsilon, to_numpy
from robustrank.linalg import Factors, TangentMap, Triplets, leading_svd
from robustrank.operators.base import Operator
from robustrank.operators.dense import suit_single_precision
from robustrank.operators.entries import Entries
from robustrank.operators.entry_tangent import EntryShares
from robustrank.operators.kernels import stored_dtype
from robustrank.operators.tangent import UnstoredTangent
from robustrank.operators.views.delegating import family
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.engine import Engine, LocalEngine, split, total
from robustrank.outofcore.sharded_tangent import ShardedTangent
from robustrank.outofcore.sources import RowSource, Slice, precision_of
from robustrank.outofcore.streamed import LinearizedRows, StreamedOperator
from robustrank.outofcore.tangent_storage import Place, SpillFile, TangentStorage

Changed = TypeVar("Changed", bound="ShardedOperator")

_SHARD_BYTES = 2**28
_MOST_SHARDS = 1024
_SHARD_ENTRIES = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class ShardedOperator(Operator):
    """Measurements whose parts are operators, row sources, or arrays on the workers of a cluster.

    Parameters
    ----------
    shards
        The parts in order, or handles of them that the engine knows.
    counts
        The number of measurements of each.
    size
        The shape of the measured matrix.
    data_type
        The dtype of the sensing data.
    engine
        Where products are computed.
    """

    shards: Sequence[Any]
    counts: tuple[int, ...]
    size: tuple[int, int]
    data_type: np.dtype[Any]
    engine: Engine

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return sum(self.counts), self.size

    @property
    def dtype(self) -> Any:
        return self.data_type

    def on(self, engine: Engine) -> ShardedOperator:
        """The same measurements, computed by another engine."""
        return self._with_norms(replace(self, engine=engine))

    def _with_norms(self, changed: Changed) -> Changed:
        """A changed operator that keeps the norms, if they are known."""
        if "_norms" in vars(self):
            vars(changed)["_norms"] = self._norms
        return changed

    def measure(self, U: Array, V: Array) -> Array:
        return np.concatenate(self._each(_measure, shared=(U, V)))

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        parts = self._each(_backproject, own=split(w, self.counts), shared=(U, V))
        return total(part[0] for part in parts), total(part[1] for part in parts)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        return self._norms

    @functools.cached_property
    def _norms(self) -> Array:
        return np.concatenate(self._each(_row_norms, own=[(first,) for first in self._firsts]))

    @property
    def _firsts(self) -> list[int]:
        """The number of the first measurement of each shard."""
        return [0, *np.cumsum(self.counts)[:-1].tolist()]

    def _each(self, work: Any, own: Any = None, shared: tuple[Any, ...] = ()) -> list[Any]:
        return self.engine.each(work, self.shards, own, (self.size, *shared))


@dataclass(frozen=True, eq=False, repr=False)
class ShardedEntries(ShardedOperator):
    """Shards of sampled entries, whose positions are known here too."""

    rows: Array
    columns: Array

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> UnstoredTangent:
        return UnstoredTangent(self, U, V, known=EntryShares(self.rows, self.columns, U, V))


@dataclass(frozen=True, eq=False, repr=False)
class ShardedRows(ShardedOperator):
    """Shards of stored sensing matrices, with a tangent map that is stored where it is fastest."""

    storage: TangentStorage

    def on(self, engine: Engine) -> ShardedRows:
        """The same measurements, computed by another engine, with a new record of places."""
        storage = replace(self.storage, used={})
        return self._with_norms(replace(self, engine=engine, storage=storage))

    def stored_in(self, storage: TangentStorage) -> ShardedRows:
        """The same measurements with another storage of tangent maps."""
        storage = replace(storage, pass_seconds=self.storage.pass_seconds)
        return self._with_norms(replace(self, storage=storage))

    def adjoint(self, w: Array) -> Array:
        """A*(w) as an n1 × n2 array; one pass."""
        return total(self._each(_adjoint, own=split(w, self.counts)))

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        return leading_svd(self.adjoint(w), rank, rng, plus, approximate=approximate)

    @functools.cached_property
    def _norms(self) -> Array:
        began = time.perf_counter()
        norms = super()._norms
        self.storage.pass_seconds = time.perf_counter() - began
        return norms

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentMap:
        m, width = self.measurements, U.shape[1] * sum(self.size)
        precise = precise or not suit_single_precision(self.row_norms())
        dtype = stored_dtype((m, *self.size), U, precise=precise)
        bytes_needed = m * width * dtype.itemsize
        if self.engine.is_local:
            place = self.storage.place(bytes_needed)
        else:  # dask moves what does not fit to the disks of the workers
            place = self.storage.record(Place.WORKERS, bytes_needed)
        if place is Place.NOWHERE:
            return UnstoredTangent(self, U, V)
        spill = None
        if place is Place.DISK:
            spill = SpillFile(m, width, dtype, self.storage.folder)
        maps = self.engine.keep(
            _tangent,
            self.shards,
            own=[(first,) for first in self._firsts],
            shared=(self.size, U, V, dtype, spill),
        )
        rounding = max(float(np.finfo(dtype).eps), epsilon(U))
        return ShardedTangent(self.engine, self.counts, tuple(maps), U, V, rounding)


def sharded_rows(
    source: RowSource,
    matrix_shape: tuple[int, int],
    storage: TangentStorage,
    engine: Engine | None = None,
) -> ShardedRows:
    """The operator of a row source, in shards that depend on the source only."""
    row_bytes = max(source.stored_bytes, source.size * source.dtype.itemsize)
    number = min(_MOST_SHARDS, -(-source.rows * row_bytes // _SHARD_BYTES), source.rows)
    pairs = _divided(source.rows, number)
    shards = [Slice(source, first, last) for first, last in pairs]
    counts = tuple(last - first for first, last in pairs)
    return ShardedRows(
        shards, counts, matrix_shape, source.precision, engine or LocalEngine(), storage=storage
    )


def sharded_chunks(
    array: Any, matrix_shape: tuple[int, int], storage: TangentStorage, engine: Engine
) -> ShardedRows:
    """The operator of a dask array, whose chunks along the first axis are the shards."""
    chunks = list(array.to_delayed().ravel())
    precision = precision_of(np.dtype(array.dtype))
    return ShardedRows(chunks, array.chunks[0], matrix_shape, precision, engine, storage=storage)


def sharded_entries(entries: Entries, engine: Engine) -> ShardedOperator:
    """Sampled entries in shards of consecutive ones."""
    number = min(_MOST_SHARDS, -(-entries.measurements // _SHARD_ENTRIES))
    pairs = _divided(entries.measurements, number)
    rows, columns = to_numpy(entries.rows), to_numpy(entries.columns)
    shards = [Entries(rows[i:j], columns[i:j], entries.matrix_shape) for i, j in pairs]
    counts = tuple(j - i for i, j in pairs)
    shape, dtype = entries.matrix_shape, np.dtype(np.float32)
    return ShardedEntries(shards, counts, shape, dtype, engine, rows=rows, columns=columns)


def how_it_was_read(operator: Operator) -> str:
    """How sensing data in shards was read, and where tangent maps were; empty for other data."""
    operator = family(operator)
    if not isinstance(operator, ShardedOperator):
        return ""
    where = "in blocks" if operator.engine.is_local else "by the workers of a cluster"
    number = len(operator.shards)
    text = f"read {where}, in {number} {'shard' if number == 1 else 'shards'}"
    stored = str(operator.storage) if isinstance(operator, ShardedRows) else ""
    return f"{text}; {stored}" if stored else text


def _divided(total: int, number: int) -> list[tuple[int, int]]:
    """The first and last rows of this many parts of about the same size."""
    return list(itertools.pairwise(k * total // number for k in range(number + 1)))


def _operator(shard: Any, size: tuple[int, int], first: int = 0) -> Any:
    """A shard as an operator: it is one, or a row source, or an array of rows."""
    if isinstance(shard, Operator):
        return shard
    source = ArrayRows(shard) if isinstance(shard, np.ndarray) else shard
    return StreamedOperator(source, size, first=first)


def _measure(shard: Any, size: tuple[int, int], U: Array, V: Array) -> Array:
    return _operator(shard, size).measure(U, V)


def _backproject(shard: Any, w: Array, size: Any, U: Array, V: Array) -> tuple[Array, Array]:
    both: tuple[Array, Array] = _operator(shard, size).backproject(w, U, V)
    return both


def _adjoint(shard: Any, w: Array, size: tuple[int, int]) -> Array:
    return _operator(shard, size).adjoint(w)


def _row_norms(shard: Any, first: int, size: tuple[int, int]) -> Array:
    return _operator(shard, size, first).row_norms()


def _tangent(
    shard: Any, first: int, size: Any, U: Array, V: Array, dtype: Any, spill: SpillFile | None
) -> LinearizedRows:
    part: LinearizedRows = _operator(shard, size, first).tangent_rows(U, V, dtype, spill)
    return part
