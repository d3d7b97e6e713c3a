"""Tables of three sizes, for the time that a method takes on one thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.rows import Row
from experiments.tables.filled import Filled
from experiments.tables.measure import finite, rms, rounded
from experiments.tables.seeds import Seeded
from experiments.tables.sources import Matrix

_RANK, _NOISE, _WRONG, _MISSING = 5, 0.3, 0.02, 0.05


@dataclass(frozen=True, eq=False)
class TimedProblem:
    """A table of low rank with noise, missing cells and wrong cells."""

    truth: Matrix
    given: Matrix

    def about(self) -> Row:
        """Nothing."""
        return {}

    def scored(self, filled: Filled) -> Row:
        """The error of the missing cells, in standard deviations."""
        if not finite(filled.values, self.truth.shape):
            return {"failure": "the values are not finite or have another shape"}
        hidden = np.isnan(self.given)
        return {"error": rounded(rms((filled.values - self.truth)[hidden]) / self.truth.std())}


@dataclass(frozen=True)
class TimedCell(Seeded):
    """Tables of one size, and the seconds that a method may take."""

    shape: tuple[int, int]
    limit: float

    @property
    def key(self) -> str:
        """The setting as one line."""
        return "{}x{}".format(*self.shape)

    def draw(self, trial: int) -> TimedProblem:
        """The problem of a trial."""
        rng = np.random.default_rng(self.seed(trial))
        left, right = (rng.standard_normal((size, _RANK)) for size in self.shape)
        truth = left @ right.T + _NOISE * rng.standard_normal(self.shape)
        given = truth + 10 * truth.std() * (rng.random(self.shape) < _WRONG)
        given[rng.random(self.shape) < _MISSING] = np.nan
        return TimedProblem(truth, given)


SIZES = (
    TimedCell((500, 64), 1.0),
    TimedCell((2000, 2000), 10.0),
    TimedCell((100_000, 100), 30.0),
)
