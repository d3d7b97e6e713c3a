"""Trials in parallel processes, one JSON line each: a killed run goes on where it stopped."""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is loaded, and inherited by every worker

import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.statistics import Rate

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of earlier runs; a line that a kill cut short is left out."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}, line {number}: cut short, left out", file=sys.stderr)
    return rows


def run(
    work: Callable[[Any], list[Row]],
    jobs: Sequence[Any],
    path: Path,
    workers: int,
    seconds: float = math.inf,
) -> None:
    """Run the jobs in parallel, keeping every row as soon as it is there; stop when time is up."""
    if not jobs:
        return
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    # What a kill cut short is ended, so that the next row starts on a line of its own.
    cut = path.exists() and not path.read_bytes().endswith(b"\n")
    with context.Pool(workers) as pool, path.open("a") as stream:
        stream.write("\n" if cut and path.stat().st_size else "")
        for done, rows in enumerate(pool.imap_unordered(work, jobs), start=1):
            stream.writelines(json.dumps(row) + "\n" for row in rows)
            stream.flush()
            spent = time.monotonic() - began
            left = spent / done * (len(jobs) - done) / 60
            text = f"\r{done}/{len(jobs)} trials, about {left:.0f} min left   "
            print(text, end="", file=sys.stderr, flush=True)
            if spent > seconds:
                break
    print(file=sys.stderr)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate."""
    return Rate(successes, trials).interval


def median(values: Sequence[float]) -> float:
    """The lower median."""
    return sorted(values)[(len(values) - 1) // 2]
