"""Planted covariances with wrong rows and cells that are hard to see in single columns.

Wrong rows are N(γ √p u / √(uᵀ Σ⁻¹ u), Σ), where u is the eigenvector of the smallest eigenvalue of
Σ: their center has the Mahalanobis distance γ √p. Structured wrong cells of a row, at the columns
K, are γ √|K| u_K / √(u_Kᵀ Σ_K⁻¹ u_K), with u_K of the covariance Σ_K of these columns; plain wrong
cells have the value γ. (Raymaekers & Rousseeuw, The cellwise minimum covariance determinant
estimator, 2024; Agostinelli, Leung, Yohai & Zamar, 2015, for the random correlations.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.rows import Row
from experiments.tables.filled import Filled
from experiments.tables.hiding import Mask, Random
from experiments.tables.measure import divergence, rounded
from experiments.tables.normal import Normal, maximum_likelihood
from experiments.tables.seeds import Seeded
from experiments.tables.sources import Matrix

_CONDITION = 100.0
# Wrong rows, wrong cells of the other rows, and whether these are structured.
CONTAMINATIONS = {
    "rows 10 %": (0.1, 0.0, False),
    "rows 20 %": (0.2, 0.0, False),
    "cells 10 %": (0.0, 0.1, False),
    "cells 20 %": (0.0, 0.2, False),
    "structured cells 10 %": (0.0, 0.1, True),
    "structured cells 20 %": (0.0, 0.2, True),
    "rows 10 % and structured cells 10 %": (0.1, 0.1, True),
}


@dataclass(frozen=True, eq=False)
class CovarianceProblem:
    """Normal rows with a known covariance, of which some rows or cells are wrong."""

    given: Matrix
    covariance: Matrix
    oracle: float  # the divergence of an estimate that knows the correct rows and cells

    def about(self) -> Row:
        """The divergence of the oracle."""
        return {"oracle": rounded(self.oracle)}

    def scored(self, filled: Filled) -> Row:
        """The divergence of the covariance of a method."""
        if filled.covariance is None:
            return {"failure": "the method does not estimate a covariance"}
        found = divergence(filled.covariance, self.covariance)
        return {"error": rounded(found)} if math.isfinite(found) else {"failure": "singular"}


@dataclass(frozen=True)
class CovarianceCell(Seeded):
    """Problems with one kind of covariance and contamination."""

    structure: str  # "A09" or "ALYZ"
    rows: int
    columns: int
    contamination: str
    missing: float
    gamma: float

    @property
    def key(self) -> str:
        """The setting as one line."""
        return (
            f"{self.structure} {self.rows}x{self.columns} {self.contamination}, "
            f"missing {self.missing:g}, gamma {self.gamma:g}"
        )

    def draw(self, trial: int) -> CovarianceProblem:
        """The problem of a trial."""
        return _drawn(self, trial)


@functools.lru_cache(maxsize=8)  # all methods of a trial need the same oracle
def _drawn(cell: CovarianceCell, trial: int) -> CovarianceProblem:
    rng = np.random.default_rng(cell.seed(trial))
    covariance = STRUCTURES[cell.structure](cell.columns, rng)
    shape, root = (cell.rows, cell.columns), np.linalg.cholesky(covariance)
    table = rng.standard_normal(shape) @ root.T
    row_share, cell_share, structured = CONTAMINATIONS[cell.contamination]
    rows = np.arange(cell.rows) < round(row_share * cell.rows)
    table[rows] += row_shift(covariance, cell.gamma)
    cells = (rng.random(shape) < cell_share) & ~rows[:, None]
    for row in np.flatnonzero(cells.any(axis=1)):
        hit = cells[row]
        table[row, hit] = (
            structured_cells(covariance, hit, cell.gamma) if structured else cell.gamma
        )
    missing = rng.random(shape) < cell.missing
    given = np.where(missing, np.nan, table)
    known = maximum_likelihood(np.where(cells, np.nan, given)[~rows], start=Normal.standard(table))
    return CovarianceProblem(given, covariance, divergence(known.covariance, covariance))


def row_shift(covariance: Matrix, gamma: float) -> Matrix:
    """The center of the wrong rows, at the Mahalanobis distance γ √p."""
    return structured_cells(covariance, np.ones(len(covariance), bool), gamma)


def structured_cells(covariance: Matrix, hit: Mask, gamma: float) -> Matrix:
    """The values of wrong cells, along the smallest eigenvector of their covariance."""
    values, vectors = np.linalg.eigh(covariance[np.ix_(hit, hit)])
    return np.asarray(gamma * math.sqrt(hit.sum() * values[0]) * vectors[:, 0])


def alternating(columns: int) -> Matrix:
    """(−0.9)^|i−j|."""
    distance = np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    return np.asarray((-0.9) ** distance)


def random_correlations(columns: int, rng: Random) -> Matrix:
    """A random correlation matrix with condition number 100."""
    values = np.sort(np.concatenate([[1.0, _CONDITION], rng.uniform(1, _CONDITION, columns - 2)]))
    vectors = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    for _ in range(1000):
        scatter = (vectors * values) @ vectors.T
        scale = np.sqrt(np.diag(scatter))
        correlations = scatter / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(correlations)
        if abs(values[-1] / values[0] / _CONDITION - 1) < 1e-3:
            break
        values[-1] = _CONDITION * values[0]
    return np.asarray(correlations)


STRUCTURES: dict[str, Callable[[int, Random], Matrix]] = {
    "A09": lambda columns, _: alternating(columns),
    "ALYZ": random_correlations,
}

# With 60 columns, 100 rows are too few even for the oracle, whose matrix is nearly singular.
SETTINGS = tuple(
    CovarianceCell(structure, rows, columns, contamination, missing, gamma)
    for structure in STRUCTURES
    for rows, columns in ((100, 20), (400, 20), (400, 60))
    for contamination in CONTAMINATIONS
    for missing in (0.0, 0.1)
    for gamma in (5.0, 10.0)
)
