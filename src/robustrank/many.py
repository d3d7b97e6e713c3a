"""Many independent problems, one answer each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from robustrank.backend import Seed, as_generator
from robustrank.recover import recover
from robustrank.result import Recovery
from robustrank.solvers import Portfolio, Solver


def recover_many(
    problems: Iterable[tuple[Any, Any]],
    rank: int,
    *,
    solver: str | Solver[Any] | Portfolio = "auto",
    device: str | None = None,
    rng: Seed = None,
) -> Iterator[Recovery]:
    """Recover a matrix from each of many problems (A, y), and yield the answers in their order."""
    generator = as_generator(rng)
    for A, y in problems:
        yield recover(A, y, rank, solver=solver, device=device, rng=generator)
