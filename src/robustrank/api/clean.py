"""``clean``: tables of which some cells are missing, some wrong, and some rows broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.api.complete import complete
from robustrank.api.running import new_run, returned
from robustrank.backend import Seed, as_generator, limited_blas_threads, threads_for
from robustrank.inputs.tables import TableInput, table_input
from robustrank.linalg import Factors
from robustrank.result import Certificate, Check, Result, SampledObservations, StopReason
from robustrank.run import Callback, Progress, Run, Stopped
from robustrank.tables import (
    CleanTable,
    Explained,
    TableModel,
    Values,
    few_factors,
    first_model,
    first_units,
    fit_table,
    held_out,
    left_out_errors,
    model_of,
    mostly_wrong,
    refitted,
    typical_error,
)
from robustrank.tables.units import Indices

# Residuals of most cells of tables that may have a low rank exactly, in robust units: those of 30
# tables of exact rank, with up to 10 % wrong cells, are at most 0.1.
_NEARLY = 0.2
# A low rank is searched in rows with this number of cells first; one with noise only in rows with
# the smaller number, if they are not fewer than these.
_CELLS, _CELLS_WITH_NOISE, _FEWEST = 200_000, 50_000, 50
_MOST_WRONG = 0.5  # of the cells of a row that is not wrong altogether
# Of a longer table, the model is fitted to this number of random rows, at least 20 for each column:
# with more, the errors of predictions would decrease by less than 3 %.
_ROWS, ROWS_FOR_EACH_COLUMN = 5_000, 20


def clean(
    table: Any,
    *,
    ignore: Iterable[Any] = (),
    center: bool = True,
    transform_skewed: bool = True,
    callback: Callback | None = None,
    time_limit: float | None = None,
    rng: Seed = 0,
) -> Result:
    """Fill, correct and explain a table of which some cells and rows cannot be trusted.

    Nothing is assumed about an exact rank: the columns may have different units and noise, and
    what is claimed is how well cells are predicted that were left out.

    Parameters
    ----------
    table
        A data frame of pandas or Polars, a matrix in which NaN marks missing cells (an array or a
        masked array), or an ``xarray.DataArray``, whose rows are its first dimension. Rows are
        samples, columns are features. Infinite cells are wrong. Columns of a data frame that are
        not numbers stay as they are.
    ignore
        Names of further columns of a data frame that stay as they are, such as a number that is
        only a name.
    center
        Whether each column has a center of its own. If False, zero means zero in all cells, as for
        intensities, counts and gains: rows may have any positive scale (exposure, dilution, depth)
        as well as columns, and the answer for the transposed table is the transposed one. No column
        is transformed then, errors are those of a row of median size, and a row without any value
        stays empty. New rows can be scored if the table has more rows than columns.
    transform_skewed
        Whether clearly skewed columns, such as incomes and concentrations, are transformed if their
        cells are then predicted better. They are transformed back in the result.
    callback
        Called with a ``Progress`` object after every step; return True to stop.
    time_limit
        Seconds after which the run ends with what was found until then.
    rng
        Random seed or generator, for the cells that are left out to measure the errors. None: a
        different seed in every call.

    Returns
    -------
    Result
        ``frame`` is the table with missing cells filled and wrong ones replaced, in the form of
        ``table``. ``cells``, ``rows`` and ``columns`` say what is wrong, and
        ``error_by_column`` how accurate the filled cells are. The status is PREDICTIVE if cells
        that were left out are predicted better than by the medians of their columns, or RECOVERED
        if the table has a low rank exactly and this can be certified.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the input is invalid; the message says what was passed and what is expected.
    Interrupted
        On Ctrl-C. It is a KeyboardInterrupt with the result so far in ``result``.

    See Also
    --------
    robustrank.complete : If the table is a matrix of exactly low rank.
    robustrank.estimators.RobustImputer : The same model in a pipeline of scikit-learn.

    Notes
    -----
    In robust units of each column, correct rows are normal with a covariance that is estimated from
    the cells that agree with it, and shrunk as far as the evidence asks for. A cell is wrong if the
    others of its row predict something else. With ``center=False``, the mean is zero, each row is
    divided by the median of its cells without their sign, and the model is one of the columns if
    there are more of them than rows. The guide has the details.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> size = rng.standard_normal((200, 1))
    >>> X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    >>> X[7, 1] = 400  # a typing error
    >>> X[3, 2] = np.nan
    >>> result = rr.clean(X)
    >>> result.status.name
    'PREDICTIVE'
    >>> np.argwhere(result.outliers).tolist()
    [[7, 1]]
    >>> bool(np.isfinite(result.frame).all())
    True
    """
    run, generator = new_run(callback, time_limit), as_generator(rng)
    data = table_input(table, ignore)
    return returned(run, _cleaned(data, center, transform_skewed, generator, run))


def _cleaned(
    data: TableInput, center: bool, transform_skewed: bool, rng: np.random.Generator, run: Run
) -> Result:
    """The result for a table, also if the run is stopped."""
    watch, values = _Watch(run), data.values
    exact: Result | None = None
    found: CleanTable | None = None
    with np.errstate(all="ignore"), limited_blas_threads(threads_for(values.size)):
        with run:
            fits = [
                _fit(values, transposed, transform_skewed, center, rng, watch)
                for transposed in _orientations(values, center)
            ]
            best = min(fits, key=_Fit.error) if len(fits) > 1 else fits[0]
            watch.latest = best.model, best.transposed
            nearly = _is_nearly_exact(best.of_sample())
            other = best.with_few_factors(rng, watch) if nearly else None
            best = best if other is None else best.or_better(other, rng)
            found = best.explains(values)
            if nearly and other is None:  # few factors leave nothing, or more than noise
                exact = _of_low_rank(found, rng, run)
            report = watch.during("held out", best.transposed)
            errors = held_out(
                best.sample, best.model, best.explained, rng, report, transposed=best.transposed
            )
            found = replace(found, held_out=errors)
        if found is None:
            model, transposed = watch.latest or (
                first_model(values, first_units(values, center)),
                False,
            )
            found = _explained(values, model, transposed)
        return _result(data, found, exact, run, watch.steps)


def _explained(values: Values, model: TableModel, transposed: bool) -> CleanTable:
    """The table as a model explains it."""
    explained = model.explain(values.T if transposed else values)
    return CleanTable.of(values, model, explained, transposed=transposed)


def _orientations(values: Values, center: bool) -> list[bool]:
    """Whether to fit the transposed table: a model through the origin has fewer columns than rows.

    Both, if the table is square, so that the answer does not depend on which is which.
    """
    rows, columns = values.shape
    if center or columns < rows:
        return [False]
    return [True] if columns > rows else [False, True]


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model, the rows it was fitted to, and what it says about them."""

    sample: Values
    model: TableModel
    explained: Explained
    transposed: bool

    def error(self) -> float:
        """How far cells are from what the model expects, for comparisons."""
        units = self.model.units
        scale = units.scale * units.sizes(self.sample)
        return typical_error(self.explained.expected, self.sample, scale)

    def explains(self, values: Values) -> CleanTable:
        """The table as the model explains it."""
        if self.sample.size < values.size:
            return _explained(values, self.model, self.transposed)
        return self.of_sample()

    def of_sample(self) -> CleanTable:
        """The rows it was fitted to as the model explains them."""
        rows = self.sample.T if self.transposed else self.sample
        return CleanTable.of(rows, self.model, self.explained, transposed=self.transposed)

    def with_few_factors(self, rng: np.random.Generator, watch: _Watch) -> _Fit | None:
        """A fit with few factors, if they leave only noise.

        Not through the origin: which of two fits is better would depend on the order of the rows.
        """
        units = replace(self.model.units, skewness=np.zeros_like(self.model.units.skewness))
        report = watch.during("factors", self.transposed)
        some = _chosen(self.sample, _CELLS_WITH_NOISE // self.sample.shape[1], rng)
        enough = units.centered and len(some) >= min(_FEWEST, len(self.sample))
        factors = few_factors(some, units, report) if enough else None
        if factors is None:
            return None
        model = refitted(model_of(units, factors), self.sample, report)
        return _Fit(self.sample, model, model.explain(self.sample), self.transposed)

    def or_better(self, other: _Fit, rng: np.random.Generator) -> _Fit:
        """The one of two fits that predicts left-out cells better."""
        fits = (self, other)
        wrong_rows = self.explained.wrong_rows | other.explained.wrong_rows
        errors = left_out_errors(self.sample, [fit.model for fit in fits], ~wrong_rows, rng)
        return other if errors[1] < errors[0] else self


def _fit(
    values: Values,
    transposed: bool,
    transform_skewed: bool,
    center: bool,
    rng: np.random.Generator,
    watch: _Watch,
) -> _Fit:
    sample = _sample(values.T if transposed else values, rng)
    report = watch.during("normal model", transposed)
    return _Fit(sample, *fit_table(sample, report, transform_skewed, center), transposed)


def _sample(values: Values, rng: np.random.Generator) -> Values:
    """The rows that the model is fitted to: all, or some of a long table."""
    columns = values.shape[1]
    return _chosen(values, max(_ROWS, ROWS_FOR_EACH_COLUMN * columns), rng)


def _chosen(values: Values, most: int, rng: np.random.Generator) -> Values:
    """The values, or the given number of random rows if there are more."""
    rows = len(values)
    return values if rows <= most else values[np.sort(rng.choice(rows, most, replace=False))]


class _Watch:
    """Keeps the latest model, and reports the progress."""

    def __init__(self, run: Run) -> None:
        self._run, self.steps = run, 0
        self.latest: tuple[TableModel, bool] | None = None  # whether it is that of the columns

    def during(self, stage: str, transposed: bool) -> Callable[[float, TableModel], None]:
        """What a stage reports its progress to."""

        def report(fraction: float, model: TableModel) -> None:
            self.latest = (model, transposed) if stage == "normal model" else self.latest
            self.steps += 1
            check = Check(self.steps, math.nan, math.nan, 0, self._run.seconds, math.nan)
            self._run.report(
                Progress(stage, fraction, check, lambda: _no_factors(model, transposed))
            )
            self._run.check()

        return report


def _no_factors(model: TableModel, transposed: bool) -> Factors:
    """The mean of the rows, which is all that a model says without a table."""
    factors = np.ones((1, 1)), np.asarray(model.mean)[:, None]
    return factors[::-1] if transposed else factors


def _is_nearly_exact(found: CleanTable) -> bool:
    """Whether the table could have a low rank exactly: most cells are predicted rather well."""
    used = np.isfinite(found.given) & ~found.wrong & ~found.wrong_rows[:, None]
    rows, columns = found.sizes
    residual = np.abs(found.given - found.expected) / rows / columns
    return bool(np.median(residual[used]) <= _NEARLY) if used.any() else False


def _of_low_rank(found: CleanTable, rng: np.random.Generator, run: Run) -> Result | None:
    """A matrix of exactly low rank, in robust units.

    Of a large table, some rows are tried first.
    """
    rows, columns = found.sizes
    scaled = (found.given / rows - found.center) / columns
    scaled = np.where(np.isinf(found.given), np.inf, scaled)
    most = min(max(_CELLS // scaled.shape[1], _FEWEST), _ROWS)
    some = _chosen(scaled, most, rng)
    result = _certified(some, rng, run)
    return result if result is None or some is scaled else _certified(scaled, rng, run)


def _certified(scaled: Values, rng: np.random.Generator, run: Run) -> Result | None:
    """The certified low-rank matrix of a table; None if there is none, or no time is left.

    Without noise: the search ends where it would begin to consider noise.
    """
    left = None if run.ends is None else max(run.ends - run.began - run.seconds, 0.0)
    if left == 0.0:
        return None

    ended = False

    def stop(progress: Progress) -> bool:
        nonlocal ended
        run.report(progress)
        ended = progress.stage.startswith("noise")
        return ended

    result = complete(scaled, rng=rng, callback=stop, time_limit=left)
    if result.stopped is StopReason.CALLBACK and not ended:  # that of the user, who ends this too
        raise Stopped(result.stopped)
    return result if result.certified and result.noise == 0 else None


def _as_low_rank(found: CleanTable, exact: Result) -> CleanTable:
    """The table as a certified low-rank matrix explains it, where that is determined."""
    decided = np.ones(found.given.shape, bool)
    decided[exact.undecided_rows], decided[:, exact.undecided_columns] = False, False
    matrix, (row_sizes, scale) = np.asarray(exact.matrix), found.sizes
    outliers = np.asarray(exact.outliers)
    seen = ~np.isnan(found.given)
    rows, columns = np.indices(matrix.shape)
    errors = np.hypot(exact.standard_error(rows, columns), exact.noise)
    wrong_rows = np.sum(outliers & seen, axis=1) > _MOST_WRONG * np.sum(seen, axis=1)
    wrong_rows[exact.undecided_rows] |= found.wrong_rows[exact.undecided_rows]
    odds = np.where(outliers, np.inf, -np.inf)
    wrong = np.where(decided, outliers & seen, found.wrong)
    expected = (found.center + scale * matrix) * row_sizes
    return replace(
        found,
        expected=np.where(decided, expected, found.expected),
        deviation=np.where(decided, scale * errors * row_sizes, found.deviation),
        wrong=wrong,
        log_odds=np.where(decided, odds, found.log_odds),
        wrong_rows=wrong_rows,
        wrong_columns=mostly_wrong(found.given, wrong, wrong_rows),
    )


def _result(
    data: TableInput, found: CleanTable, exact: Result | None, run: Run, steps: int
) -> Result:
    if exact is None:
        left, right = found.factors()
        certificate, noise, solver = _certificate(found), math.nan, "normal model"
        undecided = np.zeros(0, int), np.flatnonzero(found.empty_columns)
    else:
        found = _as_low_rank(found, exact)
        rows, columns = found.sizes
        left, right = rows * np.asarray(exact.left), columns[:, None] * np.asarray(exact.right)
        if found.model.units.centered:
            left = np.hstack([left, np.ones_like(rows)])
            right = np.hstack([right, found.center[:, None]])
        certificate, noise, solver = exact.certificate, exact.noise, exact.solver
        undecided = exact.undecided_rows, exact.undecided_columns
    at = np.nonzero(~np.isnan(found.given))
    residual = (found.given - left @ right.T)[at]
    ignored = f"as they are: {', '.join(data.ignored)}" if data.ignored else ""
    return Result(
        left=left,
        right=right,
        outliers=found.wrong if data.as_frame is None else data.as_frame(found.wrong),
        certificate=certificate,
        observations=SampledObservations(at[0], at[1], residual),
        noise=noise,
        typical_size=1.0,
        stopped=run.stopped,
        undecided_rows=_named(undecided[0], data.row_labels),
        undecided_columns=_named(undecided[1], data.column_labels),
        solver=solver,
        iterations=steps,
        seconds=run.seconds,
        data=ignored,
        row_labels=data.row_labels,
        column_labels=data.column_labels,
        as_frame=data.as_frame,
        fit_new_rows=exact.fit_rows if exact is not None and exact.noise == 0 else None,
        table=found,
        restored=data.restored,
    )


def _certificate(found: CleanTable) -> Certificate:
    """What is known about a table without an exact rank: how well left-out cells are predicted."""
    seen = int(np.count_nonzero(np.isfinite(found.given)))
    columns = found.given.shape[1]
    used = int(np.count_nonzero(~found.replaced & ~found.wrong_rows[:, None]))
    return Certificate(
        measurements=seen,
        independent=seen,
        exact_fits=0,
        inliers=used,
        supporting=used,
        required=0,
        degrees_of_freedom=columns * (columns + 3) // 2,
        tolerance=0.0,
        decided_rows=int(np.count_nonzero(~found.wrong_rows)),
        decided_columns=int(np.count_nonzero(~found.empty_columns)),
        skill=found.held_out.skill_of_all,
        least_skill=found.held_out.least_skill,
        held_out_share=found.held_out.inside,
    )


def _named(numbers: Indices, labels: Any) -> Any:
    return numbers if labels is None else np.asarray(labels[numbers])
