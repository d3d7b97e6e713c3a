"""States of several problems that are solved in lockstep, along the leading axis of every array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeVar

from robustrank.backend import Array, is_array, like, namespace

T = TypeVar("T")


def choose(lanes: Array, one: T, other: T) -> T:
    """``one`` in the lanes where the boolean array says so, ``other`` elsewhere."""

    def select(a: Array, b: Array) -> Array:
        mask = lanes
        while mask.ndim < a.ndim:
            mask = mask[..., None]
        return namespace(lanes, a).where(mask, a, b)

    return _map(select, one, other)


def pick(state: T, lanes: Sequence[int]) -> T:
    """The same of some lanes only, in the order given."""

    def take(array: Array) -> Array:
        xp = namespace(array)
        index = xp.asarray(list(lanes), **like(array) | {"dtype": xp.int32})
        return xp.take(array, index, axis=0)

    return _map(take, state)


def lane(state: T, number: int) -> T:
    """A copy of the state of one lane, without the leading axis."""
    return _map(lambda array: namespace(array).asarray(array[number, ...], copy=True), state)


def _map(function: Callable[..., Array], first: T, *others: T) -> T:
    """Apply a function to every array of a tree of dataclasses, or of several alike."""
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
