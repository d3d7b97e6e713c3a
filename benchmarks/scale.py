"""Sensing data larger than memory, and clusters: ``python -m benchmarks scale``.

Speeds are ratios within one run, because machines are shared and noisy. Every solve is a process of
its own, whose peak memory is the one that the kernel records. Files are written to a temporary
folder on the disk of ``--folder``, and files that fit are read from the page cache.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import robustrank as rr
from benchmarks import scale_reading
from benchmarks.progress import doing, result, write_json
from benchmarks.scale_model import Work, fit, predict
from benchmarks.scale_runs import Outcome, Task, round_seconds, run, write_sensing_data
from robustrank.backend import memory_bytes

SHAPE, RANK = (150, 120), 5
ROW_BYTES = 4 * SHAPE[0] * SHAPE[1]
EXACT = 1e-6  # a larger error means that the problem was not solved
PARTS = ("reading", "memory", "overhead", "model", "cluster")


@dataclass(frozen=True)
class Sizes:
    """The sizes of the problems, in gigabytes, and the memory limits."""

    file: float = 2.0
    limit: str = "400MB"  # with which the tangent map of the file does not fit in memory
    fitted: tuple[tuple[float, int], ...] = ((0.25, 5), (0.5, 2), (0.5, 5), (1.0, 2), (1.0, 10))
    predicted: float = 2.0
    distributed: float = 1.0
    worker_limit: str = "600MB"
    shard_bytes: int = 2**28
    calls: int = 100
    repeats: int = 3


LARGE = Sizes(file=20.0, limit="2GB", predicted=4.0)
QUICK = Sizes(
    file=0.5,
    limit="300MB",
    fitted=((0.125, 2), (0.25, 2), (0.25, 5)),
    predicted=0.5,
    distributed=0.5,
    worker_limit="450MB",
    shard_bytes=2**25,
    calls=20,
    repeats=1,
)


@dataclass(frozen=True)
class Row:
    """One measured quantity and its target; None if it is only reported."""

    what: str
    measured: float
    unit: str
    target: float | None = None
    at_least: bool = False  # whether the target is the smallest and not the largest value

    @property
    def met(self) -> bool | None:
        """Whether the target is met."""
        if self.target is None:
            return None
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def __str__(self) -> str:
        target = (
            "report" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:g}"
        )
        verdict = {None: "", True: "met", False: "MISSED"}[self.met]
        return (
            f"{self.what:<68} {self.measured:>8.3g} {self.unit:<4} {target:>8}  {verdict}".rstrip()
        )


def reading_rows(path: Path) -> Iterator[Row]:
    """The speed of reading in blocks, relative to reading without the package."""
    yield from _reading("an .npy file", "raw read", scale_reading.of_npy(path), 0.70)
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        yield from _reading("an h5py dataset", "slicing it", scale_reading.of_hdf5(path, folder))
        yield from _reading("a zarr array", "slicing it", scale_reading.of_zarr(path, folder))


def _reading(
    what: str, plain: str, found: scale_reading.Reading, target: float | None = None
) -> Iterator[Row]:
    each = f"blocks of {what}, one product each / {plain}"
    yield Row(each, found.with_product, "×", target, at_least=True)
    yield Row(f"  without the product / {plain}", found.alone, "×")
    yield Row(f"  {plain}", found.rate / 1e9, "GB/s")


def memory_rows(path: Path, sizes: Sizes) -> Iterator[Row]:
    """A file that is larger than the memory limit."""
    doing(f"a file of {sizes.file:g} GB with memory_limit={sizes.limit!r}")
    found = run(Task(str(path), _rows(sizes.file), RANK, limit=sizes.limit))
    limit = memory_bytes(sizes.limit)
    yield Row(
        f"recover, {sizes.file:g} GB with {sizes.limit}: passes", found.reported_passes, "", 15
    )
    yield Row("  peak memory of the process / limit", found.peak / limit, "×", 1.1)
    yield _certified(found)
    yield Row("  time", found.seconds, "s")
    yield Row("  passes that the engine counted", found.passes, "")
    result(f"  {found.data}")


def overhead_row(sizes: Sizes) -> Row:
    """The time that a cluster adds to every product of conjugate gradients."""
    doing("products on a cluster")
    seconds = round_seconds(workers=2, calls=sizes.calls)
    return Row("one product on 2 local workers with little data", 1e3 * seconds, "ms", 40)


def model_rows(path: Path, sizes: Sizes) -> tuple[list[Row], dict[str, Any]]:
    """Time against size and workers: a fitted model, and the prediction of a larger run."""
    runs = [_timed(path, *run, sizes) for run in _settings(sizes)]
    constants = fit(runs)
    for work, seconds in runs:
        expected = predict(constants, work)
        result(f"  {_described(work)}: {seconds:.2f} s, model {expected:.2f} s")
    work, seconds = _timed(path, sizes.predicted, RANK, 2, sizes)
    expected = predict(constants, work)
    result(f"  {_described(work)}: {seconds:.2f} s, predicted {expected:.2f} s")
    rows = [
        Row("model: sensing data per worker", constants.bandwidth / 1e9, "GB/s"),
        Row("model: tangent map per worker", constants.map_bandwidth / 1e9, "GB/s"),
        Row("model: time of a round", 1e3 * constants.latency, "ms"),
        Row(
            f"model: error of the predicted time, {sizes.predicted:g} GB on 2 workers",
            100 * abs(expected / seconds - 1),
            "%",
            25,
        ),
    ]
    largest = {"work": asdict(work), "seconds": seconds, "predicted": expected}
    measured = [{"work": asdict(one), "seconds": taken} for one, taken in runs]
    about = {"shape": SHAPE, "rank": RANK, "runs": measured, "predicted_run": largest}
    return rows, _without_infinity(asdict(constants)) | about


def _settings(sizes: Sizes) -> Iterator[tuple[float, int, int]]:
    """Size, rank and workers of the runs for the fit.

    Several ranks, because with one the size of the map would be proportional to that of the data.
    """
    for workers in (1, 2):
        for size, rank in sizes.fitted:
            yield size, rank, workers


def _timed(path: Path, size: float, rank: int, workers: int, sizes: Sizes) -> tuple[Work, float]:
    """What a run on a cluster did, and its seconds; raises if the problem was not solved."""
    doing(f"{size:g} GB, rank {rank}, workers: {workers}")
    task = Task(
        str(path),
        _rows(size),
        rank,
        workers,
        shard_bytes=sizes.shard_bytes,
        repeats=sizes.repeats,
    )
    found = run(task)
    if not found.certified or found.error > EXACT:
        raise RuntimeError(f"{task} was not solved: {found}")
    work = Work(
        workers=workers,
        shards=found.shards,
        data_bytes=float(ROW_BYTES * task.rows),
        map_bytes=found.map_bytes,
        passes=found.passes,
        products=found.products,
        rounds=found.rounds,
    )
    return work, found.seconds


def cluster_rows(path: Path, sizes: Sizes) -> Iterator[Row]:
    """Workers that together solve what does not fit in the memory of one of them."""
    rows, limit = _rows(sizes.distributed), sizes.worker_limit
    doing(f"{sizes.distributed:g} GB in a process with {limit}")
    alone = run(Task(str(path), rows, RANK, limit=limit, in_memory=True))
    what = f"{sizes.distributed:g} GB as an array in a process with {limit}: out of memory"
    yield Row(what, float(bool(alone.failure)), "", 1, at_least=True)
    doing(f"{sizes.distributed:g} GB on two workers with {limit} each")
    found = run(Task(str(path), rows, RANK, 2, limit, shard_bytes=sizes.shard_bytes))
    yield Row(f"the same file on 2 workers with {limit} each", found.seconds, "s")
    yield _certified(found)
    largest = found.worker_peak / memory_bytes(limit)
    yield Row("  largest peak memory of a worker / limit", largest, "×", 1.0)


def _certified(found: Outcome) -> Row:
    solved = found.certified and found.error < EXACT
    return Row("  certified, with an error below 1e-6", float(solved), "", 1, at_least=True)


def _described(work: Work) -> str:
    return (
        f"{work.data_bytes / 1e9:.3g} GB, workers: {work.workers}, {work.shards} shards, map of "
        f"{work.map_bytes / 1e6:.0f} MB, {work.passes:g} passes, {work.products:g} products, "
        f"{work.rounds:g} rounds"
    )


def _rows(gigabytes: float) -> int:
    return int(gigabytes * 1e9 / ROW_BYTES)


def _without_infinity(values: dict[str, Any]) -> dict[str, Any]:
    """The same for JSON, which has no infinity: None."""
    return {name: None if value == math.inf else value for name, value in values.items()}


def measure(parts: list[str], sizes: Sizes, folder: Path) -> dict[str, Any]:
    """Measure the parts and print every result as it is found."""
    rows: list[Row] = []
    report: dict[str, Any] = {}

    def add(row: Row) -> None:
        rows.append(row)
        result(row)

    path = folder / "A.npy"
    if set(parts) - {"overhead"}:
        doing(f"writing {sizes.file:g} GB")
        write_sensing_data(path, _rows(sizes.file), SHAPE)
    result(f"{'what':<68} {'measured':>8} {'':<4} {'target':>8}")
    if "reading" in parts:
        small = path
        if sizes.file > sizes.predicted:  # it would not stay in the page cache
            small = folder / "small.npy"
            write_sensing_data(small, _rows(sizes.predicted), SHAPE)
        for row in reading_rows(small):
            add(row)
        if small != path:
            small.unlink()
    if "memory" in parts:
        for row in memory_rows(path, sizes):
            add(row)
    if "overhead" in parts:
        add(overhead_row(sizes))
    if "model" in parts:
        found, report["fit"] = model_rows(path, sizes)
        for row in found:
            add(row)
    if "cluster" in parts:
        for row in cluster_rows(path, sizes):
            add(row)
    plain = [_without_infinity(asdict(row)) | {"met": row.met} for row in rows]
    return {"rows": plain} | report


def main() -> None:
    """Measure, print a table, and write JSON if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/scale.json"))
    parser.add_argument("--folder", type=Path, help="where the file is written; default: /tmp")
    parser.add_argument("--large", action="store_true", help="a file of 20 GB instead of 2 GB")
    parser.add_argument("--quick", action="store_true", help="0.5 GB, to try the benchmark")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else LARGE if asked.large else Sizes()
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    about = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "robustrank": rr.__version__}
    about["load"] = f"{os.getloadavg()[0]:.1f} processes on {os.cpu_count()} cores before the run"
    result(f"load: {about['load']}")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        report = about | {"quick": asked.quick} | measure(asked.only, sizes, Path(folder))
    write_json(asked.json, report)
