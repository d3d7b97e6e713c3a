"""Tangent maps: the contract, a view of one, and what follows from its rows and products."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from robustrank.backend import Array, like, namespace, on_gpu


class Shares(Protocol):
    """How much the measurements depend on each row and column of the matrix.

    The share of row a in measurement i is ‖row a of A_i V‖², and that of column b is ‖row b of
    A_iᵀ U‖², divided by the sum of all these.
    """

    def maxima(self, chosen: Array) -> Array:
        """The largest share in a measurement of each row and then each column, (n1 + n2,).

        ``chosen``, (m,), is positive for the measurements that count.
        """

    def counts(self, least: Array, weights: Array) -> Array:
        """The weight of the measurements in which a share is larger than ``least``.

        ``weights`` is (k, m), ``least`` is (n1 + n2,), and the result is (k, n1 + n2).
        """

    def sums(self, least: Array, parts: Array) -> Array:
        """The weight of the rows and columns whose share in a measurement is above ``least``.

        ``parts`` and ``least`` are (n1 + n2,), and the result is (m,).
        """


@dataclass(frozen=True, eq=False)
class NormalMap:
    """The map from W to ``adjoint(weights * apply(W))`` of a tangent map."""

    product: Callable[[Array], Array]
    # Returns its diagonal blocks, (n1 + n2, r, r), one for each row of W, if they are worth while
    # as a preconditioner.
    blocks: Callable[[], Array] | None = None

    def __call__(self, W: Array) -> Array:
        return self.product(W)


class TangentMap(Protocol):
    """The map W = [dU; dV] → A(dU Vᵀ + U dVᵀ) at fixed factors U (n1 × r) and V (n2 × r).

    W is (n1 + n2) × r, as the paper's augmented variable; measurements are (m,). All arrays may
    have a leading axis of problems. What follows from these members, such as the normal matrix and
    the leverages, is a function of this package, for all maps.
    """

    @property
    def U(self) -> Array:
        """The left factor at which the measurements are linearized."""

    @property
    def V(self) -> Array:
        """The right factor."""

    @property
    def epsilon(self) -> float:
        """The relative size of the rounding errors of the map."""

    @property
    def reads(self) -> int:
        """Passes over the sensing data that it took to store the map; 0 if each product is one."""

    @property
    def measurements(self) -> int:
        """m."""

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ, in full precision even if the map is not."""

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``, prepared for many products."""

    @property
    def rows(self) -> Callable[[slice], Array] | None:
        """The rows (A_i V)ᵀ beside (A_iᵀ U)ᵀ of a block of measurements, (k, r, n1 + n2).

        None if they are not available; least squares are then solved by conjugate gradients.
        """

    @property
    def shares(self) -> Shares | None:
        """How much the measurements depend on each part of the matrix; None if not available."""


def as_vector(W: Array) -> Array:
    """W as a vector, column after column."""
    xp = namespace(W)
    return xp.reshape(xp.matrix_transpose(W), (*W.shape[:-2], -1))


def from_vector(x: Array, columns: int) -> Array:
    """The W with ``columns`` columns whose vector is x."""
    xp = namespace(x)
    return xp.matrix_transpose(xp.reshape(x, (*x.shape[:-1], columns, -1)))


@dataclass(frozen=True, eq=False)
class TangentView:
    """Another tangent map J with rows chosen and scaled, and W in other coordinates: D J P.

    D multiplies and selects measurements. P changes W: at most one of ``mask``, ``symmetric`` and
    ``transposed`` is given. Views can be nested.
    """

    inner: TangentMap
    factor: float | None = None  # of all rows
    factors: Array | None = None  # (m,), one for each row
    chosen: Array | None = None  # (k,) increasing numbers of the rows that are kept
    mask: Array | None = None  # (n1 + n2, 1): one for the rows of W that may change, else zero
    symmetric: bool = False  # W only changes a symmetric matrix to a symmetric one
    transposed: bool = False  # the measurements are of Mᵀ: the two halves of W change places
    # Called before each product with the number of passes that it takes if the map is not stored.
    before: Callable[[int], None] = lambda _: None

    rows = None  # not copied: what follows from the rows is computed from those of the inner map

    @property
    def U(self) -> Array:
        """The left factor; the right one of the inner map if that is transposed."""
        return self.inner.V if self.transposed else self.inner.U

    @property
    def V(self) -> Array:
        """The right factor."""
        return self.inner.U if self.transposed else self.inner.V

    @property
    def epsilon(self) -> float:
        """The relative size of the rounding errors of the inner map."""
        return self.inner.epsilon

    @property
    def reads(self) -> int:
        """Those of the inner map."""
        return self.inner.reads

    @property
    def measurements(self) -> int:
        """The number of those that are kept."""
        return self.inner.measurements if self.chosen is None else int(self.chosen.shape[0])

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        self.before(1)
        return self.scaled(self.kept(self.inner.measure(values)))

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        self.before(1)
        return self.scaled(self.kept(self.inner.apply(self.inward(W))))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        self.before(1)
        W = self.outward(self.inner.adjoint(self.scattered(_times(self.factors, w))))
        return _times(self.factor, W)

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``."""
        normal = self.inner.normal_map(self.scattered(self.squared(weights)))

        def product(W: Array) -> Array:
            self.before(2)
            # The square of the factor could overflow.
            W = self.outward(normal(self.inward(_times(self.factor, W))))
            return _times(self.factor, W)

        given = normal.blocks
        if given is None or self.symmetric or self.transposed or self.mask is not None:
            return NormalMap(product)
        return NormalMap(product, lambda: _times(self.factor, _times(self.factor, given())))

    @property
    def shares(self) -> Shares | None:
        """Those of the inner map, in the measurements that are kept; None if it has none."""
        self.before(0)
        inner = self.inner.shares
        return None if inner is None else _SharesOfView(self, inner)

    def scaled(self, values: Array) -> Array:
        """One value for each kept measurement, times the factors."""
        return _times(self.factor, _times(self.factors, values))

    def squared(self, values: Array) -> Array:
        """One value for each kept measurement, times the squares of the row factors."""
        return values if self.factors is None else self.factors**2 * values

    def kept(self, values: Array) -> Array:
        """The values of the kept measurements, of those of all."""
        return values if self.chosen is None else namespace(values).take(values, self.chosen)

    def scattered(self, values: Array) -> Array:
        """Values for all measurements of the inner map: zero for those that are not kept."""
        if self.chosen is None:
            return values
        return scattered(values, self.chosen, self.inner.measurements)

    def inward(self, W: Array) -> Array:
        """The W of the inner map."""
        return self.parts_inward(self._projected(W), axis=-2)

    def outward(self, W: Array) -> Array:
        """The adjoint of ``inward``."""
        return self.parts_outward(self._projected(W), axis=-2)

    def parts_inward(self, parts: Array, axis: int = -1) -> Array:
        """One element for each row and then each column of M, in the order of the inner map."""
        return self._rolled(parts, -self.U.shape[-2], axis)

    def parts_outward(self, parts: Array, axis: int = -1) -> Array:
        """The inverse of ``parts_inward``."""
        return self._rolled(parts, self.U.shape[-2], axis)

    def _rolled(self, parts: Array, shift: int, axis: int) -> Array:
        return namespace(parts).roll(parts, shift, axis=axis) if self.transposed else parts

    def _projected(self, W: Array) -> Array:
        return self.symmetric_part(W) if self.symmetric else _times(self.mask, W)

    def symmetric_part(self, W: Array) -> Array:
        """The W whose change dU Vᵀ + U dVᵀ is the symmetric part of that of W.

        For U Vᵀ symmetric and U, V orthonormal, V = U S with S = Uᵀ V; the transpose of the change
        of [dU; dV] is then that of [dV S; dU Sᵀ].
        """
        xp, n = namespace(W), self.U.shape[-2]
        S = xp.matrix_transpose(self.U) @ self.V
        dU, dV = W[..., :n, :], W[..., n:, :]
        swapped = xp.concat([dV @ S, dU @ xp.matrix_transpose(S)], axis=-2)
        return (W + swapped) / 2

    def symmetric_rows(self, matrix: Array) -> Array:
        """The symmetric part of each row of a matrix, which stands for a W."""
        return as_vector(self.symmetric_part(from_vector(matrix, self.U.shape[-1])))

    def symmetric_matrix_part(self, matrix: Array) -> Array:
        """P ``matrix`` P for a symmetric matrix that acts on ``as_vector(W)``."""
        transposed = namespace(matrix).matrix_transpose(self.symmetric_rows(matrix))
        return self.symmetric_rows(transposed)


