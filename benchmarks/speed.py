"""Speed of the default solver: relative to the paper's method, and to reading the data.

Everything about one problem is measured in the same new process, with all cores.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FIRST_SEED = 90_000

PROBE = """
import sys, time, numpy as np, robustrank as rr
from robustrank.operators import as_operator

def plant(dtype):
    seed = int(sys.argv[1])
    return rr.simulate.plant(150, 120, 5, 2400, outliers=0.05, dtype=dtype, rng=seed)

def shortest(work, repeats=7):
    work()  # compiles and warms up
    times = []
    for _ in range(repeats):
        time.sleep(0.05)  # the threads of BLAS spin for a while after a call
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)

def median_tgd(planted):
    truth, reached = (planted.left, planted.right), []
    def watch(progress):
        if rr.metrics.normalized_error((progress.left, progress.right), truth) < 1e-6:
            reached.append(progress.check.seconds)
            return True
    rr.recover(planted.A, planted.y, 5, solver="median-tgd", callback=watch)
    return reached[0]

planted = plant("float64")
result = rr.recover(planted.A, planted.y, 5)
assert result.status.name == "RECOVERED"
assert rr.metrics.evaluate(result, planted).error < 1e-6
complete = shortest(lambda: rr.recover(planted.A, planted.y, 5))
flat = planted.A.reshape(2400, -1)
x, w = np.ones(flat.shape[1]), np.ones(len(flat))
bare = (shortest(lambda: flat @ x) + shortest(lambda: w @ flat)) / 2
operator = as_operator(planted.A)
left, right = (np.linalg.qr(factor)[0] for factor in (planted.left, planted.right))
tangent = shortest(lambda: operator.tangent(left, right))
slow = median_tgd(planted)
del planted, flat, operator
single = plant("float32")
complete32 = shortest(lambda: rr.recover(single.A, single.y, 5))
print(complete, slow, result.passes, bare, tangent, complete32)
"""


@dataclass(frozen=True)
class Timing:
    """Seconds for one planted problem: 150 × 120, rank 5, 2,400 measurements, 5 % outliers."""

    complete: float  # one call of ``recover``, to rounding accuracy and with its certificate
    median_tgd: float  # to 1e-6
    passes: float  # over the sensing data, of the complete call
    bare: float  # one product with A
    tangent: float  # the tangent map
    complete32: float  # the complete call in float32

    def __str__(self) -> str:
        return (
            f"recover {self.complete:.2f} s ({self.passes:.0f} passes), median-TGD to 1e-6 "
            f"{self.median_tgd:.1f} s; a bare pass {1e3 * self.bare:.1f} ms, a tangent map "
            f"{1e3 * self.tangent:.1f} ms; float32 {self.complete32:.2f} s"
        )


RATIOS: dict[str, Callable[[Timing], float]] = {
    "median-TGD to 1e-6 / recover with certificate": lambda t: t.median_tgd / t.complete,
    "recover / as many bare passes": lambda t: t.complete / (t.passes * t.bare),
    "tangent map / bare pass": lambda t: t.tangent / t.bare,
    "recover, float32 / float64": lambda t: t.complete32 / t.complete,
}


def median_ratio(name: str, timings: Sequence[Timing]) -> float:
    """The median of a ratio over several problems."""
    return statistics.median(RATIOS[name](timing) for timing in timings)


def measure(seed: int) -> Timing:
    """Time one problem in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(seed)], check=True, capture_output=True, text=True
    )
    return Timing(*map(float, done.stdout.split()))
