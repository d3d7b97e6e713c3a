"""Small problems with and without threads of BLAS: ``python -m benchmarks threads``.

Each problem is solved in processes of its own: as a user would, with one thread, and with threads
that are not limited; on two cores, alone and beside a process that computes all the time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import robustrank as rr
from benchmarks.progress import write_json
from robustrank.backend import threads

MODES = ("default", "one thread", "not limited")
MUST = 1.3  # the default relative to one thread
_REPEATS = 3


def problems() -> dict[str, Callable[[], Any]]:
    """Calls to measure, all of them with less data than threads are used for."""
    dense = rr.simulate.plant(24, 18, 2, 600, noise=0.03, outliers=0.1, rng=1)
    exact = rr.simulate.plant(40, 30, 3, 700, outliers=0.1, rng=1)
    entries = rr.simulate.plant_entries(300, 250, 5, 15_000, outliers=0.1, rng=1)
    noisy = rr.simulate.plant_entries(300, 250, 5, 15_000, outliers=0.1, noise=0.02, rng=1)
    return {
        "recover, 3 % noise": lambda: rr.recover(dense.A, dense.y),
        "recover, exact": lambda: rr.recover(exact.A, exact.y, 3),
        "complete, exact": lambda: rr.complete(entries.incomplete),
        "complete, 2 % noise": lambda: rr.complete(noisy.incomplete),
    }


def measured(name: str, mode: str) -> float:
    """The median of the seconds of a call, after one that is not counted."""
    if mode == "not limited":
        threads.WORTH_THREADS = 0
    call = problems()[name]
    times = []
    for _ in range(_REPEATS + 1):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def in_a_process(name: str, mode: str) -> float:
    """``measured`` in a new process, with one thread if that is the mode."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    if mode == "one thread":
        environment |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks", "threads", "--measure", name, "--mode", mode]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Processes that compute all the time."""
    endless = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(endless) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> None:
    """Print a table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/threads.json"))
    parser.add_argument("--measure", choices=list(problems()))
    parser.add_argument("--mode", choices=MODES, default=MODES[0])
    arguments = parser.parse_args()
    if arguments.measure:
        print(measured(arguments.measure, arguments.mode))
        return
    if hasattr(os, "sched_setaffinity"):  # as many cores as the threads of the comparison
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    rows: list[dict[str, Any]] = []
    print(f"{'':32}" + "".join(f"{mode:>14}" for mode in MODES) + f"{'ratio':>8}")
    for processes in (0, 1):
        for name in problems():
            with busy(processes):
                seconds = {mode: in_a_process(name, mode) for mode in MODES}
            ratio = seconds["default"] / seconds["one thread"]
            rows.append({"problem": name, "busy": processes, "seconds": seconds, "ratio": ratio})
            where = "beside one" if processes else "alone"
            times = "".join(f"{seconds[mode]:13.3f}s" for mode in MODES)
            print(f"{name + ', ' + where:32}{times}{ratio:8.2f}", flush=True)
    worst = max(row["ratio"] for row in rows if row["busy"])
    print(f"default relative to one thread, beside one busy process: {worst:.2f} (must: {MUST})")
    write_json(arguments.json, {"rows": rows, "must": MUST})
