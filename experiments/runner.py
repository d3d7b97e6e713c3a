"""Runs the missing trials of a study in parallel and stores every row immediately."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from experiments.definition import Place, Study
from experiments.rows import Damage, Key, Row, RowWriter, Table, files_of, key_of, read
from experiments.trial import Job, Timed, runs_in_batches
from robustrank.backend import check_count
from robustrank.files import PathLike

_TIMES = "times"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")


class Work(Protocol):
    """What a process runs at a time."""

    def run(self) -> list[Timed]:
        """The rows, and the seconds each took."""


@dataclass(frozen=True)
class Completion:
    """How many trials of a study are finished."""

    done: int  # trials of all methods
    total: int
    cells_done: int
    cells: int
    seconds_left: float  # at the speed of this run; NaN before the first trial

    def __str__(self) -> str:
        text = (
            f"{self.cells_done:,} of {self.cells:,} settings, {self.done:,}/{self.total:,} trials"
        )
        if math.isnan(self.seconds_left):
            return text
        left = self.seconds_left
        about = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
        return f"{text}, about {about} left"


def load(study: Study[Any], folder: PathLike) -> Table:
    """The rows of a study, from all of its files in a folder."""
    folder = Path(folder)
    table = read(files_of(folder, study.name))
    times = read(files_of(folder, study.name, _TIMES)).rows
    wanted = set(_keys(study))
    return Table(
        [row for row in table.rows if key_of(row) in wanted],
        table.damage,
        {key_of(row): row["seconds"] for row in times if key_of(row) in wanted},
    )


def completion(study: Study[Any], table: Table) -> Completion:
    """How many trials of a study are in a table."""
    done = {key_of(row) for row in table.rows}
    return _completion(_keys(study), done, math.nan)


def run(
    study: Study[Any],
    folder: PathLike,
    *,
    place: Place | None = None,
    workers: int | None = None,
    seconds: float = math.inf,
    progress: Callable[[Completion], None] | None = None,
    on_damage: Callable[[Damage], None] | None = None,
) -> Completion:
    """Run the trials that are not yet in the files of ``folder``; stop early after ``seconds``.

    If the process is killed, only the trials that were running are lost. ``on_damage`` is called
    for each line that cannot be used. Such lines are removed from the file that is written to, and
    their trials are run again.
    """
    place = place or Place()
    workers = workers or (1 if place.device else os.cpu_count() or 1)
    check_count(workers=workers)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = load(study, folder)
    for damage in table.damage:
        if on_damage is not None:
            on_damage(damage)
    done = {key_of(row) for row in table.rows}
    began, before, keys = time.monotonic(), len(done), _keys(study)
    jobs = [*_jobs(study, done, place)]
    if not jobs:
        return _completion(keys, done, math.nan)
    with (
        RowWriter(folder / f"{study.name}.jsonl") as writer,
        RowWriter(folder / f"{study.name}.{_TIMES}") as times,
        rows_of(jobs, 0 if workers == 1 or len(jobs) < 2 else workers) as results,
    ):
        for rows in results:
            for row, seconds_taken in rows:
                writer.add(row)
                times.add(_timing(row, seconds_taken))
                done.add(key_of(row))
            spent = time.monotonic() - began
            if progress is not None:
                each = spent / (len(done) - before)
                progress(_completion(keys, done, each * (len(keys) - len(done))))
            if spent > seconds:
                break
    return _completion(keys, done, math.nan)


def _timing(row: Row, seconds: float) -> Row:
    identity = {name: row[name] for name in ("cell", "trial", "method", "place")}
    return {**identity, "seconds": round(seconds, 4)}


def _keys(study: Study[Any]) -> list[Key]:
    return [
        (cell.key, trial, method.name)
        for trial in range(study.trials)
        for cell in study.cells
        for method in study.methods
        if trial < study.trials_of(method)
    ]


def _completion(keys: list[Key], done: set[Key], seconds_left: float) -> Completion:
    missing = [key for key in keys if key not in done]
    cells, open_cells = ({cell for cell, _, _ in some} for some in (keys, missing))
    finished = len(cells) - len(open_cells)
    return Completion(len(keys) - len(missing), len(keys), finished, len(cells), seconds_left)


def _jobs(study: Study[Any], done: set[Key], place: Place) -> Iterator[Job]:
    """The missing trials, ordered by trial number, so that a partial run has some of everything.

    A batch has all trials of a setting.
    """
    groups = {}
    for method in study.methods:
        trials = range(study.trials_of(method))
        batched = runs_in_batches(method, place, study.procedure)
        groups[method] = [tuple(trials)] if batched else [(trial,) for trial in trials]
    for number in range(study.trials):
        for cell in study.cells:
            for method, trials_of in groups.items():
                wanted = trials_of[number] if number < len(trials_of) else ()
                missing = [t for t in wanted if (cell.key, t, method.name) not in done]
                if missing:
                    yield Job(cell, tuple(missing), method, place, study.procedure)


@contextmanager
def rows_of(jobs: Sequence[Work], workers: int) -> Iterator[Iterator[list[Timed]]]:
    """The rows of the jobs in the order in which they finish; stops the workers at the end.

    Without workers, the jobs are run in this process.
    """
    if not workers:
        yield (job.run() for job in jobs)
        return
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    with one_thread_per_worker():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)
        try:
            yield _as_completed(pool, iter(jobs), workers)
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process was killed, perhaps because memory ran out; finished trials are "
                "saved. Run the same command again with fewer workers"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()


def _as_completed(
    pool: ProcessPoolExecutor, jobs: Iterator[Work], workers: int
) -> Iterator[list[Timed]]:
    waiting: set[Future[list[Timed]]] = set()
    for job in jobs:
        waiting.add(pool.submit(job.run))
        if len(waiting) >= 2 * workers:  # enough to keep them busy
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in finished)


@contextmanager
def one_thread_per_worker() -> Iterator[None]:
    """Make workers that start inside the block use one thread, so as not to share cores."""
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


def _follow_parent() -> None:
    """Ignore Ctrl-C, which the parent process handles, and exit when the parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(
        target=_exit_with, args=(multiprocessing.parent_process(),), daemon=True
    ).start()


def _exit_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
