"""Runs one problem of the baseline. Whatever happens is the outcome, also an exception."""

from __future__ import annotations

import functools
import signal
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np

import robustrank as rr
from experiments.baseline.problem import (
    TIME_LIMIT,
    Array,
    Draw,
    Problem,
    Result,
    SkippedError,
    as_numpy,
)
from experiments.baseline.sets import drawn, seed_of
from experiments.rows import Key, Row

PROJECTIONS, SINGULAR_VALUES = 4, 3
LEVELS = (0.9, 0.95)
_LONGEST_MESSAGE = 160
_EXPECTED = (rr.UndersampledWarning, rr.NotCertifiedWarning)
_CPU_LIMIT = 2 * TIME_LIMIT  # of a problem whose time limit has no effect


class OutOfTimeError(Exception):
    """A problem took too long although it was given a time limit."""


@dataclass(frozen=True)
class Job:
    """One problem of a set."""

    key: Key

    def run(self) -> list[tuple[Row, float]]:
        """The row of the problem, and its seconds."""
        _warm_up()
        row = run_problem(self.key)
        return [(row, row.get("seconds", 0.0))]


def run_problem(key: Key) -> Row:
    """Draw a problem, solve it, and describe the outcome."""
    cell, trial, name = key
    row: Row = {"cell": cell, "trial": trial, "method": name}
    family = cell.partition("/")[2]
    with tempfile.TemporaryDirectory(prefix="baseline-") as folder, _limited():
        try:
            problem = drawn(Draw(family, trial, seed_of(key), Path(folder)), cell)
        except SkippedError as reason:
            return row | {"skipped": str(reason)}
        except Exception as error:
            return row | {"exception": f"drawing: {_message(error, folder)}"}
        row |= {"data": _checksum(problem.values), "true_rank": problem.left.shape[1]}
        if problem.single:
            row["single"] = True
        result = _solved(problem, row, folder)
        if result is not None:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    row |= _described(problem, result)
            except Exception as error:
                row["exception"] = f"describing: {_message(error, folder)}"
        return row


def _solved(problem: Problem, row: Row, folder: str) -> Result | None:
    """The result, or None; the row gets the time, and an exception and warnings if any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began, cpu = time.perf_counter(), time.process_time()
        try:
            return problem.solve()
        except Exception as error:
            row["exception"] = _message(error, folder)
            return None
        finally:
            row["seconds"] = _rounded(time.perf_counter() - began)
            row["cpu"] = _rounded(time.process_time() - cpu)
            kinds = {one.category for one in caught if not issubclass(one.category, _EXPECTED)}
            if kinds:
                row["warnings"] = sorted(kind.__name__ for kind in kinds)


@functools.cache
def _warm_up() -> None:
    """Import and compile once in each process, before anything is timed."""
    planted = rr.simulate.plant(10, 8, 1, 60, noise=0.01, rng=0)
    rr.recover(planted.A, planted.y, 1, rng=0)
    entries = rr.simulate.plant_entries(20, 15, 1, 200, noise=0.01, rng=0)
    rr.complete(entries.triples, None, shape=entries.shape, rng=0)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise an error in the block after some minutes of CPU time."""
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, _CPU_LIMIT, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _stop(_signum: int, _frame: FrameType | None) -> NoReturn:
    raise OutOfTimeError(f"stopped after {_CPU_LIMIT:.0f} seconds of CPU time")


def _message(error: Exception, folder: str) -> str:
    text = " ".join(str(error).replace(folder, "FOLDER").split())
    return f"{type(error).__name__}: {text}"[:_LONGEST_MESSAGE]


def _checksum(values: Array) -> str:
    """A checksum of the data that rounding errors do not change."""
    size = float(np.median(np.abs(values[np.isfinite(values)]))) or 1.0
    return f"{zlib.crc32(np.nan_to_num(np.round(1e6 * (values / size))).tobytes()):08x}"


