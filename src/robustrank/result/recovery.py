"""The result of a run, as data and as text."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.files import PathLike
from robustrank.result.certificate import Certificate
from robustrank.result.explanation import explain
from robustrank.result.history import History
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
class Recovery:
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

    def singular_values(self) -> np.ndarray[Any, Any]:
        """The singular values of the recovered matrix, largest first, from the thin factors."""
        return singular_values(self.left, self.right)

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
            ("next", self.status.advice),
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
