"""How the time of ``recover`` grows with the data and the workers: a model, its fit, predictions.

``python -m benchmarks.scale_model out/scale.json`` prints the table of docs/guide/scale.md
from the constants that ``python -m benchmarks scale`` fitted.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

MOST_SHARDS = 1024  # as in robustrank.outofcore.sharded
SHARD_BYTES = 2**28
DRIVER_VECTORS = 20  # of m float64 numbers, as in robustrank.outofcore.tangent_storage


@dataclass(frozen=True)
class Work:
    """What a run does.

    Parameters
    ----------
    workers, shards
        The number of processes, and of parts of the data.
    data_bytes, map_bytes
        The size of the sensing data and of the tangent map.
    passes, products
        How often the data and the map are read.
    rounds
        How often the driver waits for all workers.
    """

    workers: int
    shards: int
    data_bytes: float
    map_bytes: float
    passes: float
    products: float
    rounds: float

    @property
    def parallel(self) -> float:
        """How many workers are busy: fewer than all if the shards cannot be divided equally."""
        return self.shards / math.ceil(self.shards / self.workers)


@dataclass(frozen=True)
class Constants:
    """Bytes per second of a worker, for the data and for the tangent map; seconds of a round."""

    bandwidth: float
    map_bandwidth: float
    latency: float


def terms(work: Work) -> tuple[float, float, float]:
    """Bytes of data and of the map that a busy worker reads, and rounds."""
    return (
        work.passes * work.data_bytes / work.parallel,
        work.products * work.map_bytes / work.parallel,
        work.rounds,
    )


def predict(constants: Constants, work: Work) -> float:
    """The seconds of a run."""
    data, tangent, rounds = terms(work)
    return (
        data / constants.bandwidth + tangent / constants.map_bandwidth + rounds * constants.latency
    )


def fit(runs: Sequence[tuple[Work, float]]) -> Constants:
    """The constants with the smallest squared relative errors of the seconds of some runs.

    A bandwidth is infinite if the time does not depend on that term.
    """
    seconds = np.array([measured for _, measured in runs])
    matrix = np.array([terms(work) for work, _ in runs]) / seconds[:, None]
    unit = np.max(matrix, axis=0)  # the columns have different units: bytes and rounds
    unit[unit == 0] = 1.0
    found = nnls(matrix / unit, np.ones(len(runs)))[0] / unit
    data, tangent, latency = map(float, found)
    return Constants(_inverse(data), _inverse(tangent), latency)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else math.inf


@dataclass(frozen=True)
class Assumed:
    """What cannot be measured on one machine.

    Parameters
    ----------
    storage, memory
        Bytes per second that each worker reads at most.
    network
        Bytes per second that the driver sends or receives.
    task
        Seconds of the scheduler for a task; in each round there is one for every worker.
    """

    storage: float = 1e9
    memory: float = 1e10
    network: float = 1e9
    task: float = 5e-4


@dataclass(frozen=True)
class Scaled:
    """A run that is too large to be measured: what it needs, and its seconds by cause."""

    work: Work
    measurements: int
    reading: float
    products: float
    rounds: float
    driver: float

    @property
    def seconds(self) -> float:
        """The time of the run."""
        return self.reading + self.products + self.rounds + self.driver

    @property
    def map_per_worker(self) -> float:
        """The bytes of the tangent map on each worker."""
        return self.work.map_bytes / self.work.workers

    @property
    def driver_bytes(self) -> float:
        """The memory of the driver: vectors of m numbers."""
        return 8.0 * DRIVER_VECTORS * self.measurements


def extrapolate(
    constants: Constants,
    typical: Work,
    data_bytes: float,
    workers: int,
    *,
    shape: tuple[int, int],
    rank: int,
    item_bytes: int = 4,
    assumed: Assumed | None = None,
) -> Scaled:
    """The time for much more data, with the passes, products and rounds of a typical run.

    Data comes from storage at the assumed rate, or at the fitted one if that is lower, and the
    tangent map from the memory of the workers in the same way. Every pass sends a vector of m
    numbers to the driver or from it, and every product one tangent vector of each shard; both take
    time on the driver's network.
    """
    rates = assumed or Assumed()
    n1, n2 = shape
    measurements = round(data_bytes / (n1 * n2 * item_bytes))
    shards = min(MOST_SHARDS, math.ceil(data_bytes / SHARD_BYTES))
    tangent_vector = rank * (n1 + n2)
    work = Work(
        workers=workers,
        shards=shards,
        data_bytes=data_bytes,
        map_bytes=4.0 * measurements * tangent_vector,
        passes=typical.passes,
        products=typical.products,
        rounds=typical.rounds,
    )
    data, tangent, rounds = terms(work)
    sent = 8.0 * (work.passes * measurements + work.products * shards * tangent_vector)
    return Scaled(
        work,
        measurements,
        reading=data / min(constants.bandwidth, rates.storage),
        products=tangent / min(constants.map_bandwidth, rates.memory),
        rounds=rounds * (constants.latency + workers * rates.task),
        driver=sent / rates.network,
    )


def table(constants: Constants, typical: Work, shape: tuple[int, int], rank: int) -> str:
    """Predictions for 1 TB and 100 TB on 16 and 256 workers, as a Markdown table."""
    lines = [
        "| data | workers | time | reading | products | rounds | driver's network | "
        "tangent map per worker | memory of the driver |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for size in (1e12, 100e12):
        for workers in (16, 256):
            one = extrapolate(constants, typical, size, workers, shape=shape, rank=rank)
            parts = (one.seconds, one.reading, one.products, one.rounds, one.driver)
            cells = [f"{size / 1e12:g} TB", str(workers), *map(in_words, parts)]
            cells += map(gigabytes, (one.map_per_worker, one.driver_bytes))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def in_words(seconds: float) -> str:
    """A duration with its unit, to two digits."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s"


def gigabytes(size: float) -> str:
    """A number of bytes in gigabytes, to about two digits."""
    return f"{size / 1e9:.0f} GB" if size >= 1e10 else f"{size / 1e9:.2g} GB"


def from_report(report: dict[str, Any]) -> str:
    """The fitted constants in a sentence, and the table, from the JSON of the benchmark."""
    fitted = report["fit"]
    # JSON has no infinity.
    rates = [fitted[name] or math.inf for name in ("bandwidth", "map_bandwidth")]
    constants = Constants(rates[0], rates[1], fitted["latency"])
    measured = fitted["predicted_run"]
    typical = Work(**measured["work"])
    n1, n2 = fitted["shape"]
    rates_text = [
        f"{rate / 1e9:.2g} GB/s" if math.isfinite(rate) else "an unknown rate" for rate in rates
    ]
    sentence = (
        f"Fitted on {report['date']} ({report['machine']}): {rates_text[0]} of sensing data and "
        f"{rates_text[1]} of the tangent map per worker, {1e3 * constants.latency:.2g} ms per "
        f"round. A run of {n1} × {n2}, rank {fitted['rank']}: {typical.passes:g} passes, "
        f"{typical.products:g} products, {typical.rounds:g} rounds. With "
        f"{gigabytes(typical.data_bytes)} on {typical.workers} workers it took "
        f"{in_words(measured['seconds'])}; the model, fitted to smaller runs, predicted "
        f"{in_words(measured['predicted'])}."
    )
    return (
        f"{textwrap.fill(sentence, 120)}\n\n{table(constants, typical, (n1, n2), fitted['rank'])}"
    )


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/scale.json")
    print(from_report(json.loads(path.read_text())))