@dataclass(frozen=True, eq=False)
class _SharesOfView:
    """The shares of a view. The factors and projections of a view do not change them."""

    view: TangentView
    inner: Shares

    def maxima(self, chosen: Array) -> Array:
        return self.view.parts_outward(self.inner.maxima(self.view.scattered(chosen)))

    def counts(self, least: Array, weights: Array) -> Array:
        least = self.view.parts_inward(least)
        return self.view.parts_outward(self.inner.counts(least, self.view.scattered(weights)))

    def sums(self, least: Array, parts: Array) -> Array:
        least, parts = self.view.parts_inward(least), self.view.parts_inward(parts)
        return self.view.kept(self.inner.sums(least, parts))


def _times(factor: Array | None, values: Array) -> Array:
    """factor · values, or the values where there is no factor."""
    return values if factor is None else factor * values


def scattered(values: Array, rows: Array, size: int) -> Array:
    """Vectors of this size with these values at these increasing rows, and zeros elsewhere."""
    xp = namespace(values)
    numbers = xp.arange(size, **like(rows))
    places = xp.clip(xp.searchsorted(rows, numbers), max=rows.shape[0] - 1)
    chosen = xp.take(rows, places) == numbers
    return xp.where(chosen, xp.take(values, places, axis=-1), xp.zeros(size, **like(values)))


