"""Counting passes over the sensing data, so that operator classes need not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robustrank.backend import Array
from robustrank.linalg import Factors, TangentMap, Triplets
from robustrank.operators.base import Operator
from robustrank.operators.entry_tangent import EntryTangent
from robustrank.operators.probed_tangent import ProbedTangent
from robustrank.operators.rowwise_tangent import RowwiseTangent
from robustrank.operators.tangent import StoredTangent, UnstoredTangent
from robustrank.operators.tangent_views import SymmetricTangent, TangentView
from robustrank.operators.views.delegating import DelegatingOperator, family


class PassCounter:
    """The number of times that the whole sensing data was read."""

    def __init__(self) -> None:
        self.passes = 0.0

    def add(self, passes: float) -> None:
        """Count more passes."""
        self.passes += passes


class PassCounterGroup(PassCounter):
    """The counters of a batch of problems: each pass counts for all of them."""

    def __init__(self, members: Sequence[PassCounter]) -> None:
        super().__init__()
        self._members = members

    def add(self, passes: float) -> None:
        super().add(passes)
        for member in self._members:
            member.add(passes)


@dataclass(frozen=True, eq=False)
class CountedOperator(DelegatingOperator):
    """Another operator whose passes are counted."""

    counter: PassCounter = field(default_factory=PassCounter)

    def measure(self, U: Array, V: Array) -> Array:
        self.counter.add(1)
        return self.inner.measure(U, V)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        self.counter.add(1)
        return self.inner.backproject(w, U, V)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        if type(family(self)).leading_svd is Operator.leading_svd:
            # By products, which are counted.
            return super().leading_svd(w, rank, rng, plus, approximate=approximate)
        self.counter.add(1)
        return self.inner.leading_svd(w, rank, rng, plus, approximate=approximate)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentMap:
        tangent = self.inner.tangent(U, V, precise=precise)
        computed, probed = tangent, False
        while isinstance(computed, TangentView):
            if isinstance(computed, (RowwiseTangent, EntryTangent)):
                return CountedTangent(tangent, self.counter)
            probed = probed or isinstance(computed, ProbedTangent)
            computed = computed.inner
        if isinstance(computed, UnstoredTangent):
            counted: TangentMap = UnstoredTangent(self, U, V)  # by products, which are counted
            counted = ProbedTangent(counted) if probed else counted
            return SymmetricTangent(counted) if isinstance(tangent, SymmetricTangent) else counted
        self.counter.add(computed.reads if isinstance(computed, StoredTangent) else 1)
        return tangent

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        if type(family(self)).row_norms is Operator.row_norms:
            return Operator.row_norms(self, probes, rng)  # by products, which are counted
        return self.inner.row_norms(probes, rng)


@dataclass(frozen=True, eq=False)
class CountedTangent(TangentView):
    """Another tangent map, each product of which is a pass over the sensing data."""

    counter: PassCounter

    def measure(self, values: Array) -> Array:
        self.counter.add(1)
        return self.inner.measure(values)

    def apply(self, W: Array) -> Array:
        self.counter.add(1)
        return self.inner.apply(W)

    def adjoint(self, w: Array) -> Array:
        self.counter.add(1)
        return self.inner.adjoint(w)

    def gram(self, weights: Array, W: Array) -> Array:
        self.counter.add(2)
        return self.inner.gram(weights, W)

    def normal_matrix(self, weights: Array) -> Array | None:
        self.counter.add(1)
        return self.inner.normal_matrix(weights)

    def quadratic_forms(self, matrix: Array) -> Array | None:
        self.counter.add(1)
        return self.inner.quadratic_forms(matrix)
