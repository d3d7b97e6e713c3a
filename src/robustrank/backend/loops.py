"""Loops over NumPy arrays, compiled by numba if it is installed, in threads over blocks of rows.

The threads are Python threads. numba's own parallel loops would need a threading layer that aborts
the process after a fork or when a second thread uses it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import numpy as np

# For smaller arrays, compiling or even importing numba costs more than it saves.
WORTH_COMPILING = 2**20

_asked_threads: ContextVar[int | None] = ContextVar("_asked_threads", default=None)


@contextlib.contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Use ``count`` threads for the loops that this thread starts inside the ``with`` block."""
    token = _asked_threads.set(count)
    try:
        yield
    finally:
        _asked_threads.reset(token)


def is_worth_compiling(array: Any, size: int = WORTH_COMPILING) -> bool:
    """Whether an array is a NumPy array of at least this size, and numba is installed."""
    return isinstance(array, np.ndarray) and array.size >= size and can_compile()


def can_compile() -> bool:
    """Whether numba is installed."""
    return _numba() is not None


@functools.cache
def compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop, compiled on the first call and cached on disk; numba must be installed."""
    function: Callable[..., None] = _numba().njit(nogil=True, fastmath=True, cache=True)(loop)
    return function


def in_blocks(rows: int, work: Callable[[slice], None]) -> None:
    """Do the work on blocks of rows, one block per thread."""
    threads = min(_thread_count(), rows)
    blocks = [slice(k * rows // threads, (k + 1) * rows // threads) for k in range(threads)]
    if threads <= 1:
        work(slice(0, rows))
        return
    others = [_pool(os.getpid(), threads).submit(work, block) for block in blocks[1:]]
    work(blocks[0])
    for other in others:
        other.result()


@functools.cache
def _numba() -> Any:
    try:
        import numba
    except ImportError:
        return None
    return numba


def _thread_count() -> int:
    """As in ``using_threads``, else OMP_NUM_THREADS, else the cores that this process may use."""
    if (count := _asked_threads.get()) is not None:
        return count
    asked = os.environ.get("OMP_NUM_THREADS", "")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(asked) if asked.isdigit() and int(asked) > 0 else usable or 1


@functools.cache
def _pool(_process: int, threads: int) -> ThreadPoolExecutor:
    """A thread pool per process, because threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="robustrank")
