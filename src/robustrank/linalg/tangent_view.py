"""A tangent map that presents another one differently: scaled, in part, symmetric, transposed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robustrank.backend import Array, like, namespace
from robustrank.linalg.tangent_map import TangentMap, as_vector, from_vector


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
    shares = None

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
        w = w if self.factors is None else self.factors * w
        W = self.outward(self.inner.adjoint(self.scattered(w)))
        return W if self.factor is None else self.factor * W

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``adjoint(weights * apply(W))``."""
        normal = self.inner.normal_map(self.scattered(self.squared(weights)))

        def product(W: Array) -> Array:
            self.before(2)
            if self.factor is None:
                return self.outward(normal(self.inward(W)))
            # The square of the factor could overflow.
            return self.factor * self.outward(normal(self.inward(self.factor * W)))

        return product

    def scaled(self, values: Array) -> Array:
        """One value for each kept measurement, times the factors."""
        if self.factors is not None:
            values = self.factors * values
        return values if self.factor is None else self.factor * values

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
        if self.transposed:
            return halves_swapped(W, self.U.shape[-2], axis=-2)
        return self._projected(W)

    def outward(self, W: Array) -> Array:
        """The adjoint of ``inward``."""
        if self.transposed:
            return halves_swapped(W, self.V.shape[-2], axis=-2)
        return self._projected(W)

    def _projected(self, W: Array) -> Array:
        if self.symmetric:
            return self.symmetric_part(W)
        return W if self.mask is None else self.mask * W

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

    def symmetric_matrix_part(self, matrix: Array) -> Array:
        """P ``matrix`` P for a symmetric matrix that acts on ``as_vector(W)``."""
        transposed = namespace(matrix).matrix_transpose(self._symmetric_rows(matrix))
        return self._symmetric_rows(transposed)

    def stiffness(self, matrix: Array, weight: Array) -> Array:
        """``weight`` times the projection onto the W that are not admissible."""
        eye = namespace(matrix).eye(matrix.shape[-1], **like(matrix))
        return weight * (eye - self._symmetric_rows(eye))

    def _symmetric_rows(self, matrix: Array) -> Array:
        """The symmetric part of each row, which stands for a W."""
        return as_vector(self.symmetric_part(from_vector(matrix, self.U.shape[-1])))


def scattered(values: Array, rows: Array, size: int) -> Array:
    """A vector of this size with these values at these increasing rows, and zeros elsewhere."""
    xp = namespace(values)
    numbers = xp.arange(size, **like(rows))
    places = xp.clip(xp.searchsorted(rows, numbers), max=rows.shape[0] - 1)
    chosen = xp.take(rows, places) == numbers
    return xp.where(chosen, xp.take(values, places), xp.zeros(size, **like(values)))


def halves_swapped(x: Array, upper: int, axis: int = -1) -> Array:
    """An axis, the last one or the one before it, with its first elements moved to the end."""
    if axis == -1:
        halves = [x[..., upper:], x[..., :upper]]
    else:
        halves = [x[..., upper:, :], x[..., :upper, :]]
    return namespace(x).concat(halves, axis=axis)
