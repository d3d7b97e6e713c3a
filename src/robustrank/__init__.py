"""Recover a low-rank matrix from linear measurements when some of them are garbage.

>>> import robustrank as rr
>>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
>>> result = rr.recover(planted.A, planted.y, rank=2)
>>> result.status.name
'RECOVERED'
"""

from robustrank import metrics, operators, simulate, theory
from robustrank.many import recover_many
from robustrank.problem import Problem, UndersampledWarning
from robustrank.recover import Interrupted, recover
from robustrank.result import Certificate, Recovery, Status, load
from robustrank.solvers import (
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Portfolio,
    Progress,
    RankSearch,
    VanillaGD,
)
from robustrank.trust import KeepAll, MedianTruncation

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "GaussNewton",
    "Interrupted",
    "KeepAll",
    "MedianTGD",
    "MedianTruncation",
    "MessagePassing",
    "Portfolio",
    "Problem",
    "Progress",
    "RankSearch",
    "Recovery",
    "Status",
    "UndersampledWarning",
    "VanillaGD",
    "load",
    "metrics",
    "operators",
    "recover",
    "recover_many",
    "simulate",
    "theory",
]
