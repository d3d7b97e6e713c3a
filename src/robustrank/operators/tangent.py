"""Measurements linearized at a pair of factors: stored, or evaluated by products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from robustrank.backend import Array, like, namespace
from robustrank.linalg import TangentMap, as_vector, from_vector, matvec, vecmat
from robustrank.operators.kernels import Kernels, kernels_for

_BLOCK_ROWS = 512


class Products(Protocol):
    """The two products of an operator, which are all that an unstored tangent map needs."""

    def measure(self, U: Array, V: Array) -> Array:
        """A(U Vᵀ)."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        """(A*(w) V, A*(w)ᵀ U)."""


@dataclass(frozen=True, eq=False)
class StoredTangent:
    """A tangent map stored row by row; see ``linalg.TangentMap``.

    ``rows`` is (m, r, n1 + n2): row i holds (A_i V)ᵀ beside (A_iᵀ U)ᵀ. It is far smaller than the
    sensing data, so a linear solver can apply it many times for one pass over the sensing data.
    """

    rows: Array
    U: Array
    V: Array
    reads: int = 1  # passes over the sensing data that it took to compute the rows

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W, of shape (m,)."""
        kernels = self._kernels()
        return (kernels.matvec if kernels else matvec)(self._flat(), as_vector(W))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``, of shape (n1 + n2, r)."""
        kernels = self._kernels()
        flat = self._flat()
        x = kernels.vecmat(flat, w) if kernels else vecmat(w, flat)
        return from_vector(x, self.rows.shape[-2])

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the rows with compiled kernels."""
        kernels = self._kernels()
        if kernels is None:
            return self.adjoint(weights * self.apply(W))
        x = kernels.gram(self._flat(), weights, as_vector(W))
        return from_vector(x, self.rows.shape[-2])

    def normal_matrix(self, weights: Array) -> Array:
        """The matrix of ``gram``, accumulated in blocks so that the rows are not copied."""
        xp = namespace(self.rows)
        flat = self._flat()
        *leading, m, size = flat.shape
        total = xp.zeros((*leading, size, size), **like(flat))
        for first in range(0, m, _BLOCK_ROWS):
            block = slice(first, min(first + _BLOCK_ROWS, m))
            rows = flat[..., block, :]
            total += xp.matrix_transpose(rows) @ (weights[..., block, None] * rows)
        return total

    def _kernels(self) -> Kernels | None:
        return kernels_for(self.rows) if self.rows.ndim == 3 else None

    def _flat(self) -> Array:
        *leading, r, n = self.rows.shape
        return namespace(self.rows).reshape(self.rows, (*leading, r * n))


@dataclass(frozen=True, eq=False)
class UnstoredTangent:
    """A tangent map by products: each ``apply`` or ``adjoint`` is a pass over the sensing data."""

    operator: Products
    U: Array
    V: Array

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: dU Vᵀ + U dVᵀ equals [dU U] [V dV]ᵀ."""
        n1, xp = self.U.shape[0], namespace(W)
        left = xp.concat([W[:n1, :], self.U], axis=1)
        return self.operator.measure(left, xp.concat([self.V, W[n1:, :]], axis=1))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return namespace(w).concat([*self.operator.backproject(w, self.U, self.V)], axis=0)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``: two passes."""
        return self.adjoint(weights * self.apply(W))

    def normal_matrix(self, weights: Array) -> None:
        """Not available without storing the map."""
        return


@dataclass(frozen=True, eq=False)
class ScaledTangent:
    """A multiple of another tangent map."""

    inner: TangentMap
    factor: float

    @property
    def U(self) -> Array:
        """The left factor of the inner map."""
        return self.inner.U

    @property
    def V(self) -> Array:
        """The right factor of the inner map."""
        return self.inner.V

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        return self.factor * self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return self.factor * self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``; the square of the factor could overflow."""
        return self.factor * self.inner.gram(weights, self.factor * W)

    def normal_matrix(self, weights: Array) -> Array | None:
        """The matrix of ``gram``, if the inner map has it."""
        matrix = self.inner.normal_matrix(self.factor * weights)
        return None if matrix is None else self.factor * matrix


@dataclass(frozen=True, eq=False)
class WatchedTangent:
    """Another tangent map; ``before`` is called before each product and may raise."""

    inner: TangentMap
    before: Callable[[], None]

    @property
    def U(self) -> Array:
        """The left factor of the inner map."""
        return self.inner.U

    @property
    def V(self) -> Array:
        """The right factor of the inner map."""
        return self.inner.V

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        self.before()
        return self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        self.before()
        return self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""
        self.before()
        return self.inner.gram(weights, W)

    def normal_matrix(self, weights: Array) -> Array | None:
        """The matrix of ``gram``, if the inner map has it."""
        self.before()
        return self.inner.normal_matrix(weights)


@dataclass(frozen=True, eq=False)
class TransposedTangent:
    """The tangent map of transposed measurements: the two halves of W change places."""

    inner: TangentMap

    @property
    def U(self) -> Array:
        """The right factor of the inner map."""
        return self.inner.V

    @property
    def V(self) -> Array:
        """The left factor of the inner map."""
        return self.inner.U

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        return self.inner.apply(_swapped(W, self.U.shape[-2]))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return _swapped(self.inner.adjoint(w), self.V.shape[-2])

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""
        swapped = self.inner.gram(weights, _swapped(W, self.U.shape[-2]))
        return _swapped(swapped, self.V.shape[-2])

    def normal_matrix(self, weights: Array) -> None:
        """Not available: only NumPy arrays are transposed, and they use conjugate gradients."""
        return


def _swapped(W: Array, upper: int) -> Array:
    """[a; b] → [b; a], where a has ``upper`` rows."""
    return namespace(W).concat([W[..., upper:, :], W[..., :upper, :]], axis=-2)
