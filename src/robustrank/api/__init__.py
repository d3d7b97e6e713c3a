"""What users call."""

from robustrank.api.complete import complete, robust_pca
from robustrank.api.error_bars import with_data
from robustrank.api.inputs import SOLVERS
from robustrank.api.loading import load
from robustrank.api.many import recover_many
from robustrank.api.recover import recover
from robustrank.api.running import Interrupted, SensingDataLost

__all__ = [
    "SOLVERS",
    "Interrupted",
    "SensingDataLost",
    "complete",
    "load",
    "recover",
    "recover_many",
    "robust_pca",
    "with_data",
]
