"""How well left-out cells are predicted, by hiding some cells from the fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robustrank.tables.model import Explained, Report, TableModel, refitted
from robustrank.tables.units import Mask, Values

_SHARE = 0.1  # of the cells is hidden
_FEWEST = 5  # hidden cells that tell the error of a column
_CLEARLY = 3.0  # standard errors by which predictions must be better than the median


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The errors of predictions of cells that were hidden from the fit.

    Attributes
    ----------
    counts
        The number of cells of each column that were hidden.
    errors
        The root mean square error of each column, in its units; NaN if there are too few cells.
    trivial
        The same for predictions by the median of the other cells.
    skill_of_all
        The share of the mean square error of the median that predictions remove, over all columns
        in robust units.
    least_skill
        What it is at least: three standard errors less. Negative if it could be chance.
    inside
        The share of the cells that are within their intervals of 90 %.

    See Also
    --------
    robustrank.tables.CleanTable : Has them as its attribute ``held_out``.
    robustrank.Result : Its attributes ``columns`` and ``error_by_column`` have them with labels.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1)) * [1, 2, 3] + 0.1 * rng.standard_normal((300, 3))
    >>> held_out = rr.clean(X).table.held_out
    >>> (held_out.skill > 0.9).tolist()
    [True, True, True]
    """

    counts: Values
    errors: Values
    trivial: Values
    skill_of_all: float
    least_skill: float
    inside: float

    @classmethod
    def unknown(cls, columns: int) -> HeldOut:
        """Nothing is known, because the run was stopped."""
        nothing = np.full(columns, np.nan)
        return cls(np.zeros(columns), nothing, nothing, math.nan, math.nan, math.nan)

    @property
    def skill(self) -> Values:
        """The share of the mean square error of the median that predictions remove, by column."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - (self.errors / self.trivial) ** 2)


def held_out(
    table: Values,
    model: TableModel,
    explained: Explained,
    rng: np.random.Generator,
    report: Report | None = None,
) -> HeldOut:
    """Hide some of the cells that are not wrong, fit again, and compare the predictions.

    The fit goes on from the model, which has seen the cells; it forgets them in a few sweeps.
    Hidden cells that contradict their prediction are wrong, and do not count.
    """
    candidates = np.isfinite(table) & ~explained.wrong & ~explained.wrong_rows[:, None]
    # A stream of its own: users hide cells with the same seeds, and would have hidden these.
    stream = np.random.default_rng(rng.integers(2**63))
    hidden = candidates & (stream.random(table.shape) < _SHARE)
    rest = np.where(hidden, np.nan, table)
    again = refitted(model, rest, report)
    found = again.explain(rest)
    hidden &= ~again.contradicted(table, found)
    if not hidden.any():
        return HeldOut.unknown(table.shape[1])
    median = _medians(np.where(candidates & ~hidden, table, np.nan), model)
    scale = model.units.scale
    errors, trivial = found.expected - table, median - table
    gains = ((trivial / scale) ** 2 - (errors / scale) ** 2)[hidden]
    whole = float(np.sum((trivial / scale)[hidden] ** 2)) or math.nan
    chance = _CLEARLY * float(np.std(gains)) * math.sqrt(len(gains))
    low, high = model.units.interval(found.expected, found.deviation, 1.6448536)
    inside = (low <= table) & (table <= high)
    counts = hidden.sum(axis=0).astype(float)
    return HeldOut(
        counts,
        _root_mean_square(errors, hidden),
        _root_mean_square(trivial, hidden),
        float(np.sum(gains)) / whole,
        (float(np.sum(gains)) - chance) / whole,
        float(np.mean(inside[hidden])),
    )


def _medians(table: Values, model: TableModel) -> Values:
    """The median of each column; its center if it has no values."""
    some = np.isfinite(table).any(axis=0)
    medians = model.units.center.copy()
    medians[some] = np.nanmedian(table[:, some], axis=0)
    return np.asarray(medians)


def _root_mean_square(errors: Values, of: Mask) -> Values:
    counts = of.sum(axis=0)
    squares = np.where(of, errors, 0.0) ** 2
    found = np.sqrt(squares.sum(axis=0) / np.maximum(counts, 1))
    return np.where(counts >= _FEWEST, found, np.nan)
