"""Sensing data of several problems of one shape, for solvers that iterate on them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators.base import Operator
from robustrank.operators.dense import ArrayBackedOperator, DenseOperator
from robustrank.operators.tangent import StoredTangent
from robustrank.operators.views.delegating import CountedOperator, RowScaledOperator, ScaledOperator


class BatchedOperator(ArrayBackedOperator):
    """Dense operators of one shape; every array has a leading axis, one entry per problem.

    The sensing arrays are large, so each is multiplied separately where it is stored. Operations
    on small arrays are done for all problems at once, in ``dtype`` if it is given.
    """

    def __init__(self, operators: Sequence[Operator], dtype: Any = None) -> None:
        parts = [_dense_part(operator) for operator in operators]
        self._members = [dense for dense, _, _ in parts]
        self._first = self._members[0]
        self._xp = xp = namespace(self._first.flat)
        made_like = like(self._first.flat) | ({} if dtype is None else {"dtype": dtype})
        self._factors = xp.asarray([factor for _, factor, _ in parts], **made_like)
        ones = xp.ones(self.measurements, **made_like)
        self._row_factors = xp.stack(
            [ones if rows is None else xp.astype(rows, ones.dtype) for _, _, rows in parts], axis=0
        )
        self._gains = self._xp.asarray([operator.gain for operator in operators], **made_like)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self._first.shape

    @property
    def dtype(self) -> Any:
        return self._first.dtype

    @property
    def gain(self) -> Array:
        return self._gains

    def asarray(self, values: Any) -> Array:
        return self._first.asarray(values)

    def measure(self, U: Array, V: Array) -> Array:
        matrices = (U * self._factors[:, None, None]) @ self._xp.matrix_transpose(V)
        x = self._xp.reshape(matrices, (len(self._members), -1))
        x = self._xp.astype(x, self.dtype, copy=False)
        return self._row_factors * self._xp.stack(
            [member.flat @ x[k, ...] for k, member in enumerate(self._members)], axis=0
        )

    def adjoint(self, w: Array) -> Array:
        w = w * self._factors[:, None] * self._row_factors
        return self._xp.stack(
            [member.adjoint(w[k, ...]) for k, member in enumerate(self._members)], axis=0
        )

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        tangents = [
            member.tangent(U[k, ...], V[k, ...], precise=precise)
            for k, member in enumerate(self._members)
        ]
        rows = self._xp.stack([tangent.stored for tangent in tangents], axis=0)
        factors = self._factors[:, None] * self._row_factors
        core = None
        if tangents[0].core is not None:
            core = self._xp.stack([one.core for one in tangents], axis=0) * factors[..., None]
        return StoredTangent(rows * factors[..., None, None], U, V, tangents[0].reads, core)

    def _row_norms(self) -> Array:
        norms = [member.row_norms() for member in self._members]
        return self._xp.abs(self._factors)[:, None] * self._row_factors * self._xp.stack(norms)


def can_be_batched(operator: Operator) -> bool:
    """Whether an operator can be a member of a ``BatchedOperator``."""
    return isinstance(_unwrapped(operator)[0], DenseOperator)


def _dense_part(operator: Operator) -> tuple[DenseOperator, float, Array | None]:
    """The dense operator that an operator is a multiple of, the factor and the row factors."""
    inner, factor, rows = _unwrapped(operator)
    if not isinstance(inner, DenseOperator):
        raise TypeError(f"{type(inner).__name__} cannot be batched; expected a DenseOperator")
    return inner, factor, rows


def _unwrapped(operator: Operator) -> tuple[Operator, float, Array | None]:
    factor, rows = 1.0, None
    while isinstance(operator, (ScaledOperator, RowScaledOperator, CountedOperator)):
        if isinstance(operator, ScaledOperator):
            factor *= operator.factor
        if isinstance(operator, RowScaledOperator):
            rows = operator.factors if rows is None else rows * operator.factors
        operator = operator.inner
    return operator, factor, rows
