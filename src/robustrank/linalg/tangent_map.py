"""The interface of linearized measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from robustrank.backend import Array, namespace


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

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
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
