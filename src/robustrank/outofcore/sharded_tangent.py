"""The tangent map of measurements in shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array
from robustrank.linalg import NormalMap, Shares, as_vector, from_vector
from robustrank.operators.tangent import RowShares
from robustrank.outofcore.blocks import BlockProducts, blocks
from robustrank.outofcore.engine import Engine, split, total
from robustrank.outofcore.streamed import LinearizedRows


@dataclass(frozen=True, eq=False)
class ShardedTangent:
    """A tangent map whose rows are with the shards; see ``linalg.TangentMap``.

    The rows are read in blocks for each product, and only results of the size of W or of the
    measurements leave the shards.
    """

    engine: Engine
    sizes: tuple[int, ...]  # the number of measurements of each shard
    maps: tuple[Any, ...]  # LinearizedRows, or handles of them
    U: Array
    V: Array
    epsilon: float

    reads = 1
    rows = None

    @property
    def measurements(self) -> int:
        """m."""
        return sum(self.sizes)

    @property
    def shares(self) -> Shares:
        """From the rows, where they are."""
        return self

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        return np.concatenate(self._each(_measure_core, shared=(values,)))

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: one read of the rows."""
        return np.concatenate(self._each(_apply, shared=(W,)))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return total(self._each(_adjoint_of_map, own=split(w, self.sizes)))

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``, in one read of the rows.

        The weights are sent to the shards once.
        """
        engine = self.engine
        prepared = engine.keep(_normal_map, self.maps, own=split(weights, self.sizes))
        return NormalMap(lambda W: total(engine.each(_apply_normal_map, prepared, shared=(W,))))

    def maxima(self, chosen: Array) -> Array:
        """The largest share of each row and column of the matrix in a measurement."""
        own = split(chosen, self.sizes)
        return np.max(np.stack(self._each(_share_maxima, own=own)), axis=0)

    def counts(self, least: Array, weights: Array) -> Array:
        """The weight of the measurements in which a share is larger than ``least``."""
        own = [(part, least) for (part,) in split(weights, self.sizes)]
        return total(self._each(_share_counts, own=own))

    def sums(self, least: Array, parts: Array) -> Array:
        """The weight of the rows and columns whose share in a measurement is above ``least``."""
        return np.concatenate(self._each(_share_sums, shared=(least, parts)))

    def _each(self, work: Any, own: Any = None, shared: tuple[Any, ...] = ()) -> list[Any]:
        return self.engine.each(work, self.maps, own, shared)


def _measure_core(part: LinearizedRows, values: Array) -> Array:
    measured: Array = np.sum(part.core * values, axis=-1)
    return measured


def _apply(part: LinearizedRows, W: Array) -> Array:
    return BlockProducts(part.rows).matvec(as_vector(W))


def _adjoint_of_map(part: LinearizedRows, w: Array) -> Array:
    return from_vector(BlockProducts(part.rows).vecmat(w), part.core.shape[1])


def _normal_map(part: LinearizedRows, weights: Array) -> tuple[LinearizedRows, Array]:
    return part, weights


def _apply_normal_map(prepared: tuple[LinearizedRows, Array], W: Array) -> Array:
    part, weights = prepared
    return from_vector(BlockProducts(part.rows).gram(weights, as_vector(W)), W.shape[1])


def _share_maxima(part: LinearizedRows, chosen: Array) -> Array:
    return _shares(part).maxima(chosen)


def _share_counts(part: LinearizedRows, weights: Array, least: Array) -> Array:
    return _shares(part).counts(least, weights)


def _share_sums(part: LinearizedRows, least: Array, parts: Array) -> Array:
    return _shares(part).sums(least, parts)


def _shares(part: LinearizedRows) -> RowShares:
    rank = part.core.shape[1]
    return RowShares(
        lambda: ((k, block.reshape(len(block), rank, -1)) for k, block in blocks(part.rows))
    )
