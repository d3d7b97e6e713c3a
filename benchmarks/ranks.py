"""How often the rank is found if none is given, and the cost: ``python -m benchmarks ranks``.

Each problem is solved twice, with its rank and without. Dense sensing has three measurements for
each degree of freedom, and sampled entries six for each. A tenth of them are outliers, huge or as
large as the others. Noise has 5 % of the size of the smallest component of a measurement.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import robustrank as rr
from benchmarks.progress import write_json
from robustrank.theory import degrees_of_freedom

FIRST_SEED = 190_000
DENSE, ENTRIES = (60, 50), (300, 250)
Solve = Callable[[int | None], rr.Result | rr.Result]
RANKS, NOISES, MODELS = (1, 2, 5, 10), (0.0, 0.05), ("huge", "scale")


@dataclass(frozen=True)
class Case:
    """Problems that differ only in their random numbers."""

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


@dataclass(frozen=True)
class Trial:
    """One problem, solved with its rank and without."""

    found: int
    certified: bool
    certified_with_rank: bool
    seconds: float
    seconds_with_rank: float


def cases() -> list[Case]:
    """All cases."""
    return [
        Case(family, rank, noise, model, kappa)
        for family, rank, noise, model, kappa in itertools.product(
            ("dense", "entries"), RANKS, NOISES, MODELS, (1.0, 10.0)
        )
        if rank > 1 or kappa == 1.0
    ]


def run(case: Case, seed: int) -> Trial:
    """Solve one problem twice."""
    shape = DENSE if case.family == "dense" else ENTRIES
    free = degrees_of_freedom(*shape, case.rank)
    setting: dict[str, Any] = {
        "outliers": 0.1,
        "outlier_model": case.model,
        "noise": case.noise,
        "condition_number": case.condition_number,
        "rng": seed,
    }
    prepare, count = (_dense, 3 * free) if case.family == "dense" else (_entries, 6 * free)
    solve = prepare(case, shape, count, setting)
    began = time.perf_counter()
    told = solve(case.rank)
    middle = time.perf_counter()
    untold = solve(None)
    ended = time.perf_counter()
    certified = untold.status.certified, told.status.certified
    return Trial(untold.rank, *certified, ended - middle, middle - began)


def _dense(case: Case, shape: tuple[int, int], count: int, setting: dict[str, Any]) -> Solve:
    bounded = setting.pop("noise")
    planted = rr.simulate.plant(*shape, case.rank, count, bounded_noise=bounded, **setting)

    def solve(rank: int | None) -> rr.Result:
        return rr.recover(planted.A, planted.y, rank)

    return solve


def _entries(case: Case, shape: tuple[int, int], count: int, setting: dict[str, Any]) -> Solve:
    planted = rr.simulate.plant_entries(*shape, case.rank, count, **setting)

    def solve(rank: int | None) -> rr.Result:
        return rr.complete(planted.triples, rank, shape=shape)

    return solve


def main() -> None:
    """Run all cases, print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/ranks.json"))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--family", choices=("dense", "entries"))
    given = parser.parse_args()
    chosen = [case for case in cases() if given.family in (None, case.family)]
    rows = []
    print(f"{'case':<52} {'found':>7} {'certified':>10} {'with rank':>10} {'cost':>6}")
    with ProcessPoolExecutor(given.workers) as pool:
        pending = [
            [pool.submit(run, case, FIRST_SEED + k) for k in range(given.trials)] for case in chosen
        ]
        for case, futures in zip(chosen, pending, strict=True):
            trials = [future.result() for future in futures]
            found = sum(trial.found == case.rank for trial in trials)
            certified = sum(trial.certified for trial in trials)
            told = sum(trial.certified_with_rank for trial in trials)
            cost = statistics.median(t.seconds / t.seconds_with_rank for t in trials)
            print(f"{case!s:<52} {found:>7} {certified:>10} {told:>10} {cost:>6.2f}", flush=True)
            rows.append({"case": asdict(case), "trials": [asdict(trial) for trial in trials]})
    report = {"date": time.strftime("%Y-%m-%d"), "robustrank": rr.__version__, "rows": rows}
    write_json(given.json, report)
