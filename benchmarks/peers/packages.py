"""Packages for robust PCA of a fully observed matrix, imported when they are used.

Each function returns one that estimates the low-rank part. The caller suppresses what is printed:
rpca prints even with ``verbose=False``.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.base import Array, Given, Solve


def pyrpca() -> Solve:
    """Principal component pursuit by an inexact augmented Lagrangian method (package pyrpca).

    The weight of the sparse part is the one of its README, 1/√max(n1, n2), and all else is default.
    """
    from pyrpca import rpca_pcp_ialm

    def solve(given: Given) -> Array:
        low_rank, _ = rpca_pcp_ialm(given.X, 1 / math.sqrt(max(given.X.shape)), verbose=False)
        return np.asarray(low_rank)

    return solve


def rpca() -> Solve:
    """A port of AccAltProj (package rpca), which is given the rank; all else is default.

    It subtracts the mean of every column first. The remaining low-rank part has rank r + 1, so this
    rank is given to it, and the means are added to its result.
    """
    from rpca import RobustPCA

    def solve(given: Given) -> Array:
        model = RobustPCA(n_components=given.rank + 1, verbose=False).fit(given.X)
        return np.asarray(model.low_rank_ + model.mean_)

    return solve


def tensorly() -> Solve:
    """``tensorly.decomposition.robust_pca``: a convex method for tensors, here with two dimensions.

    Its objective has the nuclear norm of every unfolding, for a matrix twice the same. With reg_E =
    2/√max(n1, n2) it is the objective of Candès et al. (2011); with the default, reg_E = 1, the low
    rank is not found. All else is default.
    """
    from tensorly.decomposition import robust_pca

    def solve(given: Given) -> Array:
        low_rank, _ = robust_pca(given.X, reg_E=2 / math.sqrt(max(given.X.shape)), verbose=0)
        return np.asarray(low_rank)

    return solve
