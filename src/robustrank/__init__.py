"""Recover a low-rank matrix from linear measurements, some of which are outliers.

>>> import robustrank as rr
>>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
>>> result = rr.recover(planted.A, planted.y, rank=2)
>>> result.status.name
'RECOVERED'
"""

from robustrank import metrics, operators, plot, simulate, solvers, theory
from robustrank.api import (
    Interrupted,
    SensingDataLost,
    clean,
    complete,
    load,
    recover,
    recover_many,
    robust_pca,
    with_data,
)
from robustrank.backend import DeviceMemoryError, ReducedPrecisionWarning
from robustrank.noise import NoiseModel
from robustrank.planning import plan
from robustrank.problem import UndersampledWarning
from robustrank.result import (
    Certificate,
    NotCertifiedWarning,
    RankTable,
    Result,
    Status,
    StopReason,
)
from robustrank.run import Progress

__version__ = "0.2.0"

__all__ = [
    "Certificate",
    "DeviceMemoryError",
    "Interrupted",
    "NoiseModel",
    "NotCertifiedWarning",
    "Progress",
    "RankTable",
    "ReducedPrecisionWarning",
    "Result",
    "SensingDataLost",
    "Status",
    "StopReason",
    "UndersampledWarning",
    "clean",
    "complete",
    "load",
    "metrics",
    "operators",
    "plan",
    "plot",
    "recover",
    "recover_many",
    "robust_pca",
    "simulate",
    "solvers",
    "theory",
    "with_data",
]
