"""States of several problems: selecting, taking some, and taking one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import like, to_numpy
from robustrank.solvers.base import select, take, take_one


@dataclass(frozen=True, eq=False)
class Inner:
    values: Any  # (problems, 3)
    name: str


@dataclass(frozen=True, eq=False)
class Outer:
    matrix: Any  # (problems, 2, 2)
    number: Any  # (problems,)
    inner: Inner
    iteration: int


def state(xp: Any, offset: float, iteration: int = 0) -> Outer:
    def array(*shape: int) -> Any:
        return xp.asarray(offset + np.arange(np.prod(shape), dtype=float).reshape(shape))

    inner = Inner(array(3, 3), f"from {offset}")
    return Outer(matrix=array(3, 2, 2), number=array(3), inner=inner, iteration=iteration)


def arrays(of: Outer) -> list[Any]:
    return [of.matrix, of.number, of.inner.values]


def test_select_chooses_for_each_problem(xp: Any) -> None:
    one, other = state(xp, 0.0, iteration=5), state(xp, 100.0, iteration=7)
    chosen = select(xp.asarray(np.asarray([True, False, True])), one, other)
    for found, first, second in zip(arrays(chosen), arrays(one), arrays(other), strict=True):
        expected = to_numpy(first).copy()
        expected[1] = to_numpy(second)[1]
        assert np.array_equal(to_numpy(found), expected)
        assert like(found) == like(first)
    assert chosen.iteration == 5  # what is not an array is taken from the first
    assert chosen.inner.name == "from 0.0"


def test_select_without_a_leading_axis(xp: Any) -> None:
    one, other = state(xp, 0.0), state(xp, 100.0)
    for condition, expected in ((True, one), (False, other)):
        chosen = select(xp.asarray(np.asarray(condition)), one, other)
        for found, wanted in zip(arrays(chosen), arrays(expected), strict=True):
            assert np.array_equal(to_numpy(found), to_numpy(wanted))


def test_take_keeps_some_problems_in_the_given_order(xp: Any) -> None:
    given = state(xp, 0.0, iteration=5)
    taken = take(given, [2, 0])
    for found, values in zip(arrays(taken), arrays(given), strict=True):
        assert np.array_equal(to_numpy(found), to_numpy(values)[[2, 0]])
        assert like(found) == like(values)
    assert taken.iteration == 5


def test_take_one_has_no_leading_axis(xp: Any) -> None:
    given = state(xp, 0.0)
    taken = take_one(given, 1)
    for found, values in zip(arrays(taken), arrays(given), strict=True):
        assert np.array_equal(to_numpy(found), to_numpy(values)[1])


def test_take_one_copies() -> None:
    given = state(np, 0.0)
    taken = take_one(given, 1)
    given.matrix[...] = -1.0
    assert np.array_equal(taken.matrix, [[4.0, 5.0], [6.0, 7.0]])
