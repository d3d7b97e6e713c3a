"""Shards of the sensing data on the workers of a dask cluster.

This is the only module that imports dask. The results do not depend on the number of workers or on
which of them were lost: every shard is processed by itself, and results are in order of the shards.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import logging
import pickle
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from robustrank.backend import limited_blas_threads, using_threads
from robustrank.operators import DataLost

if TYPE_CHECKING:
    from distributed import Client

_POLL_SECONDS = 0.15
_ANSWER_SECONDS = 0.3  # together with the other one, less than the 0.5 s between calls of ``watch``
_CONNECT_SECONDS = 8

_Call = tuple[Any, tuple[Any, ...]]  # a shard and its own arguments
_Group = tuple[str | None, list[int]]  # a worker and the numbers of the shards that it processes


class WorkersLost(DataLost):
    """The workers of a cluster, or the connection to it, were lost and did not come back."""


class ClusterEngine:
    """Computes shards on the workers of a cluster; implements ``robustrank.operators.Engine``.

    ``watch`` is called at least twice a second while results are awaited; if it raises, the tasks
    of that call are cancelled. ``patience`` is for how many seconds there may be no worker.

    Shards that are handles or other futures are processed where they are, and other shards on a
    worker that is the same in every call as long as the set of workers is the same. A dask
    collection, for example a Delayed chunk of a dask array, is computed again for each call. What
    is lost with a worker is computed again.
    """

    def __init__(
        self, client: Client, watch: Callable[[], None] = lambda: None, *, patience: float = 30.0
    ) -> None:
        if not isinstance(client, _distributed().Client) or client.asynchronous:
            raise TypeError(
                f"client is a {type(client).__name__}, but must be a dask.distributed.Client that "
                "is not asynchronous; create one with distributed.Client(address)"
            )
        self.watch = watch
        self.patience = patience
        self._client: Any = client
        self._previous: list[Any] = []
        self._alone_since: float | None = None

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""
        return False

    def keep(
        self,
        work: Callable[..., Any],
        shards: Sequence[Any],
        own: Sequence[tuple[Any, ...]] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> list[Any]:
        """Futures of the results, one for each shard, which stay on the workers."""
        calls = _calls(shards, own)
        groups = [(worker, [k]) for worker, numbers in self._groups(calls) for k in numbers]
        futures = self._start(self._submit((work, shared), calls, groups, keep=True)).result()
        self._wait(_settle(futures), futures)
        return _in_order(groups, [[future] for future in futures])

    def each(
        self,
        work: Callable[..., Any],
        shards: Sequence[Any],
        own: Sequence[tuple[Any, ...]] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> list[Any]:
        """The results in the order of the shards; one task for each worker."""
        calls = _calls(shards, own)
        groups = self._groups(calls)
        futures = self._start(self._submit((work, shared), calls, groups)).result()
        parcels = self._wait(self._client.gather(futures, asynchronous=True), futures)
        self._previous = futures
        return _in_order(groups, [parcel.open() for parcel in parcels])

    def _groups(self, calls: list[_Call]) -> list[_Group]:
        """The shards of each worker; then each collection by itself, on any worker.

        By itself, because only one chunk of a large array should be in memory at a time.
        """
        workers = self._workers()
        holders = self._holders([shard for shard, _ in calls if _is_future(shard)])
        groups: dict[str, list[int]] = {worker: [] for worker in workers}
        collections: list[_Group] = []
        for k, (shard, _) in enumerate(calls):
            if _is_future(shard):
                held = [groups.setdefault(worker, []) for worker in sorted(holders[shard.key])]
                min(held, key=len).append(k)
            elif isinstance(shard, _Parcel):
                groups[workers[k * len(workers) // len(calls)]].append(k)
            else:
                collections.append((None, [k]))
        return [*((worker, numbers) for worker, numbers in groups.items() if numbers), *collections]

    def _workers(self) -> list[str]:
        """The addresses of the workers; waits until there is one."""
        while not (workers := self._ask("ncores")):
            self._check(workers)
            time.sleep(_POLL_SECONDS)
        return sorted(workers)

    def _holders(self, futures: list[Any]) -> dict[Any, list[str]]:
        """The workers that hold each future; waits for those that are being computed again."""
        while futures:
            held = self._ask("who_has", keys=[future.key for future in futures])
            missing = [future for future in futures if not (held or {}).get(future.key)]
            if not missing:
                return dict(held)
            self._wait(_settle(missing), [])
            self._check(held)
            time.sleep(0.01)
        return {}

    async def _submit(
        self, common: _Call, calls: list[_Call], groups: list[_Group], keep: bool = False
    ) -> list[Any]:
        """A future for each group, on its worker or, if that is lost, on another one.

        Arguments are part of the tasks: if they were scattered, they would be lost with a worker.
        The client sends one message in 10 ms. In its event loop, all tasks and the release of those
        of the previous call are in the same message, which makes a call twice as fast.
        """
        import dask

        self._previous = []
        process = dask.delayed(_process, pure=False, traverse=False)  # type: ignore[attr-defined]
        submit = functools.partial(self._client.submit, pure=False, allow_other_workers=True)
        futures, collections = [], []
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            parcel = _Parcel(common)
            # As the result of a task, it is sent once to each worker, not with each shard.
            first = self._client.submit(_same, parcel, pure=False) if keep else parcel
            for worker, numbers in groups:
                own = _Parcel([calls[k][1] for k in numbers])
                shards = [calls[k][0] for k in numbers]
                if worker is None:
                    collections.append(process(first, own, *shards))
                else:
                    futures.append(submit(_process, first, own, *shards, workers=[worker]))
            return [*futures, *self._client.compute(collections)]

    def _wait(self, coroutine: Coroutine[Any, Any, Any], futures: list[Any]) -> Any:
        """What the coroutine returns; if anything is raised, the futures are cancelled."""
        pending = self._start(coroutine)
        try:
            while not concurrent.futures.wait([pending], _POLL_SECONDS).done:
                self._check(self._ask("ncores"))
            return pending.result()
        except BaseException as error:
            if self._client.status == "running" and futures:
                cancelled = self._start(self._client.cancel(futures, asynchronous=True))
                concurrent.futures.wait([cancelled], _ANSWER_SECONDS)
            if reason := _reason_of_loss(error):
                raise WorkersLost(reason) from error
            if isinstance(error, OSError):  # of a file that a worker reads
                raise DataLost(f"The sensing data can no longer be read: {error}") from error
            raise

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)

    def _ask(self, question: str, **arguments: Any) -> Any:
        """The answer of the scheduler, or None if it does not answer."""
        if self._client.status == "closed":
            raise WorkersLost("The client is closed. Connect to the cluster and start again.")
        try:
            ask = getattr(self._client.scheduler, question)
            return self._client.sync(ask, callback_timeout=_ANSWER_SECONDS, **arguments)
        except OSError:
            return None

    def _check(self, workers: Any) -> None:
        """Call ``watch``, and raise an error if there have been no workers for too long."""
        self.watch()
        now = time.monotonic()
        if workers or self._alone_since is None:
            self._alone_since = None if workers else now
        elif now - self._alone_since > self.patience:
            self._alone_since = None
            missing = "has not answered" if workers is None else "has had no workers"
            raise WorkersLost(
                f"The scheduler {missing} for {self.patience:g} seconds. Look into the logs of the "
                "workers for the reason, often lack of memory; start workers, and start again."
            )


@contextlib.contextmanager
def local_cluster(workers: int, memory_limit: str | int | None = None) -> Iterator[Client]:
    """A context with a client of a new cluster on this machine: processes with one thread each.

    The processes end with the ``with`` block. A script must start it below
    ``if __name__ == "__main__":``, because each process imports the script.

    Parameters
    ----------
    workers
        The number of processes.
    memory_limit
        The memory of one worker, for example ``"4 GiB"``; the default is an equal share.

    Yields
    ------
    distributed.Client
        The ``client`` of ``recover``.

    See Also
    --------
    robustrank.recover : Its parameter ``client`` takes the client.

    Examples
    --------
    >>> import robustrank as rr
    >>> from robustrank.cluster import local_cluster
    >>> if __name__ == "__main__":  # doctest: +SKIP
    ...     with local_cluster(workers=2) as client:
    ...         result = rr.recover("A.npy", y, rank=5, client=client)
    """
    with (
        _distributed().LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            # Even without a dashboard, dask starts an HTTP server, by default on port 8787.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            memory_limit="auto" if memory_limit is None else memory_limit,
        ) as cluster,
        _distributed().Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(_ctrl_c_plugin())
        yield client


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address such as ``"tcp://10.0.0.1:8786"``."""
    connect = _distributed().Client
    try:
        client = connect(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No dask scheduler answers at {address!r}. Start one with `dask scheduler`, and give "
            "the address that it prints, such as 'tcp://10.0.0.1:8786'."
        ) from error
    with client:
        yield client


