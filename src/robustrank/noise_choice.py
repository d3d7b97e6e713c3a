"""Which noise model do the residuals of a fit support?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.certificate import best_set, beyond_use
from robustrank.linalg import half_normal_quantile
from robustrank.noise import Conditions, NoiseModel

Vector = np.ndarray[Any, Any]

# The variance that grows with the prediction, relative to the variance that does not, of a typical
# measurement. The largest one leaves a noise of one hundredth of the typical one where the
# prediction is zero: no measurement is taken for exact.
_CONSTANT = 1 / (1 + np.geomspace(0.1, 1e4, 24))
# The residuals that tell the level of a group are within this number of its standard deviations.
_WITHIN = 3.0
ROUNDS = 6  # of estimating the numbers of a model at a fit, and fitting with it


@dataclass(frozen=True, eq=False)
class Residuals:
    """What a fit leaves of its measurements, all (m,), for the comparison of noise models.

    Parameters
    ----------
    residual
        The residuals of the fit.
    left
        The share of the variance of its own noise that the fit leaves of each measurement: one
        minus its leverage, and one for a measurement that is not fitted.
    prediction
        The fitted measurements.
    conditions
        What the noise may depend on.
    noise
        The model of the fit.
    null_deviation
        What the best trivial prediction leaves.
    without
        Measurements that say nothing about the noise, boolean; None: no such ones.
    """

    residual: Array
    left: Array
    prediction: Array
    conditions: Conditions
    noise: NoiseModel
    null_deviation: float
    without: Array | None = None

    def chosen(self) -> NoiseModel:
        """The model with the most evidence, with its numbers."""
        plain = replace(self.noise, growth=0.0, law="", groups="", levels=())
        grown = max(self._growing(plain), key=self.evidence)
        models = [grown]
        for name in self.conditions.groups:
            models += [self._with_levels(one, name) for one in {plain, grown}]
        return max(models, key=self.evidence)

    @property
    def density(self) -> float:
        """The log-density of all inliers as if each had been left out of the fit, with its noise.

        It is comparable between fits, and less by ½ log N for each number estimated from N of them.
        """
        xp = namespace(self.left)
        return self.evidence(self.noise, 1.0) + float(xp.sum(xp.log(self.left))) / 2

    def evidence(self, noise: NoiseModel, shares: Array | float | None = None) -> float:
        """The evidence for a model by the residuals of this fit.

        Each measurement counts as the share of its noise that the fit leaves, so that N of them
        that are fitted by d degrees of freedom count as N − d.
        """
        magnitudes, sizes = abs(self.comparable), self._sizes_of_comparable(noise)
        if self.without is not None:
            magnitudes, sizes = beyond_use(self.without, magnitudes, sizes)
        best = best_set(
            magnitudes,
            sizes,
            self.null_deviation,
            0,  # no degree of freedom is fitted to left-out measurements
            of_one_size=False,  # the sizes of outliers say nothing about the noise
            shares=self.left if shares is None else shares,
        )
        return float(best.evidence) - noise.learned(self.conditions)

    @cached_property
    def comparable(self) -> Array:
        """Residuals over √left: as large as the noise, if that is as the fit takes it to be."""
        return self.residual / namespace(self.left).sqrt(self.left)

    def _sizes_of_comparable(self, noise: NoiseModel) -> Array:
        """Their relative sizes if the noise is as another model says.

        A share of one minus the leverage is due to the own noise of a measurement, and the rest to
        that of all others, weighted as the fit weights them.
        """
        xp, own, fitted = namespace(self.left), 1 - self.left, self._fitted_variances
        variance = noise.sizes(self.prediction, self.conditions) ** 2
        total = float(xp.sum(own))
        of_others = float(xp.sum(own * variance / fitted)) / total if total > 0 else 1.0
        return xp.sqrt(self.left * variance + own * fitted * of_others)

    @cached_property
    def _fitted_variances(self) -> Array:
        """The squares of the sizes of the noise in the model of the fit."""
        return self.noise.sizes(self.prediction, self.conditions) ** 2

    def _growing(self, plain: NoiseModel) -> Iterator[NoiseModel]:
        """The model itself, and with each law the share of the variance that grows.

        It is expected from the evidence for all shares. The most likely share may be far larger,
        and then a fit follows the measurements with little noise too closely, and its standard
        errors are too small.
        """
        yield plain
        for law in self.conditions.laws.names if self.conditions.laws else ():
            # Rounding leaves nothing else.
            shares = _CONSTANT[-1:] if law == "digits" else _CONSTANT
            evidence = np.asarray([self.evidence(self._grown(plain, law, s)) for s in shares])
            # All shares between zero and one are as likely before.
            weights = np.exp(evidence - np.max(evidence)) * shares * (1 - shares)
            yield self._grown(plain, law, float(np.average(shares, weights=weights)))

    def _grown(self, plain: NoiseModel, law: str, constant: float) -> NoiseModel:
        """The model with noise that grows, but for a constant share of its variance."""
        growth = 1 - float(constant)
        return replace(plain, growth=growth, law=law, typical=self.conditions.typical)

    def _with_levels(self, noise: NoiseModel, name: str) -> NoiseModel:
        """The model with a level for each group of this name.

        The logarithms of the levels are drawn towards their mean in so far as their differences
        could be due to chance (the estimate of DerSimonian and Laird).
        """
        groups = to_numpy(self.conditions.groups[name])
        squares, left, sizes, fitted = (
            to_numpy(one).astype(float)
            for one in (
                self.comparable**2,
                self.left,
                noise.sizes(self.prediction, self.conditions) ** 2,
                self._fitted_variances,
            )
        )
        own, count = 1 - left, int(groups.max()) + 1
        far = _WITHIN / half_normal_quantile(0.5)
        near = squares <= far**2 * _medians(squares / sizes, groups) * sizes
        if self.without is not None:
            near &= ~to_numpy(self.without)

        def total(values: Vector) -> Vector:
            return np.bincount(groups[near], values[near], minlength=count)

        # The variances are first those of the residuals, and then without what these have of the
        # noise of all others; at most half of a variance is taken off, as the next fit tells more.
        tiny = np.finfo(float).tiny
        least = np.finfo(float).eps * float(np.median(squares)) + tiny
        whole, known = total(squares), total(left) / 2  # 1 / the variance of log(deviation)
        variances = np.maximum(whole / np.maximum(total(sizes), tiny), least)
        of_others = float(np.sum((own * sizes * variances[groups] / fitted)[near]))
        of_others /= max(float(np.sum(own[near])), 1.0)
        rest = (whole - of_others * total(own * fitted)) / np.maximum(total(left * sizes), tiny)
        logarithms = np.log(np.maximum(rest, variances / 2)) / 2
        mean = float(np.average(logarithms, weights=known))
        beyond = float(np.sum(known * (logarithms - mean) ** 2)) - (np.count_nonzero(known) - 1)
        between = float(np.sum(known) - np.sum(known**2) / np.sum(known))
        spread = max(beyond, 0.0) / between if between > 0 else 0.0
        drawn = mean + (logarithms - mean) * spread * known / (spread * known + 1)
        levels = tuple(float(level) for level in np.exp(drawn - np.median(drawn)))
        return replace(noise, groups=name, levels=levels)


def _medians(values: Vector, groups: Vector) -> Vector:
    """The median of its group for each value."""
    counts = np.bincount(groups)
    first = np.cumsum(counts) - counts
    places = np.minimum(first + (np.maximum(counts, 1) - 1) // 2, len(values) - 1)
    return np.asarray(values[np.lexsort((values, groups))[places]][groups])
