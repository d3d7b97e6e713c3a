"""What a study is: settings, methods and trials."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from robustrank.result import Result
from robustrank.simulate import Planted, plant
from robustrank.solvers import MedianTGD, Portfolio, Solver, VanillaGD

SUCCESS = 1e-6  # a trial succeeds if its normalized error is below this, as in the paper


@dataclass(frozen=True)
class Place:
    """The array library and the device on which problems are drawn and solved."""

    library: str = "numpy"
    device: str | None = None

    def __str__(self) -> str:
        return self.library if self.device is None else f"{self.library} {self.device}"


class Setting(Protocol):
    """Problems that differ only in their random numbers."""

    @property
    def key(self) -> str:
        """The name of the setting in rows on disk. It must never change."""

    def seed(self, trial: int) -> int:
        """The seed of a trial, the same on every machine."""


class SensingSetting(Setting, Protocol):
    """Problems for ``recover``: linear measurements of a matrix."""

    @property
    def drawn_by_numpy(self) -> bool:
        """Whether NumPy draws the problem, which is then moved to the place of the run.

        If not, the library of the place draws it, so that the sensing data depends on the place.
        """

    def rank_given(self, trial: int) -> int:
        """The rank passed to the solvers."""

    def options(self, trial: int) -> dict[str, Any]:
        """Further arguments of ``recover``."""

    def plant(self, trial: int, place: Place, *, corrupted: bool = True) -> Planted:
        """The problem of a trial; without corruption if ``corrupted`` is False."""


@dataclass(frozen=True)
class Cell:
    """A setting with fixed parameters: one cell of a grid."""

    measurements: int
    rank: int
    outliers: float = 0.05
    model: str = "huge"
    noise: float = 0.0  # uniform, in units of σ_r(M), as in the paper
    shape: tuple[int, int] = (150, 120)
    condition_number: float | None = None
    rank_bound: int | None = None  # passed to the solvers instead of the true rank
    first_seed: int | None = None  # seed of trial 0, drawn by NumPy; None: a hash of the setting
    label: str = ""  # for tables and figures; empty: the key
    target: float | None = None  # success rate that the default solver should reach

    @property
    def key(self) -> str:
        """The setting as one line."""
        n1, n2 = self.shape
        fraction = f"{self.outliers:.12g}"
        parts = [f"{n1}x{n2} r={self.rank} m={self.measurements} {self.model} {fraction}"]
        if self.noise:
            parts.append(f"noise={self.noise:.12g}")
        if self.condition_number is not None:
            parts.append(f"kappa={self.condition_number:.12g}")
        if self.rank_bound is not None:
            parts.append(f"bound={self.rank_bound}")
        return " ".join(parts)

    @property
    def drawn_by_numpy(self) -> bool:
        """Whether NumPy draws the problem, whatever the place of the run."""
        return self.first_seed is not None

    @property
    def degrees_of_freedom(self) -> int:
        """d = r (n1 + n2 − r)."""
        return self.rank * (sum(self.shape) - self.rank)

    def seed(self, trial: int) -> int:
        """The seed of a trial, which depends on the setting and the trial number only."""
        if self.first_seed is not None:
            return self.first_seed + trial
        digest = hashlib.blake2b(f"{self.key} #{trial}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    def rank_given(self, trial: int) -> int:
        """The rank passed to the solvers: the bound if there is one."""
        return self.rank if self.rank_bound is None else self.rank_bound

    def options(self, trial: int) -> dict[str, Any]:
        """No further arguments."""
        return {}

    def plant(self, trial: int, place: Place | None = None, *, corrupted: bool = True) -> Planted:
        """The problem of a trial; without corruption if ``corrupted`` is False."""
        place = place or Place()
        return plant(
            *self.shape,
            self.rank,
            self.measurements,
            outliers=self.outliers if corrupted else 0.0,
            outlier_model=self.model,
            bounded_noise=self.noise,
            condition_number=self.condition_number,
            rng=self.seed(trial),
            library=place.library,
            device=place.device,
        )


class Data(Enum):
    """The measurements that a method is given."""

    ALL = "all measurements"
    UNCORRUPTED = "the measurements before they were corrupted"
    INLIERS = "only the inliers"


@dataclass(frozen=True)
class Method:
    """A solver and what it is given."""

    name: str
    solver: Solver[Any] | Portfolio
    extra_rank: int = 0  # added to the rank that the solver is given
    data: Data = Data.ALL
    trials: int | None = None  # at most this many trials of each setting; None: all of the study's


# The solvers with the parameters of the paper, and the default solver.
PAPER = Method("median-TGD", MedianTGD())
VANILLA = Method("vanilla-GD", VanillaGD())
DEFAULT = Method("default", Portfolio())
ORACLE = Method("oracle", Portfolio(), data=Data.INLIERS)  # the true inlier set is known


@dataclass(frozen=True)
class Outcome:
    """A trial that was run, before it becomes a row."""

    setting: SensingSetting
    trial: int
    method: Method
    planted: Planted  # with the data that the method was given
    recovery: Result
    error: float


@dataclass(frozen=True)
class Procedure:
    """How each trial is run."""

    traced: bool = False  # keep the error at every progress check, and continue after success
    stop_at_success: bool = True  # stop single solvers once the error is below ``SUCCESS``
    observe: Callable[[Outcome], dict[str, Any]] | None = None  # additional fields of the row
    # Runs a trial of a method and returns its row and the seconds it took; None: by ``recover``.
    run: Callable[[Any, int, Method], tuple[dict[str, Any], float]] | None = None


SettingT = TypeVar("SettingT", bound=Setting, covariant=True)


@dataclass(frozen=True)
class Study(Generic[SettingT]):
    """Settings × trials × methods. All methods get the same problems."""

    name: str
    title: str
    cells: tuple[SettingT, ...]
    methods: tuple[Method, ...]
    trials: int = 10
    figure: str = ""  # the kind of figure that shows it; see ``experiments.figures``
    procedure: Procedure = Procedure()

    def trials_of(self, method: Method) -> int:
        """The number of trials of each setting that a method runs."""
        return self.trials if method.trials is None else min(self.trials, method.trials)
