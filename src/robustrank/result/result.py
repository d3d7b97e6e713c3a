"""The result of a run, as data and as text."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import ndtri, stdtrit  # quantiles of the normal and of Student's t

from robustrank.backend import (
    Array,
    Seed,
    as_generator,
    check_count,
    like,
    namespace,
    to_numpy,
    warn_user,
)
from robustrank.files import PathLike, physical_memory
from robustrank.noise import EQUAL, NoiseModel
from robustrank.result.accuracy import Accuracy, NotCertifiedWarning
from robustrank.result.certificate import Certificate, Status, conclude
from robustrank.result.explanation import advice_of, summary_of, title_of
from robustrank.result.groups import GroupTable
from robustrank.result.history import Attempt, History, StopReason
from robustrank.result.labels import frame_like, frame_values, is_frame, matched_columns, numbers_of
from robustrank.result.observations import Measurements, Observations
from robustrank.result.polars_frames import check_polars, is_polars, polars_values
from robustrank.result.rank_table import RankTable
from robustrank.result.table_frames import cells_of, columns_of, rows_of
from robustrank.tables import CleanTable, RowScores

Vector = np.ndarray[Any, Any]

# The matrix of a completion is formed if it takes at most this share of the memory of the machine.
_LARGEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Alternative:
    """A second matrix that also explains many measurements."""

    left: Array
    right: Array
    supporting: int  # independent measurements that it fits
    where: str  # the part in which it differs from the result

    @property
    def matrix(self) -> Array:
        """The second matrix."""
        return self.left @ namespace(self.right).matrix_transpose(self.right)

    def __str__(self) -> str:
        return (
            f"supported by {self.supporting:,} independent measurements and different in "
            f"{self.where}"
        )


@dataclass(frozen=True, eq=False)
class Result:
    """A low-rank matrix, what is wrong in the data, and a status that says whether to use it.

    ``recover``, ``recover_many``, ``complete`` and ``robust_pca`` return it. The measurements of a
    completion are its observed entries.

    Attributes
    ----------
    left, right
        The factors, of shape (n1, r) and (n2, r); the matrix is left · rightᵀ. Those of a
        completion are zero for rows and columns without any finite entry, of which nothing is
        known: these are NaN in ``matrix`` and ``predict``.
    outliers
        The rejected measurements, boolean. Of a completion, they have the form of the data: a
        matrix, a data frame, or one for each entry. Infinite entries are among them.
    certificate
        The evidence for the result; ``status`` follows from it.
    noise
        The standard deviation of the noise; zero if the data is exact. If it is not equal for all
        measurements, it is that of a typical one; see ``noise_model``.
    noise_model
        What the size of the noise of a measurement depends on, a ``NoiseModel``: the same for all,
        in proportion to the norms of the A_i or to sizes that were passed, or growing with the
        prediction; and whether groups have levels of their own.
    noise_sizes
        The standard deviation of the noise of each measurement or entry, relative to ``noise``;
        None if all are equal.
    typical_size
        The standard deviation of normal values of the size of typical measurements.
    cutoff
        Measurements with a larger absolute residual, relative to the size of their noise in the
        noise model, are rejected, unless they are fitted exactly. None if the solver rejects none.
    stopped
        Why the run ended early, a ``StopReason``; None if it did not.
    undecided_rows, undecided_columns
        The rows and columns that too few trusted entries determine: their numbers, or their labels
        if the data has labels. The factors have values there too; do not use them.
    alternative
        With status AMBIGUOUS, the second matrix; otherwise None.
    rank_table
        If no rank was given, the ranks that were compared; otherwise None.
    groups
        If groups were passed, such as sensors, a ``GroupTable`` of what is wrong with each;
        otherwise None.
    remedy
        If the result is not certified, by how much more measurements, fewer outliers or a lower
        rank would help, as far as trials with such problems tell; see ``plan``.
    history
        The progress of the solver that found the result; ``history.column("misfit")`` is one of its
        columns. Empty for completions.
    solver, iterations
        Its name and the number of its iterations.
    attempts
        The outcome of every solver that was tried; empty for completions, which have one.
    passes, seconds
        Passes over the sensing data, zero for completions, and wall-clock time of the whole call.
    data
        How the sensing data was read if it was not in memory, and where the tangent map was stored.
    symmetric
        Whether the matrix was known to be symmetric, by ``symmetric=True`` or ``psd=True``.
    row_labels, column_labels
        The labels of a data frame, or None.
    table
        If the result is that of ``clean``, a ``CleanTable``: the numbers behind ``frame``,
        ``cells``, ``rows`` and ``columns``; otherwise None.
    observations, as_frame, accuracy, fit_new_rows, restored
        What ``residual``, ``entries``, ``matrix``, ``error_bars`` and ``fit_rows`` are computed by.
        The ``fit_new_rows`` of a table of exactly low rank takes rows in its robust units.

    See Also
    --------
    robustrank.recover : From linear measurements.
    robustrank.complete : From some of the entries.
    robustrank.robust_pca : From all entries.
    robustrank.Status : The meaning of the status.
    robustrank.load : Read a saved result.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2)
    >>> result.status.name, result.rank, result.shape
    ('RECOVERED', 2, (20, 15))
    >>> int(result.outliers.sum())
    20
    >>> bool(abs(result.matrix - planted.matrix).max() < 1e-9)
    True

    A completion:

    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> result = rr.complete(planted.incomplete)
    >>> result.status.name, result.rank, len(result.undecided_rows)
    ('RECOVERED', 2, 0)
    """

    left: Array
    right: Array
    outliers: Any
    certificate: Certificate
    observations: Observations = field(repr=False)
    noise: float
    typical_size: float
    cutoff: float | None = None
    stopped: StopReason | None = None
    undecided_rows: Vector = field(default_factory=lambda: np.zeros(0, int))
    undecided_columns: Vector = field(default_factory=lambda: np.zeros(0, int))
    noise_model: NoiseModel = EQUAL
    noise_sizes: Array | None = field(default=None, repr=False)
    alternative: Alternative | None = None
    rank_table: RankTable | None = None
    groups: GroupTable | None = None
    remedy: str = ""
    history: History = field(default_factory=History, repr=False)
    solver: str = ""
    iterations: int = 0
    attempts: tuple[Attempt, ...] = ()
    passes: float = 0.0
    seconds: float = 0.0
    data: str = ""
    symmetric: bool = False
    row_labels: Any = field(default=None, repr=False)
    column_labels: Any = field(default=None, repr=False)
    as_frame: Callable[[Any], Any] | None = field(default=None, repr=False)
    accuracy: Callable[[], Accuracy] | None = field(default=None, repr=False)
    fit_new_rows: Callable[..., Any] | None = field(default=None, repr=False)
    table: CleanTable | None = field(default=None, repr=False)
    restored: Callable[[Any, Any], Any] | None = field(default=None, repr=False)

    @property
    def status(self) -> Status:
        """Whether the result is certified and, if not, why."""
        return conclude(self.certificate, second_solution=self.alternative is not None)

    @property
    def certified(self) -> bool:
        """Whether the result is certified: exactly (RECOVERED) or up to noise (ESTIMATED).

        That of a completion refers to the rows and columns that are not undecided.
        """
        return self.status.certified

    @property
    def error(self) -> float:
        """The expected error of the matrix, relative to its norm; zero if the fit is exact.

        That of a completion refers to the rows and columns that are decided. NaN if it was not
        computed, because the result is not certified.
        """
        return 0.0 if self.noise == 0 else self.certificate.matrix_error

    @property
    def error_bound(self) -> float:
        """A bound on the error of a certified matrix, relative to its norm.

        It has room for chance, and for a component that is too weak to be seen in the residuals. If
        the fit is exact, it is the relative size of the residuals that count as exact.
        """
        certificate = self.certificate
        return certificate.tolerance if self.noise == 0 else certificate.error_bound

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return int(self.left.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    @property
    def matrix(self) -> Any:
        """The n1 × n2 matrix; a data frame if the data was one.

        Rows and columns of a completion without any finite entry are NaN.

        Raises MemoryError if it would take more than half of the memory of the machine; ``predict``
        gives single entries.
        """
        n1, n2 = self.shape
        needed = n1 * n2 * 8
        if needed > _LARGEST_SHARE * physical_memory():
            raise MemoryError(
                f"the {n1} × {n2} matrix would take {needed / 2**30:.3g} GiB; use "
                "predict(rows, columns) for the entries that you need, or the factors left and "
                "right"
            )
        product = self._plain_matrix()
        return product if self.as_frame is None else self.as_frame(to_numpy(product))

    @property
    def residual(self) -> Array:
        """The measurements minus what the matrix predicts, of shape (m,).

        Those of a completion are in the order of ``entries``.
        """
        return self.observations.residuals

    @property
    def entries(self) -> tuple[Array, Array, Array]:
        """The row, the column and the residual of each observed entry, as three vectors."""
        return self.observations.all()

    @property
    def sparse(self) -> scipy.sparse.coo_array:
        """The values of the outliers minus the matrix: S in X = L + S, (n1, n2)."""
        rows, columns, residuals = self.observations.chosen(self.outliers)
        return scipy.sparse.coo_array((residuals, (rows, columns)), shape=self.shape)

    @property
    def of_entries(self) -> bool:
        """Whether the measurements are entries of the matrix."""
        return not isinstance(self.observations, Measurements)

    @property
    def frame(self) -> Any:
        """The cleaned table, in the form of the one that was passed to ``clean``.

        Missing cells are filled, and wrong ones replaced by what the others of their row predict.
        Labels, dtypes and order stay; integers and booleans are rounded. Cells of wrong rows that
        are not wrong by themselves stay as they are; see ``row_outliers``.
        """
        table = self._known_table
        if self.restored is None:
            filled = table.filled()
            return filled if self.as_frame is None else self.as_frame(filled)
        return self.restored(table.filled(), table.replaced)

    @property
    def row_outliers(self) -> Vector:
        """The rows of a table that are wrong altogether, boolean."""
        return self._known_table.wrong_rows

    @property
    def column_outliers(self) -> Vector:
        """The columns of a table of which most cells are wrong, boolean."""
        return self._known_table.wrong_columns

    @property
    def cells(self) -> Any:
        """A data frame with a line for each cell that is missing or wrong.

        Its columns are ``row``, ``column``, ``value``, ``expected``, ``standard_error`` (of what is
        expected, with the noise of the cell) and ``probability`` (that the cell is wrong).
        """
        return cells_of(self, self._known_table)

    @property
    def rows(self) -> Any:
        """A data frame with a line for each row of a table.

        Its columns are ``verdict``, ``share_missing``, ``share_wrong``, ``distance`` (from the mean
        along the components) and ``residual`` (distance from the components); the distances of
        99 % of all normal rows are at most one.
        """
        return rows_of(self, self._known_table)

    @property
    def columns(self) -> Any:
        """A data frame with a line for each column of a table.

        Its columns are ``verdict``, ``share_missing``, ``share_wrong``, ``noise`` (the standard
        deviation given all other columns), ``error`` and ``error_of_median`` (of predictions of
        left-out cells, in the unit of the column) and ``skill`` (the share of the mean square error
        of the median that predictions remove). The verdict is "wrong" if most cells are wrong, "not
        predicted" if it is clear that the other columns say little about it, "empty" if it has no
        values, and otherwise "good".
        """
        return columns_of(self, self._known_table)

    @property
    def error_by_column(self) -> Any:
        """The error of filled cells of each column, from cells that were left out.

        In the unit of the column; a series if the table is a data frame. NaN where too few cells
        were left out.
        """
        return self._known_table.held_out.errors if self.as_frame is None else self.columns["error"]

    def score_rows(self, X: Any = None) -> RowScores:
        """How unusual the rows of a table are, or new ones with the same columns.

        Parameters
        ----------
        X
            New rows, of shape (k, p), or a data frame with the columns of the table; by default,
            the rows of the table.

        Returns
        -------
        RowScores
            ``distance`` from the mean along the components and ``residual``, the distance from the
            components, each relative to the 99 % quantile of normal rows; and ``wrong``.
        """
        return self._known_table.scores(None if X is None else self._new_rows(X))

    def draw(self, count: int = 20, rng: Seed = 0) -> Iterator[Any]:
        """Cleaned tables in which missing and wrong cells are drawn from their distribution.

        A regression on each of them, with the results combined by Rubin's rules, has standard
        errors that account for what is not known (multiple imputation).

        Parameters
        ----------
        count
            The number of tables.
        rng
            Random seed or generator.

        Yields
        ------
        table
            A table like ``frame``.
        """
        check_count(count=count)
        table = self._known_table
        for values in table.draws(count, as_generator(rng)):
            if self.restored is not None:
                yield self.restored(values, table.replaced)
            else:
                yield values if self.as_frame is None else self.as_frame(values)

    @property
    def _known_table(self) -> CleanTable:
        if self.table is None:
            raise ValueError("the result is not that of a table; use robustrank.clean(table)")
        return self.table

    def _new_rows(self, X: Any) -> Vector:
        columns = self.shape[1]
        if is_polars(X):
            check_polars(X)
            names = X.columns if self.column_labels is None else self.column_labels
            values = polars_values([X.get_column(str(name)) for name in names], len(X))
        elif is_frame(X) and self.column_labels is not None:
            known = X.loc[:, X.columns.isin(self.column_labels)]
            order = np.argsort(matched_columns(known.columns, self.column_labels))
            return frame_values(known)[:, order]
        else:
            values = np.asarray(frame_values(X) if is_frame(X) else to_numpy(X), float)
        if values.ndim != 2 or values.shape[1] != columns:
            raise ValueError(f"X has shape {values.shape}; expected (rows, {columns})")
        return values

    @property
    def advice(self) -> str:
        """What to do next: the advice of the status, and what would help."""
        return advice_of(self)

    def singular_values(self) -> Vector:
        """The singular values of the matrix, largest first, computed from the factors.

        Returns
        -------
        numpy.ndarray of shape (r,)
            The singular values; NaN if the factors are too large to be multiplied.
        """
        return singular_values(self.left, self.right)

    def predict(self, A: Any, columns: Any = None) -> Array:
        """Predictions of measurements <A_i, M>, or of entries of M.

        Parameters
        ----------
        A
            New sensing matrices: a (k, n1, n2) or (k, n1·n2) array, a sparse matrix, a
            ``LinearOperator`` or an ``Operator``, which ``operators.as_operator`` makes of files
            and so on. With ``columns``, the rows of entries: numbers counted from zero, or labels
            if the data was a data frame.
        columns
            The columns of entries. Rows and columns are broadcast.

        Returns
        -------
        array
            The predictions, of shape (k,) or of the broadcast shape of the rows and columns; NaN in
            rows and columns without any finite entry.

        Raises
        ------
        IndexError
            If a number is not that of a row or column.
        KeyError
            If a label is not one of the data.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant(12, 10, 1, 200, rng=1)
        >>> result = rr.recover(planted.A, planted.y, 1)
        >>> bool(abs(result.predict(planted.A[:3]) - planted.y[:3]).max() < 1e-9)
        True
        >>> result.predict([0, 1], [2, 2]).shape
        (2,)
        """
        if columns is not None:
            return self._at(A, columns, self._entries)
        if self.table is not None:
            raise ValueError("predict(rows, columns): pass the columns of the cells too")
        xp = namespace(self.left)
        if hasattr(A, "measure"):
            return A.measure(self.left, self.right)
        if scipy.sparse.issparse(A) or hasattr(A, "matvec"):
            return xp.asarray(A @ to_numpy(self._plain_matrix()).reshape(-1), **like(self.left))
        if isinstance(A, str | os.PathLike):
            raise TypeError(
                f"predict({A!r}): expected an array; for data in a file, pass "
                "robustrank.operators.as_operator(path, shape)"
            )
        sensing = xp.asarray(A, **like(self.left))
        return xp.reshape(sensing, (sensing.shape[0], -1)) @ xp.reshape(self._plain_matrix(), (-1,))

    def standard_error(self, A: Any, columns: Any = None) -> Vector:
        """The standard errors of the predictions by ``predict``.

        They follow from the noise of the inliers and the tangent space of the matrix, and are zero
        if the fit is exact. They do not apply to undecided rows and columns, and are NaN where
        ``predict`` is. For the standard error of an observation, add the noise:
        ``numpy.hypot(error, result.noise)``.

        Parameters
        ----------
        A, columns
            As for ``predict``.

        Returns
        -------
        numpy.ndarray
            The standard errors, of the shape of the predictions. Those of a table include the noise
            of the cell.

        Raises
        ------
        ValueError
            If the result was loaded or unpickled and does not have its measurements; use
            ``robustrank.with_data``.

        Warns
        -----
        NotCertifiedWarning
            If the result is not certified.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant(12, 10, 1, 200, noise=0.05, rng=1)
        >>> result = rr.recover(planted.A, planted.y, 1)
        >>> result.standard_error([0, 3], [2, 5]).shape
        (2,)
        """
        if self.table is not None:
            deviation = self.table.deviation
            return np.asarray(self._at(A, columns, lambda i, j: deviation[i, j]))
        return self._error(self._known_accuracy(), A, columns)

    def interval(
        self, A: Any, columns: Any = None, *, level: float = 0.95, noise: bool = False
    ) -> tuple[Vector, Vector]:
        """Confidence intervals of what ``predict`` predicts.

        Parameters
        ----------
        A, columns
            As for ``predict``.
        level
            The probability with which an interval contains the true value, between 0 and 1.
        noise
            Whether the intervals are to contain a new observation, with its noise, instead. Those
            of a table always do.

        Returns
        -------
        low, high : numpy.ndarray
            The lower and upper bounds, each of the shape of the predictions. In skewed columns of a
            table, the predictions are not in the middle.

        Raises
        ------
        ValueError
            If the result was loaded or unpickled and does not have its measurements; use
            ``robustrank.with_data``.

        Warns
        -----
        NotCertifiedWarning
            If the result is not certified.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant(12, 10, 1, 200, noise=0.05, rng=1)
        >>> result = rr.recover(planted.A, planted.y, 1)
        >>> low, high = result.interval([0, 3], [2, 5], level=0.9)
        >>> bool((low < high).all())
        True
        """
        if not (isinstance(level, (int, float)) and 0 < level < 1):
            raise ValueError(f"level={level!r}; expected a number between 0 and 1")
        if self.table is not None:
            table, width = self.table, float(ndtri((1 + level) / 2))
            low = self._at(A, columns, lambda i, j: table.interval(i, j, width)[0])
            high = self._at(A, columns, lambda i, j: table.interval(i, j, width)[1])
            return np.asarray(low), np.asarray(high)
        accuracy = self._known_accuracy()
        error, center = self._error(accuracy, A, columns), to_numpy(self.predict(A, columns))
        if noise:
            error = np.hypot(error, accuracy.deviation * self.noise_model.at(center))
        half = float(stdtrit(max(accuracy.redundancy, 1), (1 + level) / 2)) * error
        return center - half, center + half

    def standard_error_of(self, function: Callable[[Vector], Any]) -> Vector:
        """The standard errors of a differentiable function of the matrix, by the delta method.

        Parameters
        ----------
        function
            Takes the n1 × n2 matrix as a NumPy array and returns a number or an array. It is called
            once for the matrix and once for each of the r (n1 + n2) coordinates of the factors.

        Returns
        -------
        numpy.ndarray
            The standard errors, of the shape of what ``function`` returns.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant(12, 10, 1, 200, noise=0.05, rng=1)
        >>> result = rr.recover(planted.A, planted.y, 1)
        >>> float(result.standard_error_of(lambda M: M.mean())) < 0.01
        True
        """
        return self._known_accuracy().of_function(function, to_numpy(self._plain_matrix()))

    @property
    def outlier_probability(self) -> Any:
        """The probability that each measurement is an outlier, given its residual.

        It has the form of ``outliers``, with NaN where no entry is observed. A residual is compared
        with what a fit without the measurement predicts, in units of the noise. Noise is normal; up
        to five deviations, residuals of outliers are taken to be as dense everywhere, and beyond
        that all are outliers. If the fit is exact, the probabilities are zero and one.
        """
        if self.table is not None:
            probability = self.table.probability
            return probability if self.as_frame is None else self.as_frame(probability)
        values = self._known_accuracy().outlier_probabilities()
        arranged = self.observations.arranged(values, tuple(self.outliers.shape))
        return arranged if self.as_frame is None else self.as_frame(arranged)

    @cached_property
    def error_bars(self) -> Accuracy | None:
        """What ``standard_error`` and ``interval`` use, computed when it is first needed.

        None if the result does not have its measurements, because it was loaded or unpickled, or is
        that of a matrix with more than 30 million entries; see ``with_data``.
        """
        return None if self.accuracy is None else self.accuracy()

    def fit_rows(self, X: Any) -> Any:
        """Fit new rows, robustly, to the row space of a completed matrix.

        Parameters
        ----------
        X
            The new rows, of shape (k, n2); NaN marks missing entries. Infinite values are missing,
            and marked as outliers. The columns of a data frame may be in any order: they are
            matched by their labels if the completed data was a data frame too.

        Returns
        -------
        FittedRows
            The completed rows are its ``matrix``, of shape (k, n2), or a data frame if X is one.
            ``outliers`` marks the rejected entries, and ``undecided`` has the numbers of the rows
            with too few trusted entries; they are zero, or NaN if they have no entries at all.

        Raises
        ------
        ValueError
            If X does not have the columns of the completed data, or the result is not a completion.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, rng=1)
        >>> result = rr.complete(planted.incomplete)
        >>> new = planted.matrix[:3].copy()
        >>> new[0, :4] = 100.0
        >>> rows = result.fit_rows(new)
        >>> bool(abs(rows.matrix - planted.matrix[:3]).max() < 1e-9), int(rows.outliers.sum())
        (True, 4)
        """
        if self.table is not None:
            raise ValueError(
                "fit_rows needs a result of complete or robust_pca; for new rows of a table, use "
                "score_rows or robustrank.estimators.RobustImputer"
            )
        if self.fit_new_rows is None:
            raise ValueError("the measurements of this result are not entries of the matrix")
        right, known = self.right, self._occupied[1]
        if is_frame(X) and self.column_labels is not None:
            order = matched_columns(X.columns, self.column_labels)
            xp = namespace(right)
            right = xp.take(right, xp.asarray(order, device=like(right)["device"]), axis=0)
            known = known[order]
        values = frame_values(X) if is_frame(X) else X
        fitted = self.fit_new_rows(values, right, known, self.cutoff or 0.0, self.typical_size)
        return replace(fitted, as_frame=frame_like(X)) if is_frame(X) else fitted

    def save(self, path: PathLike) -> None:
        """Write the result to an ``.npz`` file; ``robustrank.load`` reads it back.

        An existing file is replaced. The file has plain arrays that ``numpy.load`` also reads: the
        factors, the outliers, the residuals and, of a completion, the observed entries and the
        labels; of other results the matrix too. The sensing data is not saved.

        Parameters
        ----------
        path
            The name of the file. It is used as given: no extension is added.

        Raises
        ------
        ValueError
            If labels are neither text nor numbers nor dates.
        """
        from robustrank.result.archive import save

        save(self, path)

    def summary(self) -> list[tuple[str, str]]:
        """The result in words, as (name, text) rows."""
        return summary_of(self)

    def __repr__(self) -> str:
        return "\n".join(
            [title_of(self), *(f"  {name:<16} {text}" for name, text in self.summary())]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.summary()
        )
        return f"<table><caption>{html.escape(title_of(self))}</caption>{rows}</table>"

    def __getstate__(self) -> dict[str, Any]:
        """The fields; the sensing data, which may be large, is not pickled."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state if self.of_entries else state | {"accuracy": None}

    def _known_accuracy(self) -> Accuracy:
        if self.error_bars is None:
            raise ValueError(
                "error bars are not computed for matrices with more than 30 million entries; use a "
                "part of the matrix"
                if self.of_entries
                else "this result does not have its measurements, for example because it was "
                "loaded from a file; use robustrank.with_data(result, A, y)"
            )
        if not self.certified:
            warn_user(
                f"the result is not certified ({self.status.value}): error bars assume that the "
                "right measurements were rejected",
                NotCertifiedWarning,
            )
        return self.error_bars

    def _error(self, accuracy: Accuracy, A: Any, columns: Any) -> Vector:
        if columns is None:
            return accuracy.of_measurements(A, self.shape)
        return np.asarray(self._at(A, columns, accuracy.of_entries))

    def _at(self, rows: Any, columns: Any, of_entries: Callable[[Vector, Vector], Array]) -> Array:
        """A number for each of some entries, NaN in rows and columns without any finite entry.

        ``of_entries`` computes the numbers from vectors of row and column numbers.
        """
        places = (
            numbers_of(rows, self.row_labels, self.shape[0], "rows"),
            numbers_of(columns, self.column_labels, self.shape[1], "columns"),
        )
        shape = np.broadcast_shapes(*(one.shape for one in places))
        own, other = (np.broadcast_to(one, shape).reshape(-1).copy() for one in places)
        occupied_rows, occupied_columns = self._occupied
        known = occupied_rows[own] & occupied_columns[other]
        values = with_gaps(of_entries(own, other), ~known)
        return namespace(values).reshape(values, shape)

    def _entries(self, rows: Vector, columns: Vector) -> Array:
        if self.table is not None:
            return self.table.expected[rows, columns]
        xp = namespace(self.left)
        P, Q = (
            xp.take(factor, xp.asarray(at, device=like(factor)["device"]), axis=0)
            for factor, at in ((self.left, rows), (self.right, columns))
        )
        return xp.sum(P * Q, axis=1)

    def _plain_matrix(self) -> Array:
        product = self.left @ namespace(self.right).matrix_transpose(self.right)
        occupied_rows, occupied_columns = self._occupied
        return with_gaps(product, ~(occupied_rows[:, None] & occupied_columns))

    @cached_property
    def _occupied(self) -> tuple[Vector, Vector]:
        """Which rows and columns have finite entries: nothing is known about the others."""
        return self.observations.occupied(self.shape)


def with_gaps(values: Array, gaps: Vector) -> Array:
    """The values, with NaN at the gaps."""
    if not gaps.any():
        return values
    xp, device = namespace(values), like(values)["device"]
    return xp.where(xp.asarray(gaps, device=device), xp.asarray(np.nan, **like(values)), values)


def singular_values(left: Array, right: Array) -> np.ndarray[Any, Any]:
    """The singular values of left · rightᵀ; NaN if it is not finite."""
    left_r, right_r = (np.linalg.qr(to_numpy(factor))[1] for factor in (left, right))
    with np.errstate(over="ignore", invalid="ignore"):
        core = left_r @ right_r.T
    if not np.isfinite(core).all():
        return np.full(min(core.shape), np.nan)
    return np.asarray(np.linalg.svd(core, compute_uv=False), float)
