"""New rows of a completed matrix, from those of their entries that can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.estimators.centering import decided_rows
from robustrank.result import Result

Vector = np.ndarray[Any, Any]

# The prior is wider than the distribution of the rows by this share of their second moments, so
# that a row may also differ from the others where they are all alike.
_WIDER = 0.01
# An entry of a row of which no majority agrees is used if it is at most four standard deviations
# from what is typical of its column.
_PLAUSIBLE = 4.0
# The least noise that is assumed, in units of a typical entry: of rows that their entries
# determine, and of others, which need the prior.
_LEAST_NOISE, _LEAST_NOISE_UNDECIDED = 1e-8, 1e-5


@dataclass(frozen=True, eq=False)
class NewRows:
    """The rows ``left`` times the transpose of ``right``, NumPy.

    ``outliers`` marks the rejected entries, and ``undecided`` the rows that have too few trusted
    entries; these are estimated from what is plausible.
    """

    left: Vector
    outliers: Vector
    undecided: Vector


@dataclass(frozen=True, eq=False)
class RowModel:
    """The distribution of the rows of a completed matrix: normal, in the space of its rows.

    New rows are estimated by their mean given the trusted entries. With many entries this is least
    squares; with few of them, or much noise, it is close to the mean of the rows.
    """

    completion: Result
    right: Vector
    mean: Vector  # of the rows of the left factor
    covariance: Vector

    @staticmethod
    def of(completion: Result) -> RowModel:
        """The distribution of the rows that are decided, or of all if none is."""
        rows = to_numpy(decided_rows(completion)).astype(float)
        mean = rows.mean(axis=0)
        moments = rows.T @ rows / len(rows)
        covariance = moments - np.outer(mean, mean) + _WIDER * moments
        return RowModel(completion, to_numpy(completion.right).astype(float), mean, covariance)

    def fit(self, X: Vector) -> NewRows:
        """The rows of X, in which NaN marks missing entries; none depends on the others."""
        fitted = self.completion.fit_rows(X)
        outliers = to_numpy(fitted.outliers).copy()
        undecided = np.zeros(len(X), bool)
        undecided[fitted.undecided] = True
        outliers[undecided] = self._implausible(X[undecided])
        used = ~np.isnan(X) & ~outliers
        return NewRows(self._posterior_mean(X, used, undecided), outliers, undecided)

    def _implausible(self, X: Vector) -> Vector:
        """Which entries are far from what is typical of their columns."""
        variances = np.sum((self.right @ self.covariance) * self.right, axis=1)
        spread = np.sqrt(np.maximum(variances, 0) + self.completion.noise**2)
        flags: Vector = np.abs(X - self.right @ self.mean) > _PLAUSIBLE * spread
        return flags

    def _posterior_mean(self, X: Vector, used: Vector, undecided: Vector) -> Vector:
        """The mean of the rows of the left factor, given the used entries of X."""
        rank, typical = self.right.shape[1], self.completion.typical_size
        least = np.where(undecided, _LEAST_NOISE_UNDECIDED, _LEAST_NOISE)
        noise = np.maximum(self.completion.noise / typical, least)
        # In coordinates in which the prior is standard normal, no matrix is singular.
        root = _square_root(self.covariance)
        right = self.right @ root / typical
        squares = (right[:, :, None] * right[:, None, :]).reshape(len(right), rank**2)
        normal = (used @ squares).reshape(len(X), rank, rank)
        rounding = 4 * np.finfo(float).eps * np.trace(normal, axis1=1, axis2=2)
        normal += np.maximum(noise**2, rounding)[:, None, None] * np.eye(rank)
        values = np.where(used, X - self.right @ self.mean, 0.0) / typical @ right
        return np.asarray(self.mean + np.linalg.solve(normal, values[..., None])[..., 0] @ root.T)


def _square_root(covariance: Vector) -> Vector:
    """A matrix whose product with its transpose is the covariance."""
    # Scaled, so that factors of different sizes do no harm.
    size = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    return np.asarray(size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))
