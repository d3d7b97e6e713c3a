"""What families of sensing matrices stored as an array have in common."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from robustrank.backend import Array, namespace, triton_kernels_for
from robustrank.linalg import Factors, Triplets, leading_svd
from robustrank.operators.base import Operator

# Within these limits, all that matters of a row is far from the limits of single precision.
_SMALLEST_NORM, _LARGEST_NORM = 1e-25, 1e25


class ArrayBackedOperator(Operator):
    """Sensing matrices stored entry by entry, so that A*(w) is an n1 × n2 array."""

    @abstractmethod
    def adjoint(self, w: Array) -> Array:
        """A*(w) = Σ w_i A_i as an n1 × n2 array; one pass."""

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        xp = namespace(U)
        G = xp.astype(self.adjoint(w), U.dtype, copy=False)
        kernels = triton_kernels_for(G)
        same = G.ndim == 2 and U.shape[-1] == V.shape[-1]
        if kernels is not None and same and kernels.can_multiply(*G.shape):
            both: tuple[Array, Array] = kernels.products_with_factors(G, U, V)
            return both
        return G @ V, xp.matrix_transpose(G) @ U

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        G = namespace(w).astype(self.adjoint(w), w.dtype, copy=False)
        return leading_svd(G, rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 0, rng: int = 0) -> Array:
        """‖A_i‖_F for every i, exact; one pass, the first time."""
        return self._norms

    @abstractmethod
    def _row_norms(self) -> Array:
        """The exact norms; raises ValueError if a row has NaN or infinity."""

    @cached_property
    def _norms(self) -> Array:
        return self._row_norms()

    @cached_property
    def _suits_single_precision(self) -> bool:
        """Whether the rows of a tangent map of NumPy arrays can be stored in single precision."""
        return suit_single_precision(self.row_norms())


def suit_single_precision(norms: Array) -> bool:
    """Whether the tangent map of rows with these norms can be stored in single precision."""
    xp = namespace(norms)
    moderate = (norms > _SMALLEST_NORM) & (norms < _LARGEST_NORM)
    return bool(xp.all(moderate | (norms == 0)))
