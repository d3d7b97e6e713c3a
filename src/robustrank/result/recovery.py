"""The result of a run, as data and as text."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.files import PathLike
from robustrank.result.accuracy import (
    Accuracy,
    WithErrorBars,
    broadcast_positions,
    checked_positions,
    entries_at,
    interval_around,
)
from robustrank.result.certificate import Certificate
from robustrank.result.explanation import counted, explain
from robustrank.result.history import History
from robustrank.result.rank_table import RankTable
from robustrank.result.status import Status


@dataclass(frozen=True)
class Attempt:
    """The outcome of one candidate of a portfolio."""

    solver: str
    status: Status
    rank: int  # of the matrix that it found
    exact_fits: int
    misfit: float
    iterations: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.solver}, rank {self.rank}: {self.status.value} "
            f"({counted(self.iterations, 'iteration')})"
        )


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
class Recovery(WithErrorBars):
    """A recovered matrix, the rejected measurements, and a status that says whether to use it.

    Attributes
    ----------
    left, right
        The factors U, of shape (n1, r), and V, of shape (n2, r); the matrix is U Vᵀ.
    outliers
        The rejected measurements, boolean of shape (m,).
    status, certificate
        Whether the result is certified, and the evidence.
    residual
        y − A(U Vᵀ), of shape (m,).
    cutoff
        Measurements with a larger absolute residual are rejected, unless they are fitted exactly.
        None if the solver rejects no measurements.
    history
        The progress of the solver that found the result; ``history.column("misfit")`` is one of its
        columns.
    solver, iterations
        Its name and the number of its iterations.
    passes, seconds
        Passes over the sensing data and wall-clock time of the whole call.
    attempts
        The outcome of every candidate that was tried.
    alternative
        With status AMBIGUOUS, the second matrix; otherwise None.
    data
        How the sensing data was read if it was not in memory, and where the tangent map was stored.
    rank_table
        If no rank was given, the ranks that were compared; otherwise None.
    remedy
        If the result is not certified, by how much more measurements, fewer outliers or a lower
        rank would help, as far as trials with such problems tell; see ``plan``.
    symmetric
        Whether the matrix was known to be symmetric, by ``symmetric=True`` or ``psd=True``.
    error_bars
        What ``standard_error`` and ``interval`` need. It refers to the measurements, is not saved
        and not pickled; see ``with_data``.

    See Also
    --------
    robustrank.recover : Returns this result.
    robustrank.Status : The meaning of the status.
    robustrank.load : Read a saved result.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2)
    >>> result.certified, result.rank, result.shape
    (True, 2, (20, 15))
    >>> int(result.outliers.sum())
    20
    >>> bool(abs(result.matrix - planted.matrix).max() < 1e-9)
    True
    """

    left: Array
    right: Array
    outliers: Array
    status: Status
    certificate: Certificate
    residual: Array = field(repr=False)
    cutoff: float | None
    history: History = field(repr=False)
    solver: str
    iterations: int
    passes: float
    seconds: float
    attempts: tuple[Attempt, ...] = ()
    alternative: Alternative | None = None
    data: str = ""
    rank_table: RankTable | None = None
    remedy: str = ""
    symmetric: bool = False
    error_bars: Accuracy | None = field(default=None, repr=False)

    @property
    def matrix(self) -> Array:
        """The recovered n1 × n2 matrix, U Vᵀ."""
        return self.left @ namespace(self.right).matrix_transpose(self.right)

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return int(self.left.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the recovered matrix."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    @property
    def certified(self) -> bool:
        """Whether the result is certified: exactly (RECOVERED) or up to noise (SETTLED)."""
        return self.status.certified

    @property
    def noise(self) -> float:
        """The estimated standard deviation of the noise of a measurement; zero if the fit is exact.

        If the norms of the A_i differ, it is that of a measurement with a typical norm.
        """
        return 0.0 if self.certificate.is_exact else self.certificate.sigma

    @property
    def advice(self) -> str:
        """What to do next: the advice of the status, and what would help."""
        return f"{self.status.advice} {self.remedy}".rstrip()

    def singular_values(self) -> np.ndarray[Any, Any]:
        """The singular values of the recovered matrix, largest first, computed from the factors.

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
            and so on. With ``columns``, the row numbers of entries, counted from zero.
        columns
            The column numbers of entries. Row and column numbers are broadcast.

        Returns
        -------
        array
            The predictions, of shape (k,) or of the broadcast shape of the row and column numbers.

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
        xp = namespace(self.left)
        if columns is None:
            if hasattr(A, "measure"):
                return A.measure(self.left, self.right)
            if scipy.sparse.issparse(A) or hasattr(A, "matvec"):
                return xp.asarray(A @ to_numpy(self.matrix).reshape(-1), **like(self.left))
            if isinstance(A, str | os.PathLike):
                raise TypeError(
                    f"predict({A!r}): expected an array; for data in a file, pass "
                    "robustrank.operators.as_operator(path, shape)"
                )
            sensing = xp.asarray(A, **like(self.left))
            return xp.reshape(sensing, (sensing.shape[0], -1)) @ xp.reshape(self.matrix, (-1,))
        return entries_at(self.left, self.right, self._positions(A, columns))

    def standard_error(self, A: Any, columns: Any = None) -> np.ndarray[Any, Any]:
        """The standard errors of the predictions by ``predict``.

        They follow from the noise of the inliers and the tangent space of the matrix, and are zero
        if the fit is exact. For the standard error of an observation, add the noise:
        ``numpy.hypot(error, result.error_bars.deviation)``.

        Parameters
        ----------
        A, columns
            As for ``predict``.

        Returns
        -------
        numpy.ndarray
            The standard errors, of the shape of the predictions.

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
        return self._error(self._accuracy(), A, columns)

    def interval(
        self, A: Any, columns: Any = None, *, level: float = 0.95, noise: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Confidence intervals of what ``predict`` predicts.

        Parameters
        ----------
        A, columns
            As for ``predict``.
        level
            The probability with which an interval contains the true value, between 0 and 1.
        noise
            Whether the intervals are to contain a new observation, with its noise, instead.

        Returns
        -------
        low, high : numpy.ndarray
            The lower and upper bounds, each of the shape of the predictions.

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
        accuracy = self._accuracy()
        error, center = self._error(accuracy, A, columns), self.predict(A, columns)
        return interval_around(center, error, level, accuracy, noise=noise)

    def _error(self, accuracy: Accuracy, A: Any, columns: Any) -> np.ndarray[Any, Any]:
        if columns is None:
            return accuracy.of_measurements(A, self.shape)
        rows, others, shape = self._positions(A, columns)
        return accuracy.of_entries(rows, others).reshape(shape)

    def _positions(
        self, rows: Any, columns: Any
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], tuple[int, ...]]:
        """Row and column numbers of entries as vectors, and the shape of both."""
        n1, n2 = self.shape
        own, other = checked_positions(rows, n1, "rows"), checked_positions(columns, n2, "columns")
        return broadcast_positions(own, other)

    def _plain_matrix(self) -> Array:
        return self.matrix

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"error_bars": None}

    def save(self, path: PathLike) -> None:
        """Write the result to an ``.npz`` file; ``robustrank.load`` reads it back.

        An existing file is replaced. The file also contains the matrix, as the array ``matrix``, so
        that ``numpy.load`` is enough to read it. The measurements are not saved.

        Parameters
        ----------
        path
            The name of the file. It is used as given: no extension is added.
        """
        from robustrank.result.archive import save

        save(self, path)

    def summary(self) -> list[tuple[str, str]]:
        """The result in words, as (name, text) rows."""
        rejected = int(np.count_nonzero(to_numpy(self.outliers)))
        share = rejected / self.certificate.measurements
        shown = ", ".join(f"{value:.4g}" for value in self.singular_values()[:6])
        more = ", …" if self.rank > 6 else ""
        tried = "; ".join(map(str, self.attempts))
        return [
            ("status", str(self.status)),
            ("evidence", explain(self.status, self.certificate)),
            *([] if self.alternative is None else [("alternative", str(self.alternative))]),
            *([] if self.rank_table is None else [("rank", self.rank_table.sentence)]),
            ("outliers", f"{rejected:,} measurements rejected ({share:.1%})"),
            ("misfit", f"{self.certificate.misfit:.2e} of a typical measurement"),
            ("singular values", shown + more),
            (
                "work",
                f"{counted(self.iterations, 'iteration')}, {self.passes:,.6g} passes over the "
                f"sensing data, {self.seconds:.2f} s",
            ),
            *([("data", self.data)] if self.data else []),
            *([("tried", tried)] if len(self.attempts) > 1 else []),
            ("next", self.advice),
        ]

    def _title(self) -> str:
        rows, columns = self.shape
        return f"Recovery of a {rows} × {columns} matrix of rank {self.rank} by {self.solver}"

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


def singular_values(left: Array, right: Array) -> np.ndarray[Any, Any]:
    """The singular values of left · rightᵀ; NaN if it is not finite."""
    _, left_r = np.linalg.qr(to_numpy(left))
    _, right_r = np.linalg.qr(to_numpy(right))
    with np.errstate(over="ignore", invalid="ignore"):
        core = left_r @ right_r.T
    if not np.isfinite(core).all():
        return np.full(min(core.shape), np.nan)
    return np.asarray(np.linalg.svd(core, compute_uv=False), float)