_BLOCK_ROWS, _BLOCK_ROWS_ON_GPU = 512, 4096
# Entries of a block that are computed, and not stored.
BLOCK_ENTRIES = 2**20


def normal_matrix(tangent: TangentMap, weights: Array) -> Array | None:
    """The matrix of ``normal_map(weights)`` acting on ``as_vector(W)``; None if not available.

    If some W are not admissible, it is block diagonal and positive definite on the others.
    """
    if isinstance(tangent, TangentView):
        return _normal_matrix_of_view(tangent, weights)
    xp, total = namespace(weights), None
    for block, flat in _flat_blocks(tangent):
        # A product of a matrix with its own transpose takes half the time.
        scaled = xp.sqrt(weights[..., block, None]) * flat
        part = xp.matrix_transpose(scaled) @ scaled
        total = part if total is None else total + part
    return total


def quadratic_forms(tangent: TangentMap, matrix: Array) -> Array | None:
    """``j @ matrix @ j`` for each measurement, if ``apply(W)`` is j · ``as_vector(W)``.

    The matrix is symmetric. None where ``normal_matrix`` is.
    """
    if isinstance(tangent, TangentView):
        return _quadratic_forms_of_view(tangent, matrix)
    xp = namespace(matrix)
    parts = [xp.sum((flat @ matrix) * flat, axis=-1) for _, flat in _flat_blocks(tangent)]
    return xp.concat(parts, axis=-1) if parts else None


def admissible(tangent: TangentMap, W: Array) -> Array:
    """The part of W along which the matrix may change: all of it, unless it is symmetric."""
    if not isinstance(tangent, TangentView):
        return W
    if tangent.symmetric or tangent.mask is not None:
        return tangent.inward(W)
    return tangent.outward(admissible(tangent.inner, tangent.inward(W)))


def share_maxima(tangent: TangentMap, chosen: Array) -> Array | None:
    """The largest share of each row and column of the matrix; see ``Shares.maxima``."""
    shares = tangent.shares
    return None if shares is None else shares.maxima(chosen)


def share_counts(tangent: TangentMap, least: Array, weights: Array) -> Array | None:
    """The weight of measurements with a share above ``least``; see ``Shares.counts``."""
    shares = tangent.shares
    return None if shares is None else shares.counts(least, weights)


def share_sums(tangent: TangentMap, least: Array, parts: Array) -> Array | None:
    """The weight of rows and columns with a share above ``least``; see ``Shares.sums``."""
    shares = tangent.shares
    return None if shares is None else shares.sums(least, parts)


def row_blocks(tangent: TangentMap) -> Iterator[tuple[slice, Array]]:
    """The rows of a map: all at once if they are stored, else a block at a time."""
    m, rows = tangent.measurements, tangent.rows
    if rows is None:
        return
    height = m
    if not tangent.reads:
        unknowns = math.prod(tangent.U.shape) + math.prod(tangent.V.shape)
        height = max(1, BLOCK_ENTRIES // unknowns)
    for block in blocks_of(m, height):
        yield block, rows(block)


def blocks_of(size: int, height: int) -> Iterator[slice]:
    """The numbers below ``size`` in blocks."""
    for first in range(0, size, height):
        yield slice(first, min(first + height, size))


def _flat_blocks(tangent: TangentMap) -> Iterator[tuple[slice, Array]]:
    """The rows of a map as vectors, (k, r (n1 + n2)), in blocks so that they are not copied."""
    for rows_of, rows in row_blocks(tangent):
        *leading, m, r, n = rows.shape
        flat = namespace(rows).reshape(rows, (*leading, m, r * n))
        for block in blocks_of(m, _BLOCK_ROWS_ON_GPU if on_gpu(rows) else _BLOCK_ROWS):
            numbers = slice(rows_of.start + block.start, rows_of.start + block.stop)
            yield numbers, flat[..., block, :]


def _normal_matrix_of_view(view: TangentView, weights: Array) -> Array | None:
    view.before(1)
    if view.transposed or view.mask is not None:
        return None
    inner = view.scattered(view.squared(weights))
    matrix = normal_matrix(view.inner, _times(view.factor, inner))
    if matrix is None:
        return None
    matrix = _times(view.factor, matrix)
    if not view.symmetric:
        return matrix
    xp = namespace(weights)
    eye, stiffness = xp.eye(matrix.shape[-1], **like(matrix)), xp.sum(weights, axis=-1)
    not_admissible = stiffness[..., None, None] * (eye - view.symmetric_rows(eye))
    return view.symmetric_matrix_part(matrix) + not_admissible


def _quadratic_forms_of_view(view: TangentView, matrix: Array) -> Array | None:
    view.before(1)
    if view.transposed or view.mask is not None:
        return None
    if view.symmetric:
        matrix = view.symmetric_matrix_part(matrix)
    forms = quadratic_forms(view.inner, _times(view.factor, matrix))
    return None if forms is None else _times(view.factor, view.squared(view.kept(forms)))
