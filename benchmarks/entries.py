"""Speed of ``complete`` and ``robust_pca`` on planted problems: ``python -m benchmarks entries``.

Times are wall-clock times of a call as a user makes it, after a warm-up call, with all cores. Every
ratio to another method is measured in this run on the same data. Errors are relative to the norm of
the true matrix. ``pip install --editable '.[bench]'`` installs the packages to compare with, and
``--figure docs/figures/entries-growth.png`` draws the figure of the documentation.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import robustrank as rr
from benchmarks import entries_growth, entries_large, entries_peers
from benchmarks.progress import doing, result, write_json
from robustrank.metrics import normalized_error
from robustrank.simulate import PlantedEntries, plant_entries

RANK, FIRST_SEED = 5, 30_000
EXACT = 1e-6  # a larger error means that the problem was not solved
PARTS = ("speed", "growth", "peers")


@dataclass(frozen=True)
class Row:
    """One measured quantity and its target, which is also missed if a problem is not solved."""

    what: str
    measured: float
    target: tuple[float, float]  # the smallest and the largest value
    unit: str
    error: float | None = None  # the largest of the problems

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        low, high = self.target
        return low <= self.measured <= high and (self.error is None or self.error < EXACT)

    def __str__(self) -> str:
        low, high = self.target
        target = f"{low:g} - {high:g}" if low else f"{high:g}"
        error = "" if self.error is None else f"error {self.error:.1e}"
        verdict = "met" if self.met else "MISSED"
        value = f"{self.measured:>9.3g} {self.unit:<4} {target:>9}"
        return f"{self.what:<68} {value}  {verdict:<6}  {error}"


def sampled_speed(quick: bool) -> Row:
    """Sampled entries; the median of five problems."""
    n, rho = (200 if quick else 800), 8

    def problem(seed: int) -> PlantedEntries:
        count = rho * RANK * (2 * n - RANK)
        return plant_entries(n, n, RANK, count, outliers=0.05, condition_number=2, rng=seed)

    def solve(planted: PlantedEntries) -> Callable[[], rr.Result]:
        return lambda: rr.complete(planted.triples, RANK, shape=planted.shape)

    seconds, error = _timed(problem, solve, trials=5)
    what = f"complete with a rank bound, {n} × {n}, rho = {rho}, 5 % own-scale outliers"
    return Row(what, seconds, (0, 0.5), "s", error)


def full_speed(quick: bool) -> Row:
    """A fully observed matrix with many large outliers; the median of three problems."""
    n = 200 if quick else 2500

    def problem(seed: int) -> PlantedEntries:
        return plant_entries(n, n, RANK, n * n, outliers=0.4, outlier_model="max", rng=seed)

    def solve(planted: PlantedEntries) -> Callable[[], rr.Result]:
        X = planted.incomplete
        return lambda: rr.robust_pca(X)

    seconds, error = _timed(problem, solve, trials=3)
    what = f"robust_pca, {n} × {n}, 40 % of the entries at ± the largest entry"
    return Row(what, seconds, (0, 10), "s", error)


def _timed(
    problem: Callable[[int], PlantedEntries],
    solve: Callable[[PlantedEntries], Callable[[], rr.Result]],
    trials: int,
) -> tuple[float, float]:
    """The median time and the largest error, after a warm-up call that is not measured."""
    times, errors = [], []
    for trial in range(-1, trials):
        doing(f"problem {trial + 1} of {trials}" if trial >= 0 else "warm-up call")
        planted = problem(FIRST_SEED + trial)
        call = solve(planted)
        began = time.perf_counter()
        completion = call()
        times.append(time.perf_counter() - began)
        truth = planted.left, planted.right
        errors.append(normalized_error((completion.left, completion.right), truth))
    return statistics.median(times[1:]), max(errors[1:])


def large_rows(quick: bool) -> list[Row]:
    """Time and peak memory of a large problem, each a row."""
    found = entries_large.measure(quick)
    (n1, n2), count = entries_large.SHAPE, entries_large.ENTRIES
    if quick:
        (n1, n2), count = entries_large.QUICK_SHAPE, entries_large.QUICK_ENTRIES
    what = f"complete, {n1:,} × {n2:,}, {count:,} entries, 5 % outliers"
    return [
        Row(what, found.seconds / 60, (0, 6), "min", found.error),
        Row("  its peak memory, of the whole process", found.peak_gib, (0, 4), "GiB"),
    ]


def measure(parts: list[str], quick: bool, large: bool, figure: Path | None) -> dict[str, Any]:
    """Measure the parts and print every result as it is found."""
    rows: list[Row] = []
    report: dict[str, Any] = {}

    def add(row: Row) -> None:
        rows.append(row)
        result(row)

    if "speed" in parts:
        result(f"{'what':<68} {'measured':>14} {'target':>9}")
        add(sampled_speed(quick))
        add(full_speed(quick))
    if large:
        for row in large_rows(quick):
            add(row)
    if "growth" in parts:
        result("growth of the time of complete with the number of entries:")
        points = entries_growth.measure(quick)
        exponent, _ = entries_growth.fitted_line(points)
        worst = max(point.error for point in points)
        add(Row("exponent of the growth with the entries", exponent, (0.9, 1.1), "", worst))
        report["growth"] = [asdict(point) for point in points]
        if figure is not None:
            entries_growth.draw(points, figure)
            result(f"wrote {figure}")
    if "peers" in parts:
        bar, target = entries_peers.SUCCESS, entries_peers.TARGET
        result(f"time of other methods / time of robustrank; success: error below {bar:g};")
        result(f"target: a ratio of at least {target:g}")
        found = entries_peers.compare(quick)
        report["peers"] = [one.record() for one in found]
    return {"rows": [asdict(row) | {"met": row.met} for row in rows]} | report


def main() -> None:
    """Measure, print tables, and write JSON and a figure if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/entries.json"))
    parser.add_argument("--figure", type=Path, help="draw the growth to this PNG file")
    parser.add_argument("--large", action="store_true", help="also 1.5e7 entries; minutes and GiB")
    parser.add_argument("--quick", action="store_true", help="small problems, to try the benchmark")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    asked = parser.parse_args()
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    about = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "robustrank": rr.__version__}
    report = about | {"quick": asked.quick}
    report |= measure(asked.only, asked.quick, asked.large, asked.figure)
    write_json(asked.json, report)
