"""Figure 2: the error with outliers and noise, and with a rank that is too high."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.claims.base import (
    Judgment,
    MissingRowsError,
    claim,
    default_claim,
    paper_claim,
    trial_errors,
)
from experiments.definition import DEFAULT, PAPER, VANILLA, Cell, Method, Study
from experiments.rows import Table
from experiments.statistics import ratio_with_interval

# Measurements per degree of freedom of the given rank that leave enough redundancy.
_ENOUGH = 1.5


@claim(
    "fig2",
    "The error is comparable to that of vanilla-GD on data without outliers.",
    criterion="geometric mean of the ratio over all trials between 0.5 and 2",
)
def comparable_error(study: Study[Cell], table: Table) -> Judgment:
    """Compare median-TGD with vanilla-GD without outliers."""
    observed, ratio, _ = _against_clean(study, table, PAPER.name)
    return observed, paper_claim(0.5 < ratio < 2)


@claim(
    "fig2",
    "Vanilla-GD gives no reliable estimate once there are outliers.",
    criterion="an error above 0.1 in every trial",
)
def unreliable_vanilla(study: Study[Cell], table: Table) -> Judgment:
    """Find the smallest error of vanilla-GD with outliers."""
    errors = trial_errors(study, table, VANILLA.name)
    observed = (
        f"error of vanilla-GD with outliers at least {min(errors):.2g}, "
        f"median {np.median(errors):.2g}"
    )
    return observed, paper_claim(min(errors) > 0.1)


@claim(
    "fig2",
    "The error is stable if an upper bound on the rank is used.",
    criterion=(
        "at most three times the error with the true rank, at every m; "
        f"in part: for m ≥ {_ENOUGH} d"
    ),
)
def stable_with_bound(study: Study[Cell], table: Table) -> Judgment:
    """Compare median-TGD given a higher rank with median-TGD given the true rank."""
    bounds = _with_bounds(study, PAPER)
    cell = study.cells[0]
    freedoms = {m: replace(cell, rank=cell.rank + m.extra_rank).degrees_of_freedom for m in bounds}
    enough = {m: _ratio(study, table, m.name, PAPER.name, freedoms[m]) for m in bounds}
    always = {m: _ratio(study, table, m.name, PAPER.name)[0] for m in bounds}
    observed = (
        f"error relative to that with the true rank, for m ≥ {_ENOUGH} d (d of the given rank), "
        "and at every m: "
    ) + "; ".join(
        f"rank + {m.extra_rank}: {r:.2f} ({low:.2f}–{high:.2f}), {always[m]:.1f}"
        for m, (r, low, high) in enough.items()
    )
    return observed, paper_claim(
        all(r < 3 for r in always.values()), in_part=all(r < 3 for r, _, _ in enough.values())
    )


@claim(
    "fig2",
    "The default solver's error is within 10 % of vanilla-GD's on data without outliers.",
    criterion="upper end of the 95 % interval of the ratio at most 1.1",
)
def default_with_noise(study: Study[Cell], table: Table) -> Judgment:
    """Compare the default solver with vanilla-GD without outliers."""
    freedom = study.cells[0].degrees_of_freedom
    observed, _, high = _against_clean(study, table, DEFAULT.name, freedom)
    return observed, default_claim(high <= 1.1)


@claim(
    "fig2",
    "With an upper bound on the rank, the default solver's error is that with the true rank.",
    criterion="upper end of the 95 % interval of the ratio at most 1.1",
)
def default_with_bound(study: Study[Cell], table: Table) -> Judgment:
    """Compare the default solver given a higher rank with the one given the true rank."""
    (bound,) = _with_bounds(study, DEFAULT)
    ratio, low, high = _ratio(study, table, bound.name, DEFAULT.name)
    observed = (
        f"error relative to that with the true rank, rank + {bound.extra_rank}, at every m: "
        f"{ratio:.3f} ({low:.3f}–{high:.3f})"
    )
    return observed, default_claim(high <= 1.1)


def _ratio(
    study: Study[Cell], table: Table, method: str, reference: str, freedom: int = 0
) -> tuple[float, float, float]:
    """The ratio of the errors of two methods, where m is at least 1.5 times ``freedom``."""
    cells = tuple(cell for cell in study.cells if cell.measurements >= _ENOUGH * freedom)
    if not cells:
        raise MissingRowsError
    enough = replace(study, cells=cells)
    return ratio_with_interval(
        trial_errors(enough, table, method), trial_errors(enough, table, reference)
    )


def _against_clean(
    study: Study[Cell], table: Table, method: str, freedom: int = 0
) -> tuple[str, float, float]:
    """A method's error relative to vanilla-GD's without outliers: text, ratio, upper end."""
    ratio, low, high = _ratio(study, table, method, f"{VANILLA.name}, no outliers", freedom)
    where = f"for m ≥ {_ENOUGH} d" if freedom else "at every m"
    observed = (
        f"error relative to that of vanilla-GD without outliers {ratio:.3f} "
        f"(95 %: {low:.3f}–{high:.3f}) {where}"
    )
    return observed, ratio, high


def _with_bounds(study: Study[Cell], method: Method) -> list[Method]:
    """The variants of a method that are given a rank that is too high."""
    return [m for m in study.methods if m.extra_rank and m.solver == method.solver]
