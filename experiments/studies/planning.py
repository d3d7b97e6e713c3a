"""How many measurements are needed: small matrices, for the table of ``robustrank.plan``.

The thresholds scale with the degrees of freedom, so that small problems tell most about large ones;
figures 1a and 1b and the study ``sizes`` have the large ones. The noise is relative to a
measurement, which needs matrices with equal singular values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from experiments.completion_trial import run_completion
from experiments.definition import DEFAULT, PAPER, Cell, Outcome, Procedure, Study
from experiments.studies.entries import EntriesCell
from robustrank.theory import degrees_of_freedom

Size = tuple[tuple[int, int], int]  # shape and rank

_TINY: Size = ((16, 12), 1)
_TINY_TOO: Size = ((20, 16), 1)  # for the quick study
_SMALL: Size = ((30, 24), 2)
_HIGH_RANK: Size = ((30, 24), 5)
_MEDIUM: Size = ((60, 48), 3)
_FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45)
# Inliers per degree of freedom.
_RATIOS = {
    _TINY: (1.45, 1.7, 2.2, 3.0, 4.5),
    _SMALL: (1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5),
    _HIGH_RANK: (1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5),
}
_MEDIUM_RATIOS = {0.1: (1.05, 1.1), 0.3: (1.05, 1.1)}  # by the fraction of outliers
_RESEMBLING = {0.05: (1.1, 1.3, 1.6), 0.1: (1.1, 1.3, 1.6, 2.0), 0.2: (1.3, 1.6, 2.0, 3.0)}
_RESEMBLING[0.3] = (1.6, 2.0, 3.0, 4.5)
# The noise, and for each size the fractions of outliers.
_NOISY: dict[float, dict[Size, tuple[float, ...]]] = {
    0.01: {
        _TINY: (0.0, 0.1, 0.2, 0.3, 0.4),
        _SMALL: (0.0, 0.1, 0.2, 0.3, 0.4),
        _MEDIUM: (0.0, 0.1, 0.2, 0.3, 0.4),
    },
    0.05: {
        _TINY: (0.0, 0.1, 0.2, 0.3, 0.4),
        _SMALL: (0.0, 0.1, 0.2, 0.3, 0.4),
        _MEDIUM: (0.0, 0.1, 0.2, 0.3, 0.4),
    },
    0.08: {_TINY: (0.0, 0.2, 0.4), _SMALL: (0.0, 0.2, 0.4), _MEDIUM: (0.0, 0.2, 0.4)},
}
_NOISY_RATIOS = {_TINY: (1.6, 2.0, 2.5, 3.2, 4.5), _SMALL: (1.2, 1.4, 1.7, 2.2, 3.0, 4.5)}
_NOISY_RATIOS[_MEDIUM] = (1.1, 1.25, 1.5, 1.75, 2.2)

_ENTRY_SIZES: tuple[Size, ...] = (((60, 50), 1), ((60, 50), 3))
_LARGE_ENTRIES: Size = ((100, 80), 5)  # without noise, and with large outliers only
_ENTRY_FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
_ENTRY_RATIOS = (1.4, 1.8, 2.4, 3.2, 4.4, 6.0)


def planning(quick: bool = False) -> Study[Cell]:
    """Success against inliers per degree of freedom, for outliers of two kinds and for noise."""
    cells = _quick_cells() if quick else (*_exact_cells(), *_resembling_cells(), *_noisy_cells())
    return Study(
        "planning",
        "measurements needed, for planning",
        tuple(cells),
        (DEFAULT, replace(PAPER, trials=2)),
        trials=3 if quick else 5,
        figure="needed",
        procedure=Procedure(observe=_passes),
    )


def planning_entries(quick: bool = False) -> Study[EntriesCell]:
    """The same for completion."""
    exact = [("huge", 0.0, size) for size in (*_ENTRY_SIZES, _LARGE_ENTRIES)]
    others = [(*kind, size) for kind in (("scale", 0.0), ("huge", 0.05)) for size in _ENTRY_SIZES]
    kinds, fractions = (exact[:2], (0.0, 0.2)) if quick else (exact + others, _ENTRY_FRACTIONS)
    cells = tuple(
        EntriesCell("", round(ratio / (1 - s), 4), s, model, *size, noise=noise)
        for model, noise, size in kinds
        for s in fractions
        if s or model == "huge"
        for ratio in _ENTRY_RATIOS
        if _fits(size, ratio / (1 - s))
    )
    return Study(
        "planning-entries",
        "entries needed, for planning",
        cells,
        (DEFAULT,),
        trials=3 if quick else 4,
        figure="needed",
        procedure=Procedure(run=run_completion),
    )


def relative_noise(cell: Cell) -> float:
    """The standard deviation of the noise relative to that of a measurement.

    The noise of a cell is uniform, in units of the smallest of equal singular values.
    """
    return cell.noise / math.sqrt(3 * cell.rank)


def _exact_cells() -> Iterator[Cell]:
    for size, ratios in _RATIOS.items():
        for s in _FRACTIONS:
            yield from (_cell(size, ratio, s) for ratio in ratios)
    for s, ratios in _MEDIUM_RATIOS.items():
        yield from (_cell(_MEDIUM, ratio, s) for ratio in ratios)


def _resembling_cells() -> Iterator[Cell]:
    for s, ratios in _RESEMBLING.items():
        yield from (_cell(_SMALL, ratio, s, "scale") for ratio in ratios)


def _noisy_cells() -> Iterator[Cell]:
    for noise, sizes in _NOISY.items():
        for size, fractions in sizes.items():
            for s in fractions:
                yield from (_cell(size, ratio, s, noise=noise) for ratio in _NOISY_RATIOS[size])


def _quick_cells() -> Iterator[Cell]:
    for size in (_TINY, _TINY_TOO):
        for s in (0.0, 0.2):
            yield from (_cell(size, ratio, s) for ratio in (1.2, 1.7, 2.2))
            yield from (_cell(size, ratio, s, noise=0.05) for ratio in (1.7, 3.0))


def _cell(size: Size, ratio: float, s: float, model: str = "huge", noise: float = 0.0) -> Cell:
    shape, rank = size
    m = round(ratio * degrees_of_freedom(*shape, rank) / (1 - s))
    if not noise:
        return Cell(m, rank, s, model, shape=shape)
    level = round(noise * math.sqrt(3 * rank), 6)
    return Cell(m, rank, s, model, noise=level, shape=shape, condition_number=1.0)


def _fits(size: Size, oversampling: float) -> bool:
    (n1, n2), rank = size
    return oversampling * degrees_of_freedom(n1, n2, rank) <= 0.9 * n1 * n2


def _passes(outcome: Outcome) -> dict[str, int]:
    return {"passes": round(outcome.recovery.passes)}
