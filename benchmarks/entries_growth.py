"""How the time of ``complete`` grows with the number of entries, and a figure of it.

The problems differ only in size: n × n, rank 5, eight times as many entries as degrees of freedom,
so that a row has about 80 entries, and 5 % outliers.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import robustrank as rr
from benchmarks.progress import doing, result
from robustrank.metrics import normalized_error
from robustrank.simulate import plant_entries

RANK, OVERSAMPLING, FIRST_SEED = 5, 8, 60_000
SIZES = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000)
QUICK_SIZES = (10_000, 20_000, 50_000)


@dataclass(frozen=True)
class Point:
    """The median time for one size, and the largest error."""

    n: int
    entries: int
    seconds: float
    error: float

    def __str__(self) -> str:
        size = f"{self.entries:>9,} entries, {self.n:,} × {self.n:,}"
        return f"  {size:<42} {self.seconds:>8.3f} s  error {self.error:.1e}"


def measure(quick: bool, trials: int = 3) -> list[Point]:
    """The time for every size, also printed."""
    points = []
    _run(QUICK_SIZES[0], 0)  # a warm-up call: compilation is not measured
    for size in QUICK_SIZES if quick else SIZES:
        doing(f"{size:,} entries, {trials} problems")
        runs = [_run(size, trial) for trial in range(trials)]
        n, entries = runs[0][:2]
        seconds = statistics.median(run[2] for run in runs)
        points.append(Point(n, entries, seconds, max(run[3] for run in runs)))
        result(points[-1])
    return points


def _run(size: int, trial: int) -> tuple[int, int, float, float]:
    """n, the number of entries, the seconds and the error of one problem of about this size."""
    n = round(size / (2 * OVERSAMPLING * RANK) + RANK / 2)
    entries = OVERSAMPLING * RANK * (2 * n - RANK)
    seed = FIRST_SEED + trial
    planted = plant_entries(n, n, RANK, entries, outliers=0.05, condition_number=2, rng=seed)
    began = time.perf_counter()
    completion = rr.complete(planted.triples, shape=planted.shape)
    seconds = time.perf_counter() - began
    truth = planted.left, planted.right
    return n, entries, seconds, normalized_error((completion.left, completion.right), truth)


def fitted_line(points: list[Point]) -> tuple[float, float]:
    """(p, c) of the fit seconds = c · entries^p, by least squares of the logarithms."""
    x = np.log([point.entries for point in points])
    y = np.log([point.seconds for point in points])
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(np.exp(intercept))


def draw(points: list[Point], target: Path) -> None:
    """Save the times and the fitted line as a PNG file."""
    from matplotlib.figure import Figure

    exponent, factor = fitted_line(points)
    entries = np.array([point.entries for point in points], float)
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.loglog(entries, [point.seconds for point in points], "o", color="#1f77b4")
    label = f"fitted: proportional to entries$^{{{exponent:.2f}}}$"
    axes.loglog(entries, factor * entries**exponent, "--", color="#ff7f0e", label=label)
    axes.set_xlabel("observed entries")
    axes.set_ylabel("seconds")
    axes.set_title("complete: rank 5, rho = 8, 5 % outliers", fontsize=10)
    axes.xaxis.set_minor_formatter("")  # labels of minor ticks overlap
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110, metadata={"Software": None})
