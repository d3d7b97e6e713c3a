"""The contract between a family of measurements and everything else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import (
    Factors,
    TangentMap,
    Triplets,
    leading_svd_by_products,
    lower_median,
)
from robustrank.operators.tangent import UnstoredTangent

_GAIN_PROBES = 8
# The columns of the factors of a random matrix; several reduce the spread of its measurements.
PROBE_COLUMNS = 8


class OutOfTime(Exception):  # noqa: N818  # not an error
    """The time limit was reached."""


class DataLost(RuntimeError):  # noqa: N818
    """The sensing data can no longer be read: a file is damaged, or the workers are gone."""


class Operator(ABC):
    """m linear measurements of an n1 × n2 matrix: A(M)_i = <A_i, M>.

    Solvers access the sensing data through this class only. Factors are U, of shape (n1, r), and V,
    of shape (n2, r); no method may assume that U Vᵀ fits in memory.

    A family of measurements implements the four abstract members ``shape``, ``dtype``, ``measure``
    and ``backproject``. Everything else has a default that is built on the two products, and that a
    family overrides where it can be faster. Every product may raise ``OutOfTime`` and ``DataLost``.

    See Also
    --------
    robustrank.operators.as_operator : The operator of an array, a file or a LinearOperator.
    robustrank.operators.check_operator : Test an operator.

    Examples
    --------
    The diagonal of a square matrix:

    >>> import numpy as np
    >>> import robustrank as rr
    >>> class Diagonal(rr.operators.Operator):
    ...     shape = 30, (30, 30)
    ...     dtype = np.dtype(float)
    ...     def measure(self, U, V):
    ...         return np.sum(U * V, axis=1)
    ...     def backproject(self, w, U, V):
    ...         return w[:, None] * V, w[:, None] * U
    >>> Diagonal()
    Diagonal(30 measurements of a 30 × 30 matrix, float64)
    >>> rr.operators.check_operator(Diagonal()).passed
    True
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, tuple[int, int]]:
        """(m, (n1, n2)): the number of measurements and the shape of the measured matrix."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The dtype of the sensing data."""

    @abstractmethod
    def measure(self, U: Array, V: Array) -> Array:
        """The measurements A(U Vᵀ) of a matrix.

        Parameters
        ----------
        U, V
            Factors of shape (n1, k) and (n2, k).

        Returns
        -------
        array of shape (m,)
            <A_i, U Vᵀ> for every i.
        """

    @abstractmethod
    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        """The products (G V, Gᵀ U) with G = A*(w) = Σ w_i A_i.

        A subset of the measurements is selected by setting the other weights w_i to zero.

        Parameters
        ----------
        w
            A weight for each measurement, of shape (m,).
        U, V
            Matrices of shape (n1, k) and (n2, l). Their columns are independent of each other, and
            the numbers k and l may differ.

        Returns
        -------
        tuple of two arrays
            G V, of shape (n1, l), and Gᵀ U, of shape (n2, k).
        """

    @property
    def measurements(self) -> int:
        """m, the number of measurements."""
        return self.shape[0]

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """(n1, n2), the shape of the measured matrix."""
        return self.shape[1]

    def asarray(self, values: Any) -> Array:
        """``values`` as an array of the sensing data's library, on its device."""
        return np.asarray(values)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentMap:
        """The measurements linearized at the factors (U, V). Default: by products, not stored.

        The default takes 2 (n1 + n2) products more for a certificate, which examines every row and
        column of the matrix by itself.

        Parameters
        ----------
        U, V
            Factors of shape (n1, r) and (n2, r).
        precise
            If False, a family that stores the map may do so in single precision.
        """
        return UnstoredTangent(self, U, V, probed=True)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        """The leading singular triplets of A*(w), or of A*(w) + X Yᵀ with ``plus`` = (X, Y).

        Parameters
        ----------
        w
            A weight for each measurement, of shape (m,).
        rank
            The number of triplets.
        rng
            Random generator, for starting vectors.
        plus
            None, or factors (X, Y) of a matrix that is added.
        approximate
            Whether the triplets may be approximate where that is faster: as exact as a few subspace
            iterations from random vectors make them.

        Returns
        -------
        left, values, right
            Arrays of shape (n1, rank), (rank,) and (n2, rank).
        """
        transpose = namespace(w).matrix_transpose
        n1, n2 = self.matrix_shape

        def times(V: Array) -> Array:
            GV, _ = self.backproject(w, _no_columns(V, n1), V)
            return GV if plus is None else GV + plus[0] @ (transpose(plus[1]) @ V)

        def transpose_times(U: Array) -> Array:
            _, GtU = self.backproject(w, U, _no_columns(U, n2))
            return GtU if plus is None else GtU + plus[1] @ (transpose(plus[0]) @ U)

        return leading_svd_by_products(
            times, transpose_times, (n1, n2), rank, rng, example=w, approximate=approximate
        )

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        """The norms ‖A_i‖_F, of shape (m,). Default: estimated by measuring random matrices.

        Parameters
        ----------
        probes
            The number of random matrices. Each is one pass; the relative error of a norm is about
            ``(2 * probes) ** -0.5``.
        rng
            Random seed.
        """
        generator = np.random.default_rng(rng)
        n1, n2 = self.matrix_shape
        columns = min(PROBE_COLUMNS, n1, n2)
        total: Array = 0.0
        for _ in range(probes):
            U, V = (draw(self, generator, n, columns) for n in (n1, n2))
            # For Gaussian U and V, the mean of <A_i, U Vᵀ>² / ‖U Vᵀ‖² is ‖A_i‖² / (n1·n2).
            total = total + self.measure(U, V) ** 2 * (n1 * n2 / _squared_norm(U, V))
        return namespace(total).sqrt(total / probes)

    @property
    def gain(self) -> float:
        """The size of a sensing entry in a typical row, so that A*(A(M)) is about m · gain² · M.

        The typical row is the median, so that no single row matters.
        """
        return self._typical_entry

    @cached_property
    def _typical_entry(self) -> float:
        norms = to_numpy(self.row_norms(_GAIN_PROBES)).astype(float)
        positive = norms[norms > 0]
        typical = float(lower_median(positive)) if len(positive) else 0.0
        return typical / math.sqrt(math.prod(self.matrix_shape))

    def __repr__(self) -> str:
        m, (n1, n2) = self.shape
        return f"{type(self).__name__}({m} measurements of a {n1} × {n2} matrix, {self.dtype})"


def draw(operator: Operator, rng: np.random.Generator, *shape: int) -> Array:
    """Standard normal numbers in the operator's dtype, as an array of its library."""
    dtype = "float32" if "32" in str(operator.dtype) else "float64"
    return operator.asarray(rng.standard_normal(shape).astype(dtype))


def _squared_norm(U: Array, V: Array) -> float:
    """‖U Vᵀ‖_F², from the two Gram matrices."""
    xp = namespace(U)
    return float(xp.sum((xp.matrix_transpose(U) @ U) * (xp.matrix_transpose(V) @ V)))


def _no_columns(factor: Array, rows: int) -> Array:
    """An empty factor with this many rows."""
    return namespace(factor).zeros((rows, 0), **like(factor))
