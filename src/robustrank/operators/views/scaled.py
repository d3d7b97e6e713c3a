"""Sensing data in other units: one for all rows, or one for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array
from robustrank.linalg import Factors, TangentView, Triplets
from robustrank.operators.views.delegating import DelegatingOperator


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
