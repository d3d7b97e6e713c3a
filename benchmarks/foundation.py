"""Speed and memory on the CPU, compared with targets: ``python -m benchmarks foundation``.

Speeds are ratios within one run, because machines are shared and noisy. Memory is measured in
separate processes by the peak resident set size that the kernel records.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import robustrank as rr
from benchmarks import speed
from benchmarks.progress import write_json
from robustrank.operators import as_operator
from robustrank.simulate import plant

N1, N2, RANK, M = 150, 120, 5, 2400
SPEED_TRIALS = 5
OPTIONAL = ("matplotlib", "click", "rich", "torch", "jax", "cupy", "dask", "sklearn")


@dataclass(frozen=True)
class Row:
    """One measured quantity and its target."""

    what: str
    measured: float
    target: float
    unit: str
    at_least: bool = False  # whether the target is the smallest and not the largest value

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        if self.at_least:
            return self.measured >= self.target
        return self.measured <= self.target

    def __str__(self) -> str:
        sign, verdict = "≥" if self.at_least else "≤", "met" if self.met else "MISSED"
        target = f"{sign} {self.target:g}" if self.target != np.inf else "report"
        verdict = verdict if self.target != np.inf else ""
        return f"{self.what:<58} {self.measured:>9.3g} {target:>8} {self.unit:<3} {verdict}"


def iteration_ratio(dtype: str, rounds: int = 15, repeats: int = 8) -> Row:
    """A median-TGD iteration relative to the two products with A that it needs."""
    planted = plant(N1, N2, RANK, M, outliers=0.05, dtype=dtype, rng=1)
    flat = planted.A.reshape(M, -1)
    x, w = np.ones(flat.shape[1], dtype), np.ones(M, dtype)
    solver = rr.solvers.MedianTGD()
    problem = rr.solvers.Problem(as_operator(planted.A), planted.y, RANK)
    state = solver.start(problem, np.random.default_rng(0))

    def iterate() -> None:
        nonlocal state
        state = solver.step(problem, state)

    def two_bare_passes() -> None:
        flat @ x
        w @ flat

    def seconds(work: Callable[[], None]) -> float:
        began = time.perf_counter()
        for _ in range(repeats):
            work()
        return time.perf_counter() - began

    ratios = [seconds(iterate) / seconds(two_bare_passes) for _ in range(rounds)]
    what = f"median-TGD iteration / two bare passes, {dtype}"
    return Row(what, statistics.median(ratios), 1.15, "×")


MEMORY_PROBE = """
    import sys, numpy as np, robustrank as rr
    from robustrank.simulate import plant

    def status(field):
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

    def forget_peak():
        open("/proc/self/clear_refs", "w").write("5")
"""


def probe(code: str, *arguments: object) -> float:
    """The number that a fresh Python process prints."""
    script = textwrap.dedent(MEMORY_PROBE) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def memory_in_ram(solver: str, dtype: str) -> Row:
    """Peak memory of ``recover`` on an array, relative to that array."""
    code = """
        n1, n2, rank, m = map(int, sys.argv[3:])
        small = plant(60, 50, 1, 500, dtype=sys.argv[1], rng=0)
        rr.recover(small.A, small.y, 1)  # libraries are loaded and their buffers allocated
        del small
        empty = status("VmRSS")
        p = plant(n1, n2, rank, m, outliers=0.05, dtype=sys.argv[1], rng=1)
        forget_peak()
        limit = 20 if sys.argv[2] == "median-tgd" else None
        rr.recover(p.A, p.y, rank, solver=sys.argv[2], callback=lambda q: q.iteration == limit)
        print((status("VmHWM") - empty) / p.A.nbytes)
    """
    measured = probe(code, dtype, solver, N1, N2, RANK, M)
    return Row(f"peak memory / sensing array, {solver}, {dtype}", measured, 1.10, "×")


def memory_mapped(gigabytes: float) -> Row:
    """Peak memory of the process when the sensing data is a file of this size."""
    code = """
        path, y = sys.argv[1], np.load(sys.argv[2])
        A = np.load(path, mmap_mode="r")
        rr.recover(A, y, 5, solver=rr.solvers.MedianTGD(max_iterations=3))
        print(status("VmHWM") / 1e6)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "A.npy"
        m = int(gigabytes * 1e9 / (N1 * N2 * 4))
        out = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(m, N1, N2))
        planted = plant(N1, N2, RANK, m, outliers=0.05, rng=1, out=out)
        out.flush()
        np.save(Path(folder) / "y.npy", planted.y)
        del planted, out
        measured = probe(code, path, Path(folder) / "y.npy")
    return Row(f"peak memory with a memory-mapped file of {gigabytes:g} GB", measured, 500, "MB")


def import_time(repeats: int = 7) -> Row:
    """Seconds that ``import robustrank`` takes in a fresh process; the median of some runs."""
    code = "import time; t = time.perf_counter(); import robustrank; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(repeats)
    ]
    return Row("import robustrank", statistics.median(times), 0.5, "s")


def optional_libraries() -> Row:
    """The number of optional libraries that the import loads."""
    code = f"import robustrank, sys; print(sum(name in sys.modules for name in {OPTIONAL}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return Row("optional libraries loaded by the import", float(done.stdout), 0, "")


SPEED_TARGETS = {
    "median-TGD to 1e-6 / recover with certificate": (100.0, True),
    "recover / as many bare passes": (3.0, False),
    "tangent map / bare pass": (1.8, False),
    "recover, float32 / float64": (np.inf, False),
}
BENCHMARKS: list[tuple[Callable[..., Row], tuple[Any, ...]]] = [
    (iteration_ratio, ("float32",)),
    (iteration_ratio, ("float64",)),
    (memory_in_ram, ("median-tgd", "float32")),
    (memory_in_ram, ("median-tgd", "float64")),
    (memory_in_ram, ("auto", "float32")),
    (memory_in_ram, ("auto", "float64")),
    (memory_mapped, (0.5,)),
    (memory_mapped, (2.0,)),
    (import_time, ()),
    (optional_libraries, ()),
]


def _plain(row: Row) -> dict[str, Any]:
    """A row for JSON, which has no infinity."""
    target = row.target if row.target != np.inf else None
    return asdict(row) | {"target": target, "met": None if target is None else row.met}


def main() -> None:
    """Measure everything, print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/foundation.json"))
    target = parser.parse_args().json
    rows = []
    print(f"{'what':<58} {'measured':>9} {'target':>8}")
    for benchmark, arguments in BENCHMARKS:
        row = benchmark(*arguments)
        rows.append(row)
        print(row, flush=True)
    timings = []
    for seed in range(speed.FIRST_SEED, speed.FIRST_SEED + SPEED_TRIALS):
        timings.append(speed.measure(seed))
        print(timings[-1], flush=True)
    for name, (goal, at_least) in SPEED_TARGETS.items():
        rows.append(Row(name, speed.median_ratio(name, timings), goal, "×", at_least))
        print(rows[-1], flush=True)
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    report = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "robustrank": rr.__version__,
        "rows": [_plain(row) for row in rows],
        "speed": [asdict(timing) for timing in timings],
    }
    write_json(target, report)
