"""Errors of an estimate with respect to a known true matrix and known outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import Factors, frobenius_norm
from robustrank.result import Recovery


def normalized_error(estimate: Factors, truth: Factors) -> float:
    """‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F, from thin factors: no n1 × n2 matrix is formed.

    Both products lie in the spans of [U X] and [V Y], so the norms are those of small matrices and
    accurate to rounding even if the two products are almost equal.
    """
    (U, V), (X, Y) = estimate, truth
    xp = namespace(U, V, X, Y)
    _, left = xp.linalg.qr(xp.concat([U, X], axis=1))
    _, right = xp.linalg.qr(xp.concat([V, Y], axis=1))
    r = U.shape[1]
    true_part = left[:, r:] @ xp.matrix_transpose(right[:, r:])
    difference = left[:, :r] @ xp.matrix_transpose(right[:, :r]) - true_part
    size = float(frobenius_norm(true_part))
    if size == 0:
        raise ValueError("the true matrix is zero, so the relative error is undefined")
    return float(frobenius_norm(difference)) / size


def balance(left: Array, right: Array) -> Factors:
    """Factors (X, Y) of the same product with XᵀX = YᵀY, the paper's convention."""
    xp = namespace(left, right)
    Q1, R1 = xp.linalg.qr(left)
    Q2, R2 = xp.linalg.qr(right)
    u, values, vt = xp.linalg.svd(R1 @ xp.matrix_transpose(R2), full_matrices=False)
    root = xp.sqrt(values)
    return Q1 @ (u * root), Q2 @ (xp.matrix_transpose(vt) * root)


def factor_distance(estimate: Factors, truth: Factors) -> float:
    """dist(W, Z) = min_P ‖W − Z P‖_F over orthonormal P, with W = [U; V] and Z = [X; Y] balanced.

    The true factors are balanced first, as the paper assumes. If the ranks differ, the thinner
    factors are padded with zeros.
    """
    xp = namespace(*estimate, *truth)
    W = xp.concat(list(estimate), axis=0)
    Z = xp.concat(list(balance(*truth)), axis=0)
    width = max(W.shape[1], Z.shape[1])
    W, Z = _pad(W, width), _pad(Z, width)
    u, _, vt = xp.linalg.svd(xp.matrix_transpose(Z) @ W, full_matrices=False)
    return float(frobenius_norm(W - Z @ (u @ vt)))


def _pad(matrix: Array, width: int) -> Array:
    xp = namespace(matrix)
    missing = width - matrix.shape[1]
    return xp.concat([matrix, xp.zeros((matrix.shape[0], missing), **like(matrix))], axis=1)


@dataclass(frozen=True)
class OutlierScore:
    """The agreement of flagged measurements with the true outliers, as counts."""

    found: int  # outliers that are flagged
    missed: int  # outliers that are not flagged
    false_positives: int  # clean measurements that are flagged

    @property
    def precision(self) -> float:
        """The fraction of flagged measurements that are outliers; 1 if none is flagged."""
        flagged = self.found + self.false_positives
        return self.found / flagged if flagged else 1.0

    @property
    def recall(self) -> float:
        """The fraction of outliers that are flagged; 1 if there are no outliers."""
        outliers = self.found + self.missed
        return self.found / outliers if outliers else 1.0


def score_outliers(flagged: Array, truth: Array) -> OutlierScore:
    """Compare flagged measurements with the true outliers, both boolean of shape (m,)."""
    marked: np.ndarray[Any, Any] = to_numpy(flagged).astype(bool)
    corrupted: np.ndarray[Any, Any] = to_numpy(truth).astype(bool)
    if marked.shape != corrupted.shape:
        raise ValueError(
            f"flagged has shape {marked.shape} and truth has shape {corrupted.shape}; expected the "
            "same shape"
        )
    return OutlierScore(
        found=int(np.sum(marked & corrupted)),
        missed=int(np.sum(~marked & corrupted)),
        false_positives=int(np.sum(marked & ~corrupted)),
    )


class Truth(Protocol):
    """The known solution of a problem, for example a ``simulate.Planted``."""

    @property
    def left(self) -> Array:
        """X, n1 × r."""

    @property
    def right(self) -> Array:
        """Y, n2 × r."""

    @property
    def outliers(self) -> Array:
        """(m,) boolean: the corrupted measurements."""


@dataclass(frozen=True)
class Evaluation:
    """The error of a recovery and the score of its outliers, given the true solution."""

    error: float  # ‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F
    outliers: OutlierScore


def evaluate(recovery: Recovery, truth: Truth) -> Evaluation:
    """Compare a recovery with the true solution, in double precision."""
    estimate = to_numpy(recovery.left).astype(float), to_numpy(recovery.right).astype(float)
    planted = to_numpy(truth.left).astype(float), to_numpy(truth.right).astype(float)
    return Evaluation(
        error=normalized_error(estimate, planted),
        outliers=score_outliers(recovery.outliers, truth.outliers),
    )
