"""GPU performance: ``python -m benchmarks gpu``, on a machine with a CUDA device and PyTorch.

Every problem is generated on the GPU. Speeds are ratios within one run. Times are wall-clock times
of ``recover`` as a user calls it, after a warm-up call of the same kind.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import math
import platform
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import robustrank as rr
from benchmarks.progress import write_json
from robustrank.backend import gpus
from robustrank.files import atomic_writer
from robustrank.simulate import Planted, plant

N1, N2, RANK, M = 150, 120, 5, 2400
FIRST_SEED = 70_000


@dataclass(frozen=True)
class Row:
    """One measured quantity, its target (met is None: reported only), and the details."""

    what: str
    measured: float
    target: str
    met: bool | None
    details: str


def planted(seed: int, dtype: str = "float64", **other: Any) -> Planted:
    """A planted problem of the standard setting on the GPU, changed by ``other``."""
    setting: dict[str, Any] = {"n1": N1, "n2": N2, "rank": RANK, "measurements": M}
    setting |= {"outliers": 0.05, "dtype": dtype, "library": "torch", "device": "cuda"}
    return plant(**setting | other, rng=FIRST_SEED + seed)


def solve(problem: Planted, solver: Any = "auto") -> tuple[float, rr.Result]:
    """The time of one call of ``recover``, and its result."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    recovery = rr.recover(problem.A, problem.y, problem.rank, solver=solver)
    torch.cuda.synchronize()
    return time.perf_counter() - began, recovery


def fastest(problem: Planted, solver: Any = "auto", times: int = 3) -> tuple[float, rr.Result]:
    """The fastest of a few calls."""
    return min((solve(problem, solver) for _ in range(times)), key=lambda timed: timed[0])


def error(recovery: rr.Result, problem: Planted) -> float:
    """The error against the planted matrix."""
    return rr.metrics.evaluate(recovery, problem).error


def iteration_seconds(problem: Planted, iterations: int = 2500) -> float:
    """Seconds per median-TGD iteration, progress checks included; the best of five runs.

    From the first check of the replayed graph to the last one, without the certificate.
    """
    solver = rr.solvers.MedianTGD(max_iterations=iterations, tolerance=0)

    def run() -> float:
        checks = solve(problem, solver)[1].history.checks
        first = next(check for check in checks if check.iteration > solver.check_every)
        last = checks[-1]
        return (last.seconds - first.seconds) / (last.iteration - first.iteration)

    return min(run() for _ in range(5))


def iteration_row(dtype: str, most: float, bandwidth: float) -> Row:
    """The time of an iteration relative to two reads of A at the copy bandwidth."""
    problem = planted(0, dtype)
    reads = 2 * problem.A.nbytes / bandwidth
    took = iteration_seconds(problem)
    ratio = took / reads
    how = f"{took * 1e6:.0f} µs against {reads * 1e6:.0f} µs"
    return Row(f"median-TGD iteration / two reads, {dtype}", ratio, f"≤ {most}", ratio <= most, how)


def iterations_to(problem: Planted, goal: float) -> int:
    """The number of iterations that the paper's method needs to an error below ``goal``."""

    def near(progress: rr.Progress) -> bool:
        left, right = (rr.backend.to_numpy(part) for part in (progress.left, progress.right))
        return rr.metrics.normalized_error((left, right), (problem.left, problem.right)) < goal

    solver = rr.solvers.MedianTGD(tolerance=0)
    return rr.recover(problem.A, problem.y, RANK, solver=solver, callback=near).iterations


def speed_row(trials: int = 5) -> Row:
    """A complete ``auto`` run with its certificate, relative to median-TGD to 1e-6."""
    ratios, ours, papers = [], [], []
    for seed in range(1, trials + 1):
        problem = planted(seed)
        enough = rr.solvers.MedianTGD(max_iterations=iterations_to(problem, 1e-6), tolerance=0)
        auto, recovery = fastest(problem)
        paper, reached = solve(problem, enough)
        assert error(recovery, problem) < 1e-6
        assert error(reached, problem) < 1e-6
        ratios.append(paper / auto)
        ours.append(auto)
        papers.append(paper)
    middle = statistics.median
    how = (
        f"median of {trials}, {min(ratios):.1f} to {max(ratios):.1f}: auto "
        f"{middle(ours) * 1e3:.0f} ms, median-TGD {middle(papers) * 1e3:.0f} ms"
    )
    ratio = middle(ratios)
    return Row("auto against median-TGD to 1e-6", ratio, "≥ 10", ratio >= 10, how)


def many_row(count: int) -> Row:
    """Independent problems, each with its own A generated on the GPU."""
    truths = []

    def problems() -> Iterator[tuple[Any, Any]]:
        for seed in range(1000, 1000 + count):
            problem = planted(seed)
            truths.append((problem.left, problem.right))
            yield problem.A, problem.y

    began = time.perf_counter()
    found = list(rr.recover_many(problems(), RANK))
    took = time.perf_counter() - began
    errors = [
        rr.metrics.normalized_error(
            (rr.backend.to_numpy(one.left), rr.backend.to_numpy(one.right)), truth
        )
        for one, truth in zip(found, truths, strict=True)
    ]
    good = sum(value < 1e-6 for value in errors)
    rate = count / took
    how = f"{count} problems in {took:.1f} s, generation included; {good} below 1e-6"
    return Row("problems per second, auto", rate, "≥ 15", rate >= 15, how)


