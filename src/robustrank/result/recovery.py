"""The result of a run, as data and as text."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.files import PathLike
from robustrank.result.accuracy import (
    Accuracy,
    WithErrorBars,
    checked_positions,
    interval_around,
)
from robustrank.result.certificate import Certificate
from robustrank.result.explanation import explain
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
            f"{self.solver}, rank {self.rank}: {self.status.value} ({self.iterations} iterations)"
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
        The factors U (n1 × r) and V (n2 × r); the matrix is U Vᵀ.
    outliers
        The rejected measurements, boolean of shape (m,).
    status, certificate
        Whether the result is certified, and the evidence.
    residual
        y − A(U Vᵀ), of shape (m,).
    cutoff
        Measurements with a larger |residual| are rejected, unless they are fitted exactly. None if
        the solver rejects no measurements.
    history
        The progress of the solver that found the result.
    solver, iterations
        Its name and the number of its iterations.
    passes, seconds
        Passes over the sensing data and wall-clock time of the whole call.
    attempts
        The outcome of every candidate that was tried.
    alternative
        With status AMBIGUOUS, the second matrix.
    data
        How the sensing data was read if it was not in memory, and where the tangent map was stored.
    rank_table
        If no rank was given, the ranks that were compared.
    remedy
        If the result is not certified, by how much more measurements, fewer outliers or a lower
        rank would help, as far as trials with such problems tell; see ``plan``.
    error_bars
        What ``standard_error`` and ``interval`` need. It refers to the measurements, is not saved
        and not pickled; see ``with_data``.
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
    def advice(self) -> str:
        """What to do next: the advice of the status, and what would help."""
        return f"{self.status.advice} {self.remedy}".rstrip()

    def singular_values(self) -> np.ndarray[Any, Any]:
        """The singular values of the recovered matrix, largest first, from the thin factors."""
        return singular_values(self.left, self.right)

    def predict(self, A: Any, columns: Any = None) -> Array:
        """Predictions of measurements <A_i, M>, or of entries of M.

        Parameters
        ----------
        A
            New sensing matrices: a (k, n1, n2) or (k, n1·n2) array, or an operator. With
            ``columns``, the row numbers of entries.
        columns
            The column numbers of entries. Row and column numbers are broadcast.

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
            sensing = xp.asarray(A, **like(self.left))
            return xp.reshape(sensing, (sensing.shape[0], -1)) @ xp.reshape(self.matrix, (-1,))
        rows, others, shape = self._entries(A, columns)
        left, right = (
            xp.take(factor, xp.asarray(at, device=like(factor)["device"]), axis=0)
            for factor, at in ((self.left, rows), (self.right, others))
        )
        return xp.reshape(xp.sum(left * right, axis=1), shape)

    def standard_error(self, A: Any, columns: Any = None) -> np.ndarray[Any, Any]:
        """The standard errors of the predictions by ``predict``, with the same arguments.

        They follow from the noise of the inliers and the tangent space of the matrix, and are zero
        if the fit is exact. For the standard error of an observation, add the noise:
        ``numpy.hypot(error, result.error_bars.deviation)``.
        """
        accuracy = self._accuracy()
        if columns is None:
            return accuracy.of_measurements(A, self.shape)
        rows, others, shape = self._entries(A, columns)
        return accuracy.of_entries(rows, others).reshape(shape)

    def interval(
        self, A: Any, columns: Any = None, *, level: float = 0.95, noise: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Lower and upper bounds of the true values of what ``predict`` predicts.

        Parameters
        ----------
        A, columns
            As for ``predict``.
        level
            The probability with which an interval contains the true value.
        noise
            Whether the intervals are to contain a new observation, with its noise, instead.

        Examples
        --------
        >>> import robustrank as rr
        >>> planted = rr.simulate.plant(12, 10, 1, 200, noise=0.1, rng=1)
        >>> result = rr.recover(planted.A, planted.y, 1)
        >>> low, high = result.interval([0, 3], [2, 5], level=0.9)
        >>> bool((low < high).all())
        True
        """
        error = self.standard_error(A, columns)
        center = self.predict(A, columns)
        return interval_around(center, error, level, self._accuracy(), noise=noise)

    def _entries(
        self, rows: Any, columns: Any
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], tuple[int, ...]]:
        """Row and column numbers of entries as vectors, and the shape of both."""
        at = [
            checked_positions(given, size, name)
            for given, size, name in zip(
                (rows, columns), self.shape, ("rows", "columns"), strict=True
            )
        ]
        shape = np.broadcast_shapes(at[0].shape, at[1].shape)
        own, other = (np.broadcast_to(one, shape).reshape(-1).copy() for one in at)
        return own, other, shape

    def _plain_matrix(self) -> Array:
        return self.matrix

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"error_bars": None}

    def save(self, path: PathLike) -> None:
        """Write the result to an ``.npz`` file; ``robustrank.load`` reads it back."""
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
                f"{self.iterations:,} iterations, {self.passes:,.6g} passes over the sensing data, "
                f"{self.seconds:.2f} s",
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