def _rounded(value: float | None, digits: int = 4) -> float | None:
    """A number with few digits; None if it is not finite, which JSON does not know."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.{digits}g}")


def _described(problem: Problem, result: Result) -> Row:
    """What is compared between versions."""
    left, right = as_numpy(result.left).astype(float), as_numpy(result.right).astype(float)
    decided = _decided(result)
    row: Row = {
        "status": result.status.name,
        "rank": result.rank,
        "outliers": _outliers(problem, as_numpy(result.outliers)),
        "answer": _answer(problem, left * decided[0][:, None], right * decided[1][:, None]),
        "stated": _rounded(result.error),
        "bound": _rounded(result.error_bound),
    }
    if problem.entries is None:
        row |= {
            "error": _rounded(_error(problem, left, right)),
            "oracle": _rounded(problem.oracle()),
            "passes": _rounded(float(result.passes), 6),
        }
        if not (decided[0].all() and decided[1].all()):
            row["undecided"] = [int((~part).sum()) for part in decided]
            row["decided_error"] = _rounded(_error(problem, left, right, decided))
            row["decided_oracle"] = row["oracle"]
    else:
        known = problem.entries
        row |= {
            "error": _rounded(known.error_of((left, right), known.determinable)),
            "oracle": _rounded(known.error(known.determinable)),
            "decided_error": _rounded(known.error_of((left, right), decided)),
            "decided_oracle": _rounded(known.error(decided)),
            "undecided": [int((~part).sum()) for part in decided],
        }
    if result.certified and float(result.noise) > 0:
        row |= _error_bars(problem, result)
    return row


def _decided(result: Result) -> tuple[Array, Array]:
    """The rows and columns that the result determines."""
    rows, columns = (np.ones(n, bool) for n in result.shape)
    rows[result.undecided_rows] = False
    columns[result.undecided_columns] = False
    return rows, columns


def _outliers(problem: Problem, found: Array) -> list[Any]:
    """Their number, a checksum, and how many are marked wrongly and missed."""
    marked = found[problem.places] if problem.places is not None else found
    true = problem.outliers
    wrongly, missed = int((marked & ~true).sum()), int((~marked & true).sum())
    return [int(marked.sum()), f"{zlib.crc32(np.packbits(marked).tobytes()):08x}", wrongly, missed]


def _answer(problem: Problem, left: Array, right: Array) -> list[float | None]:
    """Products uᵀMv with fixed random vectors, and the largest singular values.

    Both are relative to the norm of the true matrix.
    """
    norm = _norm(problem)
    rng = np.random.default_rng([len(left), len(right)])
    u, v = (rng.standard_normal((PROJECTIONS, n)) for n in (len(left), len(right)))
    projections = np.sum((u @ left) * (v @ right), axis=1) / norm
    values = np.linalg.svd(left @ right.T, compute_uv=False)[:SINGULAR_VALUES] / norm
    return [_decimals(number) for number in (*projections, *values)]


def _decimals(value: float) -> float | None:
    return round(float(value), 8) if np.isfinite(value) else None


def _norm(problem: Problem) -> float:
    return float(np.linalg.norm(problem.left @ problem.right.T)) or 1.0


def _error(
    problem: Problem, left: Array, right: Array, decided: tuple[Array, Array] | None = None
) -> float:
    """The error of the matrix, or of its decided rows and columns, relative to its norm."""
    missed = left @ right.T - problem.left @ problem.right.T
    part = missed if decided is None else missed[np.ix_(*decided)]
    return float(np.linalg.norm(part)) / _norm(problem)


def _error_bars(problem: Problem, result: Result) -> Row:
    """The stated standard error of the matrix; with intervals, how many contain the truth."""
    if result.error_bars is None:  # of a batch
        return {}
    rows, columns = np.indices(result.shape)
    errors = result.standard_error(rows, columns)
    row: Row = {"bars": _rounded(float(np.linalg.norm(errors)) / _norm(problem))}
    if problem.intervals:
        truth, inside = problem.left @ problem.right.T, []
        for level in LEVELS:
            low, high = result.interval(rows, columns, level=level)
            inside.append(_rounded(float(np.mean((low <= truth) & (truth <= high)))))
        row["inside"] = inside
    return row
