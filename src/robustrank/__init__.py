"""Recover a low-rank matrix from linear measurements, some of which are outliers.

>>> import robustrank as rr
>>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
>>> result = rr.recover(planted.A, planted.y, rank=2)
>>> result.status.name
'RECOVERED'
"""

from robustrank import metrics, operators, simulate, theory
from robustrank.api import (
    Interrupted,
    InterruptedCompletion,
    SensingDataLost,
    complete,
    load,
    recover,
    recover_many,
    robust_pca,
    with_data,
)
from robustrank.backend import DeviceMemoryError, ReducedPrecisionWarning
from robustrank.completion import Completion, CompletionCertificate, CompletionProgress
from robustrank.planning import Plan, plan
from robustrank.problem import Problem, UndersampledWarning
from robustrank.result import (
    Certificate,
    NotCertifiedWarning,
    RankRow,
    RankTable,
    Recovery,
    Status,
)
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

__version__ = "0.2.0"

__all__ = [
    "Certificate",
    "Completion",
    "CompletionCertificate",
    "CompletionProgress",
    "Damping",
    "DeviceMemoryError",
    "GaussNewton",
    "Interrupted",
    "InterruptedCompletion",
    "MedianTGD",
    "MessagePassing",
    "NotCertifiedWarning",
    "Plan",
    "Portfolio",
    "Problem",
    "Progress",
    "RankEstimator",
    "RankRow",
    "RankSchedule",
    "RankTable",
    "Recovery",
    "ReducedPrecisionWarning",
    "SensingDataLost",
    "Settling",
    "Status",
    "TwoStage",
    "UndersampledWarning",
    "VanillaGD",
    "Weighting",
    "complete",
    "load",
    "metrics",
    "operators",
    "plan",
    "recover",
    "recover_many",
    "robust_pca",
    "simulate",
    "theory",
    "with_data",
]
