"""What users call."""

from robustrank.api.complete import InterruptedCompletion, complete, robust_pca
from robustrank.api.inputs import SOLVERS, Interrupted
from robustrank.api.many import recover_many
from robustrank.api.single import recover

__all__ = [
    "SOLVERS",
    "Interrupted",
    "InterruptedCompletion",
    "complete",
    "recover",
    "recover_many",
    "robust_pca",
]
