"""Linearized measurements, stored or by products, and on which rows and columns they depend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from robustrank.backend import Array, epsilon, like, namespace, on_gpu
from robustrank.linalg import (
    NormalMap,
    Shares,
    as_vector,
    blocks_of,
    from_vector,
    matvec,
    row_blocks,
    scale_columns,
    vecmat,
)
from robustrank.operators.kernels import Kernels, kernels_for


class Products(Protocol):
    """The two products of an operator, which are all that an unstored tangent map needs."""

    @property
    def measurements(self) -> int:
        """m."""

    def measure(self, U: Array, V: Array) -> Array:
        """A(U Vᵀ)."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        """(A*(w) V, A*(w)ᵀ U)."""


@dataclass(frozen=True, eq=False)
class StoredTangent:
    """A tangent map stored row by row; see ``linalg.TangentMap``.

    ``stored`` is (m, r, n1 + n2): row i holds (A_i V)ᵀ beside (A_iᵀ U)ᵀ. It is far smaller than the
    sensing data, so a linear solver can apply it many times for one pass over the sensing data. It
    may be stored in a lower precision than that of the factors.
    """

    stored: Array
    U: Array
    V: Array
    reads: int = 1  # passes over the sensing data that it took to compute the rows
    core: Array | None = None  # u_kᵀ A_i v_k, (m, r), if it is more precise than the rows

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the rows or of the factors, whichever is larger."""
        return max(epsilon(self.stored), epsilon(self.U))

    @property
    def measurements(self) -> int:
        """m."""
        return int(self.stored.shape[-3])

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        if self.core is not None:
            # Not by BLAS, whose threads would spin while the next kernels run.
            return namespace(values).sum(self.core * values[..., None, :], axis=-1)
        xp = namespace(self.U)
        scaled = scale_columns(self.U, values)
        return self.apply(xp.concat([scaled, xp.zeros_like(self.V)], axis=-2))

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W, of shape (m,)."""
        kernels = self._kernels()
        return (kernels.matvec if kernels else matvec)(self._flat(), as_vector(W))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``, of shape (n1 + n2, r)."""
        kernels = self._kernels()
        flat = self._flat()
        x = kernels.vecmat(flat, w) if kernels else vecmat(w, flat)
        return from_vector(x, self.stored.shape[-2])

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``: with kernels, one read of the rows."""
        kernels, flat = self._kernels(), self._flat()
        if kernels is None:
            return NormalMap(lambda W: self.adjoint(weights * self.apply(W)))
        gram, r = kernels.gram, self.stored.shape[-2]
        return NormalMap(lambda W: from_vector(gram(flat, weights, as_vector(W)), r))

    def rows(self, block: slice) -> Array:
        """Some of the rows."""
        return self.stored[..., block, :, :]

    @property
    def shares(self) -> Shares:
        """From the rows."""
        return RowShares(partial(row_blocks, self))

    def _kernels(self) -> Kernels | None:
        return kernels_for(self.stored) if self.stored.ndim == 3 else None

    def _flat(self) -> Array:
        *leading, r, n = self.stored.shape
        return namespace(self.stored).reshape(self.stored, (*leading, r * n))


@dataclass(frozen=True, eq=False)
class UnstoredTangent:
    """A tangent map by products: each ``apply`` or ``adjoint`` is a pass over the sensing data.

    The shares of a map whose ``rows`` are given follow from them. Those of others are ``known``, or
    ``probed`` by 2 (n1 + n2) products, the first time that they are needed, or not available.
    """

    operator: Products
    U: Array
    V: Array
    rows: Callable[[slice], Array] | None = None  # computes those of a block of measurements
    known: Shares | None = None
    probed: bool = False

    reads = 0

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the factors."""
        return epsilon(self.U)

    @property
    def measurements(self) -> int:
        """m."""
        return self.operator.measurements

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ: one pass."""
        return self.operator.measure(scale_columns(self.U, values), self.V)

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: dU Vᵀ + U dVᵀ equals [dU U] [V dV]ᵀ."""
        n1, xp = self.U.shape[0], namespace(W)
        left = xp.concat([W[:n1, :], self.U], axis=1)
        return self.operator.measure(left, xp.concat([self.V, W[n1:, :]], axis=1))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return namespace(w).concat([*self.operator.backproject(w, self.U, self.V)], axis=0)

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``: two passes for each product."""
        return NormalMap(lambda W: self.adjoint(weights * self.apply(W)))

    @cached_property
    def shares(self) -> Shares | None:
        """From the rows, as they are known or by probing; None if there are none of these."""
        if self.rows is not None:
            return RowShares(partial(row_blocks, self))
        if self.known is not None:
            return self.known
        return probed_shares(self.apply, self.U, self.V) if self.probed else None


RowBlocks = Iterable[tuple[slice, Array]]

# Entries of a block whose shares are computed, which takes a few copies of it.
_BLOCK_ENTRIES, _BLOCK_ENTRIES_ON_GPU = 2**17, 2**24
# In two random directions, a measurement that depends on a part shows it, up to one in a million.
_DIRECTIONS = 2


@dataclass(frozen=True, eq=False)
class RowShares:
    """Shares from the rows of a tangent map, which ``blocks`` returns: (k, r, n1 + n2) each."""

    blocks: Callable[[], RowBlocks]

    def maxima(self, chosen: Array) -> Array:
        parts = [row_maxima(rows, chosen[block]) for block, rows in self.blocks()]
        xp = namespace(parts[0])
        return xp.max(xp.stack(parts, axis=0), axis=0)

    def counts(self, least: Array, weights: Array) -> Array:
        total: Array = 0.0
        for block, rows in self.blocks():
            total = total + row_counts(rows, least, weights[:, block])
        return total

    def sums(self, least: Array, parts: Array) -> Array:
        sums = [row_sums(rows, least, parts) for _, rows in self.blocks()]
        return namespace(sums[0]).concat(sums)


def probed_shares(apply: Callable[[Array], Array], U: Array, V: Array) -> RowShares:
    """Shares of a map by products, found by changing one row or column of the matrix at a time.

    Each is changed along at most two random directions, which takes 2 (n1 + n2) products. The
    shares are exact up to rank two. Beyond that they are those of the two directions: zero for a
    measurement that does not depend on the row or column, and for others only by chance.
    """
    r, parts = U.shape[1], U.shape[0] + V.shape[0]
    xp, count = namespace(U), min(r, _DIRECTIONS)
    random = np.random.default_rng(0).standard_normal((r, count))
    directions = xp.asarray(np.linalg.qr(random)[0].T, **like(U))
    number = xp.arange(parts, device=like(U)["device"])[:, None]

    def change(part: int, k: int) -> Array:
        chosen = xp.astype(number == part, U.dtype)
        return apply(chosen * directions[k : k + 1, :])

    changes = [xp.stack([change(part, k) for part in range(parts)], axis=1) for k in range(count)]
    rows = xp.stack(changes, axis=1)
    return RowShares(lambda: [(slice(0, rows.shape[0]), rows)])


def row_maxima(rows: Array, chosen: Array) -> Array:
    """The largest share in a measurement of each row and column of the matrix, (n1 + n2,).

    ``rows`` is a part of a tangent map, (m, r, n1 + n2); ``chosen`` is positive for the
    measurements that count.
    """
    xp, maxima = namespace(rows), []
    for block in _blocks(rows):
        shares = _shares(rows[block, :, :])
        zero = xp.zeros_like(shares)
        maxima.append(xp.max(xp.where((chosen[block] > 0)[:, None], shares, zero), axis=0))
    return xp.max(xp.stack(maxima, axis=0), axis=0)


def row_counts(rows: Array, least: Array, weights: Array) -> Array:
    """Σ of the weights of the measurements in which a share is larger than ``least``.

    ``weights`` is (k, m), ``least`` is (n1 + n2,) and the result is (k, n1 + n2).
    """
    total: Array = 0.0
    for block, larger in _larger(rows, least, weights.dtype):
        total = total + weights[:, block] @ larger
    return total


def row_sums(rows: Array, least: Array, parts: Array) -> Array:
    """Σ of ``parts``, (n1 + n2,), whose share in a measurement is larger than ``least``, (m,)."""
    sums = [larger @ parts for _, larger in _larger(rows, least, parts.dtype)]
    return namespace(parts).concat(sums)


def _larger(rows: Array, least: Array, dtype: Any) -> Iterator[tuple[slice, Array]]:
    """Blocks of measurements: one where a share is larger than ``least``, else zero."""
    xp = namespace(rows)
    limits = xp.astype(least, rows.dtype, copy=False)
    for block in _blocks(rows):
        yield block, xp.astype(_shares(rows[block, :, :]) > limits, dtype)


def _blocks(rows: Array) -> Iterator[slice]:
    entries = _BLOCK_ENTRIES_ON_GPU if on_gpu(rows) else _BLOCK_ENTRIES
    return blocks_of(rows.shape[0], max(entries // math.prod(rows.shape[-2:]), 1))


def _shares(rows: Array) -> Array:
    """The energy ‖row a of A_i V‖², or ‖row b of A_iᵀ U‖², over their sum; (m, n1 + n2)."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=(-2, -1), keepdims=True)
    unit = xp.where(largest > 0, largest, xp.ones_like(largest))  # so that no square overflows
    energies = xp.sum((rows / unit) ** 2, axis=-2)
    total = xp.sum(energies, axis=-1, keepdims=True)
    return energies / xp.where(total > 0, total, xp.ones(total.shape, **like(total)))
