"""The result of a completion as plain data."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.completion.evidence import CompletionCertificate
from robustrank.completion.explanation import (
    advice,
    evidence,
    meaning,
    stopped_early,
)
from robustrank.completion.frames import (
    frame_like,
    frame_values,
    is_frame,
    matched_columns,
    positions_of,
)
from robustrank.completion.new_rows import FittedRows, fit_new_rows, with_gaps
from robustrank.completion.observations import Observations
from robustrank.completion.refinement import CUTOFF
from robustrank.files import PathLike
from robustrank.result import (
    Accuracy,
    RankTable,
    Status,
    WithErrorBars,
    broadcast_positions,
    checked_positions,
    counted,
    entries_at,
    interval_around,
    singular_values,
)

Vector = np.ndarray[Any, Any]

# The completed matrix is formed if it takes at most this share of the memory of the machine.
_LARGEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Completion(WithErrorBars):
    """A completed matrix, the rejected entries, and a status that says whether to use it.

    Attributes
    ----------
    left, right
        The factors P, of shape (n1, r), and Q, of shape (n2, r); the matrix is P Qᵀ. They are zero
        for rows and columns without any finite entry, of which nothing is known: these are NaN in
        ``matrix`` and ``predict``.
    outliers
        The rejected entries, boolean: of the shape of the data if that is a matrix, or one for each
        entry in the order given. Infinite entries are among them.
    undecided_rows, undecided_columns
        The rows and columns that too few trusted entries determine: their numbers, or their labels
        if the data has labels. The factors have values there too; do not use them.
    status, certificate
        Whether the rest of the matrix is certified, and the evidence.
    noise
        The standard deviation of the noise; zero if the data is exact.
    seconds
        Wall-clock time of the whole call.
    rank_table
        If no rank was given, the ranks that were compared; otherwise None.
    typical_size
        The standard deviation of normal values of the size of typical entries.
    row_labels, column_labels
        The labels of a data frame, or None.
    error_bars
        What ``standard_error`` and ``interval`` need, computed from ``observations`` when it is
        first used; None for a matrix with more than 30 million entries.
    observations, as_frame
        What ``entries``, ``sparse`` and ``matrix`` are computed from.

    See Also
    --------
    robustrank.complete : Returns this result, from some of the entries.
    robustrank.robust_pca : Returns this result, from all entries.
    robustrank.Status : The meaning of the status.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> result = rr.complete(planted.incomplete)
    >>> result.status.name, result.rank, len(result.undecided_rows)
    ('RECOVERED', 2, 0)
    >>> bool(abs(result.matrix - planted.matrix).max() < 1e-9)
    True
    """

    left: Array
    right: Array
    outliers: Array
    undecided_rows: Vector
    undecided_columns: Vector
    status: Status
    certificate: CompletionCertificate
    noise: float
    typical_size: float
    observations: Observations = field(repr=False)
    seconds: float = 0.0
    rank_table: RankTable | None = None
    row_labels: Any = field(default=None, repr=False)
    column_labels: Any = field(default=None, repr=False)
    as_frame: Callable[[Any], Any] | None = field(default=None, repr=False)
    error_bars: Accuracy | None = field(default=None, repr=False)

    _without_error_bars: ClassVar[str] = (
        "error bars are not computed for matrices with more than 30 million entries; use a part of "
        "the matrix"
    )

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return int(self.left.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    @property
    def certified(self) -> bool:
        """Whether the decided part is certified: exactly (RECOVERED) or up to noise (SETTLED)."""
        return self.status.certified

    @property
    def matrix(self) -> Any:
        """The completed n1 × n2 matrix, P Qᵀ; a data frame if the data was one.

        Rows and columns without any finite entry are NaN.

        Raises MemoryError if it would take more than half of the memory of the machine; ``predict``
        gives single entries.
        """
        n1, n2 = self.shape
        needed, limit = n1 * n2 * 8, _LARGEST_SHARE * _physical_memory()
        if needed > limit:
            raise MemoryError(
                f"the completed {n1} × {n2} matrix would take {needed / 2**30:.3g} GiB; use "
                "predict(rows, columns) for the entries that you need, or the factors left and "
                "right"
            )
        product = self._plain_matrix()
        return product if self.as_frame is None else self.as_frame(to_numpy(product))

    @property
    def entries(self) -> tuple[Array, Array, Array]:
        """The row, the column and the residual of each observed entry, as three vectors.

        The residual is the value minus the matrix.
        """
        return self.observations.all()

    @property
    def sparse(self) -> scipy.sparse.coo_array:
        """The values of the outliers minus the matrix: S in X = L + S, (n1, n2)."""
        rows, columns, residuals = self.observations.chosen(self.outliers)
        return scipy.sparse.coo_array((residuals, (rows, columns)), shape=self.shape)

    def predict(self, rows: Any, columns: Any) -> Array:
        """The entries of the matrix at some rows and columns.

        Parameters
        ----------
        rows, columns
            Numbers, counted from zero, or labels if the data was a data frame. They are broadcast.

        Returns
        -------
        array
            The entries, of the broadcast shape of ``rows`` and ``columns``; NaN in rows and columns
            without any finite entry.

        Raises
        ------
        IndexError
            If a number is not that of a row or column.
        KeyError
            If a label is not one of the data.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, rng=1)
        >>> result = rr.complete(planted.triples, shape=(40, 30))
        >>> bool(abs(result.predict([0, 1], [5, 7]) - planted.matrix[[0, 1], [5, 7]]).max() < 1e-9)
        True
        """
        positions = self._positions(rows, columns)
        return with_gaps(entries_at(self.left, self.right, positions), self._gaps(positions))

    def standard_error(self, rows: Any, columns: Any) -> Vector:
        """The standard errors of the entries that ``predict`` gives; zero if the fit is exact.

        They follow from the noise and from which entries are observed, and do not apply to
        undecided rows and columns. They are NaN where ``predict`` is.

        Parameters
        ----------
        rows, columns
            As for ``predict``.

        Returns
        -------
        numpy.ndarray
            The standard errors, of the broadcast shape of ``rows`` and ``columns``.

        Warns
        -----
        NotCertifiedWarning
            If the result is not certified.
        """
        return self._error(self._accuracy(), rows, columns)

    def interval(
        self, rows: Any, columns: Any, *, level: float = 0.95, noise: bool = False
    ) -> tuple[Vector, Vector]:
        """Confidence intervals of entries of the matrix.

        Parameters
        ----------
        rows, columns
            As for ``predict``.
        level
            The probability with which an interval contains the true entry, between 0 and 1.
        noise
            Whether the intervals are to contain new observations of the entries instead.

        Returns
        -------
        low, high : numpy.ndarray
            The lower and upper bounds, each of the broadcast shape of ``rows`` and ``columns``.

        Warns
        -----
        NotCertifiedWarning
            If the result is not certified.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant_entries(40, 30, 1, 600, noise=0.1, rng=1)
        >>> result = rr.complete(planted.incomplete, rank=1)
        >>> low, high = result.interval([0, 1], [5, 7], level=0.9)
        >>> bool((low < high).all())
        True
        """
        accuracy = self._accuracy()
        error, center = self._error(accuracy, rows, columns), self.predict(rows, columns)
        return interval_around(center, error, level, accuracy, noise=noise)

    def _error(self, accuracy: Accuracy, rows: Any, columns: Any) -> Vector:
        own, other, shape = positions = self._positions(rows, columns)
        error: Vector = with_gaps(
            accuracy.of_entries(own, other).reshape(shape), self._gaps(positions)
        )
        return error

    def _gaps(self, positions: tuple[Vector, Vector, tuple[int, ...]]) -> Vector:
        """Which entries are in rows or columns about which nothing is known."""
        own, other, shape = positions
        empty_rows, empty_columns = self._empty
        gaps: Vector = (empty_rows[own] | empty_columns[other]).reshape(shape)
        return gaps

    def _positions(self, rows: Any, columns: Any) -> tuple[Vector, Vector, tuple[int, ...]]:
        """Row and column numbers as vectors, and the shape of both."""
        n1, n2 = self.shape
        return broadcast_positions(
            _numbers(rows, self.row_labels, n1, "rows"),
            _numbers(columns, self.column_labels, n2, "columns"),
        )

    def _plain_matrix(self) -> Array:
        product = self.left @ namespace(self.right).matrix_transpose(self.right)
        empty_rows, empty_columns = self._empty
        return with_gaps(product, empty_rows[:, None] | empty_columns)

    @cached_property
    def _empty(self) -> tuple[Vector, Vector]:
        """Which rows and columns have no finite entry, so that nothing is known about them."""
        rows, columns = self.observations.occupied(self.shape)
        return ~rows, ~columns

    def fit_rows(self, X: Any) -> FittedRows:
        """Fit new rows, robustly, to the row space of this matrix.

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
            If X does not have the columns of the completed data.

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
        tolerance = self.certificate.tolerance * self.typical_size
        cutoff = max(CUTOFF * self.noise, tolerance)
        right, known = self.right, ~self._empty[1]
        if not is_frame(X):
            return fit_new_rows(X, right, known, cutoff, self.typical_size)
        if self.column_labels is not None:
            order = matched_columns(X.columns, self.column_labels)
            xp = namespace(right)
            right = xp.take(right, xp.asarray(order, device=like(right)["device"]), axis=0)
            known = known[order]
        fitted = fit_new_rows(frame_values(X), right, known, cutoff, self.typical_size)
        return replace(fitted, as_frame=frame_like(X))

    def save(self, path: PathLike) -> None:
        """Write the result to an ``.npz`` file; ``robustrank.load`` reads it back.

        An existing file is replaced. The file has the factors, the observed entries with their
        residuals, and the labels, as plain arrays that ``numpy.load`` also reads.

        Parameters
        ----------
        path
            The name of the file. It is used as given: no extension is added.

        Raises
        ------
        ValueError
            If the labels are neither text nor numbers nor dates.
        """
        from robustrank.completion.archive import save

        save(self, path)

    def singular_values(self) -> Vector:
        """The singular values of the matrix, largest first, computed from the factors.

        Returns
        -------
        numpy.ndarray of shape (r,)
            The singular values; NaN if the factors are too large to be multiplied.
        """
        return singular_values(self.left, self.right)

    def summary(self) -> list[tuple[str, str]]:
        """The result in words, as (name, text) rows."""
        certificate, status = self.certificate, self.status
        rows = [("status", f"{status.value}: {meaning(status, self.rank)}")]
        if not stopped_early(status):
            rows += self._findings()
        if certificate.objections and not stopped_early(status):
            rows.append(("objections", "; ".join(certificate.objections)))
        return [*rows, ("time", f"{self.seconds:.2f} s"), ("next", advice(status, self.rank))]

    def _findings(self) -> list[tuple[str, str]]:
        rejected = int(np.count_nonzero(to_numpy(self.outliers)))
        share = rejected / self.certificate.entries
        shown = ", ".join(f"{value:.4g}" for value in self.singular_values()[:6])
        counts = (len(self.undecided_rows), "row"), (len(self.undecided_columns), "column")
        undecided = " and ".join(counted(*one) for one in counts if one[0])
        return [
            ("evidence", evidence(self.certificate)),
            *([] if self.rank_table is None else [("rank", self.rank_table.sentence)]),
            ("outliers", f"{rejected:,} of the entries are rejected ({share:.1%})"),
            ("undecided", f"too few trusted entries in {undecided}" if undecided else "none"),
            ("noise", f"{self.noise:.3g}" if self.noise else "none: the fit is exact"),
            *([("singular values", shown + (", …" if self.rank > 6 else ""))] if self.rank else []),
        ]

    def _title(self) -> str:
        rows, columns = self.shape
        return f"Completion of a {rows} × {columns} matrix with rank {self.rank}"

    def __repr__(self) -> str:
        return "\n".join(
            [self._title(), *(f"  {name:<16} {text}" for name, text in self.summary())]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.summary()
        )
        return f"<table><caption>{html.escape(self._title())}</caption>{rows}</table>"


def _numbers(given: Any, labels: Any, size: int, name: str) -> Vector:
    """Row or column numbers."""
    if labels is not None:
        return positions_of(given, labels, name)
    return checked_positions(given, size, name)


def _physical_memory() -> float:
    """The memory of the machine in bytes; 8 GiB if the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30
