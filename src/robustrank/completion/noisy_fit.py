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

import numpy as np

from robustrank.backend import Array, epsilon, inverse_positive_definite, like, namespace, tiny
from robustrank.completion.refinement import CUTOFF, narrowed
from robustrank.completion.ridge_path import NEGLIGIBLE
from robustrank.completion.sample import MANY, Sample, robust_deviation
from robustrank.completion.watch import Watch
from robustrank.linalg import LEVERAGE_LIMIT, ROUNDINGS, Factors, point_of
from robustrank.noise import EQUAL, NoiseModel
from robustrank.noise_choice import ROUNDS, Residuals

_FEWEST_INLIERS = 0.5

Variances = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class NoisyFit:
    """Factors with their uncertainty, and the distribution of the noise and of the outliers."""

    left: Array  # P, the matrix is P Qᵀ
    right: Array  # Q
    left_covariances: Array  # of each row of P, (n1, r, r)
    right_covariances: Array
    weights: Array  # the probability that each entry is an inlier, in the order of the rows
    sizes: Array  # of the noise of each entry, relative to that of a typical one
    noise: float  # standard deviation
    inliers: float  # share
    outlier_deviation: float
    model: NoiseModel = EQUAL

    @property
    def factors(self) -> Factors:
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

        def density(share: float, deviation: Array | float) -> Array:
            return share * xp.exp(-((residual / deviation) ** 2) / 2) / deviation

        good = density(self.inliers, self.noise * self.sizes)
        bad = density(1 - self.inliers, self.outlier_deviation)
        densities = xp.log(good + bad + tiny(residual))
        for factor, covariances in (
            (self.left, self.left_covariances),
            (self.right, self.right_covariances),
        ):
            prior = xp.sum(xp.log(_variances(factor, covariances, self.noise)))
            posterior = xp.linalg.slogdet(covariances)[1]
            learned += float(xp.sum(prior - posterior)) / 2
        return float(xp.sum(densities)) - learned - self.model.learned(sample.conditions)

    def restricted(self, kept: Array) -> NoisyFit:
        """The fit beside some of the entries, boolean, that it was fitted to."""
        return replace(self, weights=self.weights[kept], sizes=self.sizes[kept])

    def residuals(self, sample: Sample) -> Residuals:
        """What the fit leaves of the entries that it was fitted to."""
        return self.residuals_given(sample, self.variances_of_predictions(sample))

    def residuals_given(self, sample: Sample, variances: Variances) -> Residuals:
        """The same, given ``variances_of_predictions``."""
        residual, xp = sample.residual(*self.factors), namespace(self.left)
        precision = self.weights / (self.noise * self.sizes) ** 2
        of_row, of_column, _ = variances
        # The leverages of an entry in the fits of its row and of its column.
        own = (xp.clip(precision * one, max=LEVERAGE_LIMIT) for one in (of_row, of_column))
        left = (1 - next(own)) * (1 - next(own))
        prediction, typical = sample.row_values - residual, sample.deviation
        return Residuals(residual, left, prediction, sample.conditions, self.model, typical)

    def variances_of_predictions(self, sample: Sample) -> Variances:
        """How uncertain the factors leave the prediction of each entry of a sample.

        The variance is the sum of three: due to the row of P, to the row of Q, and to both.
        """
        at, xp = sample.by_rows, namespace(self.left)
        p, q = xp.take(self.left, at.owners, axis=0), xp.take(self.right, at.others, axis=0)
        left = xp.take(self.left_covariances, at.owners, axis=0)
        right = xp.take(self.right_covariances, at.others, axis=0)
        return (
            xp.sum(q[:, :, None] * left * q[:, None, :], axis=(1, 2)),
            xp.sum(p[:, :, None] * right * p[:, None, :], axis=(1, 2)),
            xp.sum(left * right, axis=(1, 2)),
        )


def empirical_bayes(
    sample: Sample,
    factors: Factors,
    watch: Watch,
    model: NoiseModel = EQUAL,
    sweeps: int = 100,
    tolerance: float = 0.01,
) -> NoisyFit:
    """The fit by alternating updates of the rows, the columns and the distributions.

    Parameters
    ----------
    sample, factors, watch
        The entries, factors that are roughly right, and what the progress is reported to.
    model
        What the size of the noise depends on.
    sweeps
        The largest number of updates.
    tolerance
        Stop when a typical predicted entry changes by less than this, in units of the noise.
    """
    fit = _start(sample, factors, model)
    predicted = sample.by_rows.dot(*fit.factors)
    for sweep in range(sweeps):
        fit = _without_empty_columns(_swept(sample, fit))
        previous, predicted = predicted, sample.by_rows.dot(*fit.factors)
        watch.report((sweep + 1) / sweeps, *fit.factors)
        if robust_deviation((predicted - previous) / fit.sizes) < tolerance * fit.noise:
            break
    return fit


