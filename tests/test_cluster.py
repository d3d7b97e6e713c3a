"""Connections to clusters."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("distributed")

from robustrank.cluster import connected, memory_report
from robustrank.outofcore.cluster import ClusterEngine


def _identity(value: Any) -> Any:
    return value


@pytest.fixture
def client(clients: Callable[[int], Any]) -> Any:
    return clients(2)


def test_connection_to_a_scheduler(client: Any) -> None:
    with connected(client.scheduler.address) as second:
        assert ClusterEngine(second).each(_identity, [1, 2]) == [1, 2]


def test_address_where_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustrank.cluster._CONNECT_SECONDS", 0.5)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="No dask scheduler answers"), connected(address):
            pass


def test_memory_report(client: Any) -> None:
    client.wait_for_workers(2, timeout=100)
    assert memory_report(client).startswith("workers: 2, threads: 2, memory: 0.")
