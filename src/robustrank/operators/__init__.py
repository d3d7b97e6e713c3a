"""How a matrix is measured: one file per family, one contract for all."""

from robustrank.operators.base import Operator, PassCounter
from robustrank.operators.checks import check_operator
from robustrank.operators.dense import DenseOperator
from robustrank.operators.scaled import ScaledOperator
from robustrank.operators.stacked import StackedOperator, can_be_stacked
from robustrank.operators.streamed import StreamedOperator
from robustrank.operators.tangent import Tangent, UnstoredTangent
from robustrank.operators.transposed import TransposedOperator
from robustrank.operators.wrap import as_operator

__all__ = [
    "DenseOperator",
    "Operator",
    "PassCounter",
    "ScaledOperator",
    "StackedOperator",
    "StreamedOperator",
    "Tangent",
    "TransposedOperator",
    "UnstoredTangent",
    "as_operator",
    "can_be_stacked",
    "check_operator",
]
