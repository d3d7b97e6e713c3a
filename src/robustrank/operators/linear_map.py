"""Sensing data that is known by its products with vectors, as in SciPy and PyLops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.backend import floating_dtype
from robustrank.operators.dense import ArrayBackedOperator

Matrix = np.ndarray[Any, Any]

# The relative error of an estimated row norm is about (2 · probes)^(−1/2).
_NORM_PROBES = 64
# The largest relative difference of <A x, w> and <x, Aᵀ w>. Rounding leaves less, and so do fast
# transforms of limited accuracy; a wrong product is far larger.
_DOT_PROBES = 2
_DOT_TOLERANCE, _DOT_ROUNDINGS = 1e-6, 1e3


def is_linear_map(A: Any) -> bool:
    """Whether an object has the interface of ``scipy.sparse.linalg.LinearOperator``."""
    return all(hasattr(A, name) for name in ("matvec", "rmatvec", "shape", "dtype"))


class LinearMap(ArrayBackedOperator):
    """Measurements A · vec(M), where vec(M) is M in row-major order.

    A product with A takes a whole M, so an n1 × n2 array must fit in memory. The factors are NumPy
    arrays. The norms of the A_i are estimated.

    Parameters
    ----------
    linear
        An (m, n1·n2) ``scipy.sparse.linalg.LinearOperator``, an operator of PyLops, or another
        object with ``matvec``, ``rmatvec``, ``shape`` and ``dtype``. Its products are tested:
        ``rmatvec`` must be the product with the transpose.
    matrix_shape
        (n1, n2).

    See Also
    --------
    robustrank.recover : Takes a ``LinearOperator`` directly, together with ``shape``.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> matrix = np.random.default_rng(1).standard_normal((200, 12 * 9))
    >>> A = rr.operators.LinearMap(aslinearoperator(matrix), (12, 9))
    >>> U, V = np.ones((12, 1)), np.ones((9, 1))
    >>> bool(np.allclose(A.measure(U, V), matrix.sum(axis=1)))
    True
    """

    def __init__(self, linear: Any, matrix_shape: tuple[int, int]) -> None:
        self._linear = linear
        self._matrix_shape = matrix_shape
        self._dtype = _dtype(linear)
        self._check_products()

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self._linear.shape[0]), self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self._dtype

    def measure(self, U: Matrix, V: Matrix) -> Matrix:
        return self._times(U @ V.T).astype(U.dtype, copy=False)

    def adjoint(self, w: Matrix) -> Matrix:
        return self._transpose_times(w).reshape(self._matrix_shape)

    def row_norms(self, probes: int = 0, rng: int = 0) -> Matrix:
        """‖A_i‖_F for every i, estimated by measuring matrices of random signs; the first time."""
        norms: Matrix = self._norms
        return norms

    def _row_norms(self) -> Matrix:
        rng, size = np.random.default_rng(0), int(self._linear.shape[1])
        norms = np.zeros(self.measurements, self._dtype)
        for _ in range(_NORM_PROBES):
            signs = rng.choice(np.asarray([-1, 1], self._dtype), size)
            # If x has independent random signs, the mean of (A x)_i² is ‖A_i‖².
            norms = np.hypot(norms, self._times(signs)).astype(self._dtype)
        norms /= math.sqrt(_NORM_PROBES)
        return norms

    def _times(self, x: Matrix) -> Matrix:
        """A x."""
        return np.asarray(self._linear.matvec(np.ravel(x).astype(self._dtype, copy=False)))

    def _transpose_times(self, w: Matrix) -> Matrix:
        """Aᵀ w."""
        return np.asarray(self._linear.rmatvec(w.astype(self._dtype, copy=False)))

    def _check_products(self) -> None:
        """Raise unless the products are finite real vectors and belong to one matrix."""
        rng, (m, size) = np.random.default_rng(0), self._linear.shape
        tolerance = max(_DOT_TOLERANCE, _DOT_ROUNDINGS * float(np.finfo(self._dtype).eps))
        for _ in range(_DOT_PROBES):
            x, w = (rng.standard_normal(int(n)).astype(self._dtype) for n in (size, m))
            forward = _checked(self._times(x), "matvec", int(m))
            try:
                backward = _checked(self._transpose_times(w), "rmatvec", int(size))
            except NotImplementedError as error:
                raise ValueError(
                    f"A is a {type(self._linear).__name__} without rmatvec; expected one that also "
                    "has the product with its transpose"
                ) from error
            unit = float(np.max(np.abs(forward))) or 1.0  # so that no square overflows
            scaled = forward / unit
            difference = abs(float(scaled @ w) - float(x @ (backward / unit)))
            if not difference <= tolerance * float(np.linalg.norm(scaled)):
                raise ValueError(
                    "the products of A do not belong to one matrix: <A x, w> and <x, Aᵀ w> differ "
                    f"by {difference / float(np.linalg.norm(scaled) or 1.0):.1e} of their size for "
                    "random x and w; expected that rmatvec multiplies by the transpose of what "
                    "matvec multiplies by"
                )


def _dtype(linear: Any) -> np.dtype[Any]:
    """The dtype in which the products are computed, float32 or float64."""
    given = np.dtype(linear.dtype)  # None means float64
    if given.kind == "c":
        raise TypeError(
            f"A is a {type(linear).__name__} of dtype {given}; expected real numbers: measure the "
            "real and the imaginary part separately"
        )
    return np.dtype(floating_dtype(np.empty(0, given), "A"))


def _checked(product: Matrix, name: str, size: int) -> Matrix:
    if product.shape != (size,):
        raise ValueError(f"{name} of A returns the shape {product.shape}; expected ({size},)")
    if product.dtype.kind != "f":
        raise TypeError(f"{name} of A returns {product.dtype}; expected real floating numbers")
    if not np.isfinite(product).all():
        raise ValueError(f"{name} of A returns NaN or infinity for ordinary numbers")
    return product
