"""A normal distribution fitted to rows with missing cells, by expectation–maximization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.tables.sources import Matrix

_SWEEPS, _TOLERANCE = 100, 1e-5


@dataclass(frozen=True, eq=False)
class Normal:
    """A mean and a covariance."""

    mean: Matrix
    covariance: Matrix

    @classmethod
    def standard(cls, table: Matrix) -> Normal:
        """Zero and the identity, for the columns of a table."""
        return cls(np.zeros(table.shape[1]), np.eye(table.shape[1]))

    def expected(self, table: Matrix) -> tuple[Matrix, Matrix]:
        """Each row with missing cells predicted, and the sum of the conditional covariances."""
        known = ~np.isnan(table)
        both = known[:, :, None] & known[:, None, :]
        identity = np.eye(table.shape[1])
        inverse = np.linalg.inv(np.where(both, self.covariance, identity)) * both
        gains = self.covariance @ inverse  # the identity for known cells
        centered = np.where(known, table - self.mean, 0.0)
        predicted = self.mean + np.einsum("ijk,ik->ij", gains, centered)
        remaining = len(table) * self.covariance - np.sum(gains @ self.covariance, axis=0)
        return np.where(known, table, predicted), remaining


def maximum_likelihood(table: Matrix, start: Normal) -> Normal:
    """The normal distribution with the largest likelihood of the known cells."""
    if not np.isnan(table).any():
        return Normal(table.mean(axis=0), np.cov(table.T, bias=True))
    now = start
    for _ in range(_SWEEPS):
        filled, remaining = now.expected(table)
        centered = filled - filled.mean(axis=0)
        covariance = (centered.T @ centered + remaining) / len(table)
        change = np.abs(covariance - now.covariance).max()
        now = Normal(filled.mean(axis=0), covariance)
        if change < _TOLERANCE * np.abs(covariance).max():
            break
    return now
