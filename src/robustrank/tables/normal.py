"""A normal distribution of rows, and what some cells of a row say about the others.

With the precision Ω = Σ⁻¹ and the cells O of a row that are used, let B = Σ_OO⁻¹, zero elsewhere,
and a = B (z − μ). Then everything follows from B and a:

- a cell j of O is predicted by the other cells of O with the residual a_j / B_jj, whose variance is
  1 / B_jj;
- a cell outside of O has the expected value μ_j + Σ_j a; with the other cells outside of O as M,
  its variance is that in Ω_MM⁻¹;
- the log density of the cells of O is (log det B_OO − (z − μ)ᵀ a − |O| log 2π) / 2.

B is Ω − Ω_M Ω_MM⁻¹ Ω_Mᵀ, which is cheap if few cells are outside of O.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from robustrank.tables.units import Indices, Mask, Values

_BLOCK = 4_000_000  # numbers in the largest array of a block of rows
ROUNDING = 1e-12  # the least precision of a cell given the others, relative to Ω_jj
LOG_2_PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Normal:
    """The mean and the covariance of the rows."""

    mean: Values
    covariance: Values

    @cached_property
    def precision(self) -> Values:
        """The inverse of the covariance."""
        inverse = np.linalg.inv(self.covariance)
        return np.asarray((inverse + inverse.T) / 2)

    @property
    def dimensions(self) -> int:
        """The number of its dimensions without noise."""
        return len(self.mean)

    @property
    def variances(self) -> Values:
        """The variance of each column."""
        return np.diagonal(self.covariance)

    @property
    def conditional_variances(self) -> Values:
        """The variance of each column given all others."""
        return np.asarray(1 / np.diagonal(self.precision))

    def full(self) -> Normal:
        """The same distribution; see ``factors.FactorNormal``."""
        return self

    def with_mean(self, mean: Values) -> Normal:
        """The same distribution about another mean."""
        return replace(self, mean=mean)

    def change(self, after: object) -> float:
        """The largest change of a covariance to that of another one, in its deviations."""
        if not isinstance(after, Normal):
            return math.inf
        deviations = np.sqrt(after.variances)
        difference = np.abs(after.covariance - self.covariance)
        return float((difference / np.outer(deviations, deviations)).max(initial=0.0))

    def in_units_of(self, noise: Values) -> Values:
        """The eigenvalues if the columns are divided by deviations of noise."""
        sizes = np.sqrt(noise)
        return np.asarray(np.linalg.eigvalsh(self.covariance / np.outer(sizes, sizes)))

    def axes(self, count: int) -> tuple[Values, Values]:
        """The eigenvectors of the covariance with the largest eigenvalues, (count, p), and these.

        Their largest entries are positive.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        return with_signs(vectors.T[::-1][:count]), np.asarray(values[::-1][:count])

    def random(self, rows: int, rng: np.random.Generator) -> Values:
        """Random rows."""
        return np.asarray(self.mean + rng.standard_normal((rows, len(self.mean))) @ self._root.T)

    def drawn(self, rows: float, weight: float, rng: np.random.Generator) -> Normal:
        """A distribution from the posterior: inverse Wishart, and a normal mean given that.

        The posterior has the weight of the rows and of the prior, and the covariance as its mean.
        """
        columns = len(self.mean)
        freedom = rows + weight + columns + 1
        # The lower triangular factor of a Wishart matrix, by Bartlett's decomposition.
        factor = np.tril(rng.standard_normal((columns, columns)), -1)
        factor += np.diag(np.sqrt(rng.chisquare(freedom - np.arange(columns))))
        inverse = np.linalg.inv(self._root_of_precision @ factor)
        covariance = (freedom - columns - 1) * inverse.T @ inverse
        shift = np.linalg.cholesky(covariance / rows) @ rng.standard_normal(columns)
        return Normal(self.mean + shift, covariance)

    @cached_property
    def log_determinant(self) -> float:
        """log det Ω."""
        return float(np.linalg.slogdet(self.precision)[1])

    @cached_property
    def _root(self) -> Values:
        return np.asarray(np.linalg.cholesky(self.covariance))

    @cached_property
    def _root_of_precision(self) -> Values:
        return np.asarray(np.linalg.cholesky(self.precision))

    def given(self, table: Values, used: Mask) -> Given:
        """What the used cells of each row say about its cells."""
        a, diagonal, variance = (np.zeros(table.shape) for _ in range(3))
        log_determinant = np.zeros(len(table))
        for rows in blocks(used):
            part = Unused.of(self.precision, used[rows])
            centered = np.where(used[rows], table[rows] - self.mean, 0.0)
            a[rows] = np.where(used[rows], part.applied(centered), 0.0)
            diagonal[rows] = np.where(used[rows], part.diagonal(), 0.0)
            variance[rows] = part.variance()
            log_determinant[rows] = self.log_determinant + part.log_determinant()
        completed = np.where(used, table, self.mean + a @ self.covariance)
        return Given(self.mean, table, used, completed, a, diagonal, variance, log_determinant)

    def unknown(self, given: Given, weights: Values | None = None) -> Values:
        """The (weighted) sum over the rows of the covariance of their unused cells."""
        total = np.zeros_like(self.covariance)
        for rows in blocks(given.used):
            part = Unused.of(self.precision, given.used[rows])
            total += part.total(None if weights is None else weights[rows])
        return total


_BY_ROW = ("table", "used", "completed", "a", "diagonal", "unused_variance", "log_determinant")


