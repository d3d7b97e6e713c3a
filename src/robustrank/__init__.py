"""Recover a low-rank matrix from linear measurements, some of which are outliers.

>>> import robustrank as rr
>>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
>>> result = rr.recover(planted.A, planted.y, rank=2)
>>> result.status.name
'RECOVERED'
"""

from robustrank import metrics, operators, simulate, theory
from robustrank.api import Interrupted, recover, recover_many
from robustrank.backend import DeviceMemoryError, ReducedPrecisionWarning
from robustrank.problem import Problem, UndersampledWarning
from robustrank.result import Certificate, Recovery, Status, load
from robustrank.solvers import (
    Damping,
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Portfolio,
    Progress,
    RankEstimator,
    RankSchedule,
    Settling,
    TwoStage,
    VanillaGD,
    Weighting,
)

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Damping",
    "DeviceMemoryError",
    "GaussNewton",
    "Interrupted",
    "MedianTGD",
    "MessagePassing",
    "Portfolio",
    "Problem",
    "Progress",
    "RankEstimator",
    "RankSchedule",
    "Recovery",
    "ReducedPrecisionWarning",
    "Settling",
    "Status",
    "TwoStage",
    "UndersampledWarning",
    "VanillaGD",
    "Weighting",
    "load",
    "metrics",
    "operators",
    "recover",
    "recover_many",
    "simulate",
    "theory",
]
