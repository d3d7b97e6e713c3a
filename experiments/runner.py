"""Runs what is missing of an experiment, in parallel, and keeps every row at once."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.definition import Cell, Experiment, Method
from experiments.rows import Damage, Key, Row, RowWriter, Table, files_of, key_of, read
from experiments.trial import Place, Timed, goes_together, run_trials
from robustrank.backend import check_count
from robustrank.files import PathLike

_TIMES = "times"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """Some trials of one setting by one method."""

    cell: Cell
    trials: tuple[int, ...]
    method: Method
    place: Place
    traced: bool

    def run(self) -> list[Timed]:
        """The rows, and how long each took."""
        return [*run_trials(self.cell, self.trials, self.method, self.place, self.traced)]


@dataclass(frozen=True)
class Standing:
    """How far an experiment is."""

    done: int  # trials, of every method
    total: int
    cells_done: int
    cells: int
    seconds_left: float  # at the rate of this run; NaN before the first trial

    def __str__(self) -> str:
        text = (
            f"{self.cells_done:,} of {self.cells:,} settings, {self.done:,}/{self.total:,} trials"
        )
        if math.isnan(self.seconds_left):
            return text
        left = self.seconds_left
        about = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
        return f"{text}, about {about} left"


def load(experiment: Experiment, folder: PathLike) -> Table:
    """The rows that belong to an experiment, of all its files in a folder."""
    folder = Path(folder)
    table = read(files_of(folder, experiment.name))
    times = read(files_of(folder, experiment.name, _TIMES)).rows
    wanted = set(_keys(experiment))
    return Table(
        [row for row in table.rows if key_of(row) in wanted],
        table.damage,
        {key_of(row): row["seconds"] for row in times if key_of(row) in wanted},
    )


def standing(experiment: Experiment, table: Table) -> Standing:
    """How far an experiment is, going by its rows."""
    done = {key_of(row) for row in table.rows}
    return _standing(_keys(experiment), done, math.nan)


def run(
    experiment: Experiment,
    folder: PathLike,
    *,
    place: Place | None = None,
    workers: int | None = None,
    seconds: float = math.inf,
    progress: Callable[[Standing], None] | None = None,
    report: Callable[[Damage], None] | None = None,
) -> Standing:
    """Run the trials that no file in ``folder`` has yet; stop early when ``seconds`` are over.

    A kill at any moment loses what was being computed and nothing else. ``report`` is told of
    lines that cannot be used; those of the file that is written to are taken out of it, and their
    trials run again.
    """
    place = place or Place()
    workers = workers or (1 if place.device else os.cpu_count() or 1)
    check_count(workers=workers)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = load(experiment, folder)
    for damage in table.damage:
        if report is not None:
            report(damage)
    done = {key_of(row) for row in table.rows}
    began, before, keys = time.monotonic(), len(done), _keys(experiment)
    jobs = [*_jobs(experiment, done, place)]
    if not jobs:
        return _standing(keys, done, math.nan)
    with (
        RowWriter(folder / f"{experiment.name}.jsonl") as writer,
        RowWriter(folder / f"{experiment.name}.{_TIMES}") as times,
        _results(jobs, workers) as results,
    ):
        for rows in results:
            for row, seconds_taken in rows:
                writer.add(row)
                times.add(_timing(row, seconds_taken))
                done.add(key_of(row))
            spent = time.monotonic() - began
            if progress is not None:
                each = spent / (len(done) - before)
                progress(_standing(keys, done, each * (len(keys) - len(done))))
            if spent > seconds:
                break
    return _standing(keys, done, math.nan)


def _timing(row: Row, seconds: float) -> Row:
    same = {name: row[name] for name in ("cell", "trial", "method", "place")}
    return {**same, "seconds": round(seconds, 4)}


def _keys(experiment: Experiment) -> list[Key]:
    return [
        (cell.key, trial, method.name)
        for trial in range(experiment.trials)
        for cell in experiment.cells
        for method in experiment.methods
    ]


def _standing(keys: list[Key], done: set[Key], seconds_left: float) -> Standing:
    missing = [key for key in keys if key not in done]
    cells, open_cells = ({cell for cell, _, _ in some} for some in (keys, missing))
    finished = len(cells) - len(open_cells)
    return Standing(len(keys) - len(missing), len(keys), finished, len(cells), seconds_left)


def _jobs(experiment: Experiment, done: set[Key], place: Place) -> Iterator[Job]:
    """What is missing, trial by trial, so that a run that is stopped has something of each.

    Where all trials of a setting go together, they do.
    """
    traced, together = experiment.traced, range(experiment.trials)
    groups = {
        method: [together] if goes_together(method, place, traced) else [(k,) for k in together]
        for method in experiment.methods
    }
    for number in together:
        for cell in experiment.cells:
            for method, trials in groups.items():
                wanted = trials[number] if number < len(trials) else ()
                missing = [t for t in wanted if (cell.key, t, method.name) not in done]
                if missing:
                    yield Job(cell, tuple(missing), method, place, traced)


@contextmanager
def _results(jobs: list[Job], workers: int) -> Iterator[Iterator[list[Timed]]]:
    """The rows of the jobs as they are finished; workers are ended when the block is left."""
    if workers == 1 or len(jobs) < 2:
        yield (job.run() for job in jobs)
        return
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    with _one_thread_each():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_obey_the_first)
        try:
            yield _as_they_come(pool, iter(jobs), workers)
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker was ended from outside, perhaps for want of memory; what was finished is "
                "kept: run it again, with fewer workers"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()


def _as_they_come(
    pool: ProcessPoolExecutor, jobs: Iterator[Job], workers: int
) -> Iterator[list[Timed]]:
    waiting: set[Future[list[Timed]]] = set()
    for job in jobs:
        waiting.add(pool.submit(job.run))
        if len(waiting) >= 2 * workers:  # no more than keeps them busy
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in finished)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers that are started meanwhile use one thread: more would fight over the cores."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _obey_the_first() -> None:
    """Leave Ctrl-C, which reaches all, to the process that started the others; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(
        target=_end_with, args=(multiprocessing.parent_process(),), daemon=True
    ).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