def memory_report(client: Client) -> str:
    """A sentence with the number of workers, their threads, memory used and limits."""
    workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    threads = sum(worker["nthreads"] for worker in workers)
    used = sum(worker["metrics"].get("memory", 0) for worker in workers) / 2**30
    limits = [(worker["memory_limit"] or 0) / 2**30 for worker in workers]
    limit = f"their limit is {sum(limits):.1f} GiB" if all(limits) else "they have no limit"
    return f"workers: {len(workers)}, threads: {threads}, memory: {used:.1f} GiB, and {limit}."


class _Parcel:
    """A value that is pickled when it is sent, and unpickled when it is opened for the first time.

    Arrays are then aligned and writable. In the messages of dask they often are not aligned, and
    products with them take several times as long.
    """

    def __init__(self, value: Any, message: tuple[bytes, list[Any]] | None = None) -> None:
        self._value = value
        self._message = message

    def open(self) -> Any:
        if (message := self._message) is not None:
            header, buffers = message
            self._value = pickle.loads(header, buffers=map(bytearray, buffers))  # noqa: S301
            self._message = None
        return self._value

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        from distributed.protocol.pickle import dumps  # accepts functions of a notebook, too

        header, buffers = self._message or (b"", [])
        if not header:
            header = dumps(self._value, buffer_callback=buffers.append)  # type: ignore[no-untyped-call]
        # Between the scheduler and workers, dask uses protocol 4, which has no buffers.
        wrap = pickle.PickleBuffer if int(protocol) >= 5 else bytes
        return _Parcel, (None, (header, [wrap(buffer) for buffer in buffers]))

    def __sizeof__(self) -> int:
        """The size for dask's accounts, also of objects whose attributes are arrays."""
        from dask.sizeof import sizeof

        values = self._message or [getattr(value, "__dict__", value) for value in self._value]
        return int(sizeof(values))


