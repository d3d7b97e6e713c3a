"""Times of other methods relative to ``complete`` and ``robust_pca``, on the same problems.

A ratio is given only for problems in which the other method succeeds: its relative error is below
1e-3, a low bar, because some of them stop at a low accuracy. The errors are reported too.
``complete`` and ``robust_pca`` are given neither the rank nor the number of outliers.
"""

from __future__ import annotations

import contextlib
import io
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import robustrank as rr
from benchmarks.peers import FULL_MATRIX, SAMPLED_ENTRIES, Given, Peer
from benchmarks.progress import doing, result
from robustrank.simulate import PlantedEntries, plant_entries

Array = np.ndarray[Any, Any]

SUCCESS = 1e-3  # of the relative error
TARGET = 5.0  # how many times faster
RANK, CONDITION_NUMBER, FIRST_SEED = 5, 2.0, 50_000


@dataclass(frozen=True)
class Setting:
    """A kind of problem: n × n, of rank 5; ``oversampling`` None means fully observed."""

    n: int
    outliers: float
    oversampling: int | None
    trials: int

    def __str__(self) -> str:
        seen = "all entries" if self.oversampling is None else f"rho = {self.oversampling}"
        return f"{self.n} × {self.n}, {seen}, {self.outliers:.0%} outliers"

    def problem(self, trial: int) -> PlantedEntries:
        """The problem of this number."""
        n, rho = self.n, self.oversampling
        entries = n * n if rho is None else rho * RANK * (2 * n - RANK)
        share, condition = self.outliers, CONDITION_NUMBER
        seed = FIRST_SEED + trial
        return plant_entries(
            n, n, RANK, entries, outliers=share, condition_number=condition, rng=seed
        )


@dataclass(frozen=True)
class Comparison:
    """Medians over the problems of a setting.

    Times and errors of the peer are those of the problems in which it succeeds, or of all if there
    is none; ``ratio`` is its time divided by that of robustrank, None where it never succeeds.
    """

    setting: str
    peer: str
    settings: str
    problems: int
    successes: int
    seconds: float
    error: float
    own_seconds: float
    own_error: float
    ratio: float | None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether robustrank is faster by the target; None if there is no ratio."""
        return None if self.ratio is None else self.ratio >= TARGET

    def record(self) -> dict[str, Any]:
        """The fields for JSON, which has no NaN."""
        fields = {name: None if value != value else value for name, value in asdict(self).items()}
        return fields | {"met": self.met}

    def __str__(self) -> str:
        if self.note:
            return f"  {self.peer:<21} {self.note}"
        verdict = {True: "met", False: "MISSED", None: "fails"}[self.met]
        ratio = "     -" if self.ratio is None else f"{self.ratio:>6.2g}"
        return (
            f"  {self.peer:<21} {self.seconds:>8.2f} s  error {self.error:>7.1e}  "
            f"{self.successes}/{self.problems} succeed  {ratio} ×  {verdict:<6}  {self.settings}"
        )


FULL_SETTINGS = tuple(
    Setting(n, share, None, trials) for n, trials in ((500, 3), (1000, 1)) for share in (0.1, 0.3)
)
SAMPLED_SETTINGS = (Setting(800, 0.05, 8, 5), Setting(800, 0.05, 4, 5))
QUICK_FULL = (Setting(200, 0.1, None, 1),)
QUICK_SAMPLED = (Setting(200, 0.05, 8, 1),)

Run = tuple[float, float]  # seconds and the relative error


def compare(quick: bool) -> list[Comparison]:
    """All comparisons, also printed."""
    groups: list[tuple[Sequence[Setting], Sequence[Peer]]] = [
        (QUICK_FULL if quick else FULL_SETTINGS, FULL_MATRIX),
        (QUICK_SAMPLED if quick else SAMPLED_SETTINGS, SAMPLED_ENTRIES),
    ]
    found = []
    for settings, peers in groups:
        for setting in settings:
            problems = [setting.problem(trial) for trial in range(setting.trials)]
            data = [Given.of(problem) for problem in problems]
            own = _own_runs(setting, problems, data)
            seconds, error = _medians(own)
            result(f"{setting}: robustrank {seconds:.2f} s, error {error:.1e}, only the data given")
            for peer in peers:
                found.append(compared(setting, peer, problems, data, own))
                result(found[-1])
    return found


def _own_runs(setting: Setting, problems: list[PlantedEntries], data: list[Given]) -> list[Run]:
    def solve(given: Given) -> Array:
        shape = setting.n, setting.n
        full = setting.oversampling is None
        found = rr.robust_pca(given.X) if full else rr.complete(given.entries, shape=shape)
        return np.asarray(found.matrix)

    doing(f"{setting}: robustrank")
    solve(data[0])  # a warm-up call: compilation is not measured
    return [_run(solve, problem, given) for problem, given in zip(problems, data, strict=True)]


def compared(
    setting: Setting,
    peer: Peer,
    problems: list[PlantedEntries],
    data: list[Given],
    own: list[Run],
) -> Comparison:
    """The runs of one peer, and how they compare with robustrank's own."""
    about = str(setting), peer.name, peer.settings, len(problems)
    try:
        solve = peer.load()
    except ImportError:
        note = f"not installed: pip install {peer.package}"
        return Comparison(*about, 0, math.nan, math.nan, *_medians(own), None, note)
    runs = []
    for number, (problem, given) in enumerate(zip(problems, data, strict=True), 1):
        doing(f"{setting}: {peer.name}, problem {number} of {len(problems)}")
        runs.append(_run(solve, problem, given))
    succeeded = [(run, mine) for run, mine in zip(runs, own, strict=True) if run[1] < SUCCESS]
    ratios = [run[0] / mine[0] for run, mine in succeeded]
    medians = _medians([run for run, _ in succeeded] or runs)
    ratio = statistics.median(ratios) if ratios else None
    return Comparison(*about, len(ratios), *medians, *_medians(own), ratio)


def _run(solve: Callable[[Given], Array], problem: PlantedEntries, given: Given) -> Run:
    """The seconds and the error of one call; what it prints is suppressed."""
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        estimate = solve(given)
    seconds = time.perf_counter() - began
    truth = problem.matrix
    return seconds, float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def _medians(runs: list[Run]) -> Run:
    seconds, errors = zip(*runs, strict=True)
    return statistics.median(seconds), statistics.median(errors)
