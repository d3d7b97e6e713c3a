"""Sensing data of several problems, for solvers that take them in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators.base import Operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.scaled import ScaledOperator
from robustrank.operators.stored import StoredOperator
from robustrank.operators.tangent import Tangent


class StackedOperator(StoredOperator):
    """Dense operators of one shape; every array has a leading axis, one entry for each of them.

    Each sensing array is read where it lies, by a call of its own: it is large. What is small is
    done for all at once, in the precision ``dtype`` where it is given.
    """

    def __init__(self, operators: Sequence[Operator], dtype: Any = None) -> None:
        parts = [_dense_part(operator) for operator in operators]
        self._members = [dense for dense, _ in parts]
        self._first = self._members[0]
        self._like = like(self._first.flat) | ({} if dtype is None else {"dtype": dtype})
        self._xp = namespace(self._first.flat)
        self._factors = self._xp.asarray([factor for _, factor in parts], **self._like)
        gains = self._xp.asarray([operator.gain for operator in operators], **self._like)
        super().__init__(self._first.matrix_shape, gains)

    @property
    def measurements(self) -> int:
        return self._first.measurements

    @property
    def dtype(self) -> Any:
        return self._first.dtype

    @property
    def in_memory(self) -> bool:
        return True

    @property
    def passes(self) -> float:
        """On average: each is counted by its own operator."""
        return sum(member.passes for member in self._members) / len(self._members)

    def add_passes(self, passes: float) -> None:
        for member in self._members:
            member.add_passes(passes)

    def asarray(self, values: Any) -> Array:
        return self._first.asarray(values)

    def measure(self, U: Array, V: Array) -> Array:
        self.add_passes(1)
        matrices = (U * self._factors[:, None, None]) @ self._xp.matrix_transpose(V)
        x = self._xp.reshape(matrices, (len(self._members), -1))
        x = self._xp.astype(x, self.dtype, copy=False)
        return self._xp.stack(
            [member.flat @ x[k, ...] for k, member in enumerate(self._members)], axis=0
        )

    def tangent(self, U: Array, V: Array) -> Tangent:
        rows = [member.tangent(U[k, ...], V[k, ...]).rows for k, member in enumerate(self._members)]
        return Tangent(self._xp.stack(rows, axis=0) * self._factors[:, None, None, None])

    def rows(self, index: slice) -> StackedOperator:
        subsets = [member.rows(index) for member in self._members]
        factors = [float(factor) for factor in self._factors]
        return StackedOperator(
            [ScaledOperator(part, factor) for part, factor in zip(subsets, factors, strict=True)]
        )

    def adjoint(self, w: Array) -> Array:
        w = w * self._factors[:, None]
        return self._xp.stack(
            [member.adjoint(w[k, ...]) for k, member in enumerate(self._members)], axis=0
        )


def can_be_stacked(operator: Operator) -> bool:
    """Whether an operator can be one of a ``StackedOperator``."""
    return isinstance(_unscaled(operator)[0], DenseOperator)


def _dense_part(operator: Operator) -> tuple[DenseOperator, float]:
    """The dense operator that an operator is a multiple of, and the multiple."""
    inner, factor = _unscaled(operator)
    if not isinstance(inner, DenseOperator):
        raise TypeError(f"{type(inner).__name__} cannot be stacked; expected a DenseOperator")
    return inner, factor


def _unscaled(operator: Operator) -> tuple[Operator, float]:
    factor = 1.0
    while isinstance(operator, ScaledOperator):
        factor *= operator.factor
        operator = operator.inner
    return operator, factor
