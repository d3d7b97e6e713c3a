"""A process of its own for each variant of the package; it is stopped if it takes too long."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from experiments.baseline import trial  # noqa: F401  # loads the libraries before the fork
from experiments.rows import Key, Row
from experiments.runner import one_thread_per_worker
from experiments.sensitivity.literals import Literal, install

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_MEMORY = 8 * 2**30  # bytes of address space; a variant that needs more fails
_SLOW_TO_IMPORT = "numba"  # optional, and of no use for small problems
TOO_SLOW = "hangs or is slow"


@dataclass(frozen=True)
class Variant:
    """The package with one literal changed."""

    literal: Literal
    change: str

    @property
    def key(self) -> Key:
        """The key of its row."""
        return self.literal.key, 0, self.change


@dataclass
class Outcome:
    """The rows of the problems, and why there are not more of them."""

    rows: list[Row] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class _Running:
    process: BaseProcess
    connection: Connection
    number: int  # of the variant
    outcome: Outcome
    deadline: float


def outcomes(
    variants: Sequence[Variant | None], keys: list[Key], workers: int, seconds_each: float
) -> Generator[tuple[int, Outcome], None, None]:
    """Run the problems with each variant, several at a time; None is the unchanged package.

    The numbers of the variants and their outcomes come in the order in which they finish.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    waiting, running = enumerate(variants), list[_Running]()
    with one_thread_per_worker():
        try:
            while True:
                for number, variant in itertools.islice(waiting, workers - len(running)):
                    running.append(_started(context, number, variant, keys, seconds_each))
                if not running:
                    return
                yield from _finished(running)
        finally:
            for one in running:
                _stop(one)


def _started(
    context: multiprocessing.context.ForkServerContext,
    number: int,
    variant: Variant | None,
    keys: list[Key],
    seconds: float,
) -> _Running:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, variant, keys), daemon=True)
    process.start()
    theirs.close()
    return _Running(process, ours, number, Outcome(), time.monotonic() + seconds)


def _finished(running: list[_Running]) -> Iterator[tuple[int, Outcome]]:
    """Wait for a message of any process; the outcomes of those that have ended."""
    patience = min(one.deadline for one in running) - time.monotonic()
    ready = wait([one.connection for one in running], max(patience, 0.0))
    for one in [*running]:
        ended = one.connection in ready and not _received(one)
        if not ended and time.monotonic() > one.deadline:
            one.outcome.failure, ended = TOO_SLOW, True
        if ended:
            running.remove(one)
            _stop(one)
            yield one.number, one.outcome


def _received(one: _Running) -> bool:
    """Take one message; whether more are to come."""
    try:
        message: Row | str | None = one.connection.recv()
    except EOFError:
        one.process.join()
        one.outcome.failure = f"the process ended with status {one.process.exitcode}"
        return False
    if isinstance(message, dict):
        one.outcome.rows.append(message)
        return True
    one.outcome.failure = message or ""
    return False


def _stop(one: _Running) -> None:
    one.process.kill()
    one.process.join()
    one.connection.close()


def _serve(connection: Connection, variant: Variant | None, keys: list[Key]) -> None:
    """Send the row of each problem, and at the end None or the reason of a failure."""
    try:
        _prepare(variant)
        from experiments.baseline.trial import run_problem

        for key in keys:
            connection.send(run_problem(key))
        connection.send(None)
    except Exception as error:  # of the import, for example
        with contextlib.suppress(BrokenPipeError):
            connection.send(f"{type(error).__name__}: {error}")


def _prepare(variant: Variant | None) -> None:
    """Forget the package, so that it is imported again, with the variant."""
    if resource is not None:
        with contextlib.suppress(OSError, ValueError):  # where it is not supported, or lower
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("robustrank", "experiments"):
            del sys.modules[name]
    sys.modules[_SLOW_TO_IMPORT] = None  # type: ignore[assignment]
    if variant is not None:
        install(variant.literal, variant.literal.changed(variant.change))
