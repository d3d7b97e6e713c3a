"""Measurements of a matrix that is known to be symmetric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.linalg import (
    Factors,
    TangentMap,
    TangentView,
    Triplets,
    leading_svd,
    scale_columns,
    symmetric_point,
)
from robustrank.operators.base import Operator, draw
from robustrank.operators.dense import ArrayBackedOperator
from robustrank.operators.entry_tangent import EntryTangent
from robustrank.operators.tangent import StoredTangent, UnstoredTangent
from robustrank.operators.views.delegating import DelegatingOperator

_PROBE_COLUMNS = 8  # several columns reduce the variation


@dataclass(frozen=True, eq=False)
class SymmetricOperator(DelegatingOperator):
    """(A_i + A_iᵀ)/2 of another operator, which measures a symmetric matrix in the same way.

    With these, every step from a symmetric matrix leads to a symmetric matrix.
    """

    @cached_property
    def gain(self) -> float:
        """That of the inner operator, or √2 times that if its A_i are symmetric already.

        With the symmetric part S of A, <S, M> S is on average 2 ‖S‖²/n² M for symmetric M. The
        norms of the symmetric parts are estimated by a random probe.
        """
        rng, n = np.random.default_rng(0), self.matrix_shape[0]
        U, V = (draw(self, rng, n, min(_PROBE_COLUMNS, n)) for _ in range(2))
        symmetric, whole = (
            float(np.median(np.abs(to_numpy(one.measure(U, V))))) for one in (self, self.inner)
        )
        share = symmetric / whole if whole > 0 else 1.0
        return float(self.inner.gain) * min(max(math.sqrt(2) * share, 1.0), math.sqrt(2))

    def measure(self, U: Array, V: Array) -> Array:
        both, swapped = _beside(U, V), _beside(V, U)
        return self.inner.measure(both / 2, swapped)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        GU, GtU = self.inner.backproject(w, U, U)
        GV, GtV = self.inner.backproject(w, V, V)
        return (GV + GtV) / 2, (GtU + GU) / 2

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        """The leading singular triplets of the symmetric part of A*(w), or of A*(w) + X Yᵀ.

        The right vectors are the left ones, or minus them. Rounding and approximation would make
        the triplets slightly asymmetric. Iterations amplify that where a matrix that is not
        symmetric, and whose rank is lower, measures the same.
        """
        xp = namespace(w)
        if plus is not None:
            plus = _beside(plus[0], plus[1]) / 2, _beside(plus[1], plus[0])
        if isinstance(self.inner, ArrayBackedOperator):
            G = xp.astype(self.inner.adjoint(w), w.dtype, copy=False)
            G = (G + xp.matrix_transpose(G)) / 2
            left, values, right = leading_svd(G, rank, rng, plus, approximate=approximate)
        else:
            given = w, rank, rng, plus
            left, values, right = Operator.leading_svd(self, *given, approximate=approximate)
        point = symmetric_point(scale_columns(left, values), right)
        return point.left, point.values, point.right

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self._tangent(U, V, precise), symmetric=True)

    def _tangent(self, U: Array, V: Array, precise: bool) -> TangentMap:
        doubled = self.inner.tangent(_beside(U, V), _beside(V, U), precise=precise)
        r = U.shape[-1]
        if isinstance(doubled, StoredTangent):
            core = doubled.core
            if core is not None:
                core = (core[:, :r] + core[:, r:]) / 2
            return StoredTangent(_symmetrized(doubled.stored, r), U, V, doubled.reads, core)
        if (given := doubled.rows) is not None:
            return UnstoredTangent(self, U, V, rows=lambda block: _symmetrized(given(block), r))
        # Their entries come in pairs, so the shares of sampled entries are found by probing, too.
        entries = isinstance(doubled, EntryTangent)
        probed = entries or (
            isinstance(doubled, UnstoredTangent) and (doubled.probed or doubled.known is not None)
        )
        return UnstoredTangent(self, U, V, probed=probed)


def _symmetrized(rows: Array, rank: int) -> Array:
    """The rows of a tangent map, from those at ([U V], [V U]).

    Row i holds (A_i V, A_i U) and (A_iᵀ U, A_iᵀ V), one column after the other.
    """
    n = rows.shape[-1] // 2
    AV, AU = rows[:, :rank, :n], rows[:, rank:, :n]
    AtU, AtV = rows[:, :rank, n:], rows[:, rank:, n:]
    return namespace(rows).concat([AV + AtV, AtU + AU], axis=-1) / 2


def _beside(one: Array, other: Array) -> Array:
    return namespace(one).concat([one, other], axis=-1)
