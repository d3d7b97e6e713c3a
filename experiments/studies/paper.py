"""The paper's figures 1a to 3c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.definition import DEFAULT, PAPER, VANILLA, Cell, Data, Procedure, Study

SMALL = (40, 32)  # the matrices of most quick studies


def fig1a(quick: bool = False) -> Study[Cell]:
    """Success against the number of measurements and the rank, with 5 % outliers."""
    ranks, shape, trials = range(1, 11), (150, 120), 10
    counts = range(300, 3301, 150)
    if quick:
        ranks, shape, counts, trials = range(1, 5), SMALL, range(60, 481, 30), 4
    cells = tuple(Cell(m, r, shape=shape) for r in ranks for m in counts)
    title = "success over (m, r), 5 % outliers"
    return Study("fig1a", title, cells, (PAPER, DEFAULT), trials, "m and r")


def fig1b(quick: bool = False) -> Study[Cell]:
    """Success against the fraction of outliers and the rank."""
    ranks, shape, m, trials = range(1, 11), (150, 120), 2700, 10
    fractions = [k / 20 for k in range(10)]
    if quick:
        ranks, shape, m, trials = range(1, 5), SMALL, 420, 5
        fractions = [k / 10 for k in range(5)]
    cells = tuple(Cell(m, r, s, shape=shape) for r in ranks for s in fractions)
    title = f"success over (s, r), m = {m:,}"
    return Study("fig1b", title, cells, (PAPER, DEFAULT), trials, "s and r")


def fig2(quick: bool = False) -> Study[Cell]:
    """Error against the number of measurements, with outliers and bounded noise."""
    extra: tuple[int, ...] = (1, 3, 5)
    counts, rank, shape, trials = range(1500, 4201, 300), 5, (150, 120), 10
    if quick:
        counts, rank, shape, extra, trials = range(160, 481, 80), 2, (24, 20), (1, 2), 4
    bounds = tuple(replace(PAPER, name=f"median-TGD, rank + {k}", extra_rank=k) for k in extra)
    methods = (
        PAPER,
        *bounds,
        VANILLA,
        replace(VANILLA, name="vanilla-GD, no outliers", data=Data.UNCORRUPTED),
        DEFAULT,
        replace(DEFAULT, name=f"default, rank + {extra[-1]}", extra_rank=extra[-1]),
    )
    cells = tuple(Cell(m, rank, noise=0.05, shape=shape) for m in counts)
    title = "error against m, 5 % outliers and bounded noise"
    return Study("fig2", title, cells, methods, trials, "errors")


def fig3(letter: str, fraction: float) -> Callable[[bool], Study[Cell]]:
    """The part of figure 3 with a given fraction of outliers: error against iterations."""

    def build(quick: bool = False) -> Study[Cell]:
        m, rank, shape = (400, 2, SMALL) if quick else (2400, 5, (150, 120))
        cell = Cell(m, rank, fraction, noise=0.05, shape=shape)
        return Study(
            f"fig3{letter}",
            f"error against iterations, {fraction:.0%} outliers",
            (cell,),
            (PAPER, VANILLA, DEFAULT),
            trials=3 if quick else 10,
            figure="traces",
            procedure=Procedure(traced=True),
        )

    return build
