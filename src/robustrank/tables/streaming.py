"""The model of a table whose rows arrive in batches.

Each batch is compared with the model of the rows before it. Wrong cells and rows are rejected, and
the others are added to weighted sums, with what is expected where a cell is missing or wrong: an
expectation–maximization step for the new rows only (Neal and Hinton, 1998). The mean and the
covariance follow from the sums, so that no row has to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robustrank.tables.clean_table import known_moments, noise_variances
from robustrank.tables.model import SMALLEST, Data, Explained, TableModel, share
from robustrank.tables.normal import Normal
from robustrank.tables.units import Mask, Units, Values


def recent_weights(rows: int, forgetting: float) -> tuple[float, Values]:
    """The weights of all earlier rows, and of each row of a batch, after the batch."""
    return forgetting**rows, forgetting ** np.arange(rows - 1.0, -1.0, -1.0)


@dataclass(frozen=True, eq=False)
class TableStream:
    """A model of rows, and the sums over all rows so far that it is estimated from.

    Attributes
    ----------
    model
        The ``TableModel``. Its units and the weight of its prior remain those of the first fit.
    empty
        The columns that had no values in the first fit; they are not used.
    count, total, scatter
        The weight of the correct rows, their sum, and the sum of their products, in robust units.
    cells, row_weights
        The weight of the wrong cells and of all cells of correct rows; of wrong rows and of all.
    """

    model: TableModel
    empty: Mask
    count: float
    total: Values
    scatter: Values
    cells: Values
    row_weights: Values

    @classmethod
    def of(cls, model: TableModel, table: Values, forgetting: float = 1.0) -> TableStream:
        """The stream that begins with the rows of a table and the model that was fitted to them."""
        size = table.shape[1]
        sums = np.zeros(size), np.zeros((size, size)), np.zeros(2), np.zeros(2)
        empty = np.asarray(~np.isfinite(table).any(axis=0))
        model = replace(model, normal=model.normal.full())
        return cls(model, empty, 0.0, *sums)._with(table, forgetting)

    def updated(self, table: Values, forgetting: float = 1.0) -> TableStream:
        """The stream after another batch of rows; each of them multiplies the weight of old ones.

        ``forgetting`` is the factor.
        """
        after = self._with(table, forgetting)
        return replace(after, model=after._estimated()) if after.count > 0 else after

    @property
    def units(self) -> Units:
        """The robust units of the columns."""
        return self.model.units

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of wrong cells and of wrong rows."""
        return self.model.wrong_cells, self.model.wrong_rows

    @property
    def rows(self) -> float:
        """The number of rows, in weight, that the covariance is estimated from, with the prior."""
        return self.count + self.model.weight

    def explain(self, table: Values) -> Explained:
        """Compare each cell of rows with the others of its row."""
        return self.model.explain(np.where(self.empty, np.nan, table))

    def moments(self) -> tuple[Values, Values, int]:
        """The mean, the covariance and the number of components, in the units of the data."""
        model = self.model
        noise = model.units.scale**2 * noise_variances(model, self.count)
        return known_moments(
            (model.mean, model.predictive_covariance), noise, self.rows, self.empty
        )

    def _with(self, table: Values, forgetting: float) -> TableStream:
        """The sums with those of a batch, and the range of the columns."""
        model, (old, weights) = self.model, recent_weights(len(table), forgetting)
        data = Data.of(np.where(self.empty, np.nan, table), model.units)
        given, row_odds = model.sort(data)
        wrong = row_odds > 0
        right, own = ~wrong, weights[~wrong]
        given = given.of_rows(right)
        completed = given.completed
        seen, unknown = data.seen[right], model.normal.unknown(given, own)
        rejected = own @ np.array([(seen & ~given.used).sum(axis=1), seen.sum(axis=1)]).T
        if right.any():
            low, high = model.range_with(given)
            low, high = np.minimum(model.low, low), np.maximum(model.high, high)
            model = replace(model, low=low, high=high)
        return replace(
            self,
            model=model,
            count=old * self.count + own.sum(),
            total=old * self.total + own @ completed,
            scatter=old * self.scatter + (completed.T * own) @ completed + unknown,
            cells=old * self.cells + rejected,
            row_weights=old * self.row_weights + [weights @ wrong, weights.sum()],
        )

    def _estimated(self) -> TableModel:
        """The model that the sums give; its covariance is shrunk as that of the first fit was."""
        mean = self.total / self.count
        scatter = self.scatter / self.count - np.outer(mean, mean)
        scatter = (scatter + scatter.T) / 2
        variances = np.maximum(np.diagonal(scatter), SMALLEST)
        np.fill_diagonal(scatter, variances)
        prior = self.model.weight / self.rows
        covariance = (1 - prior) * scatter + prior * np.diag(variances)
        normal = Normal(mean, covariance)
        return replace(
            self.model,
            normal=normal,
            reported=normal,
            wrong_cells=share(*self.cells),
            wrong_rows=share(*self.row_weights),
        )
