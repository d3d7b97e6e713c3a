"""Errors of an estimate with respect to a known true matrix and known outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import Factors, frobenius_norm
from robustrank.result import Result


def normalized_error(estimate: Factors, truth: Factors) -> float:
    """The relative error ‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F of an estimate, from the factors.

    No n1 × n2 matrix is formed. Both products lie in the spans of [U X] and [V Y], so the norms are
    those of small matrices and accurate to rounding even if the two products are almost equal.

    Parameters
    ----------
    estimate
        The factors (U, V), of shape (n1, r) and (n2, r).
    truth
        The factors (X, Y) of the true matrix, of shape (n1, s) and (n2, s).

    Raises
    ------
    ValueError
        If the true matrix is zero.

    See Also
    --------
    robustrank.metrics.evaluate : The error of a result, and the score of its outliers.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> X, Y = np.ones((4, 1)), np.ones((3, 1))
    >>> round(rr.metrics.normalized_error((1.5 * X, Y), (X, Y)), 12)
    0.5
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
    """Factors (X, Y) of the same product with XᵀX = YᵀY, the paper's convention.

    Parameters
    ----------
    left, right
        Factors of shape (n1, r) and (n2, r).

    Returns
    -------
    tuple of two arrays
        The balanced factors, of the same shapes.

    See Also
    --------
    robustrank.metrics.factor_distance : Balances the true factors.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> X, Y = rr.metrics.balance(np.full((4, 1), 9.0), np.ones((4, 1)))
    >>> bool(np.allclose(np.abs(X), 3)), bool(np.allclose(X @ Y.T, 9))
    (True, True)
    """
    xp = namespace(left, right)
    Q1, R1 = xp.linalg.qr(left)
    Q2, R2 = xp.linalg.qr(right)
    u, values, vt = xp.linalg.svd(R1 @ xp.matrix_transpose(R2), full_matrices=False)
    root = xp.sqrt(values)
    return Q1 @ (u * root), Q2 @ (xp.matrix_transpose(vt) * root)


def factor_distance(estimate: Factors, truth: Factors) -> float:
    """The distance of factors from the true ones, up to a rotation.

    It is dist(W, Z) = min_P ‖W − Z P‖_F over orthonormal P, with W = [U; V] and Z = [X; Y]. The
    true factors are balanced first, as the paper assumes. If the ranks differ, the thinner factors
    are padded with zeros.

    Parameters
    ----------
    estimate
        The factors (U, V), of shape (n1, r) and (n2, r).
    truth
        The factors (X, Y) of the true matrix, of shape (n1, s) and (n2, s).

    See Also
    --------
    robustrank.metrics.normalized_error : The relative error of the product.
    robustrank.metrics.balance : Balanced factors.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> X, Y = np.ones((4, 1)), np.ones((4, 1))
    >>> round(rr.metrics.factor_distance((-X, -Y), (X, Y)), 12)
    0.0
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
    """The agreement of flagged measurements with the true outliers, as counts.

    Attributes
    ----------
    found
        The number of outliers that are flagged.
    missed
        The number of outliers that are not flagged.
    false_positives
        The number of clean measurements that are flagged.

    See Also
    --------
    robustrank.metrics.score_outliers : Returns this score.

    Examples
    --------
    >>> import robustrank as rr
    >>> score = rr.metrics.OutlierScore(found=8, missed=2, false_positives=0)
    >>> score.recall, score.precision
    (0.8, 1.0)
    """

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
    """Compare flagged measurements with the true outliers.

    Parameters
    ----------
    flagged
        The measurements that were rejected, boolean of shape (m,).
    truth
        The true outliers, boolean of shape (m,).

    Returns
    -------
    OutlierScore
        How many are found, missed and flagged by mistake.

    See Also
    --------
    robustrank.metrics.evaluate : The score of a result, and its error.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> flagged, truth = np.array([True, True, False]), np.array([True, False, False])
    >>> rr.metrics.score_outliers(flagged, truth)
    OutlierScore(found=1, missed=0, false_positives=1)
    """
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
    """The known solution of a problem: any object with these attributes, as ``simulate.Planted``.

    See Also
    --------
    robustrank.metrics.evaluate : Compares a result with it.
    robustrank.simulate.Planted : A problem with its solution.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> class Known:
    ...     left, right = np.ones((4, 1)), np.ones((3, 1))
    ...     outliers = np.zeros(30, bool)
    >>> A = np.random.default_rng(1).standard_normal((30, 4, 3))
    >>> result = rr.recover(A, A.sum(axis=(1, 2)), rank=1)
    >>> rr.metrics.evaluate(result, Known()).error < 1e-9
    True
    """

    @property
    def left(self) -> Array:
        """The left factor X of the matrix, of shape (n1, r)."""

    @property
    def right(self) -> Array:
        """The right factor Y of the matrix, of shape (n2, r)."""

    @property
    def outliers(self) -> Array:
        """The corrupted measurements, boolean of shape (m,)."""


@dataclass(frozen=True)
class Evaluation:
    """The error of a result and the score of its outliers, given the true solution.

    Attributes
    ----------
    error
        ‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F, the relative error of the matrix.
    outliers
        The ``OutlierScore``.

    See Also
    --------
    robustrank.metrics.evaluate : Returns this evaluation.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2)
    >>> rr.metrics.evaluate(result, planted).outliers
    OutlierScore(found=20, missed=0, false_positives=0)
    """

    error: float  # ‖U Vᵀ − X Yᵀ‖_F / ‖X Yᵀ‖_F
    outliers: OutlierScore


def evaluate(recovery: Result, truth: Truth) -> Evaluation:
    """Compare a result with the true solution, in double precision.

    Parameters
    ----------
    recovery
        A result of ``recover``.
    truth
        The true solution, such as a ``simulate.Planted``.

    Returns
    -------
    Evaluation
        The relative error of the matrix, and the score of the outliers.

    See Also
    --------
    robustrank.simulate.plant : Problems with a known solution.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> evaluation = rr.metrics.evaluate(rr.recover(planted.A, planted.y, rank=2), planted)
    >>> evaluation.error < 1e-9, evaluation.outliers.recall
    (True, 1.0)
    """
    estimate = to_numpy(recovery.left).astype(float), to_numpy(recovery.right).astype(float)
    planted = to_numpy(truth.left).astype(float), to_numpy(truth.right).astype(float)
    return Evaluation(
        error=normalized_error(estimate, planted),
        outliers=score_outliers(recovery.outliers, truth.outliers),
    )
