"""A normal distribution of rows with many columns: a few factors, and noise of each column.

The covariance is L Lᵀ + D with loadings L of k columns and a diagonal D, so that nothing of the
size p × p is needed. With the columns of L in units of the noise, F = D^(-1/2) L, the scores of a
row given its used cells O have the covariance C = (I + F_Oᵀ F_O)⁻¹, and

    B = D^(-1/2) (I - F C Fᵀ) D^(-1/2) among the used cells.

See ``normal`` for what follows from B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from robustrank.tables.normal import ROUNDING, Given, HasCovariance, Normal, with_signs
from robustrank.tables.units import Mask, Values

MANY = 200  # columns; with more, a covariance of all pairs takes long
_WORK = 4e9  # multiplications for the factors of the rows of a table, which limit their number
_BLOCK = 20_000_000  # numbers in the covariances of the scores of a block of rows
_COMPARED = 200  # columns whose correlations tell whether a fit has converged


class Components(NamedTuple):
    """The largest eigenvalues of AᵀA, the eigenvectors, (p, k), and the diagonal of the rest."""

    values: Values
    vectors: Values
    rest: Values


def needs_factors(table: Values) -> bool:
    """Whether the columns are many, and more than twice the factors that are not much work."""
    columns = table.shape[1]
    return bool(columns > MANY and 2 * _most_factors(table) < columns)


def _most_factors(table: Values) -> int:
    rows, columns = table.shape
    return int(min(rows - 1, columns - 1, max(int(math.sqrt(_WORK / table.size)), 1)))


def largest(A: Values, most: int = 0) -> Components:
    """The components of a matrix, (n, p): all but one if that is not much work.

    If ``most`` is positive, they are not more than that.
    """
    (n, p), count = A.shape, min(_most_factors(A), most or A.size)
    gram = A @ A.T if n <= p else A.T @ A
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(size - count, size - 1))
    values = np.maximum(values, 0.0)
    if n <= p:
        vectors = A.T @ (vectors / np.sqrt(np.where(values > 0, values, 1.0)))
    rest = np.sum(A**2, axis=0) - vectors**2 @ values
    return Components(values, vectors, np.maximum(rest, 0.0))


def exceeding_noise(variances: Values, columns: int, rows: float) -> int:
    """The number of variances, in units of the noise, that noise alone would not give.

    Those of the sample covariance of noise are at most (1 + √(p / n))² (Marchenko and Pastur).
    """
    return int(np.sum(variances > (1 + np.sqrt(columns / rows)) ** 2))


@dataclass(frozen=True, eq=False)
class FactorNormal:
    """The mean of the rows, the loadings of factors, and the noise variance of each column."""

    mean: Values
    loadings: Values  # (p, k)
    noise: Values
    most: int = 0  # factors, if their number is known; otherwise zero

    @classmethod
    def of_low_rank(cls, left: Values, right: Values, noise: Values) -> FactorNormal:
        """The distribution of the rows of a matrix of low rank, (n, r) and (p, r).

        ``noise`` are the deviations of the columns. The mean may have taken one of the dimensions.
        """
        mean, rows, columns = left.mean(axis=0), len(left), len(right)
        _, sizes, axes = np.linalg.svd((left - mean) / math.sqrt(rows), full_matrices=False)
        loadings = right @ (axes.T * sizes) / noise[:, None]
        vectors, sizes, _ = np.linalg.svd(loadings, full_matrices=False)
        count = max(exceeding_noise(sizes**2, columns, rows), 1)
        loadings = noise[:, None] * vectors[:, :count] * sizes[:count]
        return cls(right @ mean, loadings, noise**2, count)

    @property
    def covariance(self) -> Values:
        """The covariance as a matrix, which may be large."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self.noise))

    @property
    def dimensions(self) -> int:
        """The number of factors, and one for the mean."""
        return int(self.loadings.shape[1]) + 1

    @property
    def variances(self) -> Values:
        """The variance of each column."""
        return np.asarray(np.sum(self.loadings**2, axis=1) + self.noise)

    @property
    def conditional_variances(self) -> Values:
        """The variance of each column given all others."""
        used = np.ones((1, len(self.mean)), bool)
        return np.asarray(self.given(self.mean[None], used).variance()[0])

    def times(self, vectors: Values) -> Values:
        """Row vectors times the covariance."""
        return np.asarray((vectors @ self.loadings) @ self.loadings.T + vectors * self.noise)

    def full(self) -> Normal:
        """The same distribution with its covariance as a matrix."""
        return Normal(self.mean, self.covariance)

    def with_mean(self, mean: Values) -> FactorNormal:
        """The same distribution about another mean."""
        return replace(self, mean=mean)

    def change(self, after: HasCovariance) -> float:
        """The largest change of a noise variance, and of the covariances of some of the columns.

        They are in deviations of the columns; or relative to the noise, if the number of factors is
        known, because the noise may be small then.
        """
        if not isinstance(after, FactorNormal):
            return math.inf
        some = np.arange(0, len(self.mean), -(-len(self.mean) // _COMPARED))
        deviations = np.sqrt(after.variances)
        before, now = (one.loadings[some] @ one.loadings.T for one in (self, after))
        difference = np.abs(now - before) / np.outer(deviations[some], deviations)
        noise = np.abs(after.noise - self.noise) / (after.noise if self.most else deviations**2)
        return float(max(difference.max(initial=0.0), noise.max(initial=0.0)))

    def in_units_of(self, noise: Values) -> Values:
        """The largest eigenvalues if the columns are divided by deviations of noise."""
        sizes = np.linalg.svd(self.loadings / np.sqrt(noise)[:, None], compute_uv=False)
        return np.asarray(sizes**2 + 1)

    def axes(self, count: int) -> tuple[Values, Values]:
        """The eigenvectors of the covariance with the largest eigenvalues, (count, p), and these.

        Their largest entries are positive.
        """
        size = len(self.mean)
        operator = LinearOperator(
            (size, size), matvec=lambda vector: self.times(vector.reshape(-1)), dtype=float
        )
        values, vectors = eigsh(operator, k=count, v0=np.ones(size))
        return with_signs(vectors.T[::-1]), np.asarray(values[::-1])

    def random(self, rows: int, rng: np.random.Generator) -> Values:
        """Random rows."""
        scores = rng.standard_normal((rows, self.loadings.shape[1]))
        noise = np.sqrt(self.noise) * rng.standard_normal((rows, len(self.mean)))
        return np.asarray(self.mean + scores @ self.loadings.T + noise)

    def drawn(self, rows: float, weight: float, rng: np.random.Generator) -> FactorNormal:
        """A distribution from the posterior, approximately, given the weight of rows and prior.

        Loadings are regression coefficients of the columns on scores, which the rows determine.
        """
        total, size = rows + weight, self.loadings.shape[1]
        scores = np.tril(rng.standard_normal((size, size)), -1)
        scores += np.diag(np.sqrt(rng.chisquare(total + size - np.arange(size))))
        errors = np.sqrt(self.noise / total)[:, None] * rng.standard_normal(self.loadings.shape)
        noise = self.noise * total / rng.chisquare(total, len(self.noise))
        loadings = self.loadings @ scores / np.sqrt(total + size) + errors
        shift = FactorNormal(np.zeros_like(self.mean), loadings, noise).random(1, rng)[0]
        return replace(self, mean=self.mean + shift / np.sqrt(rows), loadings=loadings, noise=noise)

    def given(
        self,
        table: Values,
        used: Mask,
        weights: Values | None = None,
        like: Given | None = None,
    ) -> Given:
        """What the used cells of each row say about its cells.

        ``weights`` are those of the rows in ``unknown``, which has the variances only. The
        variances, which take most of the time, can be about those of the same rows in another
        answer, ``like``, in which more cells are used.
        """
        deviation, F = np.sqrt(self.noise), self._in_noise
        centered = np.where(used, table - self.mean, 0.0) / deviation
        shares, scores = np.zeros(table.shape), centered @ F
        if like is not None:
            shares = np.where(
                like.used, 1 - like.diagonal * self.noise, like.unused_variance / self.noise - 1
            )
        log_determinant = -np.sum(np.where(used, np.log(self.noise), 0.0), axis=1)
        size = max(_BLOCK // F.shape[1] ** 2, 1)
        for first in range(0, len(table), size):
            rows = slice(first, first + size)
            gram = self._gram(used[rows])
            log_determinant[rows] -= np.linalg.slogdet(gram)[1]
            covariance = np.asarray(np.linalg.inv(gram))
            scores[rows] = (covariance @ scores[rows][:, :, None])[:, :, 0]
            if like is None:
                shares[rows] = self._squares(covariance)
        a = np.where(used, centered - scores @ F.T, 0.0) / deviation
        diagonal = np.where(used, np.maximum(1 - shares, ROUNDING) / self.noise, 0.0)
        variance = np.where(used, 0.0, self.noise * (1 + shares))
        total = variance.sum(axis=0) if weights is None else weights @ variance
        return Given(self, table, used, a, diagonal, variance, log_determinant, total)

    @cached_property
    def _in_noise(self) -> Values:
        return np.asarray(self.loadings / np.sqrt(self.noise)[:, None])

    def _squares(self, covariance: Values) -> Values:
        """What the uncertainty of the scores adds to each cell of rows, in units of the noise."""
        a, b = np.triu_indices(covariance.shape[1])
        twice = np.where(a == b, 1.0, 2.0)
        return np.asarray((twice * covariance[:, a, b]) @ self._products.T)

    @cached_property
    def _products(self) -> Values:
        """The products of pairs of loadings of each column."""
        a, b = np.triu_indices(self.loadings.shape[1])
        return self._in_noise[:, a] * self._in_noise[:, b]

    def _gram(self, used: Mask) -> Values:
        """The identity and F_Oᵀ F_O for each row, from its used or its unused cells."""
        F, count = self._in_noise, used.sum(axis=1)
        one = np.eye(F.shape[1])
        whole = one + F.T @ F
        grams = np.empty((len(used), *one.shape))
        for row, (own, cells) in enumerate(zip(used, count, strict=True)):
            if 2 * cells > len(F):
                part = F[~own]
                grams[row] = whole - part.T @ part
            else:
                part = F[own]
                grams[row] = one + part.T @ part
        return grams


Distribution = Normal | FactorNormal