def large_row() -> Row:
    """A problem with 9.6 GB of sensing data."""
    problem = planted(0, "float32", n1=400, n2=300, rank=10, measurements=20_000, outliers=0.1)
    solve(problem)
    took, recovery = solve(problem)
    reads = recovery.passes * problem.A.nbytes / took
    how = (
        f"400 × 300, r = 10, m = 20,000, 10 % huge: {took:.2f} s, {recovery.iterations} steps, "
        f"{recovery.passes:.0f} passes, {reads / 1e9:,.0f} GB/s, {recovery.status.name}"
    )
    wrong = error(recovery, problem)
    return Row("error of a large problem, float32", wrong, "≤ 1e-5", wrong <= 1e-5, how)


def memory_rows() -> Iterator[Row]:
    """Peak GPU memory of a call in addition to A, relative to A.

    Memory that the GPU libraries keep for themselves is not counted, but reported.
    """
    for solver in ("auto", "median-tgd"):
        for dtype in ("float64", "float32"):
            problem = planted(0, dtype)
            solve(problem, solver)
            gc.collect()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            solve(problem, solver)
            share = (torch.cuda.max_memory_allocated() - before) / problem.A.nbytes
            theirs = before - problem.A.nbytes
            what = f"memory in addition to A / A, {solver}, {dtype}"
            how = f"A takes {problem.A.nbytes / 1e6:.0f} MB, the libraries {theirs / 1e6:.0f} MB"
            yield Row(what, share, "≤ 0.25", share <= 0.25, how)


GROWTH: dict[str, list[dict[str, Any]]] = {
    "m": [{"measurements": m} for m in (2400, 5400, 11_000, 24_000)],
    "n": [{"n1": n, "n2": n, "measurements": 7000} for n in (60, 130, 280, 600)],
    "r": [{"rank": r, "measurements": 6000} for r in (1, 2, 5, 10)],
}


def growth_rows() -> Iterator[Row]:
    """Growth exponents of the time of an iteration and of ``auto``, over a decade of each size."""
    for letter, settings in GROWTH.items():
        sizes = [
            setting[{"m": "measurements", "n": "n1", "r": "rank"}[letter]] for setting in settings
        ]
        iterations, autos = [], []
        for setting in settings:
            problem = planted(0, **setting)
            iterations.append(iteration_seconds(problem, 310))
            solve(problem)
            autos.append(fastest(problem)[0])
        for name, times in (("median-TGD iteration", iterations), ("auto", autos)):
            exponent = slope([math.log(s) for s in sizes], [math.log(t) for t in times])
            how = ", ".join(
                f"{letter} = {s:,}: {t * 1e3:.3g} ms" for s, t in zip(sizes, times, strict=True)
            )
            theory = {"m": 1, "n": 2, "r": 0}[letter]
            yield Row(f"growth of {name} with {letter}", exponent, f"theory {theory}", None, how)


def slope(x: list[float], y: list[float]) -> float:
    """The slope of the least-squares line."""
    return statistics.linear_regression(x, y).slope


def rows(problems: int) -> Iterator[Row]:
    """All quantities, in the order of the table."""
    bandwidth = gpus()[0].copy_bandwidth()
    yield Row("copy bandwidth, GB/s", bandwidth / 1e9, "report", None, "1 GB, read and written")
    solve(planted(999))  # loads the GPU libraries
    solve(planted(999, "float32"))
    yield iteration_row("float64", 1.6, bandwidth)
    yield iteration_row("float32", 1.7, bandwidth)
    yield speed_row()
    yield many_row(problems)
    yield large_row()
    yield from memory_rows()
    yield from growth_rows()


HEADER = "| quantity | measured | target | met | details |\n| --- | --- | --- | --- | --- |"


def line(row: Row) -> str:
    """A row of the Markdown table."""
    met = {True: "yes", False: "no", None: "–"}[row.met]
    return f"| {row.what} | {row.measured:.3g} | {row.target} | {met} | {row.details} |"


def main() -> None:
    """Measure, print the table, and write it as Markdown and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/gpu.json"), help="also as .md")
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=99, help="number of rows to measure")
    given = parser.parse_args()
    if not gpus():
        parser.exit(1, "this benchmark needs a CUDA device, and PyTorch finds none\n")
    print(HEADER)
    measured = []
    for row in islice(rows(given.problems), given.first):
        print(line(row), flush=True)
        measured.append(row)
    environment = {
        "gpu": gpus()[0].name,
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "robustrank": rr.__version__,
    }
    write(given.json, environment, measured)


def write(path: Path, environment: dict[str, str], measured: list[Row]) -> None:
    """Write the rows as JSON and as a Markdown table."""
    whole = {"environment": environment, "rows": [asdict(row) for row in measured]}
    title = ", ".join(f"{name} {value}" for name, value in environment.items())
    write_json(path, whole)
    with atomic_writer(path.with_suffix(".md")) as stream:
        stream.write("\n".join([f"{title}\n", HEADER, *map(line, measured), ""]).encode())
