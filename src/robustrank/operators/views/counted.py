"""Counting passes over the sensing data, so that operator classes need not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robustrank.backend import Array
from robustrank.linalg import Factors, TangentMap, TangentView, Triplets
from robustrank.operators.base import Operator
from robustrank.operators.tangent import UnstoredTangent
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
        if tangent.reads:
            self.counter.add(tangent.reads)
            return tangent
        computed = tangent
        while isinstance(computed, TangentView):
            computed = computed.inner
        if isinstance(computed, UnstoredTangent) and not (computed.rows or computed.entries):
            # By products, which are counted, and which this operator computes for all views in it.
            counted = UnstoredTangent(self, U, V, probed=computed.probed)
            symmetric = isinstance(tangent, TangentView) and tangent.symmetric
            return TangentView(counted, symmetric=True) if symmetric else counted
        return TangentView(tangent, before=self.counter.add)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        if type(family(self)).row_norms is Operator.row_norms:
            return Operator.row_norms(self, probes, rng)  # by products, which are counted
        return self.inner.row_norms(probes, rng)