@dataclass(frozen=True, eq=False)
class Given:
    """What the used cells of each row of a table say about its cells."""

    mean: Values
    table: Values
    used: Mask
    completed: Values  # the values of the used cells, and the expected ones of the others
    a: Values
    diagonal: Values  # of B
    unused_variance: Values
    log_determinant: Values

    def of_rows(self, rows: Indices | Mask) -> Given:
        """The same for some rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _BY_ROW})

    def put(self, rows: Indices, part: Given) -> None:
        """Replace what is said about some rows; their values are the same."""
        for name in _BY_ROW[1:]:
            getattr(self, name)[rows] = getattr(part, name)

    @classmethod
    def joined(cls, parts: Sequence[Given]) -> Given:
        """The rows of several parts."""
        arrays: Any = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _BY_ROW
        }
        return replace(parts[0], **arrays)

    def expected(self) -> Values:
        """What the other used cells of its row predict for each cell."""
        left_out = self.table - self.a * self._left_out_variance
        return np.where(self.used, left_out, self.completed)

    def variance(self) -> Values:
        """The variance of these predictions, if the normal distribution is known."""
        return np.where(self.used, self._left_out_variance, self.unused_variance)

    def left_out_squares(self) -> Values:
        """The squared errors of these predictions of the used cells; zero for the others."""
        return np.asarray((self.a * self._left_out_variance) ** 2)

    def log_density(self) -> Values:
        """The log density of the used cells of each row."""
        counts = self.used.sum(axis=1)
        return np.asarray((self.log_determinant - self.distances() - counts * LOG_2_PI) / 2)

    def distances(self) -> Values:
        """The squared Mahalanobis distance of the used cells of each row from the mean."""
        centered = np.where(self.used, self.table - self.mean, 0.0)
        return np.asarray(np.sum(centered * self.a, axis=1))

    @property
    def _left_out_variance(self) -> Values:
        return np.asarray(1 / np.where(self.used, self.diagonal, 1.0))


class Unused(NamedTuple):
    """The unused cells of a block of rows, the K of the row with most; others have fewer."""

    precision: Values
    columns: Indices  # (n, K)
    valid: Mask  # (n, K)
    inverse: Values  # Ω_MM⁻¹, (n, K, K), with ones on the diagonal where not valid
    rows: Values  # Ω_M, (n, K, p)
    shape: tuple[int, int]

    @classmethod
    def of(cls, precision: Values, used: Mask) -> Unused:
        counts = np.count_nonzero(~used, axis=1)
        most = int(counts.max(initial=0))
        columns = np.argsort(used, axis=1, kind="stable")[:, :most]
        valid = np.arange(most) < counts[:, None]
        rows = precision[columns] * valid[:, :, None]
        there = np.broadcast_to(columns[:, None, :], (*columns.shape, most))
        square = np.take_along_axis(rows, there, axis=2) * valid[:, None, :]
        place = np.arange(most)
        square[:, place, place] += ~valid
        return cls(precision, columns, valid, np.linalg.inv(square), rows, used.shape)

    def applied(self, centered: Values) -> Values:
        """B times a vector for each row."""
        there = (self.rows @ centered[:, :, None])[:, :, 0]
        weights = (self.inverse @ there[:, :, None])[:, :, 0]
        return centered @ self.precision - (weights[:, None, :] @ self.rows)[:, 0]

    def diagonal(self) -> Values:
        """The diagonal of B, positive."""
        own = np.diagonal(self.precision)
        found = own - np.einsum("ikj,ikj->ij", self.inverse @ self.rows, self.rows)
        return np.asarray(np.maximum(found, ROUNDING * own))

    def variance(self) -> Values:
        """The variance of each unused cell; zero for the others."""
        found = np.where(self.valid, np.diagonal(self.inverse, axis1=1, axis2=2), 0.0)
        variances = np.zeros(self.shape)
        np.put_along_axis(variances, self.columns, found, axis=1)
        return variances

    def log_determinant(self) -> Values:
        """log det B_OO − log det Ω of each row."""
        return np.asarray(np.linalg.slogdet(self.inverse)[1])

    def total(self, weights: Values | None = None) -> Values:
        """The (weighted) sum over the rows of the covariance of their unused cells, (p, p)."""
        size = self.shape[1]
        places = self.columns[:, :, None] * size + self.columns[:, None, :]
        values = self.inverse * (self.valid[:, :, None] & self.valid[:, None, :])
        values = values if weights is None else values * weights[:, None, None]
        total = np.bincount(places.reshape(-1), values.reshape(-1), minlength=size * size)
        return np.asarray(total.reshape(size, size))

    def column(self, rows: Indices, columns: Indices) -> Values:
        """A column of B for some of the rows."""
        own = self.rows[rows, :, columns]
        weights = (self.inverse[rows] @ own[:, :, None])[:, None, :, 0]
        return self.precision[columns] - (weights @ self.rows[rows])[:, 0]

    def covariance(self, columns: Indices) -> Values:
        """The covariance of the errors of predictions of unused cells, which come in any order."""
        place = np.argmax(self.columns[:, None, :] == columns[:, :, None], axis=2)
        wide = np.take_along_axis(self.inverse, place[:, :, None], axis=1)
        return np.take_along_axis(wide, place[:, None, :], axis=2)


def with_signs(axes: Values) -> Values:
    """Axes of which the largest entry is positive."""
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None])


def blocks(used: Mask) -> Iterator[Indices]:
    """The numbers of the rows in blocks, rows with similar numbers of unused cells together."""
    counts = np.count_nonzero(~used, axis=1)
    order, first = np.argsort(counts, kind="stable"), 0
    while first < len(order):
        least = int(counts[order[first]]) + 1
        last = min(first + max(_BLOCK // (least * used.shape[1]), 1), len(order))
        most = int(counts[order[last - 1]]) + 1
        last = min(last, first + max(_BLOCK // (most * used.shape[1]), 1))
        yield order[first:last]
        first = last
