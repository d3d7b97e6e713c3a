"""Threads of BLAS, limited while a call runs whose matrices are too small for them."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

# With fewer numbers in the data of a problem, threads save nothing, and they wait for each other
# by spinning: beside another busy process, a call then takes many times as long.
WORTH_THREADS = 2**20


@contextlib.contextmanager
def limited_blas_threads(count: int | None) -> Iterator[None]:
    """Limit the threads of BLAS to ``count`` inside the ``with`` block; None: no limit.

    The limit holds for the process. If several calls overlap, that of the first one holds until
    the last of them ends.
    """
    call = object()
    try:
        if count is not None:
            _limit.enter(call, count)
        yield
    finally:
        try:
            _limit.leave(call)
        except BaseException:  # Ctrl-C just now
            _limit.leave(call)
            raise


def threads_for(numbers: int) -> int | None:
    """The limit for a problem whose data has ``numbers`` numbers."""
    return 1 if numbers < WORTH_THREADS else None


def thread_pools() -> list[dict[str, Any]]:
    """The libraries of the process that use threads, and how many."""
    from threadpoolctl import threadpool_info

    pools: list[dict[str, Any]] = threadpool_info()
    return pools


class _Limit:
    """The calls that limit the threads, and what the threads were before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[object] = set()
        self._before: Any = None

    def enter(self, call: object, count: int) -> None:
        """Limit the threads unless a call already does."""
        with self._lock:
            self._calls.add(call)
            if self._before is None:
                controller = _controller("scipy.linalg" in sys.modules)
                self._before = controller.limit(limits=None)  # changes nothing
                controller.limit(limits=count)
                release_control()

    def leave(self, call: object) -> None:
        """Restore the threads if no other call limits them.

        A call may leave again, and without having entered.
        """
        with self._lock:
            self._calls.discard(call)
            if not self._calls and self._before is not None:
                self._before.restore_original_limits()
                release_control()
                self._before = None


_limit = _Limit()


def release_control() -> None:
    """Let other threads change the number of threads, too.

    A thread that has set it for OpenBLAS keeps others from it, but the call that restores the
    number may run in another thread.
    """
    for library in _controller("scipy.linalg" in sys.modules).lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # not in older versions
            library.clear_controlling_thread()


@functools.cache
def _controller(_with_scipy: bool) -> Any:
    """Handles of the BLAS libraries, found once, and again when SciPy has loaded its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _start_anew() -> None:
    """A forked process has none of the calls, and perhaps a lock that no thread will release."""
    global _limit
    _limit = _Limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
