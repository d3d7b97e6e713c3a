"""How often, and how fast, each solver recovers planted matrices: ``make bench-solvers``.

Every finished trial is one JSON line, written at once; a killed run goes on where it stopped, and
``--trials`` may be raised later. Trials run in processes of one thread each; the time against the
paper's method is taken afterwards, alone on the machine. Success is an error below 1e-6 against
the planted matrix, which no solver sees.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is loaded, and inherited by every worker

import argparse
import json
import math
import multiprocessing
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import robustrank as rr
from robustrank.files import atomic_writer
from robustrank.simulate import Planted, plant

Row = dict[str, Any]
FIRST_SEED = 90_000  # no solver was tuned on these


@dataclass(frozen=True)
class Cell:
    """One setting, and the share of successes that is hoped for (None: to be reported)."""

    name: str
    measurements: int
    outliers: float
    model: str = "huge"
    target: float | None = None
    shape: tuple[int, int] = (150, 120)
    rank: int = 5
    extra: dict[str, Any] = field(default_factory=dict)  # further arguments of ``plant``

    def plant(self, seed: int) -> Planted:
        """The planted problem of one trial."""
        return plant(
            *self.shape,
            self.rank,
            self.measurements,
            outliers=self.outliers,
            outlier_model=self.model,
            rng=FIRST_SEED + seed,
            **self.extra,
        )


CELLS = [
    *(
        Cell(f"few: m = {m}, 5 % huge", m, 0.05, target=target)
        for m, target in ((1700, 0.95), (1600, 0.85), (1550, None), (1500, None))
    ),
    *(
        Cell(f"huge {s:.0%}", 2700, s, target=target)
        for s, target in ((0.1, 1.0), (0.2, 1.0), (0.3, 0.95), (0.4, 0.85))
    ),
    *(Cell(f"constant {s:.0%}", 2700, s, "constant", 0.95) for s in (0.2, 0.4)),
    *(
        Cell(f"scale {s:.0%}", 2700, s, "scale", t)
        for s, t in ((0.1, 0.95), (0.2, 0.95), (0.25, None))
    ),
    *(
        Cell(f"impostor {s:.0%}", 2700, s, "impostor", t)
        for s, t in ((0.1, 0.95), (0.2, 0.95), (0.25, None))
    ),
    *(Cell(f"flip {s:.0%}", 2700, s, "flip", t) for s, t in ((0.1, 1.0), (0.15, 0.8), (0.2, None))),
    *(Cell(f"{model} 30%", 2700, 0.3, model, 0.95) for model in ("cauchy", "one-sided")),
    *(
        Cell(f"condition number {kappa}", 2700, 0.05, target=1.0, extra={"condition_number": kappa})
        for kappa in (1, 10, 100, 1000)
    ),
    Cell("rank 1", 560, 0.05, rank=1, target=None),
    Cell("rank 10", 5300, 0.05, rank=10, target=None),
    Cell("20 × 900", 3800, 0.05, shape=(20, 900), rank=2, target=None),
]


def solve(planted: Planted, solver: str) -> rr.Recovery:
    """Run one solver; the oracle is the default solver told which measurements are clean."""
    if solver == "oracle":
        keep = ~planted.outliers
        return rr.recover(planted.A[keep], planted.y[keep], planted.rank)
    return rr.recover(planted.A, planted.y, planted.rank, solver=solver)


def run_trial(job: tuple[Cell, int, str]) -> Row:
    """One solver on one planted problem, as a row."""
    cell, seed, solver = job
    warnings.simplefilter("ignore", rr.UndersampledWarning)
    planted = cell.plant(seed)
    result = solve(planted, solver)
    left, right = planted.left, planted.right
    error = rr.metrics.normalised_error((result.left, result.right), (left, right))
    return {
        "cell": cell.name,
        "seed": seed,
        "solver": solver,
        "error": error,
        "status": result.status.name,
        "candidate": result.solver,
        "steps": sum(attempt.iterations for attempt in result.attempts),
        "passes": result.passes,
        "seconds": round(result.seconds, 3),
    }


def read_rows(path: Path) -> list[Row]:
    """The rows of earlier runs; a line that a kill cut short is left out."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}, line {number}: cut short, left out", file=sys.stderr)
    return rows


