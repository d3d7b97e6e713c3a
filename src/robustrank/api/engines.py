"""The engine of one call: local or on a cluster, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from robustrank.operators import DataLost, OutOfTime
from robustrank.outofcore import Engine, LocalEngine


class WatchedEngine:
    """An engine that stops at a given time, and remembers why the data was lost."""

    def __init__(self, client: Any, ends: float | None) -> None:
        self.failure: DataLost | None = None
        self._ends = ends
        self._inner = _engine(client, self.watch)

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""
        return self._inner.is_local

    def watch(self) -> None:
        """Raise if the time is over."""
        if self._ends is not None and time.perf_counter() > self._ends:
            raise OutOfTime

    def keep(self, *arguments: Any, **named: Any) -> list[Any]:
        """Handles of the results."""
        return self._remembering(self._inner.keep, *arguments, **named)

    def each(self, *arguments: Any, **named: Any) -> list[Any]:
        """The results."""
        return self._remembering(self._inner.each, *arguments, **named)

    def _remembering(
        self, call: Callable[..., list[Any]], *arguments: Any, **named: Any
    ) -> list[Any]:
        try:
            return call(*arguments, **named)
        except DataLost as error:
            self.failure = error
            raise


def _engine(client: Any, watch: Callable[[], None]) -> Engine:
    if client is None:
        return LocalEngine(watch)
    from robustrank.outofcore.cluster import ClusterEngine

    return ClusterEngine(client, watch)
