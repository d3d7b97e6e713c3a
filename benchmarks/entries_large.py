"""Time and memory of ``complete`` on a large problem, in a process of its own.

One process plants the problem and writes it to a file, and another one reads and completes it. The
peak memory is that of the second process, which includes Python, the libraries and the data.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from progress import doing

import robustrank as rr
from robustrank.metrics import normalized_error
from robustrank.run import Progress
from robustrank.simulate import plant_entries

SHAPE, RANK, ENTRIES, SEED = (50_000, 60_000), 5, 15_000_000, 40_000
QUICK_SHAPE, QUICK_ENTRIES = (2_000, 2_400), 200_000
REPORT_EVERY = 10.0  # seconds


@dataclass(frozen=True)
class Large:
    """The result of the large problem."""

    seconds: float
    peak_gib: float
    error: float


def measure(quick: bool) -> Large:
    """Plant, complete and measure in two new processes; progress goes to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        _child("quick" if quick else "full", path)
        return Large(*map(float, _child("complete", path).split()))


def _child(*arguments: object) -> str:
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _plant(quick: bool, path: Path) -> None:
    shape, entries = (QUICK_SHAPE, QUICK_ENTRIES) if quick else (SHAPE, ENTRIES)
    doing(f"planting {shape[0]:,} × {shape[1]:,} with {entries:,} entries")
    made = plant_entries(*shape, RANK, entries, outliers=0.05, condition_number=2, rng=SEED)
    rows, columns, values = made.triples
    np.savez(path, rows=rows, columns=columns, values=values, left=made.left, right=made.right)


def _complete(path: Path) -> None:
    small = plant_entries(300, 300, RANK, 20_000, outliers=0.05, rng=0)
    rr.complete(small.triples, shape=small.shape)  # a warm-up call: compilation is not measured
    with np.load(path) as data:
        triples = data["rows"], data["columns"], data["values"]
        truth = data["left"], data["right"]
    began = latest = time.perf_counter()

    def progress(state: Progress) -> None:
        nonlocal latest
        if time.perf_counter() - latest > REPORT_EVERY:
            latest = time.perf_counter()
            doing(f"completing, {latest - began:.0f} s: {state.stage}, {state.fraction:.0%}")

    shape = len(truth[0]), len(truth[1])
    completion = rr.complete(triples, shape=shape, callback=progress)
    seconds = time.perf_counter() - began
    peak = _peak_gib()  # before the error is computed
    print(seconds, peak, normalized_error((completion.left, completion.right), truth))


def _peak_gib() -> float:
    """The peak resident set size of this process since it started; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


if __name__ == "__main__":
    task, target = sys.argv[1], Path(sys.argv[2])
    if task == "complete":
        _complete(target)
    else:
        _plant(task == "quick", target)
