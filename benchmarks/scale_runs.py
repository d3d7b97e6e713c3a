"""Runs of ``recover`` on sensing data in a file, each in a process of its own.

A run is described by a JSON object on the command line and prints one. The problem is the first
part of a file, so that one file serves for all sizes.
"""

from __future__ import annotations

import importlib
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import robustrank as rr
from robustrank.api.running import engine_of
from robustrank.backend import memory_bytes
from robustrank.cluster import local_cluster
from robustrank.files import create_npy
from robustrank.metrics import normalized_error
from robustrank.outofcore import ShardedRows, sharded
from robustrank.outofcore.blocks import blocks
from robustrank.outofcore.cluster import ClusterEngine
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.seeded_rows import SeededRows
from robustrank.outofcore.sources import Slice
from robustrank.outofcore.streamed import StreamedOperator
from robustrank.outofcore.tangent_storage import TangentStorage

SEED, OUTLIERS = 50_000, 0.1
# What the functions that an engine applies to the shards read.
READ_DATA = ("_measure", "_backproject", "_adjoint", "_row_norms", "_tangent")
READ_MAP = ("_apply", "_adjoint_of_map", "_apply_normal_map", "_share_maxima", "_share_counts")

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Task:
    """One run: the first ``rows`` rows of a file, and where they are computed.

    ``workers`` is 0 for this process. ``limit`` is the memory limit of the process or of each
    worker. With ``in_memory``, the rows are loaded as an array, within that limit. The time is that
    of the fastest of ``repeats`` runs.
    """

    path: str
    rows: int
    rank: int
    workers: int = 0
    limit: str | None = None
    in_memory: bool = False
    shard_bytes: int = 2**28
    repeats: int = 1


@dataclass(frozen=True)
class Outcome:
    """What was measured; memory in bytes.

    ``map_bytes`` is the mean over the products, because not every map has the same dtype;
    ``passes`` are those that the engine was asked for.
    """

    peak: int
    worker_peak: int = 0
    certified: bool = False
    failure: str = ""
    seconds: float = 0.0
    error: float = 1.0
    data: str = ""
    shards: int = 0
    passes: int = 0
    products: int = 0
    rounds: int = 0
    map_bytes: float = 0.0
    reported_passes: float = 0.0


def run(task: Task) -> Outcome:
    """The outcome of a run in a new process."""
    command = [sys.executable, "-m", "benchmarks.scale_runs", json.dumps(asdict(task))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def write_sensing_data(path: Path, rows: int, shape: tuple[int, int]) -> None:
    """Gaussian sensing matrices in float32, a block at a time."""
    array = create_npy(path, (rows, *shape), "float32")
    source = SeededRows(rows, shape[0] * shape[1], SEED, dtype="float32")
    for part, block in blocks(source):
        array[part] = block.reshape(-1, *shape)
    array.flush()


def round_seconds(workers: int, calls: int) -> float:
    """The median time of one product of conjugate gradients on a cluster, with little data."""
    n1, n2, rank, shards, height = 150, 120, 5, 8, 50
    source = SeededRows(shards * height, n1 * n2, SEED, "sign", "float32")
    parts = [Slice(source, k * height, (k + 1) * height) for k in range(shards)]
    rng = np.random.default_rng(SEED)
    U, V = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in (n1, n2))
    W = rng.standard_normal((n1 + n2, rank))
    with local_cluster(workers) as client:
        engine, storage = ClusterEngine(client), TangentStorage(budget=2**62)
        precision, counts = np.dtype("float32"), (height,) * shards
        A = ShardedRows(parts, counts, (n1, n2), precision, engine, storage=storage)
        product = A.tangent(U, V).normal_map(np.ones(A.measurements))
        times = []
        for _ in range(calls + 3):
            began = time.perf_counter()
            product(W)
            times.append(time.perf_counter() - began)
    return statistics.median(times[3:])


