"""Sensing data of several problems, for solvers that take them in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators.base import Operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.fused import tangent_rows
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
        x = self._stored(self._xp.reshape(matrices, (len(self._members), -1)))
        return self._xp.stack(
            [member.flat @ x[k, ...] for k, member in enumerate(self._members)], axis=0
        )

    def tangent(self, U: Array, V: Array) -> Tangent:
        rows = []
        for k, member in enumerate(self._members):
            sensing = self._xp.reshape(member.flat, (self.measurements, *self.matrix_shape))
            stored, reads = tangent_rows(sensing, U[k, ...], V[k, ...])
            member.add_passes(reads)
            rows.append(stored)
        return Tangent(self._xp.stack(rows, axis=0) * self._factors[:, None, None, None])

    def rows(self, index: slice) -> StackedOperator:
        subsets = [member.rows(index) for member in self._members]
        factors = [float(factor) for factor in self._factors]
        return StackedOperator(
            [ScaledOperator(part, factor) for part, factor in zip(subsets, factors, strict=True)]
        )

    def adjoint(self, w: Array) -> Array:
        self.add_passes(1)
        w = self._stored(w * self._factors[:, None])
        sums = [w[k, ...] @ member.flat for k, member in enumerate(self._members)]
        return self._xp.reshape(self._xp.stack(sums, axis=0), (len(sums), *self.matrix_shape))

    def _stored(self, array: Array) -> Array:
        return self._xp.astype(array, self.dtype, copy=False)


def can_be_stacked(operator: Operator) -> bool:
    """Whether an operator can be one of a ``StackedOperator``."""
    inner = operator.inner if isinstance(operator, ScaledOperator) else operator
    return isinstance(inner, DenseOperator)


def _dense_part(operator: Operator) -> tuple[DenseOperator, float]:
    """The dense operator that an operator is a multiple of, and the multiple."""
    if isinstance(operator, ScaledOperator):
        dense, factor = _dense_part(operator.inner)
        return dense, factor * operator.factor
    if not isinstance(operator, DenseOperator):
        raise TypeError(f"{type(operator).__name__} cannot be stacked; expected a DenseOperator")
    return operator, 1.0
