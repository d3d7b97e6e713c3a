"""How often intervals contain the truth, and what probabilities of outliers are worth."""

from __future__ import annotations

import hashlib
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.completion_trial import identity
from experiments.definition import DEFAULT, Method, Procedure, Study
from experiments.rows import Row
from robustrank.api import complete, recover
from robustrank.result import Result
from robustrank.simulate import plant, plant_entries
from robustrank.theory import degrees_of_freedom

LEVELS = (0.9, 0.95)
BINS = 10  # of the probability of being an outlier
_NOISE = 0.05  # relative to a typical inlier
_RANK = 2
_SHAPES = {"dense": (30, 24), "entries": (80, 60)}
_RATIOS = {"dense": (2.0, 3.0, 6.0), "entries": (3.0, 6.0)}
_OUTLIERS = ((0.0, "huge"), *itertools.product((0.1, 0.3), ("huge", "scale", "offset")))
NOISES = ("normal", "uniform", "t3")

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CoverageCell:
    """Noisy problems that differ only in their random numbers."""

    family: str
    ratio: float  # measurements over degrees of freedom
    outliers: float
    model: str
    noise: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        n1, n2 = _SHAPES[self.family]
        outliers = f"{self.model} {self.outliers:g}" if self.outliers else "no outliers"
        return f"{self.family} {n1}x{n2} r={_RANK} ratio={self.ratio:g} {outliers} {self.noise}"

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        digest = hashlib.blake2b(f"{self.key} #{trial}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


def run_coverage(cell: CoverageCell, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    shape = _SHAPES[cell.family]
    m = round(cell.ratio * degrees_of_freedom(*shape, _RANK))
    setting: dict[str, Any] = {
        "outliers": cell.outliers,
        "outlier_model": cell.model,
        "rng": cell.seed(trial),
    }
    rng = np.random.default_rng([cell.seed(trial), 1])
    result: Result | Result
    if cell.family == "dense":
        planted = plant(*shape, _RANK, m, **setting)
        y = planted.y + _noise(cell.noise, planted.y[~planted.outliers], m, rng)
        began = time.perf_counter()
        result = recover(planted.A, y, _RANK)
        truth, outliers = planted.left @ planted.right.T, planted.outliers
    else:
        sampled = plant_entries(*shape, _RANK, m, **setting)
        values = sampled.values + _noise(cell.noise, sampled.values[~sampled.outliers], m, rng)
        began = time.perf_counter()
        result = complete((sampled.rows, sampled.columns, values), _RANK, shape=shape)
        truth, outliers = sampled.left @ sampled.right.T, sampled.outliers
    seconds = time.perf_counter() - began
    row = identity(cell, trial, method) | {"status": result.status.name}
    return row | (_accuracy(result, truth, outliers) if result.certified else {}), seconds


def _noise(kind: str, clean: Vector, count: int, rng: np.random.Generator) -> Vector:
    """Noise of 5 % of the standard deviation of the inliers; of t3, of its scale parameter."""
    if kind == "normal":
        drawn = rng.standard_normal(count)
    elif kind == "uniform":
        drawn = rng.uniform(-np.sqrt(3), np.sqrt(3), count)
    else:
        drawn = rng.standard_t(3, count)
    return np.asarray(_NOISE * np.std(clean) * drawn)


def _accuracy(result: Result | Result, truth: Vector, outliers: Vector) -> Row:
    rows, columns = np.indices(truth.shape)
    inside = {}
    for level in LEVELS:
        low, high = result.interval(rows, columns, level=level)
        inside[f"{level:g}"] = float(f"{np.mean((low <= truth) & (truth <= high)):.4g}")
    probability = result.outlier_probability
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return {
        "inside": inside,
        "measurements": np.bincount(bins, minlength=BINS).tolist(),
        "expected": [
            float(f"{total:.6g}") for total in np.bincount(bins, probability, minlength=BINS)
        ],
        "outliers": np.bincount(bins, outliers, minlength=BINS).astype(int).tolist(),
    }


def coverage(quick: bool = False) -> Study[CoverageCell]:
    """Coverage of intervals at two levels, and reliability of the probabilities of outliers."""
    cells = tuple(
        CoverageCell(family, ratio, *outliers, noise)
        for family, ratios in _RATIOS.items()
        for ratio in ratios
        for outliers in _OUTLIERS
        for noise in NOISES
        if not quick or (ratio == max(ratios) and outliers[1] == "huge" and noise == "normal")
    )
    return Study(
        "coverage",
        "coverage of intervals",
        cells,
        (DEFAULT,),
        trials=2 if quick else 10,
        figure="coverage",
        procedure=Procedure(run=run_coverage),
    )
