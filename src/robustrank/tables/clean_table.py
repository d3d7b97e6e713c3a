"""A cleaned table as plain data: what is expected, what is wrong, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtri, expit

from robustrank.tables.draws import drawn_rows
from robustrank.tables.factors import Distribution, edge_of_noise
from robustrank.tables.held_out import HeldOut
from robustrank.tables.model import Explained, TableModel
from robustrank.tables.normal import Normal
from robustrank.tables.units import Indices, Mask, Values

_WRONG_COLUMN = 0.5  # a column with a larger share of wrong cells is wrong altogether
_CUT_OFF = 0.99  # of the distances of normal rows
_ROUNDING = 1e-10  # the least noise variance of a column, relative to its variance or scale
_MOST_CHANCE = 0.9  # of the variance of noise that the other columns can seem to predict


@dataclass(frozen=True, eq=False)
class RowScores:
    """How unusual rows are.

    Attributes
    ----------
    distance
        The distance of a row from the mean along the components, in standard deviations, divided
        by the 99 % quantile of that of normal rows.
    residual
        The distance of its cells from the components, divided likewise. Wrong cells of a row that
        is not wrong altogether do not count.
    wrong
        Whether the row is wrong altogether.

    See Also
    --------
    robustrank.Result : Its method ``score_rows`` returns them, and ``rows`` has them as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1, 2, 3] + 0.1 * rng.standard_normal((100, 3))
    >>> scores = rr.clean(X).score_rows([[1, 2, 3], [6, 12, 18]])
    >>> scores.distance > 1
    array([False,  True])
    """

    distance: Values
    residual: Values
    wrong: Mask


@dataclass(frozen=True, eq=False)
class CleanTable:
    """A table, the model of its rows, and what the model says about each cell.

    Attributes
    ----------
    given
        The table, (n, p), NaN where a cell is missing.
    model
        The ``TableModel`` of its rows, or of its columns if ``transposed``.
    expected, deviation
        What the other correct cells of its row predict for each cell, and the standard error.
    wrong
        The cells that contradict the others of their row.
    log_odds
        The log odds that a cell is wrong; negative infinity for missing ones.
    wrong_rows, wrong_columns
        The rows and the columns that are wrong altogether: those which the model finds among its
        rows, and those most of whose cells are wrong in the others.
    held_out
        The errors of predictions of cells that were hidden from the fit, a ``HeldOut``.
    transposed
        Whether the model is that of the transposed table, which has more rows than columns.

    See Also
    --------
    robustrank.Result : Has it as its attribute ``table``, and its contents with labels.
    robustrank.clean : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1, 2, 3] + 0.1 * rng.standard_normal((100, 3))
    >>> X[4, 1] = np.nan
    >>> table = rr.clean(X).table
    >>> table.expected.shape, np.argwhere(table.replaced).tolist()
    ((100, 3), [[4, 1]])
    """

    given: Values
    model: TableModel
    expected: Values
    deviation: Values
    wrong: Mask
    log_odds: Values
    wrong_rows: Mask
    wrong_columns: Mask
    held_out: HeldOut
    transposed: bool = False

    @classmethod
    def of(
        cls,
        given: Values,
        model: TableModel,
        explained: Explained,
        *,
        transposed: bool = False,
    ) -> CleanTable:
        """The table as a model explains it; NaN in columns without any value.

        If the model goes through the origin, also in rows without any value, whose size is unknown.
        Nothing is known about the errors yet; ``held_out`` is to be replaced.
        """
        rows = given.T if transposed else given
        empty = ~np.isfinite(rows).any(axis=0)
        if not model.units.centered:
            empty = empty | ~np.isfinite(rows).any(axis=1, keepdims=True)
        wrong_rows = explained.wrong_rows
        wrong_columns = mostly_wrong(rows, explained.wrong, wrong_rows)
        found = cls(
            rows,
            model,
            np.where(empty, np.nan, explained.expected),
            np.where(empty, np.nan, explained.deviation),
            explained.wrong,
            explained.log_odds,
            wrong_rows,
            wrong_columns,
            HeldOut.unknown(given.shape[1]),
        )
        return found._transposed() if transposed else found

    @property
    def probability(self) -> Values:
        """The probability that each cell is wrong; NaN where it is missing."""
        return np.where(np.isnan(self.given), np.nan, expit(self.log_odds))

    @property
    def replaced(self) -> Mask:
        """The cells that are missing or wrong."""
        return np.asarray(np.isnan(self.given) | self.wrong)

    @property
    def empty_columns(self) -> Mask:
        """The columns without any finite value."""
        return np.asarray(~np.isfinite(self.given).any(axis=0))

    @property
    def sizes(self) -> tuple[Values, Values]:
        """The size of each row, (n, 1), and the scale of each column; a typical row has size 1."""
        units = self.model.units
        own = units.sizes(self._as_fitted(self.given))
        if not self.transposed:
            return own, units.scale
        return units.relative_scale[:, None], own[:, 0] * np.median(units.scale)

    @property
    def center(self) -> Values:
        """The center of each column; zero if the model goes through the origin."""
        units = self.model.units
        return units.center if units.centered else np.zeros(self.given.shape[1])

    @property
    def noise(self) -> Values:
        """The standard deviation of each column given all others, in its units."""
        normal, units = self.model.normal, self.model.units
        deviation = units.deviation(normal.mean, np.sqrt(normal.conditional_variances))
        if not self.transposed:
            return deviation
        return np.asarray(np.median(deviation / units.scale) * self.sizes[1])

    def filled(self) -> Values:
        """The table with what is expected where a cell is missing or wrong."""
        return np.where(self.replaced, self.expected, self.given)

    @property
    def total_variance(self) -> float:
        """The sum of the variances of the columns in robust units, along all axes."""
        total, (n, p) = float(self.model.normal.variances.sum()), self.given.shape
        return total * p / n if self.transposed else total

    def interval(self, rows: Indices, columns: Indices, width: float) -> tuple[Values, Values]:
        """The ends of the intervals of some cells, ``width`` standard errors about the middle."""
        expected, deviation = self.expected[rows, columns], self.deviation[rows, columns]
        units = self.model.units
        if not units.skewness.any():
            return expected - width * deviation, expected + width * deviation
        return units.of_columns(columns).interval(expected, deviation, width)

    def components(self) -> tuple[Values, Values]:
        """Principal axes in robust units, (k, p), and the variances along them.

        Those whose variance, in units of the noise, exceeds what noise alone would give.
        """
        axes, variances = components(self.model, self.rows_of_fit)
        if not self.transposed:
            return axes, variances
        vectors, sizes, _ = np.linalg.svd(self._scaled().T @ axes.T, full_matrices=False)
        return np.asarray(vectors.T), np.asarray(sizes**2 / len(self.given))

    def factors(self) -> tuple[Values, Values]:
        """Factors of the table along its components; the last ones are of the mean, if any.

        The components are those of the covariance in the units of the data, in scales.
        """
        units, mean = self.model.units, self.model.mean
        sizes, scale = units.sizes(self._as_fitted(self.given)), units.scale
        count = len(self.components()[1])
        axes, _ = self.model.in_scales.axes(count)
        completed = (np.nan_to_num(self._as_fitted(self.filled()) / sizes) - mean) / scale
        left, right = completed @ axes.T, scale[:, None] * axes.T
        if units.centered:
            left = np.hstack([left, np.ones((len(left), 1))])
            right = np.hstack([right, mean[:, None]])
        return (right, sizes * left) if self.transposed else (sizes * left, right)

    def scores(self, table: Values | None = None) -> RowScores:
        """The distances of the rows of the table, or of others, from the model."""
        if not self.transposed:
            rows = self.given if table is None else table
            return row_scores(self.model, rows, self.components())
        if table is not None:
            n, p = self.given.shape
            raise ValueError(
                f"new rows cannot be compared with a table of {n} rows and {p} columns that was "
                "cleaned with center=False: without more rows than columns, its model is one of "
                "the columns; clean the table together with the new rows, or with center=True"
            )
        right = ~self.wrong | self.wrong_rows[:, None]
        squares = ((self.given - self.expected) / self.deviation) ** 2
        squares = np.where(np.isfinite(self.given) & right, squares, np.nan)
        return _row_scores(self._scaled(), squares, self.components(), self.wrong_rows)

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Values]:
        """Filled tables, drawn from the distribution of the missing and wrong cells."""
        model, used = self.model, self._as_fitted(~self.replaced)
        sizes = model.units.sizes(self._as_fitted(self.given))
        scaled, _ = model.units.of(self._as_fitted(self.given) / sizes)
        for _ in range(count):
            normal = model.normal.drawn(self.rows_of_fit, model.weight, rng)
            if not model.units.centered:
                normal = normal.with_mean(model.normal.mean)
            drawn = np.clip(drawn_rows(normal, scaled, used, rng), model.low, model.high)
            values = self._as_fitted(model.units.original(drawn) * sizes)
            yield np.where(self.replaced, values, self.given)

    @property
    def rows_of_fit(self) -> float:
        """The number of used cells in the correct rows, divided by the number of columns.

        Rows are columns here, and columns rows, if the model is that of the transposed table.
        """
        wrong, columns = self.wrong_rows, self.given.shape[1]
        if self.transposed:
            wrong, columns = self.wrong_columns, len(self.given)
        used: Mask = self._as_fitted(~self.replaced)[~wrong]
        return float(max(used.sum() / columns, 1.0))

    def _transposed(self) -> CleanTable:
        """The same table, with rows and columns exchanged."""
        return replace(
            self,
            given=self.given.T,
            expected=self.expected.T,
            deviation=self.deviation.T,
            wrong=self.wrong.T,
            log_odds=self.log_odds.T,
            wrong_rows=self.wrong_columns,
            wrong_columns=self.wrong_rows,
            transposed=not self.transposed,
        )

    def _as_fitted(self, values: Any) -> Any:
        """A table in the orientation of the model; or such a table in that of ``given``."""
        return values.T if self.transposed else values

    def _scaled(self) -> Values:
        """The filled table in robust units, if the model goes through the origin."""
        rows, columns = self.sizes
        return np.nan_to_num(self.filled() / rows / columns)


def mostly_wrong(table: Values, wrong: Mask, wrong_rows: Mask) -> Mask:
    """The columns most of whose observed cells are wrong, in rows that are not."""
    rows = ~wrong_rows[:, None]
    seen = np.sum(~np.isnan(table) & rows, axis=0)
    return np.asarray(np.sum(wrong & rows, axis=0) > _WRONG_COLUMN * seen)


def components(model: TableModel, rows: float) -> tuple[Values, Values]:
    """The principal axes of the covariance in robust units that exceed noise, and the variances."""
    count = _count(model.normal, noise_variances(model, rows), rows + model.weight)
    return model.normal.axes(max(count, 1))


def noise_variances(model: TableModel, rows: float) -> Values:
    """The variance of each column that the others would not predict in new rows, in robust units.

    What they leave in the rows that the model was fitted to is smaller, by chance.
    """
    chance = min(len(model.normal.mean) / (rows + model.weight), _MOST_CHANCE)
    return np.asarray(model.normal.conditional_variances / (1 - chance))


def _count(normal: Distribution, noise: Values, rows: float) -> int:
    """The number of components that noise alone would not give."""
    noise = np.maximum(noise, _ROUNDING * normal.variances)
    variances = normal.in_units_of(np.where(noise > 0, noise, 1.0))
    return int(np.sum(variances > edge_of_noise(len(normal.mean), rows)))


def known_moments(
    moments: tuple[Values, Values], noise: Values, rows: float, empty: Mask
) -> tuple[Values, Values, int]:
    """The mean, the covariance, and the number of components, without ``empty`` columns.

    The mean of these is NaN, and their covariance is zero.
    """
    (mean, covariance), known = moments, np.flatnonzero(~empty)
    place, kept = np.ix_(known, known), np.zeros_like(covariance)
    kept[place] = covariance[place]
    rank = _count(Normal(mean[known], covariance[place]), noise[known], rows)
    return np.where(empty, np.nan, mean), kept, rank


def row_scores(model: TableModel, table: Values, found: tuple[Values, Values]) -> RowScores:
    """The distances of rows from the mean along the components, and from the components."""
    explained = model.explain(table)
    (axes, variances), normal = found, model.normal
    # A wrong cell does not make its row unusual; the cells of a wrong row are taken as they are.
    right = ~explained.wrong | explained.wrong_rows[:, None]
    seen = np.isfinite(table) & right
    filled = np.where(seen, table, explained.expected) / model.units.sizes(table)
    completed = model.units.of(filled)[0] - normal.mean
    rest = completed - completed @ axes.T @ axes
    noise = np.maximum(normal.variances - variances @ axes**2, _ROUNDING)
    squares = np.where(seen, rest**2 / noise, np.nan)
    return _row_scores(completed, squares, found, explained.wrong_rows)


def _row_scores(
    completed: Values, squares: Values, found: tuple[Values, Values], wrong: Mask
) -> RowScores:
    """The scores of completed rows, whose cells differ from the components by ``squares``."""
    axes, variances = found
    distance = np.sum((completed @ axes.T) ** 2 / variances, axis=1)
    counts = np.maximum(np.sum(~np.isnan(squares), axis=1) - len(axes), 1)
    tail = 1 - _CUT_OFF
    return RowScores(
        np.sqrt(distance / chdtri(len(axes), tail)),
        np.sqrt(np.nansum(squares, axis=1) / chdtri(counts, tail)),
        wrong,
    )
