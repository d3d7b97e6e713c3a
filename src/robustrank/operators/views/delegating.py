"""Views of an operator: scaled, with some rows, transposed, and counting passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.linalg import Factors, TangentMap, TangentView, Triplets, scattered
from robustrank.operators.base import Operator
from robustrank.operators.tangent import UnstoredTangent


@dataclass(frozen=True, eq=False)
class DelegatingOperator(Operator):
    """Forwards to ``inner`` everything except the products."""

    inner: Operator

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self.inner.shape

    @property
    def dtype(self) -> Any:
        return self.inner.dtype

    @property
    def gain(self) -> float:
        return self.inner.gain

    def asarray(self, values: Any) -> Array:
        return self.inner.asarray(values)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        return self.inner.row_norms(probes, rng)


def family(operator: Operator) -> Operator:
    """The operator that all the views around it present."""
    while isinstance(operator, DelegatingOperator):
        operator = operator.inner
    return operator


@dataclass(frozen=True, eq=False)
class ScaledOperator(DelegatingOperator):
    """Every A_i of another operator times a number; the sensing data is not modified."""

    factor: float

    @property
    def gain(self) -> float:
        return abs(self.factor) * self.inner.gain

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(U * self.factor, V)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(w * self.factor, U, V)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        return self.inner.leading_svd(w * self.factor, rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        return abs(self.factor) * self.inner.row_norms(probes, rng)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(U, V, precise=precise), factor=self.factor)


@dataclass(frozen=True, eq=False)
class RowScaledOperator(DelegatingOperator):
    """Each A_i of another operator times one of m ``factors`` that give all the typical norm."""

    factors: Array

    def measure(self, U: Array, V: Array) -> Array:
        return self.factors * self.inner.measure(U, V)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(w * self.factors, U, V)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        return self.inner.leading_svd(w * self.factors, rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        return self.factors * self.inner.row_norms(probes, rng)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(U, V, precise=precise), factors=self.factors)


@dataclass(frozen=True, eq=False)
class SubsetOperator(DelegatingOperator):
    """The measurements with these numbers, without copying them: a pass reads all of the data."""

    rows: Array  # (k,) integers, increasing

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self.rows.shape[0]), self.inner.matrix_shape

    def measure(self, U: Array, V: Array) -> Array:
        return namespace(U).take(self.inner.measure(U, V), self.rows)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(self._scattered(w), U, V)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        return self.inner.leading_svd(self._scattered(w), rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        norms = self.inner.row_norms(probes, rng)
        return namespace(norms).take(norms, self.rows)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(U, V, precise=precise), chosen=self.rows)

    def _scattered(self, w: Array) -> Array:
        return scattered(w, self.rows, self.inner.measurements)


@dataclass(frozen=True, eq=False)
class TransposedOperator(DelegatingOperator):
    """Exchanges the roles of the two factors of another operator; costs nothing."""

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        m, (n2, n1) = self.inner.shape
        return m, (n1, n2)

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(V, U)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        GtU, GV = self.inner.backproject(w, V, U)
        return GV, GtU

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        swapped = None if plus is None else (plus[1], plus[0])
        right, values, left = self.inner.leading_svd(w, rank, rng, swapped, approximate=approximate)
        return left, values, right

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(V, U, precise=precise), transposed=True)


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
        if isinstance(computed, UnstoredTangent) and not (computed.rows or computed.known):
            # By products, which are counted, and which this operator computes for all views in it.
            counted = UnstoredTangent(self, U, V, probed=computed.probed)
            symmetric = isinstance(tangent, TangentView) and tangent.symmetric
            return TangentView(counted, symmetric=True) if symmetric else counted
        return TangentView(tangent, before=self.counter.add)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        if type(family(self)).row_norms is Operator.row_norms:
            return Operator.row_norms(self, probes, rng)  # by products, which are counted
        return self.inner.row_norms(probes, rng)
