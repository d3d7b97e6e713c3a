"""Runs the missing problems of a set and stores every row immediately."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np

import robustrank as rr
from experiments.baseline.comparison import ABOUT
from experiments.baseline.sets import keys_of, study_of
from experiments.baseline.trial import Job
from experiments.rows import Key, Row, RowWriter, key_of, pack, read
from experiments.runner import rows_of

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "scipy", "numba", "torch", "h5py", "zarr")
_ENDING = ".jsonl.gz"

Progress = Callable[[int, int, float], None]  # finished, in all, seconds since the start


def run(
    name: str,
    out: Path,
    *,
    workers: int,
    seconds: float = math.inf,
    studies: tuple[str, ...] = (),
    most: int | None = None,
    revision: str = "",
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Run the problems of a set that are not in a file yet; how many of them are in it now.

    Rows are appended to a file beside it, which is packed into ``out`` at the end, also if the run
    is interrupted. Without ``workers`` the problems are run in this process. ``most`` is the number
    of problems of the whole set to run, the first ones of its order.
    """
    if not out.name.endswith(_ENDING):
        raise ValueError(f"the file is {out.name!r}; expected a name that ends in {_ENDING}")
    wanted = [key for key in keys_of(name)[:most] if not studies or study_of(key[0]) in studies]
    if not wanted:
        raise ValueError(f"no problem belongs to the studies {', '.join(studies)}")
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_suffix("")
    known = rows_in(out, beside)
    done = {key_of(row) for row in known} & {*wanted}
    missing = [key for key in wanted if key not in done]
    if missing or beside.exists():
        session = sum(row["cell"] == ABOUT for row in known)
        about = {"cell": ABOUT, "trial": session, "method": name, **environment(workers, revision)}
        with RowWriter(beside) as writer:
            try:
                if missing:
                    writer.add(about)
                    done |= _run_all(missing, writer, workers, seconds, len(done), progress)
            finally:
                pack(out, rows_in(out, beside))
        beside.unlink()
    return len(done), len(wanted)


def rows_in(*paths: Path) -> list[Row]:
    """The rows of files, as far as they exist; each problem once."""
    return read([path for path in paths if path.exists()]).rows


def _run_all(
    keys: list[Key],
    writer: RowWriter,
    workers: int,
    seconds: float,
    before: int,
    progress: Progress | None,
) -> set[Key]:
    done: set[Key] = set()
    began = time.monotonic()
    with rows_of([Job(key) for key in keys], workers) as results:
        for rows in results:
            for row, _ in rows:
                writer.add(row)
                done.add(key_of(row))
            spent = time.monotonic() - began
            if progress is not None:
                progress(before + len(done), before + len(keys), spent)
            if spent > seconds:
                break
    return done


def environment(workers: int, revision: str = "") -> Row:
    """The versions and the machine of a run."""
    configuration: dict[str, Any] = {**np.show_config(mode="dicts")}
    blas = configuration["Build Dependencies"]["blas"]
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "robustrank": rr.__version__,
        "revision": revision or _revision(),
        "python": platform.python_version(),
        **{library: _version(library) for library in _LIBRARIES},
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "workers": workers,
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _revision() -> str:
    """The commit of the working tree, with a mark if there are changes; empty if not known."""
    git = shutil.which("git")
    if git is None:
        return ""
    described = subprocess.run(  # noqa: S603
        [git, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip()


class Meter:
    """Shows progress on standard error: a line that changes, or a new one now and then."""

    def __init__(self, seconds_between: float = 30.0, unit: str = "problems") -> None:
        self._unit = unit
        self._first: int | None = None
        self._shown = -math.inf
        self._terminal = sys.stderr.isatty()
        self._between = 0.5 if self._terminal else seconds_between

    def __call__(self, done: int, total: int, spent: float) -> None:
        if self._first is None:
            self._first = done - 1
        if spent - self._shown < self._between and done < total:
            return
        self._shown = spent
        rate = (done - self._first) / max(spent, 1e-9)
        left = (total - done) / rate
        text = f"{done:,}/{total:,} {self._unit}, {rate:.2f} per second, {left / 60:.1f} min left"
        end = "\r" if self._terminal and done < total else "\n"
        sys.stderr.write(f"{text}{end}")
        sys.stderr.flush()


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C in a block."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_signum: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
