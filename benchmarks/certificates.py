"""Is an answer ever called right when it is wrong? ``make bench-certificates``.

Random problems of every kind, half of them impossible: more outliers than can be told apart from
measurements, or nothing but noise. An answer said to be recovered must have an error below 1e-6;
one said to be settled must be as near as the noise it names allows, or not three times as far off
as an answer that was told the outliers; of an impossible problem neither may be said.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from rows import Row, read_rows, run, wilson  # first: it pins the threads

import robustrank as rr
from robustrank.simulate import OUTLIER_MODELS, plant

FIRST_SEED = 70_000


def run_trial(seed: int) -> list[Row]:
    """One random problem, as a row."""
    warnings.simplefilter("ignore", rr.UndersampledWarning)
    rng = np.random.default_rng(FIRST_SEED + seed)
    n1, n2 = (int(n) for n in rng.integers(12, 80, 2))
    rank = int(rng.integers(1, 1 + min(6, n1 // 4, n2 // 4)))
    freedom = rr.theory.degrees_of_freedom(n1, n2, rank)
    kind = ("possible", "too few", "possible", "garbage")[seed % 4]
    outliers = float(rng.uniform(0, 0.48))
    clean = freedom * (rng.uniform(0.6, 0.99) if kind == "too few" else rng.uniform(1.05, 2.5))
    planted = plant(
        n1,
        n2,
        rank,
        max(int(clean / (1 - outliers)), 5),
        outliers=outliers,
        outlier_model=str(rng.choice(list(OUTLIER_MODELS))),
        noise=float(rng.choice([0.0, 0.0, 0.01, 0.05])),
        rng=rng,
    )
    y = rng.standard_normal(len(planted.y)) if kind == "garbage" else planted.y
    result = rr.recover(planted.A, y, rank)
    truth = planted.left, planted.right
    error = rr.metrics.normalized_error((result.left, result.right), truth)
    seen, status = result.certificate, result.status
    right = error < 1e-6
    if status is rr.Status.SETTLED and not right:
        allowed = 5 * seen.noise * math.sqrt(freedom / max(seen.believed - freedom, 1))
        told = rr.recover(planted.A[~planted.outliers], y[~planted.outliers], rank)
        told_error = rr.metrics.normalized_error((told.left, told.right), truth)
        right = error < max(allowed, 3 * told_error)
    claims = status in (rr.Status.RECOVERED, rr.Status.SETTLED)
    return [
        {
            "seed": seed,
            "kind": kind,
            "status": status.name,
            "error": error,
            "noise": seen.noise,
            "wrong": claims and not (right and kind == "possible"),
        }
    ]


def main() -> None:
    """Run what is missing and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    path = given.out / "bench-certificates.jsonl"
    done = {row["seed"] for row in read_rows(path)}
    run(run_trial, [s for s in range(given.trials) if s not in done], path, given.workers)
    rows = read_rows(path)
    for (kind, status), count in sorted(Counter((r["kind"], r["status"]) for r in rows).items()):
        print(f"{kind:10} {status:16} {count}")
    wrong = [row for row in rows if row["wrong"]]
    low, high = wilson(len(wrong), len(rows))
    print(f"wrong: {len(wrong)} of {len(rows)} ({low:.2%}–{high:.2%})")
    for row in wrong:
        print(row)


if __name__ == "__main__":
    main()