class CountingEngine:
    """An engine of ``recover`` that also counts what it is asked to do."""

    passes = products = rounds = shards = 0
    map_bytes = product_bytes = 0.0

    def __init__(self, client: Any, check_time: Callable[[], None]) -> None:
        self._inner = engine_of(client, check_time)

    @classmethod
    def forget(cls) -> None:
        """Count from zero again."""
        cls.passes = cls.products = cls.rounds = 0
        cls.map_bytes = cls.product_bytes = 0.0

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""
        return self._inner.is_local

    def keep(self, *arguments: Any, **named: Any) -> list[Any]:
        """Handles of the results."""
        self._count(*arguments, **named)
        return self._inner.keep(*arguments, **named)

    def each(self, *arguments: Any, **named: Any) -> list[Any]:
        """The results."""
        self._count(*arguments, **named)
        return self._inner.each(*arguments, **named)

    def _count(self, work: Any, shards: Any, own: Any = None, shared: tuple[Any, ...] = ()) -> None:
        kind = CountingEngine
        kind.rounds += 1
        kind.passes += work.__name__ in READ_DATA
        kind.shards = len(shards)
        if work.__name__ in READ_MAP:
            kind.products += 1
            kind.product_bytes += kind.map_bytes
        if work.__name__ == "_tangent":
            (n1, n2), U, _, dtype, _ = shared
            rows = sum(shard.rows for shard in shards)
            kind.map_bytes = float(rows * U.shape[1] * (n1 + n2) * dtype.itemsize)


def _carry_out(task: Task) -> Outcome:
    A = np.load(task.path, mmap_mode="r")[: task.rows]
    y, truth = _measurements(A, task.rank)
    if task.in_memory:
        return _whole_array(task, A, y)
    with local_cluster(task.workers, task.limit) if task.workers else nullcontext() as client:
        if client is not None:
            _warm_up(A, client)
        sharded._SHARD_BYTES = task.shard_bytes
        limit = None if task.workers else task.limit
        seconds = math.inf
        for _ in range(task.repeats):
            CountingEngine.forget()
            module = importlib.import_module("robustrank.api.recover")  # not the function
            with mock.patch.object(module, "engine_of", CountingEngine):
                found = rr.recover(A, y, task.rank, client=client, memory_limit=limit)
            seconds = min(seconds, found.seconds)
        peaks = [0] if client is None else client.run(_peak).values()
    return Outcome(
        seconds=seconds,
        certified=found.certified,
        error=normalized_error((found.left, found.right), truth),
        data=found.data,
        shards=CountingEngine.shards,
        passes=CountingEngine.passes,
        products=CountingEngine.products,
        rounds=CountingEngine.rounds,
        map_bytes=CountingEngine.product_bytes / max(CountingEngine.products, 1),
        reported_passes=found.passes,
        peak=_peak(),
        worker_peak=max(peaks),
    )


def _warm_up(A: Any, client: Any) -> None:
    """Load libraries and compiled loops on every worker."""
    small = A[:1000]
    sharded._SHARD_BYTES = small.nbytes // 8
    rr.recover(small, _measurements(small, 1)[0], 1, client=client)


def _whole_array(task: Task, A: Matrix, y: Matrix) -> Outcome:
    """Load the array in a process that may not have more memory than the limit."""
    limit = memory_bytes(task.limit)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        rr.recover(np.array(A), y, task.rank)
    except MemoryError as error:
        return Outcome(peak=_peak(), failure=str(error).splitlines()[0])
    return Outcome(certified=True, peak=_peak())


def _measurements(A: Any, rank: int) -> tuple[Matrix, tuple[Matrix, Matrix]]:
    """Measurements of a random matrix, a tenth of them replaced by large numbers; its factors."""
    m, n1, n2 = A.shape
    rng = np.random.default_rng(SEED)
    left, right = rng.standard_normal((n1, rank)), rng.standard_normal((n2, rank))
    rows = FileRows.from_memmap(A)
    assert rows is not None
    y = StreamedOperator(rows, (n1, n2)).measure(left, right)
    wrong = rng.choice(m, round(OUTLIERS * m), replace=False)
    y[wrong] = 10 * np.std(y) * rng.standard_normal(len(wrong))
    return y, (left, right)


def _peak() -> int:
    """The peak resident memory of this process; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(asdict(_carry_out(Task(**json.loads(sys.argv[1]))))))
