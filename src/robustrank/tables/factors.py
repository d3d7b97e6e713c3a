"""A normal distribution of rows with many columns: a few factors, and noise of each column.

The covariance is L Lᵀ + D with loadings L of k columns and a diagonal D, so that nothing of the
size p × p is needed. With the columns of L in units of the noise, F = D^(-1/2) L, the scores of a
row given its used cells O have the covariance C = (I + F_Oᵀ F_O)⁻¹, and

    B = D^(-1/2) (I - F C Fᵀ) D^(-1/2) among the used cells.

A row from which the loadings were estimated explains itself: the covariance without it is
L (I - t tᵀ) Lᵀ + D, if the loadings are components of a table of which t is the row's share.

See ``normal`` for what follows from B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from robustrank.tables.normal import ROUNDING, Given, Normal, with_signs
from robustrank.tables.units import Mask, Values

MANY = 200  # columns; with more, a covariance of all pairs takes long
_WORK = 4e9  # multiplications for the factors of the rows of a table, which limit their number
_BLOCK = 1_000_000  # numbers in the largest array of a block of rows, so that caches hold it
_LEAST = 1e-6  # share of a variance that something else has to leave, up to rounding
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


def largest(A: Values, most: int = 0, near: Values | None = None) -> Components:
    """The components of a matrix, (n, p): all but one if that is not much work.

    If ``most`` is positive, they are not more than that. If they are few, those of a similar
    matrix, ``near``, are improved by two steps of subspace iteration instead.
    """
    (n, p), count = A.shape, min(_most_factors(A), most or A.size)
    if near is not None and near.shape[1] == count and 2 * count < min(n, p):
        basis = near
        for _ in range(2):
            basis = np.linalg.qr(A.T @ (A @ basis))[0]
        _, sizes, axes = np.linalg.svd(A @ basis, full_matrices=False)
        values, vectors = sizes[::-1] ** 2, basis @ axes[::-1].T
        return Components(values, vectors, _rest(A, values, vectors))
    gram = A @ A.T if n <= p else A.T @ A
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(size - count, size - 1))
    values = np.maximum(values, 0.0)
    if n <= p:
        vectors = A.T @ (vectors / np.sqrt(np.where(values > 0, values, 1.0)))
    return Components(values, vectors, _rest(A, values, vectors))


def _rest(A: Values, values: Values, vectors: Values) -> Values:
    return np.asarray(np.maximum(np.sum(A**2, axis=0) - vectors**2 @ values, 0.0))


def edge_of_noise(columns: int, rows: float) -> float:
    """The largest eigenvalue of the sample covariance of noise: (1 + √(p / n))².

    It is that of many columns and rows (Marchenko and Pastur).
    """
    return (1 + math.sqrt(columns / rows)) ** 2


@dataclass(frozen=True, eq=False)
class FactorNormal:
    """The mean of the rows, the loadings of factors, and the noise variance of each column."""

    mean: Values
    loadings: Values  # (p, k)
    noise: Values
    most: int = 0  # factors, if their number is known; otherwise zero

    @classmethod
    def of(cls, normal: Distribution, count: int) -> FactorNormal:
        """The given number of principal components of a distribution; the rest is noise."""
        axes, variances = normal.axes(count)
        loadings = axes.T * np.sqrt(variances)
        rest = normal.variances - np.sum(loadings**2, axis=1)
        return cls(normal.mean, loadings, np.maximum(rest, _LEAST * normal.variances), count)

    @property
    def covariance(self) -> Values:
        """The covariance as a matrix, which may be large."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self.noise))

    @property
    def dimensions(self) -> int:
        """The number of its dimensions without noise, if it is known."""
        return self.most + 1 if self.most else len(self.mean)

    @property
    def variances(self) -> Values:
        """The variance of each column."""
        return np.asarray(np.sum(self.loadings**2, axis=1) + self.noise)

    @property
    def conditional_variances(self) -> Values:
        """The variance of each column given all others."""
        used = np.ones((1, len(self.mean)), bool)
        return np.asarray(self.given(self.mean[None], used).variance()[0])

    def full(self) -> Normal:
        """The same distribution with its covariance as a matrix."""
        return Normal(self.mean, self.covariance)

    def with_mean(self, mean: Values) -> FactorNormal:
        """The same distribution about another mean."""
        return replace(self, mean=mean)

    def change(self, after: object) -> float:
        """The usual change of the noise variances, and of the covariances of some of the columns.

        They are in deviations of the columns; or relative to the noise, if the number of factors is
        known, because the noise may be small then. The largest change would be that of a factor
        that is noise, which says nothing.
        """
        if not isinstance(after, FactorNormal):
            return math.inf
        some = np.arange(0, len(self.mean), -(-len(self.mean) // _COMPARED))
        deviations = np.sqrt(after.variances)
        before, now = (one.loadings[some] @ one.loadings[some].T for one in (self, after))
        difference = (now - before) / np.outer(deviations[some], deviations[some])
        noise = (after.noise - self.noise) / (after.noise if self.most else deviations**2)
        return math.sqrt(max(np.mean(difference**2), np.mean(noise**2)))

    def in_units_of(self, noise: Values) -> Values:
        """The largest eigenvalues if the columns are divided by deviations of noise."""
        sizes = np.linalg.svd(self.loadings / np.sqrt(noise)[:, None], compute_uv=False)
        return np.asarray(sizes**2 + 1)

    def axes(self, count: int) -> tuple[Values, Values]:
        """The eigenvectors of the covariance with the largest eigenvalues, (count, p), and these.

        Their largest entries are positive.
        """
        size = len(self.mean)

        def times(vector: Values) -> Values:
            flat = vector.reshape(-1)
            return np.asarray(self.loadings @ (flat @ self.loadings) + flat * self.noise)

        operator = LinearOperator((size, size), matvec=times, dtype=float)
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

    def blocks(self, rows: int) -> Iterator[slice]:
        """The given number of rows in blocks that fit into caches."""
        size = max(_BLOCK // max(self.loadings.shape[1] ** 2, len(self.mean)), 1)
        for first in range(0, max(rows, 1), size):
            yield slice(first, first + size)

    def shares(self, rows: Values, total: float) -> Values:
        """The share t of each row in the factors that were estimated from these, (n, k).

        The rows are completed and centered, and have the weight ``total`` with the prior.
        """
        sizes = np.sqrt(self.variances)
        axes = self.loadings / sizes[:, None]
        lengths = np.sum(axes**2, axis=0)
        return np.asarray(rows / sizes @ axes / np.where(lengths > 0, lengths, 1.0) / total**0.5)

    def given(self, table: Values, used: Mask, shares: Values | None = None) -> Given:
        """What the used cells of each row say about its cells.

        With the ``shares`` of the rows in the factors, each row is left out of the covariance from
        which its cells are predicted.
        """
        parts = [
            self._given(table[rows], used[rows], None if shares is None else shares[rows])
            for rows in self.blocks(len(table))
        ]
        return Given.joined(parts) if len(parts) > 1 else parts[0]

    def _given(self, table: Values, used: Mask, own: Values | None) -> Given:
        deviation, F = np.sqrt(self.noise), self._in_noise
        centered = np.where(used, table - self.mean, 0.0) / deviation
        gram = self._gram(used) if own is None else self._gram(used) + _left_out(own)
        log_determinant = used @ np.log(1 / self.noise) - np.linalg.slogdet(gram)[1]
        covariance = np.asarray(np.linalg.inv(gram))
        scores = (covariance @ (centered @ F)[:, :, None])[:, :, 0]
        shares = self._squares(covariance)
        fitted = scores @ F.T
        completed = np.where(used, table, self.mean + deviation * fitted)
        a = np.where(used, centered - fitted, 0.0) / deviation
        diagonal = np.where(used, np.maximum(1 - shares, ROUNDING) / self.noise, 0.0)
        variance = np.where(used, 0.0, self.noise * (1 + shares))
        return Given(self.mean, table, used, completed, a, diagonal, variance, log_determinant)

    def unknown(self, given: Given, weights: Values | None = None) -> Values:
        """The (weighted) sum over the rows of the variances of their unused cells, (p,)."""
        variances = given.unused_variance
        return np.asarray(variances.sum(axis=0) if weights is None else weights @ variances)

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
        if self.most:  # few; all products at once take less time than a loop over the rows
            return one + (used @ (F[:, :, None] * F[:, None, :]).reshape(len(F), -1)).reshape(
                -1, *one.shape
            )
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


def _left_out(shares: Values) -> Values:
    """What is added to the precision of the scores of rows that are left out, (n, k, k)."""
    rest = np.maximum(1 - np.sum(shares**2, axis=1), _LEAST)
    scaled = shares / np.sqrt(rest)[:, None]
    return np.asarray(scaled[:, :, None] * scaled[:, None, :])


Distribution = Normal | FactorNormal
