"""Clusters on this machine, and connections to others: the ``client`` of ``recover``."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from robustrank.outofcore.cluster import distributed_package

if TYPE_CHECKING:
    from robustrank.outofcore.cluster import Client

_CONNECT_SECONDS = 8


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
        distributed_package().LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            # Even without a dashboard, dask starts an HTTP server, by default on port 8787.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            memory_limit="auto" if memory_limit is None else memory_limit,
        ) as cluster,
        distributed_package().Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(_ctrl_c_plugin())
        yield client


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address such as ``"tcp://10.0.0.1:8786"``."""
    connect = distributed_package().Client
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


def _ctrl_c_plugin() -> Any:
    """A plugin by which workers ignore Ctrl-C, which a terminal sends to all processes."""

    class IgnoreCtrlC(distributed_package().WorkerPlugin):  # type: ignore[misc]
        name = "robustrank-ignore-ctrl-c"

        def setup(self, worker: Any) -> None:
            import signal

            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    return IgnoreCtrlC()
