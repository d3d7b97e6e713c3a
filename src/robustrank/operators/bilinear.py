"""Rank-one sensing matrices A_i = a_i b_iᵀ, of which only the vectors are stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    as_floating,
    check_same_device,
    epsilon,
    is_array,
    is_numpy,
    like,
    namespace,
    reject_masked,
)
from robustrank.linalg import NormalMap, Shares, row_blocks
from robustrank.operators.base import Operator
from robustrank.operators.dense import row_norms
from robustrank.operators.tangent import RowShares

_BLOCK_ENTRIES = 2**18


class Bilinear(Operator):
    """Measurements y_i = a_iᵀ M b_i: the A_i are the rank-one matrices a_i b_iᵀ.

    A product with the tangent map takes of the order of m r (n1 + n2) operations, and nothing
    larger than the two arrays is stored. With ``left`` equal to ``right`` the measurements depend
    only on the symmetric part of M; pass ``symmetric=True`` to ``recover`` if M is symmetric.

    Parameters
    ----------
    left
        The vectors a_i as rows of an (m, n1) array.
    right
        The vectors b_i as rows of an (m, n2) array of the same library. Both are used in their
        common dtype; integers and booleans are converted to float64.

    See Also
    --------
    robustrank.recover : Takes it in place of the sensing matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> M = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9))
    >>> a, b = rng.standard_normal((200, 12)), rng.standard_normal((200, 9))
    >>> y = np.sum((a @ M) * b, axis=1)
    >>> y[:20] = 100.0
    >>> result = rr.recover(rr.operators.Bilinear(a, b), y, rank=2)
    >>> result.status.name, int(result.outliers.sum())
    ('RECOVERED', 20)
    """

    def __init__(self, left: Any, right: Any) -> None:
        first, second = _checked(left, "left"), _checked(right, "right")
        check_same_device(first, second, names=("left", "right"))
        if first.shape[0] != second.shape[0]:
            raise ValueError(
                f"left has {first.shape[0]} rows and right has {second.shape[0]}; expected one of "
                "each for every measurement"
            )
        xp = namespace(first)
        dtype = xp.result_type(first.dtype, second.dtype)
        self._left, self._right = (xp.astype(it, dtype, copy=False) for it in (first, second))
        with np.errstate(over="ignore"):  # sizes near the limits of the dtype are refused later
            self._norms = row_norms(self._left, name="left") * row_norms(self._right, name="right")

    @property
    def left(self) -> Array:
        """The vectors a_i, (m, n1)."""
        return self._left

    @property
    def right(self) -> Array:
        """The vectors b_i, (m, n2)."""
        return self._right

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        m, n1 = self._left.shape
        return int(m), (int(n1), int(self._right.shape[1]))

    @property
    def dtype(self) -> Any:
        return self._left.dtype

    def asarray(self, values: Any) -> Array:
        return namespace(self._left).asarray(values, device=like(self._left)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        return namespace(U).sum(_product(self._left, U) * _product(self._right, V), axis=1)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        GV = _transposed_product(self._left, w[:, None] * _product(self._right, V))
        return GV, _transposed_product(self._right, w[:, None] * _product(self._left, U))

    def row_norms(self, probes: int = 0, rng: int = 0) -> Array:
        """‖A_i‖_F = ‖a_i‖ ‖b_i‖ for every i, exact."""
        return self._norms

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> BilinearTangent:
        return BilinearTangent(self._left, self._right, U, V)


@dataclass(frozen=True, eq=False)
class BilinearTangent:
    """The tangent map W → (a_iᵀ dU)(b_iᵀ V)ᵀ + (a_iᵀ U)(b_iᵀ dV)ᵀ; see ``linalg.TangentMap``."""

    left: Array
    right: Array
    U: Array
    V: Array

    reads = 0

    @cached_property
    def _aU(self) -> Array:
        return _product(self.left, self.U)

    @cached_property
    def _bV(self) -> Array:
        return _product(self.right, self.V)

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the vectors or of the factors, whichever is larger."""
        return max(epsilon(self.left), epsilon(self.U))

    @property
    def measurements(self) -> int:
        """m."""
        return int(self.left.shape[0])

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        return namespace(values).sum(self._aU * values * self._bV, axis=1)

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W."""
        n1 = self.U.shape[0]
        upper = _product(self.left, W[:n1, :]) * self._bV
        return namespace(W).sum(upper + self._aU * _product(self.right, W[n1:, :]), axis=1)

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        upper = _transposed_product(self.left, w[:, None] * self._bV)
        lower = _transposed_product(self.right, w[:, None] * self._aU)
        return namespace(w).concat([upper, lower], axis=0)

    def normal_map(self, weights: Array) -> NormalMap:
        """The map from W to ``adjoint(weights * apply(W))``."""
        return NormalMap(lambda W: self._gram(weights, W))

    def _gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the vectors if they are NumPy arrays."""
        if not is_numpy(self.left):
            return self.adjoint(weights * self.apply(W))
        n1, total = self.U.shape[0], np.zeros_like(W)
        height = max(1, _BLOCK_ENTRIES // (n1 + self.V.shape[0]))
        for first in range(0, len(weights), height):  # which stay in the cache
            block = slice(first, first + height)
            a, b, aU, bV = (it[block] for it in (self.left, self.right, self._aU, self._bV))
            along = np.sum(_product(a, W[:n1]) * bV + aU * _product(b, W[n1:]), axis=1)
            along = (weights[block] * along)[:, None]
            total[:n1] += _transposed_product(a, along * bV)
            total[n1:] += _transposed_product(b, along * aU)
        return total

    def rows(self, block: slice) -> Array:
        """The rows of the map: (A_i V)ᵀ = (b_iᵀ V)ᵀ a_iᵀ beside (A_iᵀ U)ᵀ = (a_iᵀ U)ᵀ b_iᵀ."""
        AV = self._bV[block, :, None] * self.left[block, None, :]
        AtU = self._aU[block, :, None] * self.right[block, None, :]
        return namespace(AV).concat([AV, AtU], axis=2)

    @property
    def shares(self) -> Shares:
        """From the rows."""
        return RowShares(partial(row_blocks, self))


def _product(vectors: Array, factor: Array) -> Array:
    """vectors · factor in the precision of the vectors, as an array like the factor."""
    xp = namespace(factor)
    return xp.astype(
        vectors @ xp.astype(factor, vectors.dtype, copy=False), factor.dtype, copy=False
    )


def _transposed_product(vectors: Array, weighted: Array) -> Array:
    return _product(namespace(vectors).matrix_transpose(vectors), weighted)


def _checked(vectors: Any, name: str) -> Array:
    reject_masked(vectors, name)
    given = vectors if is_array(vectors) else np.asarray(vectors)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}; expected a matrix with a row for each "
            "measurement"
        )
    return as_floating(given, name)
