"""What users call."""

from robustrank.api.complete import InterruptedCompletion, complete, robust_pca
from robustrank.api.error_bars import with_data
from robustrank.api.inputs import SOLVERS, Interrupted, SensingDataLost
from robustrank.api.loading import load
from robustrank.api.many import recover_many
from robustrank.api.single import recover

__all__ = [
    "SOLVERS",
    "Interrupted",
    "InterruptedCompletion",
    "SensingDataLost",
    "complete",
    "load",
    "recover",
    "recover_many",
    "robust_pca",
    "with_data",
]
