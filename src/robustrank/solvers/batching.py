"""States of a batch of problems, along the leading axis of every array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeVar

from robustrank.backend import Array, is_array, like, namespace

T = TypeVar("T")


def select(condition: Array, one: T, other: T) -> T:
    """``one`` for the problems where the condition is true, ``other`` elsewhere."""

    def choose(a: Array, b: Array) -> Array:
        mask = condition
        while mask.ndim < a.ndim:
            mask = mask[..., None]
        return namespace(condition, a).where(mask, a, b)

    return _map(choose, one, other)


def take(state: T, positions: Sequence[int]) -> T:
    """The states of some of the problems, in the order given."""

    def pick(array: Array) -> Array:
        xp = namespace(array)
        index = xp.asarray(list(positions), **like(array) | {"dtype": xp.int32})
        return xp.take(array, index, axis=0)

    return _map(pick, state)


def take_one(state: T, position: int) -> T:
    """A copy of the state of one problem, without the leading axis."""
    return _map(lambda array: namespace(array).asarray(array[position, ...], copy=True), state)


def _map(function: Callable[..., Array], first: T, *others: T) -> T:
    """Apply a function to every array of a nested dataclass, or of several alike."""
    if is_array(first):
        result: T = function(first, *others)
        return result
    if not is_dataclass(first) or isinstance(first, type):
        return first
    parts = {
        field.name: _map(function, *(getattr(tree, field.name) for tree in (first, *others)))
        for field in fields(first)
    }
    return type(first)(**parts)
