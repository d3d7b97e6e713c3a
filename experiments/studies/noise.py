"""Noise of unequal size: is it recognized, certified, and is the result as good as it can be?"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.completion_trial import identity
from experiments.definition import DEFAULT, Method, Procedure, Study
from experiments.rows import Row
from experiments.weighted_oracle import Measured, least_squares
from robustrank.api import complete, recover
from robustrank.result import Result
from robustrank.simulate import plant, plant_entries
from robustrank.theory import degrees_of_freedom

LEVEL, BINS = 0.95, 10
_NOISE, _RANK = 0.02, 3
_SHAPES = {"dense": (60, 50), "entries": (100, 80)}
_RATIOS = {"dense": 3.0, "entries": 6.0}
OUTLIERS = ((0.0, "none"), *itertools.product((0.1, 0.2), ("huge", "scale", "offset")))
_GROUPS = 20  # of measurements, whose levels differ by a factor of ten

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Drawn:
    """Clean measurements before their noise is added."""

    clean: Vector
    typical: float  # standard deviation
    row: Vector  # the row of an entry, or the group of another measurement
    column: Vector
    rng: np.random.Generator

    def levels(self, groups: Vector, ratio: float = 10.0) -> Vector:
        """A size for each measurement that depends on its group only."""
        exponents = self.rng.uniform(-0.5, 0.5, int(groups.max()) + 1)
        return np.asarray(ratio ** exponents[groups])


def _rounded(drawn: Drawn) -> Vector:
    """The standard deviation of the rounding to two significant digits."""
    digits = np.floor(np.log10(np.abs(drawn.clean)))
    return np.asarray(10 ** (digits - 1) / np.sqrt(12))


# The standard deviation of the noise of each measurement.
NOISES: dict[str, Callable[[Drawn], Vector]] = {
    "equal": lambda drawn: np.full(len(drawn.clean), _NOISE * drawn.typical),
    "signal": lambda drawn: _NOISE * np.abs(drawn.clean),
    "instrument": lambda drawn: np.hypot(0.005 * drawn.typical, _NOISE * drawn.clean),
    "counts": lambda drawn: np.sqrt(
        (0.005 * drawn.typical) ** 2 + _NOISE**2 * drawn.typical * np.abs(drawn.clean)
    ),
    "groups": lambda drawn: _NOISE * drawn.typical * drawn.levels(drawn.row),
    "columns": lambda drawn: _NOISE * drawn.typical * drawn.levels(drawn.column),
    "known": lambda drawn: _NOISE * drawn.typical * 10 ** drawn.rng.uniform(-1, 1, len(drawn.row)),
    "digits": _rounded,
}
KINDS = {
    "dense": ("equal", "signal", "instrument", "counts", "groups", "known", "digits"),
    "entries": ("equal", "signal", "instrument", "counts", "groups", "columns", "known", "digits"),
}


@dataclass(frozen=True)
class NoiseCell:
    """Problems with one kind of noise that differ only in their random numbers."""

    family: str
    noise: str
    outliers: float
    model: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        n1, n2 = _SHAPES[self.family]
        outliers = f"{self.model} {self.outliers:g}" if self.outliers else "no outliers"
        return f"{self.family} {n1}x{n2} r={_RANK} {self.noise} {outliers}"

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        digest = hashlib.blake2b(f"{self.key} #{trial}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, eq=False)
class NoisyProblem:
    """Measurements of a matrix of which the size of the noise and the outliers are known."""

    left: Vector
    right: Vector
    measured: Measured
    wrong: Vector  # boolean
    options: dict[str, Any]  # for ``recover`` or ``complete``

    @property
    def truth(self) -> Vector:
        """The matrix."""
        return np.asarray(self.left @ self.right.T)

    def solve(self, **options: Any) -> Result:
        """The result of the library, which is not told the rank."""
        measured, given = self.measured, self.options | options
        if measured.A is not None:
            return recover(measured.A, measured.y, **given)
        triples = measured.rows, measured.columns, measured.y
        return complete(triples, shape=self.truth.shape, **given)

    def oracle(self) -> float:
        """The error of least squares that knows the inliers and the sizes of their noise."""
        return self.error(least_squares(self.measured.chosen(~self.wrong), self.left.shape[1]))

    def error(self, matrix: Vector) -> float:
        """The error of a matrix relative to the norm of the true one."""
        return float(np.linalg.norm(matrix - self.truth) / np.linalg.norm(self.truth))


def drawn(family: str, noise: str, outliers: float, model: str, seed: int) -> NoisyProblem:
    """A problem with a kind of noise and a share of outliers of one kind."""
    shape = _SHAPES[family]
    m = round(_RATIOS[family] * degrees_of_freedom(*shape, _RANK))
    rng = np.random.default_rng([seed, 1])
    planted: Any
    if family == "dense":
        planted = plant(*shape, _RANK, m, rng=seed)
        clean, row, column, A = planted.y, np.arange(m) % _GROUPS, np.zeros(m, int), planted.A
    else:
        planted = plant_entries(*shape, _RANK, m, rng=seed)
        clean, row, column, A = planted.values, planted.rows, planted.columns, None
    typical = float(np.std(clean))
    sizes = NOISES[noise](Drawn(clean, typical, row, column, rng))
    if noise == "digits":
        step = sizes * np.sqrt(12)
        y = step * np.round(clean / step)
    else:
        y = clean + sizes * rng.standard_normal(m)
    wrong = np.zeros(m, bool)
    wrong[rng.choice(m, round(outliers * m), replace=False)] = True
    y = np.where(wrong, _corrupted(model, y, typical, rng), y)
    options: dict[str, Any] = {}
    if noise == "known":
        options["noise_scale"] = 3 * sizes
    elif noise == "groups" and family == "dense":
        options["groups"] = row
    truth = planted.left @ planted.right.T
    measured = Measured(row, column, A, y, sizes, truth)
    return NoisyProblem(planted.left, planted.right, measured, wrong, options)


def run_noise(cell: NoiseCell, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    problem = drawn(cell.family, cell.noise, cell.outliers, cell.model, cell.seed(trial))
    result = problem.solve()
    found = identity(cell, trial, method) | {
        "status": result.status.name,
        "rank": result.rank,
        "model": str(result.noise_model.describe(result.noise)),
        "objections": list(result.certificate.objections),
        "seconds": float(f"{result.seconds:.3g}"),
    }
    error, oracle = problem.error(np.asarray(result.matrix)), problem.oracle()
    found |= {"error": float(f"{error:.4g}"), "oracle": float(f"{oracle:.4g}")}
    found |= {"stated": float(f"{result.error:.4g}"), "bound": float(f"{result.error_bound:.4g}")}
    accuracy = _accuracy(result, problem.truth, problem.wrong) if result.certified else {}
    return found | accuracy, result.seconds


def _corrupted(model: str, y: Vector, typical: float, rng: np.random.Generator) -> Vector:
    if model == "offset":
        return np.asarray(y + rng.choice([0.3, 1.0]) * typical)
    size = {"huge": 100.0, "scale": 1.0, "none": 0.0}[model] * typical
    return np.asarray(size * rng.standard_normal(len(y)))


def _accuracy(result: Result, truth: Vector, wrong: Vector) -> Row:
    rows, columns = np.indices(truth.shape)
    low, high = result.interval(rows, columns, level=LEVEL)
    probability = np.asarray(result.outlier_probability)
    if probability.ndim == 2:
        probability = probability[np.isfinite(probability)]
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return {
        "inside": float(f"{np.mean((low <= truth) & (truth <= high)):.4g}"),
        "measurements": np.bincount(bins, minlength=BINS).tolist(),
        "expected": [
            float(f"{total:.6g}") for total in np.bincount(bins, probability, minlength=BINS)
        ],
        "outliers": np.bincount(bins, wrong, minlength=BINS).astype(int).tolist(),
    }


def noise(quick: bool = False) -> Study[NoiseCell]:
    """Every noise model, for measurements and entries, without and with outliers."""
    cells = tuple(
        NoiseCell(family, kind, *outliers)
        for family, kinds in KINDS.items()
        for kind in kinds
        for outliers in OUTLIERS
        if not quick or outliers[1] in ("none", "huge")
    )
    return Study(
        "noise",
        "noise of unequal size",
        cells,
        (DEFAULT,),
        trials=1 if quick else 20,
        figure="noise",
        procedure=Procedure(run=run_noise),
    )
