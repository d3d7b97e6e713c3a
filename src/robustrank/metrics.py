"""How far an estimate is from a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import frobenius_norm
from robustrank.result import Recovery

Factors = tuple[Array, Array]


def normalized_error(estimate: Factors, truth: Factors) -> float:
    """‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F, from thin factors: no n1 × n2 matrix is formed.

    Both products live in the span of the batched factors [U X] and [V Y], so the norms are those of
    small matrices, exact down to rounding even when the two products nearly agree.
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
        raise ValueError("the true matrix is zero: a relative error has no meaning")
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

    The truth is balanced first, as the paper assumes; factors of unequal rank are padded with
    zeros.
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
    """How well flagged measurements match the true outliers."""

    found: int  # outliers that were flagged
    missed: int  # outliers that were not
    false_positives: int  # clean measurements that were flagged

    @property
    def precision(self) -> float:
        """The share of flagged measurements that are outliers; 1 where none was flagged."""
        flagged = self.found + self.false_positives
        return self.found / flagged if flagged else 1.0

    @property
    def recall(self) -> float:
        """The share of outliers that were flagged; 1 where there is none."""
        outliers = self.found + self.missed
        return self.found / outliers if outliers else 1.0


def score_outliers(flagged: Array, truth: Array) -> OutlierScore:
    """Compare flagged measurements with the true outliers, both boolean of shape (m,)."""
    said: np.ndarray[Any, Any] = to_numpy(flagged).astype(bool)
    real: np.ndarray[Any, Any] = to_numpy(truth).astype(bool)
    if said.shape != real.shape:
        raise ValueError(
            f"flagged has shape {said.shape}, truth has {real.shape}; expected the same"
        )
    return OutlierScore(
        found=int(np.sum(said & real)),
        missed=int(np.sum(~said & real)),
        false_positives=int(np.sum(said & ~real)),
    )


class Truth(Protocol):
    """The answer of a planted problem; ``simulate.Planted`` is one."""

    @property
    def left(self) -> Array:
        """X, n1 × r."""

    @property
    def right(self) -> Array:
        """Y, n2 × r."""

    @property
    def outliers(self) -> Array:
        """(m,) boolean: the measurements that were corrupted."""


@dataclass(frozen=True)
class Evaluation:
    """How far a recovery is from the truth."""

    error: float  # ‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F
    outliers: OutlierScore


def evaluate(recovery: Recovery, truth: Truth) -> Evaluation:
    """Compare a recovery with the planted answer, in double precision."""
    estimate = to_numpy(recovery.left).astype(float), to_numpy(recovery.right).astype(float)
    planted = to_numpy(truth.left).astype(float), to_numpy(truth.right).astype(float)
    return Evaluation(
        error=normalized_error(estimate, planted),
        outliers=score_outliers(recovery.outliers, truth.outliers),
    )