def run(jobs: list[tuple[Cell, int, str]], path: Path, workers: int) -> None:
    """Run the jobs in parallel, keeping every row as soon as it is there."""
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool, path.open("a") as stream:
        for done, row in enumerate(pool.imap_unordered(run_trial, jobs), start=1):
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            left = (time.monotonic() - began) / done * (len(jobs) - done)
            print(
                f"\r{done}/{len(jobs)} trials, about {left / 60:.0f} min left   ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(file=sys.stderr)


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate."""
    rate = successes / trials
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    return centre - half, centre + half


def table(rows: Iterable[Row], solvers: list[str]) -> Iterator[str]:
    """A Markdown table: successes of trials with an interval, and median steps and seconds."""
    rows = list(rows)
    yield "| setting | must | " + " | ".join(solvers) + " |"
    yield "| --- " * (2 + len(solvers)) + "|"
    for cell in CELLS:
        cells = [
            _summary([r for r in rows if (r["cell"], r["solver"]) == (cell.name, s)])
            for s in solvers
        ]
        if any(cells):
            target = "report" if cell.target is None else f"{cell.target:.0%}"
            yield f"| {cell.name} | {target} | " + " | ".join(c or "–" for c in cells) + " |"


def _summary(rows: list[Row]) -> str:
    if not rows:
        return ""
    good = sum(row["error"] < 1e-6 for row in rows)
    low, high = wilson(good, len(rows))
    steps, seconds = (
        sorted(row[key] for row in rows)[len(rows) // 2] for key in ("steps", "seconds")
    )
    interval = f"{max(low, 0):.0%}–{min(high, 1):.0%}"
    return f"{good}/{len(rows)} ({interval}), {steps} steps, {seconds:.1f} s"


def wrong_certificates(rows: Iterable[Row]) -> tuple[int, int]:
    """How many rows claim to be certified, or settled without noise, and are wrong; of how many."""
    claimed = [row for row in rows if row["status"] in ("RECOVERED", "SETTLED")]
    return sum(row["error"] >= 1e-6 for row in claimed), len(claimed)


SPEED = """
import sys, time, robustrank as rr
planted = rr.simulate.plant(150, 120, 5, 2400, outliers=0.05, rng=int(sys.argv[1]))
truth = planted.left, planted.right
rr.recover(planted.A, planted.y, 5)  # compiled and warm
began = time.perf_counter()
result = rr.recover(planted.A, planted.y, 5)
ours = time.perf_counter() - began
reached = []
def watch(progress):
    error = rr.metrics.normalised_error((progress.left, progress.right), truth)
    if error < 1e-6:
        reached.append(progress.check.seconds)
        return True
rr.recover(planted.A, planted.y, 5, solver="median-tgd", callback=watch)
print(ours, reached[0], result.passes)
"""


def speed(trials: int) -> list[dict[str, float]]:
    """Seconds of the default to rounding, of the paper's method to 1e-6, in one run, all cores."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + trials):
        done = subprocess.run(
            [sys.executable, "-c", SPEED, str(seed)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        ours, paper, passes = map(float, done.stdout.split())
        rows.append({"auto": ours, "median-tgd": paper, "ratio": paper / ours, "passes": passes})
    return rows


def main() -> None:
    """Run what is missing, print the tables, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--solvers", default="auto,oracle,median-tgd")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--speed", type=int, default=3, help="trials of the timing; 0 for none")
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    path, solvers = given.out / "bench-solvers.jsonl", given.solvers.split(",")
    done = {(row["cell"], row["seed"], row["solver"]) for row in read_rows(path)}
    cells = [cell for cell in CELLS if given.only in cell.name]
    jobs = [
        (cell, seed, solver)
        for solver in solvers
        for seed in range(given.trials)
        for cell in cells
        if (cell.name, seed, solver) not in done
    ]
    if jobs:
        run(jobs, path, given.workers)
    rows = read_rows(path)
    print("\n".join(table(rows, solvers)))
    wrong, claimed = wrong_certificates(rows)
    print(f"\nwrong among {claimed} answers that claim to be right: {wrong}")
    timing = speed(given.speed)
    for row in timing:
        print(
            f"auto {row['auto']:.2f} s and {row['passes']:.0f} passes, median-TGD to 1e-6 "
            f"{row['median-tgd']:.1f} s: {row['ratio']:.0f} ×"
        )
    with atomic_writer(given.out / "bench-solvers.json") as stream:
        stream.write(json.dumps({"rows": rows, "speed": timing}, indent=1).encode())


if __name__ == "__main__":
    main()
