"""Operators that present another one differently: scaled, centered, transposed, batched."""

from robustrank.operators.views.batched import BatchedOperator, can_be_batched
from robustrank.operators.views.centered import CenteredOperator
from robustrank.operators.views.delegating import (
    CountedOperator,
    PassCounter,
    PassCounterGroup,
    RowScaledOperator,
    ScaledOperator,
    SubsetOperator,
    TransposedOperator,
)
from robustrank.operators.views.symmetric import SymmetricOperator

__all__ = [
    "BatchedOperator",
    "CenteredOperator",
    "CountedOperator",
    "PassCounter",
    "PassCounterGroup",
    "RowScaledOperator",
    "ScaledOperator",
    "SubsetOperator",
    "SymmetricOperator",
    "TransposedOperator",
    "can_be_batched",
]
