"""Planted tables with an oracle that knows which cells are correct: low rank, and correlated.

The error is that of the predictions: of the missing and wrong cells of correct rows, relative to
the size of the true values there. A wrong cell that is near its true value cannot be recognized, so
that the prediction counts, if a method says it, and not whether it replaced the cell. That of the
oracle is measured at the same cells.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from experiments.rows import Row
from experiments.tables.corruption import CELLS, ROWS, Original
from experiments.tables.filled import Filled
from experiments.tables.hiding import Mask, Random
from experiments.tables.measure import counts, finite, rms, rounded
from experiments.tables.normal import Normal, maximum_likelihood
from experiments.tables.seeds import Seeded
from experiments.tables.sources import Matrix

_SWEEPS, _TOLERANCE = 2000, 1e-13
EXACT, WITHIN = 1e-5, 1.5  # success: a relative error, or a multiple of the error of the oracle


@dataclass(frozen=True, eq=False)
class PlantedProblem:
    """A table with missing cells, wrong cells and wrong rows, and the truth."""

    truth: Matrix
    given: Matrix
    rows: Mask  # wrong
    cells: Mask  # wrong
    oracle: Matrix  # predictions that know the correct cells
    exact: bool

    @property
    def predicted(self) -> Mask:
        """The cells that must be predicted."""
        return np.asarray((np.isnan(self.given) | self.cells) & ~self.rows[:, None])

    def about(self) -> Row:
        """The error of the oracle."""
        return {"oracle": rounded(self.error(self.oracle))}

    def error(self, values: Matrix) -> float:
        """The relative error at the cells that must be predicted."""
        chosen = self.predicted
        return rms((values - self.truth)[chosen]) / rms(self.truth[chosen])

    def scored(self, filled: Filled) -> Row:
        """The error, whether it is a success, whether that was claimed, and what was flagged."""
        if not finite(filled.values, self.truth.shape):
            return {"failure": "the values are not finite or have another shape"}
        predicted = filled.values if filled.expected is None else filled.expected
        error, oracle = self.error(predicted), self.error(self.oracle)
        success = error <= EXACT if self.exact else error <= WITHIN * oracle
        row: Row = {"error": rounded(error), "success": success}
        if filled.claimed is not None:
            row["claimed"] = filled.claimed
        if filled.outliers is not None:
            correct = ~np.isnan(self.given) & ~self.rows[:, None]
            row["cells"] = counts(filled.outliers, self.cells, correct)
        if filled.row_outliers is not None:
            row["rows"] = counts(filled.row_outliers, self.rows, np.ones_like(self.rows))
        return row


@dataclass(frozen=True)
class LowRankCell(Seeded):
    """Rank 3 with wrong rows and cells; cells are shifted far in even trials, else in range."""

    noise: float  # relative to the standard deviation of the table
    wrong_rows: float
    kind: str  # of the wrong rows
    shape: tuple[int, int] = (200, 100)
    wrong_cells: float = 0.1
    rank: int = 3

    @property
    def key(self) -> str:
        """The setting as one line."""
        n, p = self.shape
        rows = f"{self.wrong_rows:g} of rows {self.kind}"
        return f"{n}x{p} r={self.rank} noise {self.noise:g}, {rows}, {self.wrong_cells:g} of cells"

    def draw(self, trial: int) -> PlantedProblem:
        """The problem of a trial."""
        return _low_rank(self, trial)


@dataclass(frozen=True)
class SpikesCell(Seeded):
    """128 × 256, rank 3, one percent of spikes, noise 0.005."""

    key: str = "128x256 r=3 noise 0.005, 0.01 of cells spikes"

    def draw(self, trial: int) -> PlantedProblem:
        """The problem of a trial."""
        return _spikes(self, trial)


@dataclass(frozen=True)
class CorrelatedCell(Seeded):
    """50 × 10 normal values with correlation 0.9, 10 % missing, 5 % too large, 5 % too small."""

    key: str = "50x10 correlation 0.9, 0.1 missing, 0.05 of cells +10, 0.05 -10"

    def draw(self, trial: int) -> PlantedProblem:
        """The problem of a trial."""
        return _correlated(self, trial)


@functools.lru_cache(maxsize=8)  # all methods of a trial need the same oracle
def _low_rank(cell: LowRankCell, trial: int) -> PlantedProblem:
    rng = np.random.default_rng(cell.seed(trial))
    low = _factors(cell.shape, cell.rank, rng)
    noisy = low + cell.noise * low.std() * rng.standard_normal(cell.shape)
    rows = np.arange(cell.shape[0]) < round(cell.wrong_rows * cell.shape[0])
    cells = (rng.random(cell.shape) < cell.wrong_cells) & ~rows[:, None]
    original = Original(noisy, rows, rng)
    far, near = CELLS["far cells"]["shifted"], CELLS["cells in range"]["drawn"]
    given = np.where(cells, (far, near)[trial % 2](original), noisy)
    given = np.where(rows[:, None], ROWS["rows"][cell.kind](original), given)
    oracle = least_squares(noisy, ~cells & ~rows[:, None], cell.rank)
    return PlantedProblem(low, given, rows, cells & (given != noisy), oracle, cell.noise == 0)


@functools.lru_cache(maxsize=8)
def _spikes(cell: SpikesCell, trial: int) -> PlantedProblem:
    rng = np.random.default_rng(cell.seed(trial))
    low = _factors((128, 256), 3, rng)
    noisy = low + 0.005 * low.std() * rng.standard_normal(low.shape)
    cells = np.asarray(rng.random(low.shape) < 0.01)
    spikes = rng.uniform(2, 5, low.shape) * low.std() * rng.choice([-1.0, 1.0], low.shape)
    oracle = least_squares(noisy, ~cells, 3)
    given = np.where(cells, noisy + spikes, noisy)
    return PlantedProblem(low, given, np.zeros(len(low), bool), cells, oracle, False)


@functools.lru_cache(maxsize=8)
def _correlated(cell: CorrelatedCell, trial: int) -> PlantedProblem:
    rng = np.random.default_rng(cell.seed(trial))
    n, p = 50, 10
    root = np.linalg.cholesky(0.9 * np.ones((p, p)) + 0.1 * np.eye(p))
    truth = rng.standard_normal((n, p)) @ root.T
    order = rng.permutation(n * p).reshape(n, p)
    missing, high, low = order < 50, (order >= 50) & (order < 75), (order >= 75) & (order < 100)
    given = np.where(missing, np.nan, truth + 10.0 * high - 10.0 * low)
    known = np.where(high | low, np.nan, given)
    oracle = maximum_likelihood(known, Normal.standard(known)).expected(known)[0]
    return PlantedProblem(truth, given, np.zeros(n, bool), high | low, oracle, False)


def _factors(shape: tuple[int, int], rank: int, rng: Random) -> Matrix:
    left, right = (rng.standard_normal((size, rank)) for size in shape)
    return np.asarray(left @ right.T)


def least_squares(table: Matrix, correct: Mask, rank: int) -> Matrix:
    """The matrix of a rank that fits the correct cells best, by alternating least squares."""
    left, right = (np.zeros((size, rank)) for size in table.shape)
    right[:] = np.linalg.svd(np.where(correct, table, 0.0), full_matrices=False)[2][:rank].T
    last = math.inf
    for _ in range(_SWEEPS):
        left = _solved(table, correct, right)
        right = _solved(table.T, correct.T, left)
        misfit = float(np.linalg.norm((left @ right.T - table)[correct]))
        if last - misfit <= _TOLERANCE * np.linalg.norm(table[correct]):
            break
        last = misfit
    return np.asarray(left @ right.T)


def _solved(table: Matrix, correct: Mask, factor: Matrix) -> Matrix:
    """The other factor; rows without a correct cell are zero."""
    gram = np.einsum("ij,jr,jq->irq", correct, factor, factor, optimize=True)
    gram[~correct.any(axis=1)] = np.eye(factor.shape[1])
    right = np.where(correct, table, 0.0) @ factor
    return np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0])


# Copies of one row are of low rank themselves, so they are not among the wrong rows.
LOW_RANK = tuple(
    LowRankCell(noise, share, kind)
    for noise in (0.0, 0.02)
    for share in (0.1, 0.3)
    for kind in ("cluster", "scattered")
)
SMALL = (CorrelatedCell(), SpikesCell())
