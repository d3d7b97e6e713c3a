"""The answer of a solve, as data and as text."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.files import PathLike
from robustrank.result.history import History
from robustrank.result.status import Status


@dataclass(frozen=True)
class Certificate:
    """How many measurements an answer explains, against how many it could by chance.

    A matrix of rank r has ``degrees_of_freedom`` free numbers and can be bent to agree with that
    many measurements whatever they are. An answer that agrees with more, and with more than half of
    all, is not an accident, provided that they pin down every part of it. (Only outliers that all
    agree on one other matrix could fake it.)
    """

    explained: int  # measurements met to within tolerance
    believed: int  # measurements that are met to within the noise
    measurements: int
    degrees_of_freedom: int
    tolerance: float  # what "met" means, relative to a typical measurement
    misfit: float  # median |residual| relative to median |y|
    noise: float  # standard deviation of what is left, relative to that of a typical measurement
    determined: bool = True  # whether what it rests on leaves no part of it open or unchecked

    @property
    def needed(self) -> int:
        """How many measurements an answer must explain to be beyond chance."""
        coincidences = _MARGIN + math.ceil(_MARGIN * self.tolerance * self.measurements)
        return max(self.degrees_of_freedom + coincidences, self.measurements // 2 + 1)

    @property
    def evidence(self) -> float:
        """How many powers of e less likely such a fit is by chance than in truth, with noise.

        Each believed measurement that fitting has not used up is met to within the noise, where
        chance would leave a typical measurement; against this stands the freedom to choose which
        measurements to reject.
        """
        left_over = self.believed - self.degrees_of_freedom
        if left_over <= 0 or not 0 <= self.noise < math.inf:
            return -math.inf
        rejected = self.measurements - self.believed
        choices = (
            math.lgamma(self.measurements + 1)
            - math.lgamma(self.believed + 1)
            - math.lgamma(rejected + 1)
        )
        return -left_over * math.log(max(self.noise, 1e-300)) - choices

    @property
    def prediction_error(self) -> float:
        """The error to expect for a measurement that was not used, in the unit of ``noise``.

        That is the noise, and what d free numbers make of it: generalised cross-validation.
        """
        left_over = self.believed - self.degrees_of_freedom
        return self.noise * math.sqrt(self.believed / left_over) if left_over > 0 else math.inf

    @property
    def holds(self) -> bool:
        """Whether it explains more than chance and half, and nothing is open or unchecked."""
        return self.explained >= self.needed and self.determined

    def __str__(self) -> str:
        but = "" if self.determined else "; but some part of it nothing decides, or nothing checks"
        return (
            f"{self.explained:,} of {self.measurements:,} measurements met to {self.tolerance:.0e} "
            f"({self.needed:,} needed to rule out chance){but}"
        )


# A measurement beyond the degrees of freedom is met by chance with a probability of about the
# tolerance; ten times as many as expected, and ten more, do not happen.
_MARGIN = 10


def singular_values(left: Array, right: Array) -> np.ndarray[Any, Any]:
    """The singular values of left · rightᵀ; NaN where it is not finite."""
    _, left_r = np.linalg.qr(to_numpy(left))
    _, right_r = np.linalg.qr(to_numpy(right))
    with np.errstate(over="ignore", invalid="ignore"):
        core = left_r @ right_r.T
    if not np.isfinite(core).all():
        return np.full(min(core.shape), np.nan)
    return np.asarray(np.linalg.svd(core, compute_uv=False), float)


@dataclass(frozen=True)
class Attempt:
    """What one candidate of a portfolio came to."""

    solver: str
    status: Status
    rank: int  # of the matrix that it found
    explained: int
    misfit: float
    iterations: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.solver}, rank {self.rank}: {self.status.value} ({self.iterations} iterations)"
        )


@dataclass(frozen=True, eq=False)
class Recovery:
    """A recovered matrix, the measurements it did not believe, and whether to trust it."""

    left: Array  # U, n1 × r
    right: Array  # V, n2 × r
    outliers: Array  # (m,) boolean: the measurements not believed
    status: Status
    certificate: Certificate
    residual: Array = field(repr=False)  # (m,): y − A(U Vᵀ)
    cutoff: float | None  # residuals beyond this were not believed; None: every one was believed
    history: History = field(repr=False)
    solver: str
    iterations: int
    passes: float  # reads of the whole sensing data
    seconds: float
    attempts: tuple[Attempt, ...] = ()  # what every candidate came to, where several were tried

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
    def converged(self) -> bool:
        """Whether the solver finished its work and left little unexplained."""
        return self.status.converged

    def singular_values(self) -> np.ndarray[Any, Any]:
        """The singular values of the recovered matrix, largest first, from the thin factors."""
        return singular_values(self.left, self.right)

    def save(self, path: PathLike) -> None:
        """Write the recovery to an ``.npz`` file; ``robustrank.load`` reads it back."""
        from robustrank.result.archive import save

        save(self, path)

    def summary(self) -> list[tuple[str, str]]:
        """What a person wants to know, as (name, text) rows."""
        flagged = int(np.count_nonzero(to_numpy(self.outliers)))
        shown = ", ".join(f"{value:.4g}" for value in self.singular_values()[:6])
        more = ", …" if self.rank > 6 else ""
        return [
            ("status", str(self.status)),
            ("explained", str(self.certificate)),
            (
                "outliers",
                f"{flagged:,} not believed ({flagged / self.certificate.measurements:.1%})",
            ),
            (
                "misfit",
                f"{self.certificate.misfit:.2e} of a typical measurement, "
                f"noise {self.certificate.noise:.2e}",
            ),
            ("singular values", shown + more),
            (
                "work",
                f"{self.iterations:,} iterations, {self.passes:,.6g} passes over the sensing data, "
                f"{self.seconds:.2f} s",
            ),
            *([("tried", "; ".join(map(str, self.attempts)))] if len(self.attempts) > 1 else []),
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
