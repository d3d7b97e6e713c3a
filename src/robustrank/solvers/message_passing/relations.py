"""How the measurements of faulty sensors are related to the true values: offsets and gains."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, like, namespace, tiny

# The true value is factor · y − shift. The first relation is that of inliers, the second that of
# flipped signs; two learn an offset, and two a gain, from these initial values.
_FACTORS = (1.0, -1.0, 1.0, 1.0, 0.5, 2.0)
_SHIFTS = (0.0, 0.0, -0.5, 0.5, 0.0, 0.0)  # in typical measurements
_LEARNS_SHIFT = (False, False, True, True, False, False)
_LEARNS_FACTOR = (False, False, False, False, True, True)
_FIXED = 2  # relations that are not learned
_MAJORITY = 0.6


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations between measurements and true values: true value = factor · y − shift.

    Both arrays have one entry per relation, and may have a leading axis of problems.
    """

    factor: Array
    shift: Array

    @classmethod
    def initial(cls, typical: Array, learned: bool) -> Relations:
        """Inliers and flipped signs and, if ``learned``, the start of two offsets and two gains."""
        xp, count = namespace(typical), len(_FACTORS) if learned else _FIXED
        factor = xp.asarray(_FACTORS[:count], **like(typical))
        shift = xp.asarray(_SHIFTS[:count], **like(typical))
        size = typical[..., None]
        return cls(factor=factor + xp.zeros_like(size), shift=shift * size)

    @property
    def count(self) -> int:
        """The number of relations."""
        return int(self.factor.shape[-1])

    @property
    def are_fixed(self) -> bool:
        """Whether there is nothing to learn."""
        return self.count == _FIXED

    def errors(self, y: Array, predicted: Array) -> Array:
        """The prediction errors that follow from each relation, (m, relations)."""
        true = self.factor[..., None, :] * y[..., None] - self.shift[..., None, :]
        return true - predicted[..., None]

    def density(self, errors: Array, deviation: Array) -> Array:
        """The density of each measurement under each relation, given ``errors``, (m, relations)."""
        size = namespace(errors).abs(self.factor)[..., None, :]
        return size * normal_density(errors, deviation[..., None, None])

    def learned(self, y: Array, predicted: Array, parts: Array, error: Array) -> Relations:
        """The most likely offsets and gains, given the share of each relation in each measurement.

        If y times u is normal with mean p and variance e², the likelihood of u is largest where
        u² Σ y² − u Σ y p − e² N = 0.
        """
        xp = namespace(y)
        if self.are_fixed:
            return self
        count = xp.sum(parts, axis=-2) + tiny(y)
        residual = (y - predicted)[..., None]
        shift = xp.sum(parts * residual, axis=-2) / count
        squares = xp.sum(parts * (y**2)[..., None], axis=-2) + tiny(y)
        products = xp.sum(parts * (y * predicted)[..., None], axis=-2)
        root = xp.sqrt(products**2 + 4 * squares * error[..., None] ** 2 * count)
        factor = (products + root) / (2 * squares)
        return Relations(
            factor=xp.where(_mask(_LEARNS_FACTOR, y), factor, self.factor),
            shift=xp.where(_mask(_LEARNS_SHIFT, y), shift, self.shift),
        )

    def majority(self, errors: Array, deviation: Array, related: Array) -> Array:
        """The relation that fits most measurements better than that of inliers does, if any.

        The matrix could be too large or too small by a gain that most measurements then seem to
        have. ``related`` is the probability that a measurement has any of the relations. The result
        is one for that relation and zero elsewhere, (relations,).
        """
        xp, density = namespace(errors), self.density(errors, deviation)
        better = xp.astype(density > density[..., :1], errors.dtype)
        total = xp.sum(related, axis=-1)[..., None] + tiny(errors)
        share = xp.sum(related[..., None] * better, axis=-2) / total
        share = xp.where(_mask(_LEARNS_FACTOR, errors), share, xp.zeros_like(share))
        most = xp.argmax(share, axis=-1)[..., None]
        place = xp.arange(self.count, device=like(errors)["device"])
        return xp.astype((place == most) & (share > _MAJORITY), errors.dtype)

    def exchanged(self, chosen: Array) -> tuple[Relations, Array]:
        """Let the chosen relation be that of inliers; also returns the gain of the matrix."""
        xp = namespace(chosen)
        none = 1 - xp.sum(chosen, axis=-1)
        gain = 1 / (xp.sum(chosen * self.factor, axis=-1) + none)
        learns_factor = _mask(_LEARNS_FACTOR, chosen)
        factor = xp.where(learns_factor, self.factor * gain[..., None], self.factor)
        factor = xp.where(chosen > 0, gain[..., None] + xp.zeros_like(factor), factor)
        return Relations(factor=factor, shift=self.shift * gain[..., None]), gain


def normal_density(values: Array, deviation: Array) -> Array:
    """The density of a centered normal distribution."""
    xp = namespace(values)
    return xp.exp(-0.5 * (values / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)


def _mask(flags: tuple[bool, ...], array: Array) -> Array:
    xp = namespace(array)
    return xp.asarray(flags, **like(array) | {"dtype": xp.bool})
