"""How a matrix is measured: one file per family of measurements, one contract for all."""

from robustrank.operators.base import Operator
from robustrank.operators.bilinear import Bilinear
from robustrank.operators.checks import OperatorCheck, check_operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.description import how_it_was_read
from robustrank.operators.engine import DataLost, Engine, LocalEngine, OutOfTime
from robustrank.operators.entries import Entries
from robustrank.operators.linear_map import LinearMap
from robustrank.operators.seeded import Seeded
from robustrank.operators.sharded import ShardedOperator, ShardedRows
from robustrank.operators.sorted_entries import SortedEntries, soft_weights
from robustrank.operators.sparse import SparseOperator
from robustrank.operators.streamed import ColumnStreamedOperator, StreamedOperator
from robustrank.operators.tangent import StoredTangent, UnstoredTangent
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
    "Bilinear",
    "CenteredOperator",
    "ColumnStreamedOperator",
    "CountedOperator",
    "DataLost",
    "DenseOperator",
    "Engine",
    "Entries",
    "LinearMap",
    "LocalEngine",
    "Operator",
    "OperatorCheck",
    "OutOfTime",
    "PassCounter",
    "PassCounterGroup",
    "RowScaledOperator",
    "ScaledOperator",
    "Seeded",
    "ShardedOperator",
    "ShardedRows",
    "SortedEntries",
    "SparseOperator",
    "StoredTangent",
    "StreamedOperator",
    "SubsetOperator",
    "SymmetricOperator",
    "TransposedOperator",
    "UnstoredTangent",
    "as_operator",
    "can_be_batched",
    "check_operator",
    "how_it_was_read",
    "soft_weights",
]
