"""Shards on workers: the same results as in this process, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.backend import loops
from robustrank.outofcore.engine import LocalEngine

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
dask_array = pytest.importorskip("dask.array")

from robustrank.cluster import local_cluster  # noqa: E402
from robustrank.outofcore.cluster import (  # noqa: E402
    ClusterEngine,
    WorkersLost,
    distributed_package,
)


def _rows(seed: int, count: int = 40) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(count, 30))


def _rows_later(seed: int) -> np.ndarray[Any, Any]:
    time.sleep(0.3)
    return _rows(seed)


def _sums(rows: np.ndarray[Any, Any], scale: float, x: np.ndarray[Any, Any]) -> Any:
    """Sums whose last bits depend on the order of their terms."""
    return np.add.reduce(rows * x, axis=1) * scale, float(np.sum(rows @ x))


def _worker_of(_shard: Any) -> str:
    return str(distributed.get_worker().address)


def _process_of(_shard: Any) -> int:
    return os.getpid()


def _negated(rows: Any) -> Any:
    return -rows


def _fail(shard: int) -> int:
    if shard == 2:
        raise ValueError("shard 2 is wrong")
    return shard


def _until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)


def _when_released(shard: Any, folder: Path) -> Any:
    """The shard, after ``released`` was created; the name of a file says that this began."""
    (folder / f"begun-{uuid.uuid4()}").touch()
    _until((folder / "released").exists)
    return shard


def _begun(folder: Path) -> int:
    return len(list(folder.glob("begun-*")))


def _array_flags(_shard: Any, *arrays: Any) -> list[tuple[bool, bool]]:
    return [(array.flags.aligned, array.flags.writeable) for array in arrays]


def _flags(array: Any) -> tuple[bool, int]:
    return array.flags.aligned, os.getpid()


def _threads(_shard: Any) -> tuple[int, set[int]]:
    from threadpoolctl import threadpool_info

    pools = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    return loops._thread_count(), pools


def _identity(value: Any) -> Any:
    return value


def _busy(dask_worker: Any) -> bool:
    state = dask_worker.state
    return bool(state.executing or state.ready or state.long_running)


@pytest.fixture
def client(clients: Callable[[int], Any]) -> Any:
    return clients(2)


@pytest.fixture
def engine(client: Any) -> ClusterEngine:
    return ClusterEngine(client)


NewCluster = Callable[..., contextlib.AbstractContextManager[Any]]


@pytest.fixture
def new_cluster(fork_server: Any) -> NewCluster:
    """Clusters whose workers are not restarted when they are killed."""

    @contextlib.contextmanager
    def start(workers: int, threads: int = 1) -> Iterator[Any]:
        client: Any
        with local_cluster(0) as client, contextlib.ExitStack() as stack:
            for _ in range(workers):
                stack.enter_context(_worker(fork_server, client.scheduler.address, threads))
            client.wait_for_workers(workers, timeout=100)
            yield client

    return start


@contextlib.contextmanager
def _worker(context: Any, address: str, threads: int = 1) -> Iterator[Any]:
    """A worker in a process of its own, without a nanny."""
    process = context.Process(target=_work, args=(address, threads), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _work(address: str, threads: int) -> None:
    async def work() -> None:
        worker = distributed.Worker(address, nthreads=threads, memory_limit=0, dashboard=False)
        async with worker:
            await worker.finished()

    asyncio.run(work())


def _kill(pids: set[int]) -> None:
    for pid in pids:
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # the latter on Windows


def _same_bits(got: list[Any], expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for (sums, total), (sums_expected, total_expected) in zip(got, expected, strict=True):
        np.testing.assert_array_equal(sums, sums_expected)
        assert total == total_expected


class _Stop(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_workers(
    workers: int, clients: Callable[[int], Any]
) -> None:
    own = [(0.1 * k,) for k in range(7)]
    x = np.linspace(-1, 2, 30)
    local = LocalEngine()
    expected = local.each(_sums, local.keep(_rows, range(7), None, (50,)), own, (x,))
    engine = ClusterEngine(clients(workers))
    kept = engine.keep(_rows, range(7), None, (50,))
    _same_bits(engine.each(_sums, kept, own, (x,)), expected)
    _same_bits(engine.each(_sums, [_rows(k, 50) for k in range(7)], own, (x,)), expected)
    assert len(set(engine.each(_worker_of, kept))) == workers


def test_handles_are_shards_of_further_calls_and_stay_where_they_are(
    engine: ClusterEngine,
) -> None:
    kept = engine.keep(_rows, range(5))
    negated = engine.keep(_negated, kept)
    for k, rows in enumerate(engine.each(_identity, negated)):
        np.testing.assert_array_equal(rows, -_rows(k))
    assert engine.each(_worker_of, negated) == engine.each(_worker_of, kept)
    held = engine._client.who_has([*kept, *negated])
    assert all(len(workers) == 1 for workers in held.values())


def test_plain_shards_are_on_the_same_worker_in_every_call(engine: ClusterEngine) -> None:
    first = engine.each(_worker_of, range(6))
    assert first == sorted(first)
    assert len(set(first)) == 2
    assert engine.each(_worker_of, list("abcdef")) == first


def test_handles_and_other_shards_can_be_mixed(engine: ClusterEngine) -> None:
    kept = engine.keep(_identity, [0, 2])
    assert engine.each(_identity, [kept[0], 1, kept[1], 3]) == [0, 1, 2, 3]


def test_no_shards(engine: ClusterEngine) -> None:
    assert engine.each(_identity, []) == []
    assert engine.keep(_identity, []) == []


def test_wrong_number_of_own_arguments(engine: ClusterEngine) -> None:
    with pytest.raises(ValueError, match="shorter"):
        engine.each(_identity, range(3), [(), ()])


@pytest.mark.parametrize("call", ["keep", "each"])
def test_error_of_the_function_is_raised_as_itself(engine: ClusterEngine, call: str) -> None:
    with pytest.raises(ValueError, match="shard 2 is wrong"):
        getattr(engine, call)(_fail, range(4))
    assert engine.each(_identity, range(4)) == [0, 1, 2, 3]


@pytest.mark.usefixtures("fork_server")
def test_killed_worker_changes_no_bit(tmp_path: Path) -> None:
    x = np.linspace(-1, 2, 30)
    expected = LocalEngine().each(_sums, [-_rows(k) for k in range(6)], None, (1.0, x))
    client: Any
    with local_cluster(2) as client:
        engine = ClusterEngine(client)
        kept = engine.keep(_negated, engine.keep(_rows, range(6)))
        victim = engine.each(_process_of, kept)[0]

        def kill_when_begun() -> None:
            if _begun(tmp_path) and not (tmp_path / "released").exists():
                _kill({victim})
                _until(lambda: victim not in client.run(os.getpid, on_error="ignore").values())
                (tmp_path / "released").touch()

        watched = ClusterEngine(client, kill_when_begun)
        for k, rows in enumerate(watched.each(_when_released, kept, None, (tmp_path,))):
            np.testing.assert_array_equal(rows, -_rows(k))
        _same_bits(engine.each(_sums, kept, None, (1.0, x)), expected)
        client.wait_for_workers(2, timeout=100)


def test_handles_are_regrouped_by_where_they_are_after_a_loss(new_cluster: NewCluster) -> None:
    with new_cluster(3) as client:
        engine = ClusterEngine(client)
        kept = engine.keep(_rows_later, range(6))
        before = engine.each(_process_of, kept)
        _kill({before[0]})
        _until(lambda: len(client.nthreads()) == 2)
        after = engine.each(_process_of, kept)
        assert before[0] not in after
        assert [new for old, new in zip(before, after, strict=True) if old != before[0]] == [
            old for old in before if old != before[0]
        ]
        held = client.who_has(kept)
        addresses = engine.each(_worker_of, kept)
        assert all(
            address in held[future.key] for address, future in zip(addresses, kept, strict=True)
        )


def test_worker_that_joins_later_is_used_and_handles_stay(
    new_cluster: NewCluster, fork_server: Any
) -> None:
    with new_cluster(1) as client:
        engine = ClusterEngine(client)
        kept = engine.keep(_rows, range(4))
        before = engine.each(_worker_of, kept)
        with _worker(fork_server, client.scheduler.address):
            client.wait_for_workers(2, timeout=100)
            assert len(set(engine.each(_worker_of, range(4)))) == 2
            assert engine.each(_worker_of, kept) == before


def test_loss_of_all_workers_is_an_error_after_some_patience(new_cluster: NewCluster) -> None:
    with new_cluster(1) as client:
        engine = ClusterEngine(client, patience=0.5)
        kept = engine.keep(_rows, range(2))
        _kill(set(engine.each(_process_of, kept)))
        for shards in (kept, [0, 1]):
            begin = time.monotonic()
            with pytest.raises(WorkersLost, match=r"no workers for 0.5 seconds.*start workers"):
                engine.each(_identity, shards)
            assert time.monotonic() - begin > 0.5


def test_task_that_ends_several_workers_is_an_error_about_memory(new_cluster: NewCluster) -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        new_cluster(2) as client,
        pytest.raises(WorkersLost, match="memory"),
    ):
        ClusterEngine(client).each(os._exit, [1])


def test_closed_connection_is_an_error(new_cluster: NewCluster, tmp_path: Path) -> None:
    with new_cluster(1) as client:
        engine = ClusterEngine(client)

        def close_scheduler() -> None:
            if _begun(tmp_path) and client.cluster.status.name == "running":
                client.cluster.close()

        engine.watch = close_scheduler
        with pytest.raises(WorkersLost, match="connection to the scheduler was closed"):
            engine.each(_when_released, [1], None, (tmp_path,))
        client.close()
        with pytest.raises(WorkersLost, match="client is closed"):
            engine.each(_identity, [1])


@pytest.mark.parametrize("raised", [_Stop, KeyboardInterrupt])
@pytest.mark.parametrize("call", ["keep", "each"])
def test_watch_may_stop_a_call_whose_tasks_are_then_cancelled(
    client: Any, call: str, raised: type[BaseException], tmp_path: Path
) -> None:
    calls: list[float] = []

    def stop() -> None:
        calls.append(time.monotonic())
        if len(calls) > 3 and _begun(tmp_path):
            raise raised

    engine = ClusterEngine(client, stop)
    # Collections are separate tasks in both calls, so that most of them have not begun yet.
    with pytest.raises(raised):  # although no task can end
        getattr(engine, call)(
            _when_released, [dask.delayed(k) for k in range(20)], None, (tmp_path,)
        )
    assert np.min(np.diff(calls)) < 0.5
    _until(lambda: not any(client.processing().values()))
    (tmp_path / "released").touch()
    _until(lambda: not any(client.run(_busy).values()))
    assert _begun(tmp_path) <= 2  # one on each worker


def test_large_arguments_give_no_warning_and_arrive_aligned_and_writable(
    engine: ClusterEngine,
) -> None:
    large, small = np.zeros(2_000_000), np.zeros(7, dtype="f4")
    flags = engine.each(_array_flags, range(2), [(small, large)] * 2, (large, small))
    assert flags == [[(True, True)] * 4] * 2
    engine.keep(_array_flags, range(2), None, (large,))
    results = engine.each(_rows, range(3), None, (20_001,))
    assert all(rows.flags.aligned and rows.flags.writeable for rows in results)


def test_handle_that_is_sent_to_another_worker_arrives_aligned(
    client: Any, engine: ClusterEngine
) -> None:
    kept = engine.keep(np.zeros, [70_001, 70_002, 70_003])
    future = client.submit(np.zeros, 70_004)
    pids = engine.each(_process_of, kept)
    client.replicate([*kept, future])
    replicated = [engine.each(_flags, [handle])[0] for handle in [*kept, future]]
    assert all(aligned for aligned, _ in replicated)
    assert any(new != old for (_, new), old in zip(replicated, pids, strict=False))


def test_chunks_of_a_dask_array_are_shards(client: Any, engine: ClusterEngine) -> None:
    values = np.arange(60.0).reshape(12, 5)
    array = dask_array.from_array(values, chunks=(3, 5)) * 2
    chunks = list(array.to_delayed().ravel())
    futures = distributed.futures_of(client.persist(array))
    kept = engine.keep(_negated, [*chunks[:2], *chunks[2:]])
    expected = [2 * values[k : k + 3] for k in range(0, 12, 3)]
    np.testing.assert_array_equal(engine.each(_identity, chunks), expected)
    np.testing.assert_array_equal(-np.array(engine.each(_identity, kept)), expected)
    assert sorted(float(np.sum(chunk)) for chunk in engine.each(_identity, futures)) == sorted(
        float(np.sum(chunk)) for chunk in expected
    )
    mixed = engine.each(_identity, [chunks[0], values[3:6] * 2, chunks[2], kept[3]])
    np.testing.assert_array_equal(mixed, [*expected[:3], -expected[3]])


def test_threads_are_those_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("threadpoolctl")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    client: Any
    with local_cluster(0) as client, contextlib.ExitStack() as stack:
        for threads in (1, 3):  # in processes that read these variables
            address = client.scheduler.address
            stack.enter_context(_worker(multiprocessing.get_context("spawn"), address, threads))
        client.wait_for_workers(2, timeout=100)
        before = client.run(_threads, None)
        assert list(before.values()) == [(2, {2})] * 2
        found = ClusterEngine(client).each(_threads, [0, 1])
        assert sorted(found) == [(1, {1}), (3, {3})]
        assert client.run(_threads, None) == before


def test_client_must_be_a_client() -> None:
    with pytest.raises(TypeError, match=r"client is a str, but must be a dask\.distributed"):
        ClusterEngine("tcp://127.0.0.1:8786")  # type: ignore[arg-type]


def test_missing_dask_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'robustrank\[cluster\]'"):
        distributed_package()
