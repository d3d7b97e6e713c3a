"""How well left-out cells are predicted, by hiding some cells from the fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from robustrank.tables.model import (
    Explained,
    Report,
    TableModel,
    first_model,
    refitted,
    typical_error,
)
from robustrank.tables.units import Mask, Values

_SHARE = 0.1  # of the cells is hidden
_FEWEST = 5  # hidden cells that tell the error of a column
_CLEARLY = 3.0  # standard errors by which predictions must be better than the median
_MOST_WRONG = 0.1  # of the hidden cells; if more contradict the predictions, these are wrong
_LITTLE = 0.25  # of the mean square error of the median: then errors are 13 % smaller


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
        in robust units; values of skewed columns are transformed.
    least_skill
        What it is at least: three standard errors less, and compared with the means of columns too.
        Negative if it could be chance.
    most_skill
        What the share is at most for each column: three standard errors more than it is at the
        cells that were hidden. NaN if there are too few cells.
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
    most_skill: Values
    inside: float

    @classmethod
    def unknown(cls, columns: int) -> HeldOut:
        """Nothing is known, because the run was stopped."""
        nothing = np.full(columns, np.nan)
        return cls(np.zeros(columns), nothing, nothing, math.nan, math.nan, nothing, math.nan)

    @property
    def skill(self) -> Values:
        """The share of the mean square error of the median that predictions remove, by column."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - (self.errors / self.trivial) ** 2)

    @property
    def not_predicted(self) -> Mask:
        """The columns of which it is clear that the others say little about them."""
        return np.asarray(self.most_skill < _LITTLE)


def held_out(
    table: Values,
    model: TableModel,
    explained: Explained,
    rng: np.random.Generator,
    report: Report | None = None,
    *,
    transposed: bool = False,
) -> HeldOut:
    """Hide some of the cells that are not wrong, fit again, and compare the predictions.

    If the table is ``transposed``, the errors are those of its rows.

    The fit goes on from the model, which has seen the cells; it forgets them in a few sweeps. If
    its dimensions are not fewer than the rows, it might not forget them, and the fit starts anew.
    Hidden cells that contradict their prediction are wrong, and do not count, unless there are too
    many of them.
    """
    candidates = np.isfinite(table) & ~explained.wrong & ~explained.wrong_rows[:, None]
    # A stream of its own: users hide cells with the same seeds, and would have hidden these.
    stream = np.random.default_rng(rng.integers(2**63))
    hidden = candidates & (stream.random(table.shape) < _SHARE)
    rest = np.where(hidden, np.nan, table)
    rows, columns = table.shape
    again = _without(model, rest, report)
    found = again.explain(rest)
    units, sizes = model.units, model.units.sizes(rest)
    wrong = hidden & again.contradicted(table, found, sizes)
    if np.count_nonzero(wrong) <= _MOST_WRONG * np.count_nonzero(hidden):
        hidden &= ~wrong
    if not hidden.any():
        return HeldOut.unknown(rows if transposed else columns)
    values, expected = table / sizes, found.expected / sizes
    seen = np.where(candidates & ~hidden, values, np.nan)
    median = _middles(np.nanmedian, seen, model)
    straight, *others = (
        units.straightened(units.linear(X))
        for X in (values, expected, median, _middles(np.nanmean, seen, model))
    )
    error, of_median, of_mean = (np.where(hidden, (X - straight) ** 2, 0.0) for X in others)
    trivial = min(of_median, of_mean, key=np.sum)
    whole, of_trivial = float(np.sum(of_median)) or math.nan, float(np.sum(trivial)) or math.nan
    left = float(np.sum(error)) / of_trivial
    # Of few cells, the standard error of a ratio is itself uncertain.
    clearly = float(stdtrit(max(int(hidden.sum()) - 1, 1), float(ndtr(_CLEARLY))))
    chance = clearly * float(np.linalg.norm(error - left * trivial)) / of_trivial
    low, high = units.interval(expected, found.deviation / sizes, 1.6448536)
    inside = ((low <= values) & (values <= high))[hidden]
    squares = [error, of_median, hidden]
    differences, scale = [expected - values, median - values], units.scale
    if transposed:
        ratio, scale = sizes / units.relative_scale, sizes[:, 0]
        squares, differences = [X.T for X in squares], [(X * ratio).T for X in differences]
    of = squares[-1]
    return HeldOut(
        of.sum(axis=0).astype(float),
        _root_mean_square(differences[0], of, scale),
        _root_mean_square(differences[1], of, scale),
        float(np.sum(of_median - error)) / whole,
        1 - left - chance,
        _most_skill(*squares),
        float(np.mean(inside)),
    )


def left_out_errors(
    table: Values, models: Sequence[TableModel], rows: Mask, rng: np.random.Generator
) -> list[float]:
    """The typical errors of models at the same cells of some rows, which are hidden from them."""
    hidden = np.isfinite(table) & (rng.random(table.shape) < _SHARE) & rows[:, None]
    rest, left_out = np.where(hidden, np.nan, table), np.where(hidden, table, np.nan)
    found = [_without(model, rest).explain(rest) for model in models]
    return [typical_error(one.expected, left_out, models[0].units.scale) for one in found]


def _without(model: TableModel, rest: Values, report: Report | None = None) -> TableModel:
    """The model when some cells are hidden."""
    forgets = len(rest) > model.normal.dimensions
    return refitted(model if forgets else first_model(rest, model.units), rest, report)


def _most_skill(error: Values, of_median: Values, hidden: Mask) -> Values:
    """What the skill of each column is at most; NaN if there are too few cells."""
    counts, gains = hidden.sum(axis=0), of_median - error
    mean = gains.sum(axis=0) / np.maximum(counts, 1)
    variance = np.where(hidden, (gains - mean) ** 2, 0.0).sum(axis=0) / np.maximum(counts - 1, 1)
    most = gains.sum(axis=0) + _CLEARLY * np.sqrt(counts * variance)
    whole = of_median.sum(axis=0)
    return np.where(
        (counts >= _FEWEST) & (whole > 0), most / np.where(whole > 0, whole, 1.0), np.nan
    )


def _middles(middle: Callable[..., Values], table: Values, model: TableModel) -> Values:
    """The median or mean of each column; its center if it has no values."""
    some = np.isfinite(table).any(axis=0)
    found = model.units.center.copy()
    found[some] = middle(table[:, some], axis=0)
    return np.asarray(found)


def _root_mean_square(errors: Values, of: Mask, scale: Values) -> Values:
    """That of each column; the squares are in scales, as those of the units may be too large."""
    counts = of.sum(axis=0)
    squares = (np.where(of, errors, 0.0) / scale) ** 2
    found = scale * np.sqrt(squares.sum(axis=0) / np.maximum(counts, 1))
    return np.where(counts >= _FEWEST, found, np.nan)
