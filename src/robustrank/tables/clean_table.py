"""A cleaned table as plain data: what is expected, what is wrong, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, expit

from robustrank.tables.draws import drawn_models, drawn_rows
from robustrank.tables.held_out import HeldOut
from robustrank.tables.model import Explained, TableModel
from robustrank.tables.units import Indices, Mask, Values

_WRONG_COLUMN = 0.5  # a column with a larger share of wrong cells is wrong altogether
_CUT_OFF = 0.99  # of the distances of normal rows
_ROUNDING = 1e-10  # the least noise variance of a column, relative to its variance
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
        The ``TableModel`` of its rows.
    expected, deviation
        What the other correct cells of its row predict for each cell, and the standard error.
    wrong
        The cells that contradict the others of their row.
    log_odds
        The log odds that a cell is wrong; negative infinity for missing ones.
    wrong_rows
        The rows that are wrong altogether.
    held_out
        The errors of predictions of cells that were hidden from the fit, a ``HeldOut``.

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
    held_out: HeldOut

    @classmethod
    def of(
        cls, given: Values, model: TableModel, explained: Explained, held_out: HeldOut
    ) -> CleanTable:
        """The table as a model explains it; NaN in columns without any value."""
        empty = ~np.isfinite(given).any(axis=0)
        return cls(
            given,
            model,
            np.where(empty, np.nan, explained.expected),
            np.where(empty, np.nan, explained.deviation),
            explained.wrong,
            explained.log_odds,
            explained.wrong_rows,
            held_out,
        )

    @classmethod
    def unfinished(cls, given: Values, model: TableModel, explained: Explained) -> CleanTable:
        """The table as a model explains it that was not compared with left-out cells."""
        return cls.of(given, model, explained, HeldOut.unknown(given.shape[1]))

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
    def noise(self) -> Values:
        """The standard deviation of each column given all others, in its units."""
        normal = self.model.normal
        deviation = 1 / np.sqrt(np.diagonal(normal.precision))
        return self.model.units.deviation(normal.mean, deviation)

    @property
    def wrong_columns(self) -> Mask:
        """The columns most of whose observed cells are wrong, in rows that are not."""
        rows = ~self.wrong_rows[:, None]
        seen = np.sum(~np.isnan(self.given) & rows, axis=0)
        return np.asarray(np.sum(self.wrong & rows, axis=0) > _WRONG_COLUMN * seen)

    def filled(self) -> Values:
        """The table with what is expected where a cell is missing or wrong."""
        return np.where(self.replaced, self.expected, self.given)

    def interval(self, rows: Indices, columns: Indices, width: float) -> tuple[Values, Values]:
        """The ends of the intervals of some cells, ``width`` standard errors about the middle."""
        expected, deviation = self.expected[rows, columns], self.deviation[rows, columns]
        return self.model.units.of_columns(columns).interval(expected, deviation, width)

    def components(self) -> tuple[Values, Values]:
        """Principal axes in robust units, (k, p), and the variances along them.

        Those whose variance, in units of the noise, exceeds what noise alone would give.
        """
        return components(self.model, int(np.count_nonzero(~self.wrong_rows)))

    def factors(self) -> tuple[Values, Values]:
        """Factors of the table along its components; the last ones are of the mean.

        The components are those of the covariance in the units of the data, in scales.
        """
        scale, mean = self.model.units.scale, self.model.mean
        count = len(self.components()[1])
        axes, _ = _principal_axes(self.model.covariance_in_scales, count)
        completed = (np.nan_to_num(self.filled()) - mean) / scale
        left = np.hstack([completed @ axes.T, np.ones((len(completed), 1))])
        return left, np.hstack([scale[:, None] * axes.T, mean[:, None]])

    def scores(self, table: Values | None = None) -> RowScores:
        """The distances of the rows of the table, or of others, from the model."""
        rows = self.given if table is None else table
        return row_scores(self.model, rows, self.components())

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Values]:
        """Filled tables, drawn from the distribution of the missing and wrong cells."""
        used = ~self.replaced
        scaled, _ = self.model.units.of(self.given)
        rows = int(np.count_nonzero(~self.wrong_rows))
        for normal in drawn_models(self.model.normal, rows, self.model.weight, count, rng):
            drawn = np.clip(drawn_rows(normal, scaled, used, rng), self.model.low, self.model.high)
            values = self.model.units.original(drawn)
            yield np.where(used, self.given, values)


def components(model: TableModel, rows: int) -> tuple[Values, Values]:
    """The principal axes of the covariance in robust units that exceed noise, and the variances."""
    normal, noise = model.normal, noise_variances(model, rows)
    count = max(count_components(normal.covariance, noise, rows + model.weight), 1)
    return _principal_axes(normal.covariance, count)


def _principal_axes(covariance: Values, count: int) -> tuple[Values, Values]:
    """The eigenvectors with the largest eigenvalues, and these."""
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors.T[::-1][:count]
    signs = np.sign(axes[np.arange(count), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None]), np.asarray(values[::-1][:count])


def noise_variances(model: TableModel, rows: int) -> Values:
    """The variance of each column that the others would not predict in new rows, in robust units.

    What they leave in the rows that the model was fitted to is smaller, by chance.
    """
    chance = min(len(model.normal.mean) / (rows + model.weight), _MOST_CHANCE)
    return np.asarray(1 / np.diagonal(model.normal.precision) / (1 - chance))


def count_components(covariance: Values, noise: Values, rows: float) -> int:
    """The number of eigenvalues, in units of the noise, that noise alone would not give.

    Those of the sample covariance of noise are at most (1 + √(p / n))² (Marchenko and Pastur).
    """
    sizes = np.sqrt(np.maximum(noise, _ROUNDING * np.diagonal(covariance)))
    sizes = np.where(sizes > 0, sizes, 1.0)
    values = np.linalg.eigvalsh(covariance / np.outer(sizes, sizes))
    return int(np.sum(values > (1 + np.sqrt(len(values) / rows)) ** 2))


def row_scores(model: TableModel, table: Values, found: tuple[Values, Values]) -> RowScores:
    """The distances of rows from the mean along the components, and from the components."""
    explained = model.explain(table)
    (axes, variances), normal = found, model.normal
    # A wrong cell does not make its row unusual; the cells of a wrong row are taken as they are.
    right = ~explained.wrong | explained.wrong_rows[:, None]
    seen = np.isfinite(table) & right
    completed = model.units.of(np.where(seen, table, explained.expected))[0] - normal.mean
    coordinates = completed @ axes.T
    distance = np.sum(coordinates**2 / variances, axis=1)
    rest = completed - coordinates @ axes
    noise = np.maximum(np.diagonal(normal.covariance) - variances @ axes**2, 1e-12)
    residual = np.sum(np.where(seen, rest**2 / noise, 0.0), axis=1)
    counts = np.maximum(seen.sum(axis=1) - len(axes), 1)
    tail = 1 - _CUT_OFF
    return RowScores(
        np.sqrt(distance / chdtri(len(axes), tail)),
        np.sqrt(residual / chdtri(counts, tail)),
        explained.wrong_rows,
    )
