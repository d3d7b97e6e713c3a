"""Where the shards of the sensing data are computed: in this process, or on a cluster."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from robustrank.backend import Array
from robustrank.operators.base import DataLost


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


def split(values: Array, counts: Sequence[int]) -> list[tuple[Array]]:
    """The part of a vector, or of the last axis of an array, that belongs to each shard."""
    bounds = itertools.pairwise(itertools.accumulate(counts, initial=0))
    return [(values[..., first:last],) for first, last in bounds]


def total(parts: Iterable[Array]) -> Array:
    """The sum of arrays, added in their order."""
    return functools.reduce(operator.add, parts)
