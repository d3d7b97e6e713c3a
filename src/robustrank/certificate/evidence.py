"""How many measurements are fitted, what is the evidence, and do residuals look like noise?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.certificate.parts import Labels, Selection, Values
from robustrank.linalg import ROUNDINGS
from robustrank.problem import Problem

# Standard deviations of the noise; one in two million normal errors is larger.
CLEARLY = 5.0


class BestSet(NamedTuple):
    """The inliers with the most evidence; arrays have the leading axes of the residuals."""

    cutoff: Array  # inliers have |residual| / spread up to this
    evidence: Array
    deviation: Array  # the standard deviation of residual / spread among the inliers


def log_choices(total: Array, chosen: Array) -> Array:
    """The logarithm of the number of ways to choose some of ``total``, by Stirling's formula."""
    xp = namespace(total)
    tiny = float(xp.finfo(total.dtype).smallest_normal)
    share = xp.clip(chosen / xp.clip(total, min=1.0), min=0.0, max=1.0)
    entropy = -share * xp.log(share + tiny) - (1 - share) * xp.log(1 - share + tiny)
    spread = total * share * (1 - share)
    return total * entropy - 0.5 * xp.log(2 * math.pi * xp.clip(spread, min=1 / (2 * math.pi)))


def best_set(
    magnitudes: Array,
    spread: Array,
    null_deviation: Array,
    freedom: int,
    *,
    of_one_size: bool = True,
    shares: Array | float = 1.0,
) -> BestSet:
    """The set of inliers with the most evidence.

    The sets that are compared have the k smallest residuals, for each k that is a majority. N
    inliers fitted to a standard deviation of σ by d = ``freedom`` parameters have an evidence of
    (N − d) log(τ/σ), where τ is what the best trivial prediction leaves, minus the logarithm of the
    number of sets of N measurements. ``spread`` is the relative standard deviation of each
    measurement if it is an inlier. Measurements whose noise would exceed τ are not counted. If
    ``of_one_size``, the rejected measurements may have a common size, in proportion to their noise.
    A measurement counts as its share of one, such as the share of its noise that a fit leaves.
    Arrays are (…, m).
    """
    xp = namespace(magnitudes)
    null_deviation = xp.asarray(null_deviation, **like(magnitudes))[..., None]
    scaled = magnitudes / spread
    order = xp.argsort(scaled, axis=-1)
    ordered = xp.take_along_axis(scaled, order, axis=-1)
    relative = xp.take_along_axis(spread + xp.zeros_like(scaled), order, axis=-1)
    m = scaled.shape[-1]
    middle = ordered[..., (m - 1) // 2][..., None]
    informative = xp.astype(relative * middle < null_deviation, scaled.dtype)
    chosen = xp.cumulative_sum(informative, axis=-1)
    total = chosen[..., -1:]
    if not isinstance(shares, float):
        informative = informative * xp.take_along_axis(shares, order, axis=-1)
    count = xp.cumulative_sum(informative, axis=-1)
    # Infinite and huge residuals are never part of the best set.
    finite = xp.clip(ordered, max=float(xp.finfo(scaled.dtype).max) ** 0.25)
    squares = xp.cumulative_sum(informative * finite**2, axis=-1)
    beyond = count - freedom
    least = ROUNDINGS * float(xp.finfo(scaled.dtype).eps) * null_deviation
    deviation = xp.maximum(xp.sqrt(squares / xp.clip(beyond, min=1.0)), least)
    levels = xp.cumulative_sum(informative * xp.log(null_deviation / relative), axis=-1)
    gain = levels / xp.clip(count, min=1.0) - xp.log(deviation)
    evidence = beyond * gain - log_choices(total, chosen)
    if of_one_size:
        evidence = evidence + _of_rejected(squares, count, levels, deviation)
    eligible = (beyond > 0) & (2 * chosen > total) & (informative > 0)
    evidence = xp.where(eligible, evidence, xp.full_like(evidence, -math.inf))
    best = xp.argmax(evidence, axis=-1)[..., None]
    return BestSet(
        *(
            xp.take_along_axis(values, best, axis=-1)[..., 0]
            for values in (ordered, evidence, deviation)
        )
    )


def beyond_use(without: Array, magnitudes: Array, spread: Array) -> tuple[Array, Array]:
    """Residuals and sizes of noise with which some measurements count neither for nor against."""
    xp = namespace(spread)
    nothing = float(xp.finfo(spread.dtype).max) ** 0.25
    return (
        xp.where(without, xp.full_like(magnitudes, xp.inf), magnitudes),
        xp.where(without, xp.full_like(spread, nothing), spread),
    )


def _of_rejected(squares: Array, count: Array, levels: Array, deviation: Array) -> Array:
    """The evidence of outliers that are small: larger than the noise, but smaller than τ.

    It counts only if they are clearly larger than the residuals of inliers, relative to the noise:
    otherwise the tails of the noise would be rejected. All arguments but the last are cumulative.
    """
    xp = namespace(squares)
    rejected = count[..., -1:] - count
    size = xp.sqrt((squares[..., -1:] - squares) / xp.clip(rejected, min=1.0))
    counts = (rejected > 0) & (size > CLEARLY * deviation)
    size = xp.where(counts, size, xp.ones_like(size))
    gain = levels[..., -1:] - levels - rejected * xp.log(size)
    return xp.where(counts & (gain > 0), gain, xp.zeros_like(gain))


# A relative residual below this counts as an exact fit. First-order solvers stop well above
# rounding, at about 1e-8; residuals that are small by chance are far larger.
_SMALL = 5e-7
_EXACT_ROUNDINGS = 1000  # √10⁶, the rounding error of a sum of a million products, in epsilons
# Rounding leaves far less than the tolerance. If fewer than half of the residuals within it are
# below a tenth of it, they are noise. The same holds for a result that interpolates noisy data:
# it fits one measurement for each of its parameters up to rounding, and others by chance.
# Chance fits are as dense as the residuals between the tolerance and ten times it.
# A measurement beyond the degrees of freedom is fitted by chance with a probability of about the
# tolerance. Ten times the expected number of such fits, plus ten, does not occur: that is a Poisson
# probability below 1e-16, whatever the expected number is.
MARGIN = 10


def exact_tolerance(problem: Problem) -> float:
    """The largest residual of an exact fit, relative to a typical measurement."""
    return relative_tolerance(problem.epsilon)


def relative_tolerance(epsilon: float) -> float:
    """The same by the relative size of rounding errors."""
    return max(_SMALL, _EXACT_ROUNDINGS * epsilon)


def is_exact_fit(problem: Problem, residual: Array) -> Array:
    """Which measurements are fitted up to rounding, boolean of shape (m,)."""
    return exact_fits(residual, exact_tolerance(problem), problem.resolution)


def exact_fits(residual: Array, relative: float, typical: float) -> Array:
    """The same by the relative tolerance and the size of a typical measurement."""
    xp = namespace(residual)
    magnitudes, tolerance = xp.abs(residual), relative * typical
    within, below = magnitudes <= tolerance, magnitudes <= tolerance / MARGIN
    is_noise = 2 * xp.count_nonzero(below) < xp.count_nonzero(within)
    beyond = xp.count_nonzero(magnitudes <= MARGIN * tolerance) - xp.count_nonzero(within)
    # More chance fits than the margin of ``required_fits`` allows for, with one to spare.
    expected = 1 + relative * magnitudes.shape[0]
    is_noise = is_noise | (beyond > math.floor((MARGIN - 1) * expected))
    # Not ``~``: NumPy below 2.3 counts in integers of Python, and ~True of Python is -2.
    return within & (below | xp.logical_not(is_noise))


def required_fits(problem: Problem, measurements: int) -> int:
    """The number of exact fits among ``measurements`` that chance cannot explain, a majority."""
    return enough_fits(exact_tolerance(problem), measurements, problem.degrees_of_freedom)


def enough_fits(tolerance: float, measurements: int, freedom: int) -> int:
    """The same for a matrix with these degrees of freedom, and this relative tolerance."""
    by_chance = MARGIN + math.ceil(MARGIN * tolerance * measurements)
    return max(freedom + by_chance, measurements // 2 + 1)


def evidence_of(
    sizes: Values, null_deviation: float, measurements: int, freedom: int, epsilon: float
) -> float:
    """The log-likelihood of a fit up to noise, relative to that of a trivial prediction.

    ``sizes`` are the standard deviations of the noise of independent inliers, of which noise below
    ``epsilon`` counts as that, and ``null_deviation`` is what the trivial prediction leaves. The
    fit could have been chosen to fit the d most informative inliers; only the others are evidence.
    The freedom to choose which measurements to reject counts against the fit.
    """
    if len(sizes) <= freedom or not np.isfinite(sizes).all():
        return -math.inf
    least = float(np.finfo(float).tiny) + epsilon * null_deviation
    with np.errstate(divide="ignore"):
        gains = np.maximum(np.log(null_deviation / np.maximum(sizes, least)), 0.0)
    total, chosen = np.asarray([[measurements], [len(sizes)]], float)
    return float(np.sum(np.sort(gains)[:-freedom]) - log_choices(total, chosen)[0])


def prediction_error(noise: float, inliers: int, freedom: int) -> float:
    """The expected error for an unused measurement: generalized cross-validation."""
    beyond = inliers - freedom
    return noise * math.sqrt(inliers / beyond) if beyond > 0 else math.inf


# Of a standard normal statistic, one in two thousand is larger in absolute value.
_LARGEST_STATISTIC = 3.5
# Noise with the heavy tails of Student's t with three degrees of freedom, cut off as inliers are,
# has a kurtosis below 6; noise whose size varies by a factor of three, below 15.
_LARGEST_KURTOSIS = 15.0
_MOST_NEAR = 0.05
_CONSPICUOUS, _USUAL_KURTOSIS = 1.5, (2.55, 5.0)


class NoiseStatistics(NamedTuple):
    """Traces of outliers among the inliers; the first three are about standard normal for noise."""

    skewness: float  # offsets
    slant: float  # the sign of large residuals is that of the prediction, or the opposite one
    growth: float  # of |residual| with |prediction|: wrong gains
    kurtosis: float  # 3 for normal noise
    near: float  # measurements rejected within twice the cutoff, relative to the inliers

    def look_like_noise(self) -> bool:
        """Whether noise produces such values.

        Noise may be smaller where the prediction is large, but wrong gains make it larger there.
        """
        return (
            max(abs(self.skewness), abs(self.slant), self.growth) <= _LARGEST_STATISTIC
            and self.kurtosis <= _LARGEST_KURTOSIS
            and self.near <= _MOST_NEAR
        )

    def are_inconspicuous(self) -> bool:
        """Whether there is no sign of anything but noise, not even a weak one."""
        slanted = abs(self.slant) > _CONSPICUOUS or self.kurtosis > _USUAL_KURTOSIS[1]
        return not (slanted or self.suggest_offsets() or self.suggest_gains())

    def suggest_offsets(self) -> bool:
        """Whether the residuals may belong to two groups of sensors that differ by an offset."""
        return self.kurtosis < _USUAL_KURTOSIS[0] or abs(self.skewness) > _CONSPICUOUS

    def suggest_gains(self) -> bool:
        """Whether they may belong to groups that differ by a gain: larger where predictions are."""
        return self.growth > _CONSPICUOUS


_NOTHING = NoiseStatistics(0.0, 0.0, 0.0, 0.0, 0.0)


def noise_statistics(
    residual: Values, predicted: Values, inlier: Selection, left: Values
) -> NoiseStatistics:
    """How much the residuals differ from noise; ``inlier`` is boolean.

    Residuals are relative to the noise of each measurement, of which the fit has left a share of
    the variance, ``left``. What it follows most closely tells little about noise.
    """
    magnitudes = np.abs(residual)
    cutoff = np.max(magnitudes[inlier], initial=0.0)
    near = int(np.count_nonzero((magnitudes > cutoff) & (magnitudes <= 2 * cutoff)))
    inliers = int(np.count_nonzero(inlier))
    if inliers == 0:
        return _NOTHING
    telling = inlier & (left >= np.median(left[inlier]) / 2)
    residual, predicted = (residual / np.sqrt(left))[telling], predicted[telling]
    squares = residual**2
    cubes = residual * squares
    spread = math.sqrt(float(np.sum(cubes**2)))
    if len(residual) <= 2 or spread == 0:
        return _NOTHING
    # Squares, because ranks of residuals depend on the shape of the noise, which may change too.
    growth = np.corrcoef(squares, _ranks(np.abs(predicted)))[0, 1]
    return NoiseStatistics(
        skewness=float(np.sum(cubes)) / spread,
        slant=float(np.sum(cubes * np.sign(predicted))) / spread,
        growth=float(growth) * math.sqrt(len(residual)),
        kurtosis=float(np.mean(squares**2) / np.mean(squares) ** 2),
        near=near / inliers,
    )


def _ranks(values: Values) -> Values:
    return np.argsort(np.argsort(values, kind="stable")).astype(float)


_DRAWS = 2
# Noise may deviate by this number of half-widths of the Tracy–Widom distribution: 6.3 of its
# standard deviations, which are 1.27.
_HALF_WIDTHS = 4.0


def with_random_signs(
    residual: Array, rng: np.random.Generator, labels: Labels | None = None
) -> list[Array]:
    """The residuals, and the same with random signs: what they would be without any structure.

    Measurements with the same label have the same sign.
    """
    xp = namespace(residual)
    labels = np.arange(residual.shape[0]) if labels is None else labels
    signs = rng.integers(0, 2, (_DRAWS, labels.max() + 1)) * 2.0 - 1
    return [residual, *(residual * xp.asarray(one[labels], **like(residual)) for one in signs)]


def error_bound(error: float, hidden: float) -> float:
    """A bound on the error of a matrix, relative to its norm, from the one that is expected.

    Three times the expected error, and ``hidden``: a component that the residuals may contain.
    Normal noise with ten degrees of freedom or more exceeds twice the expected error less often
    than once in 10⁴ cases; the rest is room for tails that are rejected and outliers that are not.
    """
    return math.hypot(3 * error, hidden)


def residual_structure(largest: Sequence[float]) -> float:
    """The largest singular value of the residuals, relative to that with random signs.

    ``largest`` are these values, in the order of ``with_random_signs``: of the matrices that have
    these entries, and zeros elsewhere, or of the back-projections of measurements. Independent
    noise gives about one, a little less after a fit, whatever the measurements are; a component
    that the fit lacks gives more.
    """
    value, *drawn = largest
    return value / max(sum(drawn) / len(drawn), float(np.finfo(float).tiny))


def largest_structure_of_noise(shape: tuple[int, int]) -> float:
    """The largest ``residual_structure`` that noise has.

    The largest singular value of a matrix of independent numbers fluctuates by the Tracy–Widom law:
    by about one percent if it has hundreds of rows and columns, and more if it is small.
    """
    n1, n2 = (math.sqrt(size) for size in shape)
    return 1 + _HALF_WIDTHS * math.cbrt(1 / n1 + 1 / n2) / (n1 + n2)
