"""The base class of operators that wrap another operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustrank.backend import Array
from robustrank.operators.base import Operator


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
