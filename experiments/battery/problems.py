"""The problems of the battery: everything about a problem is drawn from the seed of its trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.battery.corruption import KINDS, RANDOM, Context
from experiments.battery.noise import NOISES, NONE, QUANTIZED, add_noise
from experiments.battery.oracle import Oracle, solve
from experiments.battery.sensing import FAMILIES
from robustrank.linalg import lower_median
from robustrank.theory import degrees_of_freedom, symmetric_degrees_of_freedom

Array = np.ndarray[Any, Any]
NO_OUTLIERS = "none"
_LEAST_NOISE = 1e-4
POSSIBLE, TOO_FEW, NOISE_ONLY, MOSTLY_OUTLIERS = (
    "possible",
    "too few",
    "noise only",
    "mostly outliers",
)
_TASKS = (
    POSSIBLE,
    TOO_FEW,
    POSSIBLE,
    POSSIBLE,
    POSSIBLE,
    NOISE_ONLY,
    POSSIBLE,
    POSSIBLE,
    POSSIBLE,
    POSSIBLE,
    MOSTLY_OUTLIERS,
    POSSIBLE,
)


@dataclass(frozen=True)
class BatteryProblem:
    """A small problem with its solution and a description of how it was drawn."""

    A: Array
    y: Array
    left: Array
    right: Array
    outliers: Array
    rank: int  # that the solver is given
    symmetric: bool
    task: str
    family: str
    kind: str  # of the outliers
    share: float
    noise: str
    level: float
    proportional: bool  # whether the noise is proportional to the norm of each row
    ratio: float  # inliers per degree of freedom

    @property
    def truth(self) -> Array:
        """The true matrix."""
        product: Array = self.left @ self.right.T
        return product

    @property
    def benign(self) -> bool:
        """Whether the rows are independent and the outliers random, with enough inliers."""
        return (
            FAMILIES[self.family].independent
            and (self.proportional or not FAMILIES[self.family].sizes_differ)
            and self.task == POSSIBLE
            and self.kind in {*RANDOM, "dead", "stuck", "swapped", NO_OUTLIERS}
            and self.ratio >= 2.5
            and self.rank >= self.left.shape[1]
        )

    def oracle(self) -> Oracle:
        """Least squares with the true inlier set known."""
        inliers = ~self.outliers
        return solve(
            self.A[inliers].astype(float),
            self.y[inliers].astype(float),
            self.truth,
            min(self.rank, self.left.shape[1]),
            symmetric=self.symmetric,
        )


def draw(family: str, trial: int, seed: int) -> BatteryProblem:
    """The problem of a trial."""
    rng = np.random.default_rng([seed, trial, *family.encode()])
    task = _TASKS[trial % len(_TASKS)]
    kinds = [*KINDS]
    kind = str(rng.choice(kinds))
    chosen = FAMILIES[family]
    n1, n2 = int(rng.integers(12, 25)), int(rng.integers(10, 21))
    r = int(rng.integers(1, 4))
    if chosen.symmetric:
        n2 = n1
    left, right = _factors(n1, n2, r, symmetric=chosen.symmetric, rng=rng)
    freedom = degrees_of_freedom(n1, n2, r)
    if chosen.symmetric:
        freedom = symmetric_degrees_of_freedom(n1, r)
    share = float(rng.uniform(0, 0.49)) if rng.random() > 0.1 else 0.0
    ratio = float(rng.uniform(0.5, 0.95) if task == TOO_FEW else rng.uniform(1.1, 4.5))
    if task == MOSTLY_OUTLIERS:
        share, kind = float(rng.uniform(0.6, 0.8)), str(rng.choice([*RANDOM]))
    redundancy = 1.0 if task == TOO_FEW else chosen.redundancy
    m = max(int(redundancy * ratio * freedom / (1 - share)), 8)
    sensing = chosen.draw(m, n1, n2, rng)
    m = len(sensing.A)
    clean = np.einsum("mij,ij->m", sensing.A, left @ right.T)
    context = Context(sensing, clean, left, right, share, rng)
    y, outliers = clean.copy(), np.zeros(m, bool)
    if share:
        rows, values = KINDS[kind](context)
        y[rows] = values
        outliers[rows] = True
    noise = str(rng.choice([NONE, NONE, *NOISES, QUANTIZED]))
    level = 0.0 if noise == NONE else float(10 ** rng.uniform(-4, -1.3))
    # Noise of one size for all rows, or proportional to the size of each.
    proportional = bool(rng.random() < 0.5)
    sizes = context.sizes if proportional else np.full(m, context.typical)
    measured = add_noise(noise, level, sizes, y, rng)
    if not lower_median(np.abs(measured)) > 0:  # half of y would be zero, which is refused
        noise, level = "gaussian", max(level, _LEAST_NOISE)
        measured = add_noise(noise, level, sizes, y, rng)
    y = measured
    if task == NOISE_ONLY:
        y = context.sizes * rng.standard_normal(m)
    precision = np.float32 if rng.random() < 0.15 else np.float64
    A = sensing.A.astype(precision)
    if precision is np.float32:
        y = y + np.einsum("mij,ij->m", A.astype(float) - sensing.A, left @ right.T)
    rank = r + (0 if task == TOO_FEW else int(rng.choice([0, 0, 0, 1, -1])))
    return BatteryProblem(
        A=A,
        y=y.astype(precision),
        left=left,
        right=right,
        outliers=outliers,
        rank=max(rank, 1),
        symmetric=chosen.symmetric,
        task=task,
        family=family,
        kind=kind if share else NO_OUTLIERS,
        share=round(float(outliers.mean()), 4),
        noise=noise,
        level=level,
        proportional=proportional or noise == NONE,
        ratio=round(float((~outliers).sum() / freedom / redundancy), 3),
    )


def _factors(
    n1: int, n2: int, r: int, *, symmetric: bool, rng: np.random.Generator
) -> tuple[Array, Array]:
    left, right = rng.standard_normal((n1, r)), rng.standard_normal((n2, r))
    if rng.random() < 0.2:  # a matrix with nonnegative entries
        left, right = np.abs(left), np.abs(right)
    if symmetric:
        right = left * rng.choice([-1, 1], r)
    return left, right
