"""Questions that the paper does not ask: kinds of outliers, condition number, size."""

from __future__ import annotations

from experiments.definition import DEFAULT, PAPER, Cell, Study
from experiments.studies.paper import SMALL

_OUTLIERS = ("huge", "scale", "impostor", "constant", "flip", "cauchy", "one-sided")
_OFFSETS = ("offset:0.01", "offset:0.1", "offset:0.3", "offset:1")
_GAINS = ("gain:0.5", "gain:1.2", "gain:2")
_FAULTS = (*_OFFSETS, *_GAINS, "dead", "stuck", "saturated", "swapped")
# The committed rows of the full study do not have the faulty sensors.
_MODELS = {False: _OUTLIERS, True: (*_OUTLIERS, *_FAULTS)}  # quick or not


def zoo(quick: bool = False) -> Study[Cell]:
    """Success for every kind of outlier."""
    shape, rank, m = (SMALL, 2, 420) if quick else ((150, 120), 3, 1620)
    fractions = (0.1, 0.2, 0.3) if quick else (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
    cells = tuple(
        Cell(m, rank, s, model, shape=shape) for model in _MODELS[quick] for s in fractions
    )
    title = "success by kind and fraction of outliers"
    return Study("zoo", title, cells, (PAPER, DEFAULT), 5 if quick else 10, "kinds")


def kappa(quick: bool = False) -> Study[Cell]:
    """Success against the condition number of the matrix."""
    shape, rank, m = (SMALL, 2, 420) if quick else ((150, 120), 5, 2700)
    numbers = (1, 10, 100) if quick else (1, 2, 5, 10, 20, 50, 100, 300, 1000)
    cells = tuple(Cell(m, rank, shape=shape, condition_number=k) for k in numbers)
    title = "success against the condition number"
    return Study("kappa", title, cells, (PAPER, DEFAULT), 5 if quick else 10, "condition")


def sizes(quick: bool = False) -> Study[Cell]:
    """Success against measurements per degree of freedom, for matrices of several sizes."""
    all_n = (20, 40) if quick else (20, 40, 80, 160)
    rank, trials = 2, 5 if quick else 10
    ratios = (1.05, 1.2, 1.5, 2.0) if quick else (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0)
    cells = tuple(
        Cell(round(ratio * rank * (2 * n - rank) / (1 - s)), rank, s, shape=(n, n))
        for n in all_n
        for s in (0.0, 0.2)
        for ratio in ratios
    )
    title = "measurements needed, against the size"
    return Study("sizes", title, cells, (PAPER, DEFAULT), trials, "sizes")
