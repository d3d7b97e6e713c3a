"""Tangent maps that present another one differently: scaled, transposed, or in part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robustrank.backend import Array, like, namespace
from robustrank.linalg import TangentMap, as_vector, from_vector


@dataclass(frozen=True, eq=False)
class TangentView:
    """Forwards to ``inner`` what a view does not change."""

    inner: TangentMap

    @property
    def U(self) -> Array:
        """The left factor of the inner map."""
        return self.inner.U

    @property
    def V(self) -> Array:
        """The right factor of the inner map."""
        return self.inner.V

    @property
    def epsilon(self) -> float:
        """The relative size of the rounding errors of the inner map."""
        return self.inner.epsilon

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        return self.inner.measure(values)

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        return self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""
        return self.adjoint(weights * self.apply(W))

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``gram(weights, W)``."""
        return lambda W: self.gram(weights, W)

    def normal_matrix(self, weights: Array) -> Array | None:
        """Not available, unless a view overrides it; conjugate gradients are used instead."""
        return None

    def quadratic_forms(self, matrix: Array) -> Array | None:
        """Not available, unless a view overrides it."""
        return None

    def admissible(self, W: Array) -> Array:
        """What the inner map admits."""
        return self.inner.admissible(W)

    def share_maxima(self, rows: Array) -> Array | None:
        """Those of the inner map."""
        return self.inner.share_maxima(rows)

    def share_counts(self, least: Array, weights: Array) -> Array | None:
        """Those of the inner map."""
        return self.inner.share_counts(least, weights)


@dataclass(frozen=True, eq=False)
class ScaledTangent(TangentView):
    """A multiple of another tangent map."""

    factor: float

    def measure(self, values: Array) -> Array:
        return self.factor * self.inner.measure(values)

    def apply(self, W: Array) -> Array:
        return self.factor * self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        return self.factor * self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        return self.normal_map(weights)(W)

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        normal = self.inner.normal_map(weights)
        # The square of the factor could overflow.
        return lambda W: self.factor * normal(self.factor * W)

    def normal_matrix(self, weights: Array) -> Array | None:
        matrix = self.inner.normal_matrix(self.factor * weights)
        return None if matrix is None else self.factor * matrix

    def quadratic_forms(self, matrix: Array) -> Array | None:
        forms = self.inner.quadratic_forms(self.factor * matrix)
        return None if forms is None else self.factor * forms


@dataclass(frozen=True, eq=False)
class RowScaledTangent(TangentView):
    """Another tangent map with its i-th measurement times the i-th of m ``factors``."""

    factors: Array

    def measure(self, values: Array) -> Array:
        return self.factors * self.inner.measure(values)

    def apply(self, W: Array) -> Array:
        return self.factors * self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        return self.inner.adjoint(self.factors * w)

    def gram(self, weights: Array, W: Array) -> Array:
        return self.inner.gram(self.factors**2 * weights, W)

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        return self.inner.normal_map(self.factors**2 * weights)

    def normal_matrix(self, weights: Array) -> Array | None:
        return self.inner.normal_matrix(self.factors**2 * weights)

    def quadratic_forms(self, matrix: Array) -> Array | None:
        forms = self.inner.quadratic_forms(matrix)
        return None if forms is None else self.factors**2 * forms


@dataclass(frozen=True, eq=False)
class SubsetTangent(TangentView):
    """Some of the measurements of another tangent map."""

    rows: Array  # (k,) their numbers
    measurements: int  # of the inner map

    def measure(self, values: Array) -> Array:
        return namespace(values).take(self.inner.measure(values), self.rows)

    def apply(self, W: Array) -> Array:
        return namespace(W).take(self.inner.apply(W), self.rows)

    def adjoint(self, w: Array) -> Array:
        return self.inner.adjoint(scattered(w, self.rows, self.measurements))

    def gram(self, weights: Array, W: Array) -> Array:
        return self.inner.gram(scattered(weights, self.rows, self.measurements), W)

    def normal_matrix(self, weights: Array) -> Array | None:
        return self.inner.normal_matrix(scattered(weights, self.rows, self.measurements))

    def quadratic_forms(self, matrix: Array) -> Array | None:
        forms = self.inner.quadratic_forms(matrix)
        return None if forms is None else namespace(forms).take(forms, self.rows)

    def share_maxima(self, rows: Array) -> Array | None:
        return self.inner.share_maxima(scattered(rows, self.rows, self.measurements))

    def share_counts(self, least: Array, weights: Array) -> Array | None:
        xp, size = namespace(weights), self.measurements
        each = [scattered(weights[k, :], self.rows, size) for k in range(weights.shape[0])]
        return self.inner.share_counts(least, xp.stack(each, axis=0))


@dataclass(frozen=True, eq=False)
class WatchedTangent(TangentView):
    """Another tangent map; ``before`` is called before each product and may raise."""

    before: Callable[[], None]

    def measure(self, values: Array) -> Array:
        self.before()
        return self.inner.measure(values)

    def apply(self, W: Array) -> Array:
        self.before()
        return self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        self.before()
        return self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        return self.normal_map(weights)(W)

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        normal = self.inner.normal_map(weights)

        def watched(W: Array) -> Array:
            self.before()
            return normal(W)

        return watched

    def normal_matrix(self, weights: Array) -> Array | None:
        self.before()
        return self.inner.normal_matrix(weights)

    def quadratic_forms(self, matrix: Array) -> Array | None:
        self.before()
        return self.inner.quadratic_forms(matrix)

    def share_maxima(self, rows: Array) -> Array | None:
        self.before()
        return self.inner.share_maxima(rows)

    def share_counts(self, least: Array, weights: Array) -> Array | None:
        self.before()
        return self.inner.share_counts(least, weights)


