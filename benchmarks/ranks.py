"""Calls with and without the rank, and what that costs: ``python -m benchmarks ranks``.

Each problem is solved twice, with its rank and without. In the setting ``ample``, dense sensing has
three measurements for each degree of freedom, and sampled entries six for each; a tenth of them are
outliers, huge or as large as the others, and noise has 5 % of the size of the smallest component of
a measurement. In the setting ``limit``, there are as many measurements as ``robustrank.plan``
states for 95 % of the trials with the rank. A claim is wrong if an exact one has an error, or if
one with noise has more than three times the error of the fit to the true inliers.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import robustrank as rr
from benchmarks.progress import write_json
from robustrank.theory import degrees_of_freedom

FIRST_SEED = 190_000
DENSE, ENTRIES = (60, 50), (300, 250)
RANKS, NOISES, MODELS = (1, 2, 5, 10), (0.0, 0.05), ("huge", "scale")
# The largest error of an exact claim, relative to the matrix, and that of one with noise, relative
# to the error of the fit to the true inliers.
_EXACT, _TIMES_ORACLE = 1e-5, 3.0


@dataclass(frozen=True)
class Sample:
    """One planted problem."""

    solve: Callable[[int | None], rr.Result]
    oracle: Callable[[], rr.Result]  # the fit to the true inliers, with the rank
    matrix: np.ndarray[Any, Any]

    def is_wrong(self, result: rr.Result) -> bool:
        """Whether a result is certified, but wrong."""
        if not result.certified:
            return False
        exact = result.status is rr.Status.RECOVERED
        limit = _EXACT if exact else _TIMES_ORACLE * self._error(self.oracle())
        return self._error(result) > limit

    def _error(self, result: rr.Result) -> float:
        """The error of the rows and columns that a result claims, relative to the matrix."""
        truth, found = (np.asarray(one, float) for one in (self.matrix, result.matrix))
        for axis, undecided in enumerate((result.undecided_rows, result.undecided_columns)):
            truth, found = (np.delete(one, undecided, axis) for one in (truth, found))
        return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


@dataclass(frozen=True)
class Case:
    """Problems with ample measurements that differ only in their random numbers."""

    family: str
    rank: int
    noise: float
    model: str
    condition_number: float

    def __str__(self) -> str:
        noise = f"noise {self.noise:.0%}" if self.noise else "exact"
        return (
            f"{self.family}, rank {self.rank}, {noise}, {self.model}, κ = {self.condition_number:g}"
        )

    def sample(self, seed: int) -> Sample:
        """One of the problems."""
        options: dict[str, Any] = {
            "outliers": 0.1,
            "outlier_model": self.model,
            "condition_number": self.condition_number,
            "rng": seed,
        }
        if self.family == "dense":
            count = 3 * degrees_of_freedom(*DENSE, self.rank)
            return dense(DENSE, self.rank, count, bounded_noise=self.noise, **options)
        count = 6 * degrees_of_freedom(*ENTRIES, self.rank)
        return entries(ENTRIES, self.rank, count, noise=self.noise, **options)


@dataclass(frozen=True)
class LimitCase:
    """Problems with as many measurements as are planned for 95 % of the trials."""

    family: str
    shape: tuple[int, int]
    rank: int
    outliers: float = 0.1
    model: str = "huge"
    noise: float = 0.0

    @property
    def measurements(self) -> int:
        """Their number, from ``robustrank.plan``."""
        given = {"family": "gaussian" if self.family == "dense" else "entries"}
        options: Any = given | {"outlier_model": self.model}
        planned = rr.plan(self.shape, self.rank, self.outliers, self.noise, **options)
        assert planned.measurements_95 is not None
        return planned.measurements_95

    def __str__(self) -> str:
        noise = f", noise {self.noise:.0%}" if self.noise else ""
        outliers = f"{self.outliers:.0%} {self.model}" if self.outliers else "no outliers"
        shape = f"{self.shape[0]} × {self.shape[1]}"
        return (
            f"{self.family}, {shape}, rank {self.rank}, {outliers}{noise}, m = {self.measurements}"
        )

    def sample(self, seed: int) -> Sample:
        """One of the problems."""
        plant = dense if self.family == "dense" else entries
        return plant(
            self.shape,
            self.rank,
            self.measurements,
            outliers=self.outliers,
            outlier_model=self.model,
            noise=self.noise,
            rng=seed,
        )


@dataclass(frozen=True)
class Trial:
    """One problem, solved with its rank and without."""

    found: int
    certified: bool
    certified_with_rank: bool
    wrong: bool
    wrong_with_rank: bool
    seconds: float
    seconds_with_rank: float

    @property
    def cost(self) -> float:
        """The time without the rank, relative to that with it."""
        return self.seconds / self.seconds_with_rank


def cases() -> list[Case]:
    """All cases with ample measurements."""
    return [
        Case(family, rank, noise, model, kappa)
        for family, rank, noise, model, kappa in itertools.product(
            ("dense", "entries"), RANKS, NOISES, MODELS, (1.0, 10.0)
        )
        if rank > 1 or kappa == 1.0
    ]


def limit_cases() -> list[LimitCase]:
    """All cases near the limit."""
    return [
        LimitCase("dense", (30, 24), 2, outliers=0.0),
        LimitCase("dense", (30, 24), 2, model="scale"),
        LimitCase("dense", (30, 24), 2, noise=0.02),
        LimitCase("dense", (60, 48), 3),
        LimitCase("dense", (60, 48), 3, noise=0.02),
        LimitCase("dense", (150, 120), 5),
        LimitCase("entries", (100, 80), 3),
        LimitCase("entries", (100, 80), 3, model="scale"),
        LimitCase("entries", (100, 80), 3, noise=0.02),
        LimitCase("entries", (200, 150), 5, outliers=0.2),
    ]


def run(case: Case | LimitCase, seed: int) -> Trial:
    """Solve one problem twice."""
    sample = case.sample(seed)
    began = time.perf_counter()
    told = sample.solve(case.rank)
    middle = time.perf_counter()
    untold = sample.solve(None)
    ended = time.perf_counter()
    return Trial(
        found=untold.rank,
        certified=untold.certified,
        certified_with_rank=told.certified,
        wrong=sample.is_wrong(untold),
        wrong_with_rank=sample.is_wrong(told),
        seconds=ended - middle,
        seconds_with_rank=middle - began,
    )


def dense(shape: tuple[int, int], rank: int, count: int, **options: Any) -> Sample:
    """A problem with dense sensing matrices."""
    planted = rr.simulate.plant(*shape, rank, count, **options)
    inliers = ~planted.outliers
    return Sample(
        solve=lambda given: rr.recover(planted.A, planted.y, given),
        oracle=lambda: rr.recover(planted.A[inliers], planted.y[inliers], rank),
        matrix=planted.matrix,
    )


def entries(shape: tuple[int, int], rank: int, count: int, **options: Any) -> Sample:
    """A problem with entries of the matrix."""
    planted = rr.simulate.plant_entries(*shape, rank, count, **options)
    inliers = tuple(one[~planted.outliers] for one in planted.triples)
    return Sample(
        solve=lambda given: rr.complete(planted.triples, given, shape=shape),
        oracle=lambda: rr.complete(inliers, rank, shape=shape),
        matrix=planted.matrix,
    )


def ample_row(case: Case, trials: Sequence[Trial]) -> str:
    """A line of the table with ample measurements."""
    found = sum(trial.found == case.rank for trial in trials)
    certified = sum(trial.certified for trial in trials)
    told = sum(trial.certified_with_rank for trial in trials)
    cost = statistics.median(trial.cost for trial in trials)
    return f"{case!s:<52} {found:>7} {certified:>10} {told:>10} {cost:>6.2f}"


def limit_row(case: LimitCase, trials: Sequence[Trial]) -> str:
    """A line of the table near the limit."""
    told, untold = (
        sum(getattr(trial, name) for trial in trials)
        for name in ("certified_with_rank", "certified")
    )
    wrong = sum(trial.wrong + trial.wrong_with_rank for trial in trials)
    costs = [trial.cost for trial in trials]
    ratios = f"{statistics.median(costs):>7.2f} {max(costs):>7.2f}"
    return f"{case!s:<60} {told:>10} {untold:>10} {wrong:>6} {ratios}"


HEADS = {
    "ample": f"{'case':<52} {'found':>7} {'certified':>10} {'with rank':>10} {'cost':>6}",
    "limit": f"{'case':<60} {'with rank':>10} {'without':>10} {'wrong':>6}    cost   worst",
}


def main() -> None:
    """Run all cases of a setting, print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/ranks.json"))
    parser.add_argument("--setting", choices=tuple(HEADS), default="ample")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--family", choices=("dense", "entries"))
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    given = parser.parse_args()
    setting: Sequence[Case | LimitCase] = cases() if given.setting == "ample" else limit_cases()
    chosen = [
        case for case in setting if given.family in (None, case.family) and given.only in str(case)
    ]
    rows = []
    print(HEADS[given.setting])
    with ProcessPoolExecutor(given.workers) as pool:
        pending = [
            [pool.submit(run, case, FIRST_SEED + k) for k in range(given.trials)] for case in chosen
        ]
        for case, futures in zip(chosen, pending, strict=True):
            trials = [future.result() for future in futures]
            row = ample_row(case, trials) if isinstance(case, Case) else limit_row(case, trials)
            print(row, flush=True)
            rows.append({"case": asdict(case), "trials": [asdict(trial) for trial in trials]})
    report = {"date": time.strftime("%Y-%m-%d"), "robustrank": rr.__version__, "rows": rows}
    write_json(given.json, report)
