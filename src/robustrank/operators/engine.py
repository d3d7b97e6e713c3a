"""Where the shards of the sensing data are computed: in this process, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class OutOfTime(Exception):  # noqa: N818  # not an error
    """The time limit was reached."""


class DataLost(RuntimeError):  # noqa: N818
    """The sensing data can no longer be read: a file is damaged, or the workers are gone."""


class Engine(Protocol):
    """Applies functions to every shard of the sensing data.

    A shard is a part of the measurements: any picklable object, or a handle that ``keep`` returned.
    ``work`` is called as ``work(shard, *own[k], *shared)`` for shard number k; ``own`` has a tuple
    of further arguments for each shard, and ``shared`` has those that are the same for all. It is a
    pure function of a module, so that it can be pickled and, if a result is lost, called again.
    """

    @property
    def watch(self) -> Callable[[], None]:
        """Called often while work is done; it may raise."""

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""

    def keep(
        self,
        work: Callable[..., Any],
        shards: Sequence[Any],
        own: Sequence[tuple[Any, ...]] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> list[Any]:
        """Handles of the results, one for each shard, which stay where they were computed."""

    def each(
        self,
        work: Callable[..., Any],
        shards: Sequence[Any],
        own: Sequence[tuple[Any, ...]] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> list[Any]:
        """The results in the order of the shards."""


@dataclass
class LocalEngine:
    """One shard after the other, in this process; a handle is the result itself."""

    watch: Callable[[], None] = lambda: None

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""
        return True

    def each(
        self,
        work: Callable[..., Any],
        shards: Sequence[Any],
        own: Sequence[tuple[Any, ...]] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> list[Any]:
        """The results in the order of the shards."""
        results = []
        for shard, mine in zip(shards, own or [()] * len(shards), strict=True):
            self.watch()
            try:
                results.append(work(shard, *mine, *shared))
            except OSError as error:
                raise DataLost(f"The sensing data can no longer be read: {error}") from error
        return results

    keep = each
