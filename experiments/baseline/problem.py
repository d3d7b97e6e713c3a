"""A problem of the baseline: what is called, and what is known about the answer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import robustrank as rr
from experiments.baseline.entry_oracle import EntryOracle
from experiments.battery.oracle import solve as least_squares

Array = np.ndarray[Any, Any]
Result = rr.Result
UNKNOWN = object()  # a rank that is not given

TIME_LIMIT = 60.0  # seconds of each call


class SkippedError(Exception):
    """A problem that cannot be run here; the message says what is missing."""


def require(module: str) -> None:
    """Skip the problem unless a library is installed."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise SkippedError(f"{module} is not installed") from error


@dataclass(frozen=True)
class Draw:
    """What a problem is drawn from: its family, its number, a seed, and a folder for files."""

    family: str
    trial: int
    seed: int
    folder: Path

    @cached_property
    def rng(self) -> np.random.Generator:
        """The generator of everything that is random."""
        return np.random.default_rng(self.seed)

    def uniform(self, low: float, high: float) -> float:
        """A number between two others."""
        return float(self.rng.uniform(low, high))

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, *options: Any) -> Any:
        """One of several values."""
        return options[int(self.rng.integers(len(options)))]

    def new_seed(self) -> int:
        """A seed for a function that makes a problem."""
        return self.integer(0, 2**31)


@dataclass(frozen=True, eq=False)
class Problem:
    """A call, and the truth to compare its result with."""

    solve: Callable[[], Result]
    values: Array  # the measurements or the observed entries
    left: Array
    right: Array
    outliers: Array  # boolean, one for each of the values
    oracle: Callable[[], float | None] = lambda: None  # its error; None: there is no solution
    entries: EntryOracle | None = None  # of a completion, instead of ``oracle``
    places: tuple[Array, Array] | None = None  # of the values, if the outliers are a matrix
    single: bool = False  # whether the data has single precision
    intervals: bool = False  # whether to count how many intervals contain the truth


def recovery_problem(
    planted: rr.simulate.Planted,
    *,
    rank: Any = UNKNOWN,
    given: Any = None,
    dense: Array | None = None,
    possible: bool = True,
    solve: Callable[[], Result] | None = None,
    **options: Any,
) -> Problem:
    """``recover`` of a planted problem.

    ``given`` is passed instead of ``planted.A``, which ``dense`` has as an array if it is none.
    ``rank`` is by default the true one.
    """
    bound = planted.rank if rank is UNKNOWN else rank
    A = planted.A if given is None else given
    y = as_numpy(planted.y)

    def recover() -> Result:
        return rr.recover(A, planted.y, bound, rng=0, time_limit=TIME_LIMIT, **options)

    def oracle() -> float | None:
        rows = as_numpy(planted.A if dense is None else dense).astype(float)[~planted.outliers]
        most = planted.rank if bound is None else min(bound, planted.rank)
        symmetric = any(options.get(name) for name in ("symmetric", "psd"))
        best = least_squares(
            rows,
            y[~planted.outliers].astype(float),
            planted.matrix,
            most,
            symmetric=symmetric,
        )
        return best.error if best.determined and possible else None

    return Problem(
        solve or recover,
        y,
        planted.left,
        planted.right,
        planted.outliers,
        oracle,
        single=y.dtype == np.float32,
    )


def completion_problem(
    planted: rr.simulate.PlantedEntries,
    *,
    rank: Any = UNKNOWN,
    possible: bool = True,
    everything: bool = False,
    given: Any = None,
    single: bool = False,
) -> Problem:
    """``complete`` of planted entries, or ``robust_pca`` of all entries."""
    bound = planted.left.shape[1] if rank is UNKNOWN else rank
    options: dict[str, Any] = {"rng": 0, "time_limit": TIME_LIMIT}

    def solve() -> Result:
        if everything:
            return rr.robust_pca(planted.incomplete if given is None else given, bound, **options)
        data = planted.triples if given is None else given
        shape = planted.shape if isinstance(data, tuple) else None
        return rr.complete(data, bound, shape=shape, **options)

    return Problem(
        solve,
        planted.values,
        planted.left,
        planted.right,
        planted.outliers,
        entries=EntryOracle(planted, possible),
        places=(planted.rows, planted.columns) if everything else None,
        single=single,
    )


def as_numpy(values: Any) -> Array:
    """An array of any library, on any device, as one of NumPy."""
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
