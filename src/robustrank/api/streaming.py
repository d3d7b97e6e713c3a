"""Tables whose rows arrive in batches: which model, when it is fitted anew, and when it changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from robustrank.api.clean import ROWS_FOR_EACH_COLUMN, clean
from robustrank.api.complete import complete
from robustrank.backend import limited_blas_threads, threads_for
from robustrank.completion import LowRankStream
from robustrank.result import Result, Status
from robustrank.run import Progress
from robustrank.tables import MANY, CleanTable, TableStream, Values, first_model, robust_units
from robustrank.tables.separated import FAR

# Rows for each component of data of low rank, so that 30 % of wrong entries are found. It is also
# the number of rejected rows, for each component or column, with which another model is tried.
_ROWS_FOR_EACH_COMPONENT = 5
_LEAST_ROWS = 500  # of the first fit of the normal model: the scale of a column is accurate to 5 %
_GROWTH = 1.25  # of the kept rows, before the model is fitted to them again

RowModel = TableStream | LowRankStream


@dataclass(frozen=True, eq=False)
class Stream:
    """A model of rows that arrive in batches.

    It keeps the first rows until there are enough of them, and fits the model to all of them
    whenever their number has grown. From then on, batches update sums. If earlier rows are to be
    forgotten, the rows that the model does not explain are kept as well; when they are the
    majority of the latest rows and agree on another model, it takes its place. A row space without
    noise is only replaced by another one.

    Attributes
    ----------
    forgetting
        The factor of the weight of earlier rows for each new row.
    rank
        The number of components if it is known.
    seed
        The random seed of all fits.
    transform_skewed
        Whether skewed columns may be transformed, as in ``clean``.
    kept
        The first rows, (n, p), as long as they are needed.
    model
        The model so far.
    result
        The result of ``clean`` for the first rows, None if the model does not come from there.
    fitted
        The number of first rows that the model was fitted to.
    rejected, explained, tried
        The latest rows that the model does not explain, the number of those that it explained since
        the first of them, and the number of them that did not agree on another model.
    """

    forgetting: float
    rank: int | None
    seed: int
    transform_skewed: bool = True
    kept: Values | None = None
    model: RowModel | None = None
    result: Result | None = None
    fitted: int = 0
    rejected: Values = field(default_factory=lambda: np.zeros((0, 0)))
    explained: int = 0
    tried: int = 0

    @property
    def rows(self) -> RowModel:
        """The model of the rows so far."""
        if self.model is None:
            raise ValueError("there are no rows yet")
        return self.model

    def continued_from(self, result: Result) -> Stream:
        """The stream that continues from a result of ``clean``, with its rows as the first ones."""
        rows = table_of(result).given
        start = replace(self, kept=rows)
        with np.errstate(all="ignore"), limited_blas_threads(threads_for(rows.size)):
            return start._begun(rows, *start._of_result(rows, result))

    def updated(self, rows: Values) -> Stream:
        """The stream after a batch of rows, (n, p), with NaN for missing cells."""
        with np.errstate(all="ignore"), limited_blas_threads(threads_for(rows.size)):
            kept = rows if self.kept is None else np.vstack([self.kept, rows])
            if self.model is None:
                return self._begun(kept, *self._fitted(kept))
            if self.kept is None:
                return self._continued(self.model, rows)
            if len(kept) >= _GROWTH * self.fitted:
                return self._begun(kept, *self._fitted(kept))
            return replace(self, kept=kept, model=self.model.updated(rows, self.forgetting))

    def _begun(self, rows: Values, model: RowModel, result: Result | None) -> Stream:
        """The stream with a model of its first rows, which are kept until there are enough."""
        return replace(
            self,
            kept=None if len(rows) >= _enough(model) else rows,
            model=model,
            result=result,
            fitted=len(rows),
            rejected=rows[:0],
            explained=0,
            tried=0,
        )

    def _continued(self, before: RowModel, rows: Values) -> Stream:
        """The stream after a batch when its first rows are no longer kept."""
        model = before.updated(rows, self.forgetting)
        if self.forgetting == 1:
            return replace(self, model=model)
        rows = rows[np.isfinite(rows).any(axis=1)]
        wrong = before.explain(rows).wrong_rows
        rejected = np.vstack([self.rejected, rows[wrong]])
        explained = self.explained + int(np.count_nonzero(~wrong))
        after = replace(self, model=model, rejected=rejected, explained=explained)
        if explained >= len(rejected):
            return replace(after, rejected=rows[:0], explained=0, tried=0)
        least = _ROWS_FOR_EACH_COMPONENT * _numbers(model)
        return after._changed() if len(rejected) >= max(least, _GROWTH * self.tried) else after

    def _changed(self) -> Stream:
        """The stream that begins with the rejected rows, if they agree on another model."""
        rows = self.rejected
        model, result = self._fitted(rows)
        usable = (
            result is not None and result.status in _USABLE and result.rank > 1
        )  # not equal rows
        if usable or isinstance(model, LowRankStream):
            return self._begun(rows, model, result)
        if len(rows) >= ROWS_FOR_EACH_COLUMN * _numbers(self.rows):  # they do not agree
            return replace(self, rejected=rows[:0], explained=0, tried=0)
        return replace(self, tried=len(rows))

    def _fitted(self, rows: Values) -> tuple[RowModel, Result | None]:
        """A model of all these rows."""
        columns = rows.shape[1]
        if columns > MANY:
            was_exact = isinstance(self.model, LowRankStream) and self.model.exact
            found = self._of_low_rank(rows, self.rank, noise=not was_exact)
            if found is not None:
                return found, None
            if len(rows) < columns:
                model = replace(first_model(rows), weight=float(columns))
                return TableStream.of(model, rows, self.forgetting), None
        return self._of_result(
            rows, clean(rows, transform_skewed=self.transform_skewed, rng=self.seed)
        )

    def _of_result(self, rows: Values, result: Result) -> tuple[RowModel, Result]:
        """The model of the result of ``clean``: a row space if the rows have exactly a low rank.

        The rank of the result counts the center, and the mean about it, as components. It is one
        if most rows are equal, which have no row space.
        """
        if result.fit_new_rows is not None and result.rank > 1:
            found = self._of_low_rank(rows, result.rank - 2, noise=False)
            if found is not None:
                return found, result
        return TableStream.of(table_of(result).model, rows, self.forgetting), result

    def _of_low_rank(self, rows: Values, rank: int | None, *, noise: bool) -> LowRankStream | None:
        """The row space of the first rows that are enough to find it, and the other rows."""
        size = _ROWS_FOR_EACH_COMPONENT * (rank or 2)
        while size <= len(rows):
            found = _row_space(rows[:size], rank, self.seed, noise=noise)
            if found is not None:
                rest = rows[size:]
                return found.updated(rest, self.forgetting) if len(rest) else found
            size = len(rows) if size < len(rows) < 2 * size else 2 * size
        return None


_USABLE = Status.PREDICTIVE, Status.RECOVERED


def table_of(result: Result) -> CleanTable:
    """The table of a result of ``clean``."""
    if result.table is None:
        raise ValueError("the result is not that of a table; fit the estimator again")
    return result.table


def _numbers(model: RowModel) -> int:
    """How many numbers are estimated for a column, besides its mean."""
    if isinstance(model, TableStream):
        return int(model.empty.size)
    return max(int(model.right.shape[1]) - 1, 1)


def _enough(model: RowModel) -> int:
    """The number of first rows that are kept at most."""
    columns = int(model.empty.size)
    if isinstance(model, TableStream):
        many = max(_LEAST_ROWS, ROWS_FOR_EACH_COLUMN * columns)
        return columns if columns > MANY else many
    return _ROWS_FOR_EACH_COMPONENT * _numbers(model)


def _row_space(rows: Values, rank: int | None, seed: int, *, noise: bool) -> LowRankStream | None:
    """The row space of rows that have a low rank, up to their mean; None if they do not agree."""

    def stop(progress: Progress) -> bool:
        return not noise and progress.stage.startswith("noise")

    units = robust_units(rows)
    scaled, beyond = units.of(rows)
    far = beyond | (np.abs(scaled) > FAR)  # not used to find a row space
    if rows.shape[1] > MANY:  # noise is equal in the units of the data
        scale = np.full_like(units.scale, np.median(units.scale))
        units = replace(units, scale=scale, limit=np.full_like(scale, np.inf))
        scaled, _ = units.of(rows)
    near = np.where(np.isnan(rows) | far, np.nan, scaled)
    result = complete(near, None if rank is None else rank + 1, callback=stop, rng=seed)
    decided = np.ones(len(rows), bool)
    decided[result.undecided_rows] = False
    if not (result.certified and result.rank and result.cutoff):
        return None
    return LowRankStream.of(
        rows[decided],
        units,
        (np.asarray(result.left)[decided], np.asarray(result.right)),
        result.undecided_columns,
        result.cutoff,
        result.typical_size,
        exact=result.noise == 0,
    )