def _start(sample: Sample, factors: Factors, model: NoiseModel) -> NoisyFit:
    P, Q = point_of(*factors).balanced
    xp, r = namespace(P), int(P.shape[1])
    sizes = model.sizes(sample.by_rows.dot(P, Q), sample.conditions)
    noise = max(robust_deviation(sample.residual(P, Q) / sizes), sample.tolerance)
    return NoisyFit(
        left=P,
        right=Q,
        left_covariances=xp.zeros((P.shape[0], r, r), **like(P)),
        right_covariances=xp.zeros((Q.shape[0], r, r), **like(Q)),
        weights=xp.ones_like(sample.row_values),
        sizes=sizes,
        noise=noise,
        inliers=0.9,
        outlier_deviation=max(sample.deviation, CUTOFF * noise),
        model=model,
    )


def _swept(sample: Sample, fit: NoisyFit) -> NoisyFit:
    """The fit after one update of everything."""
    xp = namespace(fit.left)
    probabilities = _probabilities(fit, sample)
    weights, column_weights = sample.in_both_orders(probabilities / fit.sizes**2)
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
    total = max(float(xp.sum(probabilities)), 1.0)
    noise = math.sqrt(max(float(xp.sum(weights * residual**2) + expected), 0.0) / total)
    outlying = 1 - probabilities
    spread = float(xp.sum(outlying * residual**2)) / max(float(xp.sum(outlying)), 1.0)
    noise = max(noise, epsilon(P) * sample.deviation)
    return replace(
        fit,
        left=P,
        right=Q,
        left_covariances=left_covariances,
        right_covariances=right_covariances,
        weights=probabilities,
        sizes=fit.model.sizes(sample.by_rows.dot(P, Q), sample.conditions),
        noise=noise,
        inliers=max(total / (sample.size + 1), _FEWEST_INLIERS),
        outlier_deviation=max(math.sqrt(spread), CUTOFF * noise),
    )


def _probabilities(fit: NoisyFit, sample: Sample) -> Array:
    """The probability of each entry to be an inlier.

    If the sizes of the noise differ, the fit follows an entry with little noise most closely: then
    each entry is compared with what the others predict.
    """
    xp, variance = namespace(fit.left), (fit.noise * fit.sizes) ** 2
    errors, uncertain = sample.residual(*fit.factors), xp.zeros_like(fit.sizes)
    if fit.model != EQUAL:
        variances = fit.variances_of_predictions(sample)
        given = fit.residuals_given(sample, variances)
        errors = given.residual / given.left
        uncertain = sum(variances) / given.left

    def log_density(share: float, variance: Array | float) -> Array:
        total = variance + uncertain
        return math.log(share) - (xp.log(total) + errors**2 / total) / 2

    odds = log_density(1 - fit.inliers, fit.outlier_deviation**2)
    odds = odds - log_density(fit.inliers, variance)
    return (1 - xp.tanh(odds / 2)) / 2


def _variances(factor: Array, covariances: Array, noise: float) -> Array:
    """The variance of each column of a factor, positive also if the data supports none of them."""
    xp, r = namespace(factor), factor.shape[1]
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
    rounding = ROUNDINGS * epsilon(Q) * float(xp.max(abs(moments)))
    ridge = xp.eye(r, **like(Q)) * (noise**2 / variances + rounding)
    inverse = inverse_positive_definite(moments + ridge)
    right = sample.by_rows.sums(weights * sample.row_values, Q)
    return (inverse @ right[..., None])[..., 0], noise**2 * inverse, moments


def _without_empty_columns(fit: NoisyFit) -> NoisyFit:
    """The fit without the columns that contribute almost nothing, at least one left."""
    xp = namespace(fit.left)
    norm, take = xp.linalg.vector_norm, xp.take
    sizes = norm(fit.left, axis=0) * norm(fit.right, axis=0)
    kept = xp.nonzero(sizes >= NEGLIGIBLE * xp.max(sizes))[0]
    if kept.shape[0] == fit.rank:
        return fit

    return replace(
        fit,
        left=take(fit.left, kept, axis=1),
        right=take(fit.right, kept, axis=1),
        left_covariances=take(take(fit.left_covariances, kept, axis=1), kept, axis=2),
        right_covariances=take(take(fit.right_covariances, kept, axis=1), kept, axis=2),
    )


def with_noise_model(
    sample: Sample, fit: NoisyFit, watch: Watch, rng: np.random.Generator
) -> NoisyFit:
    """The fit with the noise model that its residuals support, if that has more evidence.

    The residuals at one fit support a model, and the fit with that model others. Some entries of
    each row and column tell the size of its noise.
    """
    best, evidence = fit, fit.evidence(sample)
    part, kept = sample.thinned(MANY, rng)
    for _ in range(ROUNDS):
        model = fit.restricted(kept).residuals(part).chosen()
        if model.is_near(fit.model):
            break
        sizes = model.sizes(sample.by_rows.dot(*fit.factors), sample.conditions)
        width = 2 * robust_deviation(sample.residual(*fit.factors) / sizes)
        if not width > sample.tolerance:
            break  # most entries are fitted up to rounding
        near = narrowed(sample, fit.factors, width, watch, sizes)
        fit = empirical_bayes(sample, near.factors, watch, model)
        if (found := fit.evidence(sample)) > evidence:
            best, evidence = fit, found
    return best
