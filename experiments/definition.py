"""What an experiment is: settings, methods and trials, in a form that can be read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from robustrank.simulate import Planted, plant
from robustrank.solvers import MedianTGD, Portfolio, Solver, VanillaGD

SUCCESS = 1e-6  # the paper's: a normalized error below this


@dataclass(frozen=True)
class Cell:
    """A setting: problems that differ in nothing but their randomness."""

    measurements: int
    rank: int
    outliers: float = 0.05
    model: str = "huge"
    noise: float = 0.0
    shape: tuple[int, int] = (150, 120)
    condition_number: float | None = None

    @property
    def key(self) -> str:
        """The setting in a line, the same for ever: rows on disk are found by it."""
        n1, n2 = self.shape
        share = f"{self.outliers:.12g}"
        parts = [f"{n1}x{n2} r={self.rank} m={self.measurements} {self.model} {share}"]
        if self.noise:
            parts.append(f"noise={self.noise:.12g}")
        if self.condition_number is not None:
            parts.append(f"kappa={self.condition_number:.12g}")
        return " ".join(parts)

    @property
    def degrees_of_freedom(self) -> int:
        """d = r (n1 + n2 − r)."""
        return self.rank * (sum(self.shape) - self.rank)

    def seed(self, trial: int) -> int:
        """The seed of a trial: its own, whatever else is run, on every machine."""
        digest = hashlib.blake2b(f"{self.key} #{trial}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    def plant(self, trial: int, *, clean: bool = False, **where: Any) -> Planted:
        """The problem of a trial; ``clean`` is the same one before measurements were corrupted."""
        return plant(
            *self.shape,
            self.rank,
            self.measurements,
            outliers=0.0 if clean else self.outliers,
            outlier_model=self.model,
            noise=self.noise,
            condition_number=self.condition_number,
            rng=self.seed(trial),
            **where,
        )


@dataclass(frozen=True)
class Method:
    """What is run on a problem, and what it is told."""

    name: str
    solver: Solver[Any] | Portfolio
    extra_rank: int = 0  # how much larger than the true rank the one it is told is
    clean: bool = False  # whether it is given the measurements before they were corrupted


# The paper's settings are the solvers' own; what is asked is whether 10⁴ iterations are enough.
PAPER = Method("median-TGD", MedianTGD())
VANILLA = Method("vanilla-GD", VanillaGD())
DEFAULT = Method("default", Portfolio())


@dataclass(frozen=True)
class Experiment:
    """Cells × trials × methods. Every method sees the same problems."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    methods: tuple[Method, ...]
    trials: int = 10
    traced: bool = False  # keep the error at every look, and run on after success
    figure: str = ""  # which figure shows it; see ``report.experiments``