def _ctrl_c_plugin() -> Any:
    """A plugin by which workers ignore Ctrl-C, which a terminal sends to all processes."""

    class IgnoreCtrlC(_distributed().WorkerPlugin):  # type: ignore[misc]
        name = "robustrank-ignore-ctrl-c"

        def setup(self, worker: Any) -> None:
            import signal

            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    return IgnoreCtrlC()


def _same(value: Any) -> Any:
    return value


def _process(common: _Parcel, own: _Parcel, *shards: Any) -> _Parcel:
    """Call the function for each shard of a group, on a worker."""
    work, shared = common.open()
    calls = zip(shards, own.open(), strict=True)
    with _threads_of_worker():
        return _Parcel([work(_received(shard), *mine, *shared) for shard, mine in calls])


def _received(shard: Any) -> Any:
    if isinstance(shard, _Parcel):
        return shard.open()[0]
    unaligned = isinstance(shard, np.ndarray) and not shard.flags.aligned
    return shard.copy() if unaligned else shard


@contextlib.contextmanager
def _threads_of_worker() -> Iterator[None]:
    """Let BLAS and the compiled loops use the threads of the worker."""
    threads = _distributed().get_worker().state.nthreads
    with limited_blas_threads(threads), using_threads(threads):
        yield


async def _settle(futures: list[Any]) -> None:
    """Wait for the futures, but not for their results; raise the first error."""

    async def settle(future: Any) -> None:
        await future.exception()
        if future.status in ("error", "cancelled"):
            await future

    await asyncio.gather(*map(settle, futures))


def _calls(shards: Sequence[Any], own: Sequence[tuple[Any, ...]] | None) -> list[_Call]:
    """Each shard with its own arguments; futures and collections as they are, others in parcels."""
    as_is = [_is_future(shard) or hasattr(shard, "__dask_graph__") for shard in shards]
    sent = [shards[k] if as_is[k] else _Parcel([shards[k]]) for k in range(len(shards))]
    return list(zip(sent, own or [()] * len(shards), strict=True))


def _in_order(groups: list[_Group], results: list[list[Any]]) -> list[Any]:
    """The results of all groups in the order of the shards."""
    numbers = itertools.chain.from_iterable(numbers for _, numbers in groups)
    found = dict(zip(numbers, itertools.chain.from_iterable(results), strict=True))
    return [found[k] for k in sorted(found)]


def _reason_of_loss(error: BaseException) -> str | None:
    """A sentence, if workers or the scheduler were lost."""
    if isinstance(error, _distributed().KilledWorker):
        return (
            "A task ended several workers, most likely because it needs more memory than a worker "
            "has. Use fewer workers with more memory each, or smaller shards."
        )
    if isinstance(error, (concurrent.futures.CancelledError, asyncio.CancelledError)):
        return (
            "The connection to the scheduler was closed, and the results on the workers are lost. "
            "Check that the scheduler is running, connect, and start again."
        )
    return None


def _is_future(shard: Any) -> bool:
    return isinstance(shard, _distributed().Future)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        message = "A cluster needs dask.distributed: pip install 'robustrank[cluster]'"
        raise ImportError(message) from error
    return distributed
