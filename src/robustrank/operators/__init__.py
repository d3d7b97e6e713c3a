"""How a matrix is measured: one file per family of measurements, one contract for all."""

import importlib
from typing import TYPE_CHECKING, Any

from robustrank.operators.base import DataLost, Operator, OutOfTime
from robustrank.operators.bilinear import Bilinear
from robustrank.operators.checks import OperatorCheck, check_operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.entries import Entries
from robustrank.operators.entry_tangent import EntryTangent
from robustrank.operators.linear_map import LinearMap
from robustrank.operators.sorted_entries import SortedEntries, soft_weights
from robustrank.operators.sparse import SparseOperator
from robustrank.operators.tangent import StoredTangent, UnstoredTangent
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
    "Bilinear",
    "CenteredOperator",
    "CountedOperator",
    "DataLost",
    "DenseOperator",
    "Entries",
    "EntryTangent",
    "LinearMap",
    "Operator",
    "OperatorCheck",
    "OutOfTime",
    "PassCounter",
    "PassCounterGroup",
    "RowScaledOperator",
    "ScaledOperator",
    "Seeded",
    "SortedEntries",
    "SparseOperator",
    "StoredTangent",
    "SubsetOperator",
    "SymmetricOperator",
    "TransposedOperator",
    "UnstoredTangent",
    "as_operator",
    "can_be_batched",
    "check_operator",
    "soft_weights",
]

# Public names of packages above this one, which are imported when they are first used.
_ABOVE = {"Seeded": "robustrank.outofcore", "as_operator": "robustrank.inputs"}

if TYPE_CHECKING:
    from robustrank.inputs import as_operator
    from robustrank.outofcore import Seeded
else:

    def __getattr__(name: str) -> Any:
        if name in _ABOVE:
            return getattr(importlib.import_module(_ABOVE[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
