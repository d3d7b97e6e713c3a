"""Measurements linearized at a pair of factors: stored, or evaluated by products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from robustrank.backend import Array, epsilon, namespace
from robustrank.linalg import (
    Shares,
    as_vector,
    from_vector,
    matvec,
    row_blocks,
    scale_columns,
    vecmat,
)
from robustrank.operators.kernels import Kernels, kernels_for
from robustrank.operators.shares import EntryShares, RowShares, probed_shares


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

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``adjoint(weights * apply(W))``: with kernels, one read of the rows."""
        kernels, flat = self._kernels(), self._flat()
        if kernels is None:
            return lambda W: self.adjoint(weights * self.apply(W))
        gram, r = kernels.gram, self.stored.shape[-2]
        return lambda W: from_vector(gram(flat, weights, as_vector(W)), r)

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

    The shares of a map whose ``rows`` are given follow from them; those of measurements that are
    ``entries`` from their positions; and those of others are ``probed`` by 2 (n1 + n2) products,
    the first time that they are needed, or not available.
    """

    operator: Products
    U: Array
    V: Array
    rows: Callable[[slice], Array] | None = None  # computes those of a block of measurements
    entries: tuple[Array, Array] | None = None  # the row and column of each measurement
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

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``adjoint(weights * apply(W))``: two passes for each product."""
        return lambda W: self.adjoint(weights * self.apply(W))

    @cached_property
    def shares(self) -> Shares | None:
        """From the rows, the entries or by probing; None if there are none of these."""
        if self.rows is not None:
            return RowShares(partial(row_blocks, self))
        if self.entries is not None:
            return EntryShares(*self.entries, self.U, self.V)
        return probed_shares(self.apply, self.U, self.V) if self.probed else None
