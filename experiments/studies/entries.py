"""How often ``complete`` recovers a matrix from sampled entries, some of them outliers.

The oracle is least squares from the true matrix with the outliers known. The target success rates
are goals of this project.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from experiments.completion_trial import run_completion
from experiments.definition import DEFAULT, ORACLE, Procedure, Study
from robustrank.simulate import PlantedEntries, plant_entries
from robustrank.theory import degrees_of_freedom

FIRST_SEED = 300_000  # nothing was tuned on these problems
UNKNOWN = 0  # the bound on the rank if none is given
LEAST_SQUARES = replace(ORACLE, name="least squares")  # from the true matrix, outliers known


@dataclass(frozen=True)
class EntriesCell:
    """Observed entries of matrices with fixed parameters.

    ``oversampling`` is the number of entries over the degrees of freedom; infinite: all entries.
    """

    label: str  # for tables and figures
    oversampling: float
    outliers: float = 0.0
    model: str = "scale"
    shape: tuple[int, int] = (300, 250)
    rank: int = 5
    noise: float = 0.0
    condition_number: float | None = None
    scales: float = 0.0
    mean: float = 0.0
    sampling: str = "uniform"
    bound: int | None = None  # given instead of the rank
    target: float | None = None  # success rate that should be reached

    @property
    def key(self) -> str:
        """The setting as one line."""
        n1, n2 = self.shape
        parts = [f"entries {n1}x{n2} r={self.rank} rho={self.oversampling:g}"]
        if self.outliers:
            parts.append(f"{self.model} {self.outliers:g}")
        if self.condition_number is not None:
            parts.append(f"kappa={self.condition_number:g}")
        options = ("noise", self.noise), ("scales", self.scales), ("mean", self.mean)
        for name, value in options:
            if value:
                parts.append(f"{name}={value:g}")
        if self.sampling != "uniform":
            parts.append(self.sampling)
        if self.bound is not None:
            parts.append(f"bound={self.bound}")
        return " ".join(parts)

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return FIRST_SEED + trial

    def rank_given(self, trial: int) -> int | None:
        """The bound passed to ``complete``: the rank, another bound, or none."""
        bound = self.true_rank if self.bound is None else self.bound
        return None if bound == UNKNOWN else bound

    def plant(self, trial: int) -> PlantedEntries:
        """The problem of a trial."""
        n1, n2 = self.shape
        free = degrees_of_freedom(n1, n2, self.true_rank)
        return plant_entries(
            n1,
            n2,
            self.rank,
            round(min(self.oversampling * free, n1 * n2)),
            outliers=self.outliers,
            outlier_model=self.model,
            noise=self.noise,
            condition_number=self.condition_number,
            scales=self.scales,
            mean=self.mean,
            sampling=self.sampling,
            rng=self.seed(trial),
        )

    @property
    def true_rank(self) -> int:
        """The rank of the matrix: a mean is one more component."""
        return self.rank + (self.mean != 0)


def _square(oversampling: float, target: float) -> EntriesCell:
    label = f"800 × 800, κ = 2, own scale 5 %, ρ = {oversampling:g}"
    return EntriesCell(
        label, oversampling, 0.05, shape=(800, 800), condition_number=2.0, target=target
    )


_FIVE = 0.05
_CELLS = (
    _square(8, 1.0),
    _square(4, 1.0),
    _square(3, 0.95),
    _square(2.5, 0.8),
    EntriesCell("huge 20 %, ρ = 5", 5, 0.2, "huge", target=0.95),
    EntriesCell("huge 40 %, ρ = 8", 8, 0.4, "huge", target=0.95),
    EntriesCell("own scale 20 %, ρ = 6", 6, 0.2, target=0.95),
    EntriesCell("sign flips 10 %, ρ = 4", 4, 0.1, "flip", target=0.95),
    EntriesCell("sign flips 20 %, ρ = 8", 8, 0.2, "flip", target=0.95),
    EntriesCell("± max 10 %, ρ = 4", 4, 0.1, "max", target=0.95),
    EntriesCell("± max 30 %, ρ = 8", 8, 0.3, "max", target=0.95),
    EntriesCell("offset 20 %, ρ = 6", 6, 0.2, "offset", target=0.95),
    EntriesCell("κ = 10, own scale 5 %, ρ = 6", 6, _FIVE, condition_number=10.0, target=0.95),
    EntriesCell("κ = 100, own scale 5 %, ρ = 6", 6, _FIVE, condition_number=100.0, target=0.8),
    EntriesCell("κ = 1,000, own scale 5 %, ρ = 6", 6, _FIVE, condition_number=1000.0),
    EntriesCell("rank 10 given, own scale 5 %, ρ = 6", 6, _FIVE, bound=10, target=0.95),
    EntriesCell("no rank given, own scale 5 %, ρ = 6", 6, _FIVE, bound=UNKNOWN, target=0.95),
    EntriesCell("no outliers, ρ = 2", 2, target=0.9),
    EntriesCell("no outliers, ρ = 1.5", 1.5, target=0.8),
    EntriesCell("noise 5 %, own scale 10 %, ρ = 5", 5, 0.1, noise=0.05),
    EntriesCell("power-law sampling, ρ = 6", 6, _FIVE, sampling="power-law", target=0.95),
    EntriesCell("scales 0.5, own scale 5 %, ρ = 6", 6, _FIVE, scales=0.5, target=0.95),
    EntriesCell("scales 1, own scale 5 %, ρ = 6", 6, _FIVE, scales=1.0, target=0.8),
    EntriesCell("mean 10, own scale 10 %, ρ = 6", 6, 0.1, mean=10.0, target=0.95),
    EntriesCell("mean 10, no rank given, ρ = 6", 6, 0.1, mean=10.0, bound=UNKNOWN, target=0.95),
    EntriesCell("mean 100, no rank given, ρ = 6", 6, 0.1, mean=100.0, bound=UNKNOWN),
    EntriesCell(
        "mean 10, noise 5 %, no rank given, ρ = 6", 6, 0.1, noise=0.05, mean=10.0, bound=UNKNOWN
    ),
)
_SMALL = (60, 50)
_QUICK_CELLS = (
    EntriesCell("huge 20 %, ρ = 6", 6, 0.2, "huge", _SMALL, 2, target=0.95),
    EntriesCell("no rank given, ρ = 6", 6, 0.1, shape=_SMALL, rank=2, bound=UNKNOWN, target=0.95),
    EntriesCell("noise 5 %, ρ = 6", 6, 0.1, shape=_SMALL, rank=2, noise=0.05),
    EntriesCell("power law, ρ = 6", 6, 0.05, shape=_SMALL, rank=2, sampling="power-law"),
)


_FULL = (2500, 2500)
_PCA_CELLS = (
    EntriesCell("± max 40 %", math.inf, 0.4, "max", _FULL, target=1.0),
    EntriesCell("own scale 30 %", math.inf, 0.3, "scale", _FULL, target=1.0),
)
_QUICK_PCA_CELLS = (
    EntriesCell("± max 40 %", math.inf, 0.4, "max", (120, 100), 2, target=1.0),
    EntriesCell("own scale 30 %", math.inf, 0.3, "scale", (120, 100), 2, target=1.0),
)


def entries(quick: bool = False) -> Study[EntriesCell]:
    """Success of completion with outliers, and of least squares with the outliers known."""
    cells = _QUICK_CELLS if quick else _CELLS
    return _study("entries", "success rate of completion", cells, 4 if quick else 20)


def robust_pca(quick: bool = False) -> Study[EntriesCell]:
    """Success of robust PCA: every entry is observed."""
    cells = _QUICK_PCA_CELLS if quick else _PCA_CELLS
    return _study("robust-pca", "success rate of robust PCA", cells, 2 if quick else 5)


def _study(
    name: str, title: str, cells: tuple[EntriesCell, ...], trials: int
) -> Study[EntriesCell]:
    methods, procedure = (DEFAULT, LEAST_SQUARES), Procedure(run=run_completion)
    return Study(name, title, cells, methods, trials, figure="settings", procedure=procedure)
