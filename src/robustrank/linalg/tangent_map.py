"""The interface of linearized measurements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from robustrank.backend import Array, namespace


class TangentMap(Protocol):
    """The map W = [dU; dV] → A(dU Vᵀ + U dVᵀ) at fixed factors U (n1 × r) and V (n2 × r).

    W is (n1 + n2) × r, as the paper's augmented variable; measurements are (m,). All arrays may
    have a leading axis of problems.
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

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ, in full precision even if the map is not."""

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``gram(weights, W)``, prepared for being applied many times."""

    def normal_matrix(self, weights: Array) -> Array | None:
        """The matrix of ``gram`` acting on ``as_vector(W)``; None if it is not available.

        If some W are not admissible, it is block diagonal and positive definite on the others.
        """

    def quadratic_forms(self, matrix: Array) -> Array | None:
        """``j @ matrix @ j`` for each measurement, if ``apply(W)`` is j · ``as_vector(W)``.

        The matrix is symmetric. None where ``normal_matrix`` is.
        """

    def admissible(self, W: Array) -> Array:
        """The part of W along which the matrix may change: all of it, unless it is symmetric."""

    def share_maxima(self, rows: Array) -> Array | None:
        """The largest share in a measurement of each row and then each column of the matrix.

        The share of row a in measurement i is ‖row a of A_i V‖², and that of column b is ‖row b of
        A_iᵀ U‖², divided by the sum of all these. ``rows``, (m,), is positive for the measurements
        that count. The result is (n1 + n2,); None if the map is not stored.
        """

    def share_counts(self, least: Array, weights: Array) -> Array | None:
        """The weight of the measurements in which a share is larger than ``least``.

        ``weights`` is (k, m), ``least`` is (n1 + n2,), and the result is (k, n1 + n2); None if the
        map is not stored.
        """


class IterativeTangent(ABC):
    """The members of a tangent map whose normal matrix is not available, given ``gram``.

    Least squares with it are solved by conjugate gradients.
    """

    @abstractmethod
    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``."""

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``gram(weights, W)``."""
        return lambda W: self.gram(weights, W)

    def normal_matrix(self, weights: Array) -> None:
        """Not available."""
        return

    def quadratic_forms(self, matrix: Array) -> None:
        """Not available."""
        return

    def admissible(self, W: Array) -> Array:
        """Every W is admissible."""
        return W


def as_vector(W: Array) -> Array:
    """W as a vector, column after column."""
    xp = namespace(W)
    return xp.reshape(xp.matrix_transpose(W), (*W.shape[:-2], -1))


def from_vector(x: Array, columns: int) -> Array:
    """The W with ``columns`` columns whose vector is x."""
    xp = namespace(x)
    return xp.matrix_transpose(xp.reshape(x, (*x.shape[:-1], columns, -1)))
