"""The experiments: the paper's figures, and beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.definition import (
    DEFAULT,
    PAPER,
    VANILLA,
    Cell,
    Experiment,
    Method,
)
from robustrank.simulate import OUTLIER_MODELS

QUICK = "quick"  # the end of a quick experiment's name
_SMALL = (40, 32)


def fig1a(quick: bool = False) -> Experiment:
    """Success over the number of measurements and the rank, with 5 % outliers."""
    ranks, shape, trials = range(1, 11), (150, 120), 10
    counts = range(300, 3301, 150)
    if quick:
        ranks, shape, counts, trials = range(1, 5), _SMALL, range(60, 481, 30), 4
    cells = tuple(Cell(m, r, shape=shape) for r in ranks for m in counts)
    return Experiment(
        "fig1a",
        "success over (m, r), 5 % outliers",
        cells,
        (PAPER, DEFAULT),
        trials,
        figure="m and r",
    )


def fig1b(quick: bool = False) -> Experiment:
    """Success over the share of outliers and the rank."""
    ranks, shape, m, trials = range(1, 11), (150, 120), 2700, 10
    shares = [k / 20 for k in range(10)]
    if quick:
        ranks, shape, m, trials = range(1, 5), _SMALL, 420, 5
        shares = [k / 10 for k in range(5)]
    cells = tuple(Cell(m, r, s, shape=shape) for r in ranks for s in shares)
    title = f"success over (s, r), m = {m:,}"
    return Experiment("fig1b", title, cells, (PAPER, DEFAULT), trials, figure="s and r")


def fig2(quick: bool = False) -> Experiment:
    """Error against the number of measurements, with outliers and bounded noise."""
    above: tuple[int, ...] = (1, 3, 5)
    counts, rank, shape, trials = range(1500, 4201, 300), 5, (150, 120), 10
    if quick:
        counts, rank, shape, above, trials = range(160, 481, 80), 2, (24, 20), (1, 2), 4
    bounds = tuple(replace(PAPER, name=f"median-TGD, rank + {k}", extra_rank=k) for k in above)
    methods = (
        PAPER,
        *bounds,
        VANILLA,
        replace(VANILLA, name="vanilla-GD, no outliers", clean=True),
        DEFAULT,
        replace(DEFAULT, name=f"default, rank + {above[-1]}", extra_rank=above[-1]),
    )
    cells = tuple(Cell(m, rank, noise=0.05, shape=shape) for m in counts)
    title = "error against m, 5 % outliers and bounded noise"
    return Experiment("fig2", title, cells, methods, trials, figure="errors")


def _fig3(letter: str, share: float) -> Callable[[bool], Experiment]:
    def build(quick: bool = False) -> Experiment:
        m, rank, shape = (400, 2, _SMALL) if quick else (2400, 5, (150, 120))
        cell = Cell(m, rank, share, noise=0.05, shape=shape)
        title = f"error against iterations, {share:.0%} outliers"
        methods: tuple[Method, ...] = (PAPER, VANILLA, DEFAULT)
        trials = 3 if quick else 10
        return Experiment(f"fig3{letter}", title, (cell,), methods, trials, True, "traces")

    return build


def zoo(quick: bool = False) -> Experiment:
    """Success for every kind of outlier."""
    shape, rank, m = (_SMALL, 2, 420) if quick else ((150, 120), 3, 1620)
    shares = (0.1, 0.2, 0.3) if quick else (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
    cells = tuple(Cell(m, rank, s, model, shape=shape) for model in OUTLIER_MODELS for s in shares)
    title = "success by kind and share of outliers"
    return Experiment("zoo", title, cells, (PAPER, DEFAULT), 5 if quick else 10, figure="kinds")


def kappa(quick: bool = False) -> Experiment:
    """Success and work against the condition number of the matrix."""
    shape, rank, m = (_SMALL, 2, 420) if quick else ((150, 120), 5, 2700)
    numbers = (1, 10, 100) if quick else (1, 2, 5, 10, 20, 50, 100, 300, 1000)
    cells = tuple(Cell(m, rank, shape=shape, condition_number=k) for k in numbers)
    title = "success over the condition number"
    trials = 5 if quick else 10
    return Experiment("kappa", title, cells, (PAPER, DEFAULT), trials, figure="condition")


def sizes(quick: bool = False) -> Experiment:
    """Success over measurements for each degree of freedom, as the matrix grows."""
    grown = (20, 40) if quick else (20, 40, 80, 160)
    rank, trials = 2, 5 if quick else 10
    ratios = (1.05, 1.2, 1.5, 2.0) if quick else (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0)
    cells = tuple(
        Cell(round(ratio * rank * (2 * n - rank) / (1 - s)), rank, s, shape=(n, n))
        for n in grown
        for s in (0.0, 0.2)
        for ratio in ratios
    )
    title = "what half of the trials need, against the size"
    return Experiment("sizes", title, cells, (PAPER, DEFAULT), trials, figure="sizes")


_BUILDERS: dict[str, Callable[[bool], Experiment]] = {
    "fig1a": fig1a,
    "fig1b": fig1b,
    "fig2": fig2,
    "fig3a": _fig3("a", 0.0),
    "fig3b": _fig3("b", 0.01),
    "fig3c": _fig3("c", 0.1),
    "zoo": zoo,
    "kappa": kappa,
    "sizes": sizes,
}
NAMES = tuple(_BUILDERS)


def experiment(name: str, *, quick: bool = False, trials: int | None = None) -> Experiment:
    """An experiment by its name; ``quick`` is a smaller one of the same kind, named so."""
    if name not in _BUILDERS:
        raise ValueError(f"experiment {name!r} is not known; expected one of {', '.join(NAMES)}")
    found = _BUILDERS[name](quick)
    if quick:
        found = replace(found, name=f"{name}-{QUICK}", title=f"{found.title} (quick)")
    return found if trials is None else replace(found, trials=trials)
