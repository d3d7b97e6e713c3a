"""What a call does, as executed: a walk from the call down to the result, without turning back."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import robustrank as rr
from robustrank.simulate import plant, plant_entries

SOURCES = Path(rr.__file__).parent
# The packages that a call walks through. The others (linalg, operators, backend and so on) are
# libraries: they apply functions of a caller, as an SVD by products does.
WALKED = {
    *("api", "inputs", "problem", "run", "search", "solvers", "completion", "certificate"),
    *("result", "uncertainty", "planning", "outofcore"),
}


class Walk:
    """The files that a call executes, the deepest stack, and which package calls which."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: dict[tuple[str, str], str] = {}
        self.depth = 0
        self._stack: list[tuple[FrameType, str]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCES):
            file = path.relative_to(SOURCES)
            package = file.parts[0].removesuffix(".py")
            self.files.add(str(file))
            if self._stack and self._stack[-1][1] != package:
                where = f"{self._stack[-1][0].f_code.co_name} calls {frame.f_code.co_name}"
                self.calls.setdefault((self._stack[-1][1], package), where)
            self._stack.append((frame, package))
            self.depth = max(self.depth, len(self._stack))
        elif event == "return" and self._stack and self._stack[-1][0] is frame:
            self._stack.pop()

    def of(self, call: Callable[[], rr.Result]) -> Walk:
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            assert call().certified
        finally:
            sys.setprofile(before)
        return self

    def turn(self) -> list[str]:
        """Packages that call each other in a circle, with the functions; empty without one."""
        below: dict[str, set[str]] = {}
        for upper, lower in self.calls:
            if {upper, lower} <= WALKED:
                below.setdefault(upper, set()).add(lower)

        def search(package: str, path: list[str]) -> list[str]:
            if package in path:
                circle = [*path[path.index(package) :], package]
                pairs = itertools.pairwise(circle)
                return [f"{one} → {two}: {self.calls[one, two]}" for one, two in pairs]
            found = (search(lower, [*path, package]) for lower in below.get(package, ()))
            return next(filter(None, found), [])

        return next(filter(None, (search(package, []) for package in below)), [])


EXACT = plant(20, 15, 2, 400, outliers=0.05, rng=1)
NOISY = plant(20, 15, 2, 500, outliers=0.05, noise=0.03, rng=1)
ENTRIES = plant_entries(40, 30, 2, 700, outliers=0.1, rng=1).incomplete
NOISY_ENTRIES = plant_entries(40, 30, 2, 700, outliers=0.1, noise=0.02, rng=1).incomplete
# A call with the largest number of files and the deepest stack that it may need.
CALLS: dict[str, tuple[Callable[[], rr.Result], int, int]] = {
    "exact": (lambda: rr.recover(EXACT.A, EXACT.y, 2), 35, 23),
    "noisy, without a rank": (lambda: rr.recover(NOISY.A, NOISY.y), 49, 25),
    "entries": (lambda: rr.complete(ENTRIES, 2), 34, 22),
    "noisy entries, without a rank": (lambda: rr.complete(NOISY_ENTRIES), 38, 22),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_walks_down_without_turning_back(name: str) -> None:
    call, files, depth = CALLS[name]
    call()  # compiles, and computes what is kept
    walk = Walk().of(call)
    assert walk.turn() == []
    assert len(walk.files) <= files, sorted(walk.files)
    assert walk.depth <= depth


def test_a_turn_is_noticed() -> None:
    walk = Walk()
    walk.calls = {
        ("api", "search"): "a calls b",
        ("search", "linalg"): "b calls c",
        ("linalg", "search"): "c calls d",
    }
    assert walk.turn() == []  # linalg is a library
    walk.calls["search", "certificate"] = "d calls e"
    walk.calls["certificate", "search"] = "e calls f"
    circle = ["search → certificate: d calls e", "certificate → search: e calls f"]
    assert walk.turn() == circle
