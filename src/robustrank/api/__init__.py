"""What users call."""

from robustrank.api.clean import clean
from robustrank.api.complete import complete, robust_pca
from robustrank.api.many import recover_many
from robustrank.api.recover import recover
from robustrank.api.running import SOLVERS, Interrupted, SensingDataLost
from robustrank.api.saved import load, with_data

__all__ = [
    "SOLVERS",
    "Interrupted",
    "SensingDataLost",
    "clean",
    "complete",
    "load",
    "recover",
    "recover_many",
    "robust_pca",
    "with_data",
]
