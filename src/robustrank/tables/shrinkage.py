"""How much of a covariance to take from the sample, by predictions of left-out rows.

The covariance has an inverse Wishart prior around the diagonal of the sample covariance, with the
weight of ν rows. Its mean given n rows with the scatter matrix A is (A + ν diag(A) / n) / (n + ν).
ν maximizes the density of the rows, each given all others (Hoffbeck & Landgrebe, 1996). It is
small if columns are strongly correlated or rows are many, and large if the correlations could be
chance.

What a row says is also repeated by the missing cells of other rows, which were completed with its
help. So the uncertainty of missing cells counts as further rows that are left out with it.
Otherwise completed rows would explain each other exactly if they are fewer than the columns.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from robustrank.tables.factors import Components, Distribution, FactorNormal, largest
from robustrank.tables.normal import Normal
from robustrank.tables.units import Indices, Values

_WEIGHTS = 1e-5, 100.0  # the range of ν: absolutely, and for each row
_TRIED = 12  # values of ν between which a minimum is searched; there may be several
_LEAST = 1e-9  # what is left of one without the leverage of a row, up to rounding


def shrunk(
    before: Distribution, rows: Values, unknown: Values, least: Values, missing: Indices
) -> tuple[Distribution, float]:
    """The distribution of rows about zero, like one before, and the weight ν of its diagonal.

    ``rows`` are completed and centered. The sum of the covariances of their missing cells is
    ``unknown``, or the sum of the variances if the distribution is one of factors; each row
    contributes to it in proportion to the number of these cells, ``missing``. ``least`` is added to
    the sums of squares of the columns.
    """
    shares = missing / max(int(missing.sum()), 1)
    if isinstance(before, FactorNormal):
        return _shrunk_factors(before, rows, unknown + least, shares)
    count, columns = rows.shape
    unknown = (unknown + unknown.T) / 2 + np.diag(least)
    scatter = rows.T @ rows + unknown
    deviations = np.sqrt(np.diagonal(scatter) / count)
    correlations = scatter / np.outer(deviations, deviations)
    values, vectors = np.linalg.eigh(correlations)
    squares = (rows / deviations @ vectors) ** 2
    rest = np.einsum("jk,jk->k", vectors, unknown / np.outer(deviations, deviations) @ vectors)
    spectrum = Spectrum(np.maximum(values, 0.0), np.ones(columns), squares, np.outer(shares, rest))
    weight = spectrum.best_weight()
    np.fill_diagonal(correlations, np.diagonal(correlations) + weight)
    covariance = correlations * np.outer(deviations, deviations) / (count + weight)
    return Normal(np.zeros(columns), (covariance + covariance.T) / 2), weight


def _shrunk_factors(
    before: FactorNormal, rows: Values, unknown: Values, shares: Values
) -> tuple[FactorNormal, float]:
    """The same with the largest components of the rows; the rest is noise of each column.

    ``shares`` are those of the rows in the missing cells. The weight is that with all components,
    or the least one if the number of factors is known.
    """
    count, columns = rows.shape
    deviations = np.sqrt((np.sum(rows**2, axis=0) + unknown) / count)
    scaled, own = rows / deviations, unknown / deviations**2
    found = largest(scaled, before.most, before.loadings / deviations[:, None])
    weight = _WEIGHTS[0] if before.most else _spectrum(scaled, own, found, shares).best_weight()
    part = deviations**2 / (count + weight)
    loadings = np.sqrt(part)[:, None] * found.vectors * np.sqrt(found.values)
    noise = part * (found.rest + own + weight)
    return replace(before, mean=np.zeros(columns), loadings=loadings, noise=noise), weight


def _spectrum(rows: Values, unknown: Values, found: Components, shares: Values) -> Spectrum:
    """That of rows with their largest components, as if all other eigenvalues were equal."""
    squares, typical = (rows @ found.vectors) ** 2, unknown.mean()
    others = rows.shape[1] - len(found.values)
    values = np.append(found.values, found.rest.sum() / others) + typical
    times = np.append(np.ones(len(found.values)), others)
    rest = np.maximum(np.sum(rows**2, axis=1) - squares.sum(axis=1), 0.0)
    repeated = np.outer(shares, typical * times)
    return Spectrum(values, times, np.column_stack([squares, rest]), repeated)


class Spectrum(NamedTuple):
    """The eigenvalues of a scatter matrix, and what each row contributes to them.

    Equal eigenvalues are counted by ``times``. ``squares`` are those of the rows along their
    eigenvectors, ``repeated`` those of what missing cells repeat, (n, k).
    """

    values: Values
    times: Values
    squares: Values
    repeated: Values

    def best_weight(self) -> float:
        """The weight of the prior with the smallest loss."""

        def of(logarithm: float) -> float:
            return self.loss(math.exp(logarithm))

        least, most = math.log(_WEIGHTS[0]), math.log(_WEIGHTS[1] * len(self.squares))
        tried = np.linspace(least, most, _TRIED)
        best = int(np.argmin([of(logarithm) for logarithm in tried]))
        bounds = tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)]
        found = minimize_scalar(of, bounds=bounds, method="bounded", options={"xatol": 0.01})
        return math.exp(found.x)

    def loss(self, weight: float) -> float:
        """Minus twice the log density of all rows, each given the others, up to a constant.

        Without one row, the inverse of the scatter matrix follows from that with it by the
        leverage.
        """
        count, total = len(self.squares), len(self.squares) + weight - 1
        inverse = 1 / (self.values + weight)
        rest = 1 - np.minimum(self.squares @ inverse, 1.0)
        rest = np.maximum(rest / (1 + self.repeated @ inverse), _LEAST)
        determinant = float(self.times @ np.log((self.values + weight) / total))
        return count * determinant + float(np.sum(np.log(rest) + total * (1 - rest) / rest))
