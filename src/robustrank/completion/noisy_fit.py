"""The fit in the presence of noise: regularization, noise and outliers estimated from the data.

Each row of the factors is normal with a variance for each column of the factors; a value is the
product of the factors plus normal noise, or an outlier with a normal distribution of its own. The
posterior of the factors is approximated by one that is independent between rows, and everything
else is estimated by maximizing the evidence. This is empirical Bayes by variational inference: the
variances act as a ridge that vanishes where the data is exact, and a column that the data does not
support gets the variance zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from robustrank.backend import Array, epsilon, inverse_positive_definite, like, namespace, tiny
from robustrank.completion.sample import Sample, robust_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import ROUNDINGS, point_of

_FEWEST_INLIERS, _MOST_INLIERS = 0.5, 0.999
_WIDER = 3.0  # the least deviation of outliers, relative to that of the noise
_NEGLIGIBLE = 1e-3  # a column whose share of the matrix is smaller is removed


@dataclass(frozen=True, eq=False)
class NoisyFit:
    """Factors with their uncertainty, and the distribution of the noise and of the outliers."""

    left: Array  # P, the matrix is P Qᵀ
    right: Array  # Q
    left_covariances: Array  # of each row of P, (n1, r, r)
    right_covariances: Array
    weights: Array  # the probability that each entry is an inlier, in the order of the rows
    noise: float  # standard deviation
    inliers: float  # share
    outlier_deviation: float
    change: float  # of the predicted entries in the last sweep, relative to the noise

    @property
    def factors(self) -> tuple[Array, Array]:
        """P and Q."""
        return self.left, self.right

    @property
    def rank(self) -> int:
        """The number of columns of the factors."""
        return int(self.left.shape[1])

    def evidence(self, sample: Sample) -> float:
        """The logarithm of the likelihood, less what the factors have learned from the data.

        That is log(prior deviation / posterior deviation) for each of their entries, the distance
        between the two distributions if the variance of the prior is estimated.
        """
        residual = sample.residual(*self.factors)
        xp, learned = namespace(residual), 0.0

        def density(share: float, deviation: float) -> Array:
            return share * xp.exp(-((residual / deviation) ** 2) / 2) / deviation

        good = density(self.inliers, self.noise)
        bad = density(1 - self.inliers, self.outlier_deviation)
        densities = xp.log(good + bad + tiny(residual))
        for factor, covariances in (
            (self.left, self.left_covariances),
            (self.right, self.right_covariances),
        ):
            prior = xp.sum(xp.log(_variances(factor, covariances, self.noise)))
            posterior = xp.linalg.slogdet(covariances)[1]
            learned += float(xp.sum(prior - posterior)) / 2
        return float(xp.sum(densities)) - learned


@dataclass(frozen=True)
class EmpiricalBayes:
    """Alternating updates of the rows, the columns and the distributions.

    Parameters
    ----------
    sweeps
        The largest number of updates.
    tolerance
        Stop when a typical predicted entry changes by less than this, in units of the noise.
    """

    sweeps: int = 100
    tolerance: float = 0.01

    def run(
        self,
        sample: Sample,
        factors: tuple[Array, Array],
        watch: Watch,
    ) -> NoisyFit:
        """The fit after convergence, from factors that are roughly right."""
        fit = self._start(sample, factors)
        predicted = sample.by_rows.dot(*fit.factors)
        for sweep in range(self.sweeps):
            fit = _without_empty_columns(_swept(sample, fit))
            previous, predicted = predicted, sample.by_rows.dot(*fit.factors)
            change = robust_deviation(predicted - previous) / fit.noise
            fit = replace(fit, change=change)
            watch.report((sweep + 1) / self.sweeps, *fit.factors)
            if change < self.tolerance:
                break
        return fit

    @staticmethod
    def _start(sample: Sample, factors: tuple[Array, Array]) -> NoisyFit:
        point = point_of(*factors)
        xp, r = namespace(point.left), int(point.values.shape[0])
        P, Q = point.balanced
        noise = max(robust_deviation(sample.residual(P, Q)), sample.tolerance)
        return NoisyFit(
            left=P,
            right=Q,
            left_covariances=xp.zeros((P.shape[0], r, r), **like(P)),
            right_covariances=xp.zeros((Q.shape[0], r, r), **like(Q)),
            weights=xp.ones_like(sample.row_values),
            noise=noise,
            inliers=0.9,
            outlier_deviation=max(sample.deviation, _WIDER * noise),
            change=math.inf,
        )


def _swept(sample: Sample, fit: NoisyFit) -> NoisyFit:
    """The fit after one update of everything."""
    xp = namespace(fit.left)
    fit = _with_weights(fit, sample.residual(*fit.factors))
    weights, column_weights = sample.in_both_orders(fit.weights)
    left_variances = _variances(fit.left, fit.left_covariances, fit.noise)
    right_variances = _variances(fit.right, fit.right_covariances, fit.noise)
    P, left_covariances, _ = _posterior(
        sample, weights, fit.right, fit.right_covariances, fit.noise, left_variances
    )
    Q, right_covariances, moments = _posterior(
        sample.transposed, column_weights, P, left_covariances, fit.noise, right_variances
    )
    residual = sample.residual(P, Q)
    # The expected square of a residual has a part from the uncertainty of both factors: with
    # Σ w E[p pᵀ] for every column, its sum is a trace, without the entries one by one.
    outer = Q[:, :, None] * Q[:, None, :]
    certain = sample.by_columns.normal_matrices(column_weights, P)
    expected = xp.sum(moments * (outer + right_covariances)) - xp.sum(certain * outer)
    total = max(float(xp.sum(weights)), 1.0)
    noise = math.sqrt(max(float(xp.sum(weights * residual**2) + expected), 0.0) / total)
    outlying = 1 - fit.weights
    spread = float(xp.sum(outlying * residual**2)) / max(float(xp.sum(outlying)), 1.0)
    noise = max(noise, epsilon(P) * sample.deviation)
    return replace(
        fit,
        left=P,
        right=Q,
        left_covariances=left_covariances,
        right_covariances=right_covariances,
        noise=noise,
        inliers=min(max(total / sample.size, _FEWEST_INLIERS), _MOST_INLIERS),
        outlier_deviation=max(math.sqrt(spread), _WIDER * noise),
    )


def _with_weights(fit: NoisyFit, residual: Array) -> NoisyFit:
    """The fit with the probability of each entry to be an inlier."""
    xp = namespace(residual)

    def log_density(share: float, deviation: float) -> Array:
        return math.log(share / deviation) - residual**2 / (2 * deviation**2)

    odds = log_density(1 - fit.inliers, fit.outlier_deviation) - log_density(fit.inliers, fit.noise)
    return replace(fit, weights=(1 - xp.tanh(odds / 2)) / 2)


def _variances(factor: Array, covariances: Array, noise: float) -> Array:
    """The variance of each column of a factor, positive also if the data supports none of them."""
    xp = namespace(factor)
    r = factor.shape[1]
    uncertain = xp.sum(xp.sum(covariances, axis=0) * xp.eye(r, **like(factor)), axis=1)
    variances = (xp.sum(factor**2, axis=0) + uncertain) / factor.shape[0]
    return xp.maximum(variances, epsilon(factor) * (xp.max(variances) + noise))


def _posterior(
    sample: Sample, weights: Array, Q: Array, covariances: Array, noise: float, variances: Array
) -> tuple[Array, Array, Array]:
    """The mean and covariance of each row of P, given those of Q; and Σ w E[q qᵀ]."""
    xp, r = namespace(Q), Q.shape[1]
    second = xp.reshape(Q[:, :, None] * Q[:, None, :] + covariances, (-1, r * r))
    moments = xp.reshape(sample.by_rows.sums(weights, second), (-1, r, r))
    eye = xp.eye(r, **like(Q))
    largest = float(xp.max(xp.abs(moments)))
    rounding = ROUNDINGS * epsilon(Q) * largest
    ridge = eye * (noise**2 / variances)[:, None] + rounding * eye
    inverse = inverse_positive_definite(moments + ridge)
    right = sample.by_rows.sums(weights * sample.row_values, Q)
    return (inverse @ right[..., None])[..., 0], noise**2 * inverse, moments


def _without_empty_columns(fit: NoisyFit) -> NoisyFit:
    """The fit without the columns that contribute almost nothing, at least one left."""
    xp = namespace(fit.left)
    norm = xp.linalg.vector_norm
    sizes = norm(fit.left, axis=0) * norm(fit.right, axis=0)
    kept = xp.nonzero(sizes >= _NEGLIGIBLE * xp.max(sizes))[0]
    if kept.shape[0] == fit.rank:
        return fit

    def block(covariances: Array) -> Array:
        return xp.take(xp.take(covariances, kept, axis=1), kept, axis=2)

    return replace(
        fit,
        left=xp.take(fit.left, kept, axis=1),
        right=xp.take(fit.right, kept, axis=1),
        left_covariances=block(fit.left_covariances),
        right_covariances=block(fit.right_covariances),
    )