@dataclass(frozen=True, eq=False)
class PartTangent(TangentView):
    """A tangent map for changes of some rows and columns of the matrix only."""

    mask: Array  # (n1 + n2, 1): one for the rows of W that may change, else zero

    def apply(self, W: Array) -> Array:
        return self.inner.apply(self.mask * W)

    def adjoint(self, w: Array) -> Array:
        return self.mask * self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        return self.mask * self.inner.gram(weights, self.mask * W)

    def admissible(self, W: Array) -> Array:
        return self.mask * W


@dataclass(frozen=True, eq=False)
class SymmetricTangent(TangentView):
    """A tangent map at a symmetric matrix, for changes that leave it symmetric."""

    def apply(self, W: Array) -> Array:
        return self.inner.apply(self.admissible(W))

    def adjoint(self, w: Array) -> Array:
        return self.admissible(self.inner.adjoint(w))

    def gram(self, weights: Array, W: Array) -> Array:
        return self.admissible(self.inner.gram(weights, self.admissible(W)))

    def normal_matrix(self, weights: Array) -> Array | None:
        matrix = self.inner.normal_matrix(weights)
        if matrix is None:
            return None
        xp = namespace(matrix)
        eye = xp.eye(matrix.shape[-1], **like(matrix))
        stiffness = xp.sum(weights, axis=-1)[..., None, None]
        both = self._admissible_in_rows_and_columns(matrix)
        return both + stiffness * (eye - self._admissible_rows(eye))

    def quadratic_forms(self, matrix: Array) -> Array | None:
        return self.inner.quadratic_forms(self._admissible_in_rows_and_columns(matrix))

    def _admissible_in_rows_and_columns(self, matrix: Array) -> Array:
        transposed = namespace(matrix).matrix_transpose(self._admissible_rows(matrix))
        return self._admissible_rows(transposed)

    def _admissible_rows(self, matrix: Array) -> Array:
        """The admissible part of each row, which stands for a W."""
        return as_vector(self.admissible(from_vector(matrix, self.U.shape[-1])))

    def admissible(self, W: Array) -> Array:
        """The W whose change dU Vᵀ + U dVᵀ is the symmetric part of that of W.

        For U Vᵀ symmetric and U, V orthonormal, V = U S with S = Uᵀ V; the transpose of the change
        of [dU; dV] is then that of [dV S; dU Sᵀ].
        """
        xp, n = namespace(W), self.U.shape[-2]
        S = xp.matrix_transpose(self.U) @ self.V
        dU, dV = W[..., :n, :], W[..., n:, :]
        swapped = xp.concat([dV @ S, dU @ xp.matrix_transpose(S)], axis=-2)
        return (W + swapped) / 2


@dataclass(frozen=True, eq=False)
class TransposedTangent(TangentView):
    """The tangent map of transposed measurements: the two halves of W change places."""

    @property
    def U(self) -> Array:
        """The right factor of the inner map."""
        return self.inner.V

    @property
    def V(self) -> Array:
        """The left factor of the inner map."""
        return self.inner.U

    def apply(self, W: Array) -> Array:
        return self.inner.apply(_swapped(W, self.U.shape[-2]))

    def adjoint(self, w: Array) -> Array:
        return _swapped(self.inner.adjoint(w), self.V.shape[-2])

    def gram(self, weights: Array, W: Array) -> Array:
        swapped = self.inner.gram(weights, _swapped(W, self.U.shape[-2]))
        return _swapped(swapped, self.V.shape[-2])

    def admissible(self, W: Array) -> Array:
        admitted = self.inner.admissible(_swapped(W, self.U.shape[-2]))
        return _swapped(admitted, self.V.shape[-2])

    def share_maxima(self, rows: Array) -> Array | None:
        maxima = self.inner.share_maxima(rows)
        return None if maxima is None else _halves_swapped(maxima, self.V.shape[-2])

    def share_counts(self, least: Array, weights: Array) -> Array | None:
        counts = self.inner.share_counts(_halves_swapped(least, self.U.shape[-2]), weights)
        return None if counts is None else _halves_swapped(counts, self.V.shape[-2])


def scattered(values: Array, rows: Array, size: int) -> Array:
    """A vector of this size with these values at these increasing rows, and zeros elsewhere."""
    xp = namespace(values)
    numbers = xp.arange(size, **like(rows))
    places = xp.clip(xp.searchsorted(rows, numbers), max=rows.shape[0] - 1)
    chosen = xp.take(rows, places) == numbers
    return xp.where(chosen, xp.take(values, places), xp.zeros(size, **like(values)))


def _swapped(W: Array, upper: int) -> Array:
    """[a; b] → [b; a], where a has ``upper`` rows."""
    return namespace(W).concat([W[..., upper:, :], W[..., :upper, :]], axis=-2)


def _halves_swapped(x: Array, upper: int) -> Array:
    """The last axis with its first ``upper`` elements moved to the end."""
    return namespace(x).concat([x[..., upper:], x[..., :upper]], axis=-1)
