"""Other methods for robust PCA and robust matrix completion.

The packages are imported only when they are used; the extra ``bench`` installs them. The
transcriptions are our own code for published methods; their parameters are those of the authors'
published code, with the deviations that their docstrings name.
"""

from __future__ import annotations

from benchmarks.peers import packages
from benchmarks.peers.accaltproj import accaltproj
from benchmarks.peers.base import Array, Given, Peer, Solve
from benchmarks.peers.rgnmr import rgnmr

__all__ = ["FULL_MATRIX", "SAMPLED_ENTRIES", "Given", "Peer"]


def _accaltproj(tolerance: float) -> Solve:
    return lambda given: accaltproj(given.X, given.rank, tolerance=tolerance)


def _rgnmr(given: Given) -> Array:
    left, right = rgnmr(given.entries, given.X.shape, given.rank, given.outliers)
    product: Array = left @ right.T
    return product


FULL_MATRIX = (
    Peer("pyrpca", "weight 1/√n as in its README", packages.pyrpca, "pyrpca"),
    Peer("rpca", "rank r + 1 given, as it centers the columns", packages.rpca, "rpca"),
    Peer("TensorLy", "weight reg_E = 2/√n", packages.tensorly, "tensorly"),
    Peer("AccAltProj", "rank given, tolerance 1e-5", lambda: _accaltproj(1e-5)),
    Peer("AccAltProj, accurate", "rank given, tolerance 1e-12", lambda: _accaltproj(1e-12)),
)
SAMPLED_ENTRIES = (Peer("RGNMR", "rank and number of outliers given", lambda: _rgnmr),)
