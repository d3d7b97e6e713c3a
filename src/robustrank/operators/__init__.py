"""How a matrix is measured: one file per family of measurements, one contract for all."""

from robustrank.operators.base import Operator
from robustrank.operators.checks import OperatorCheck, check_operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.entries import Entries
from robustrank.operators.sorted_entries import SortedEntries, soft_weights
from robustrank.operators.streamed import StreamedOperator
from robustrank.operators.tangent import StoredTangent, UnstoredTangent
from robustrank.operators.tangent_views import PartTangent, RowScaledTangent, WatchedTangent
from robustrank.operators.validate import as_operator
from robustrank.operators.views import (
    BatchedOperator,
    CenteredOperator,
    CountedOperator,
    PassCounter,
    PassCounterGroup,
    RowScaledOperator,
    ScaledOperator,
    SubsetOperator,
    SymmetricOperator,
    TransposedOperator,
    can_be_batched,
)

__all__ = [
    "BatchedOperator",
    "CenteredOperator",
    "CountedOperator",
    "DenseOperator",
    "Entries",
    "Operator",
    "OperatorCheck",
    "PartTangent",
    "PassCounter",
    "PassCounterGroup",
    "RowScaledOperator",
    "RowScaledTangent",
    "ScaledOperator",
    "SortedEntries",
    "StoredTangent",
    "StreamedOperator",
    "SubsetOperator",
    "SymmetricOperator",
    "TransposedOperator",
    "UnstoredTangent",
    "WatchedTangent",
    "as_operator",
    "can_be_batched",
    "check_operator",
    "soft_weights",
]
