"""Which curve of the table answers a question, and whether the question is inside of its range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robustrank.linalg import degrees_of_freedom
from robustrank.planning.curves import (
    ENTRIES,
    Curve,
    interpolate,
    least_inliers,
    load_curves,
    smallness,
)

_MOST = 0.95  # the probability of success at which curves are compared


@dataclass(frozen=True)
class Question:
    """What is going to be measured."""

    shape: tuple[int, int]
    rank: int
    outliers: float
    noise: float
    family: str
    outlier_model: str

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the matrix."""
        return degrees_of_freedom(*self.shape, self.rank)

    @property
    def smallness(self) -> float:
        """The coordinate of the size in the table."""
        return smallness(self.family, self.shape, self.rank)

    def measurements(self, inliers_per_freedom: float) -> int:
        """The number of measurements with a number of inliers for each degree of freedom."""
        exactly = inliers_per_freedom * self.freedom / (1 - self.outliers)
        return math.ceil(round(exactly, 6))  # without rounding errors

    def inliers_per_freedom(self, measurements: float) -> float:
        """The inliers per degree of freedom of a number of measurements."""
        return measurements * (1 - self.outliers) / self.freedom


@dataclass(frozen=True)
class Answer:
    """The curve for a question, or None if the table does not have one, and notes on its range."""

    question: Question
    curve: Curve | None
    notes: tuple[str, ...] = ()

    def needed(self, success: float) -> int | None:
        """The measurements for a probability of success; None if no trial had enough."""
        if self.curve is None:
            return None
        ratio = self.curve.inliers_per_freedom(success, self.question.smallness)
        if ratio > self.curve.ratio[1]:
            return None
        return self.question.measurements(max(ratio, self._least_ratio(self.curve)))

    def success(self, measurements: float) -> float | None:
        """The probability of success with a number of measurements; None if it is not known."""
        if self.curve is None:
            return None
        ratio = self.question.inliers_per_freedom(measurements)
        if ratio < self._least_ratio(self.curve):
            return 0.0
        return self.curve.success(ratio, self.question.smallness)

    def _least_ratio(self, curve: Curve) -> float:
        freedom = self.question.freedom
        return least_inliers(curve.family, curve.method, curve.noise, freedom) / freedom


def look_up(question: Question, method: str) -> Answer:
    """The curve of a method at the outliers and the noise of a question."""
    known = [
        curve
        for curve in load_curves()
        if (curve.family, curve.method) == (question.family, method)
        and (curve.outlier_model == question.outlier_model or not curve.outliers)
    ]
    levels = sorted({c.noise for c in known if c.outlier_model == question.outlier_model})
    if not levels:
        return Answer(question, None, ("unknown: the table has no such trials",))
    if question.noise > levels[-1]:
        note = f"unknown: the trials have noise of at most {levels[-1]:.0%}"
        return Answer(question, None, (note,))
    low, high = _around(levels, question.noise)
    curves = []
    for level in (low, high):
        curve, note = _at(question, [c for c in known if c.noise == level])
        if curve is None:
            with_noise = f" with noise of {level:.0%}" if level else ""
            return Answer(question, None, (f"unknown: {note}{with_noise}",))
        curves.append(curve)
    places = [_noise_coordinate(value) for value in (low, question.noise, high)]
    share = (places[1] - places[0]) / (places[2] - places[0]) if low < high else 0.0
    curve = _between(question, curves[0], curves[1], share)
    return Answer(question, curve, tuple(_range_notes(question, curve)))


def _at(question: Question, curves: Sequence[Curve]) -> tuple[Curve | None, str]:
    """The curve at a fraction of outliers between those of some curves, or why there is none."""
    outliers = question.outliers
    by_fraction = {curve.outliers: curve for curve in curves}
    largest = max(by_fraction)
    if outliers > largest:
        return None, f"the trials have at most {largest:.0%} outliers"
    low, high = (by_fraction[s] for s in _around(sorted(by_fraction), outliers))
    for curve in (high, low):
        if not curve.is_known:
            text = f"no trial with {curve.outliers:.0%} outliers succeeded, with up to "
            return None, f"{text}{curve.ratio[1]:.2g} inliers per degree of freedom,"
    distance = high.outliers - low.outliers
    share = (outliers - low.outliers) / distance if distance else 0.0
    return _between(question, low, high, share), ""


def _between(question: Question, low: Curve, high: Curve, share: float) -> Curve:
    """The curve between two; for entries the one that needs more.

    The number of entries that are needed does not always grow with the share of wrong ones: with a
    few of them it may be larger than with many. The same holds for noise.
    """
    if question.family == ENTRIES and 0 < share < 1:
        return max(low, high, key=lambda c: c.inliers_per_freedom(_MOST, question.smallness))
    return interpolate(low, high, share)


def _around(values: Sequence[float], value: float) -> tuple[float, float]:
    """The nearest of some sorted values on both sides of another."""
    return max(v for v in values if v <= value), min(v for v in values if v >= value)


def _noise_coordinate(noise: float) -> float:
    """1/log(1/noise): the evidence of a measurement for a noisy result is log(1/noise)."""
    return -1 / math.log(noise) if noise else 0.0


def _range_notes(question: Question, curve: Curve) -> list[str]:
    """In what respect the question is outside of the trials; empty if it is inside."""
    notes = []
    if question.family == ENTRIES:
        if not curve.rank[0] <= question.rank <= curve.rank[1]:
            notes.append(
                f"extrapolated: the trials have ranks from {curve.rank[0]} to {curve.rank[1]}"
            )
    elif not curve.freedom[0] <= question.freedom <= curve.freedom[1]:
        notes.append(
            f"extrapolated: the trials have from {curve.freedom[0]:,} to {curve.freedom[1]:,} "
            f"degrees of freedom, this matrix {question.freedom:,}"
        )
    share, largest = question.rank / min(question.shape), curve.rank_ratio[1]
    if share > largest + 0.005:
        notes.append(
            f"extrapolated: the ranks of the trials are at most {largest:.0%} of the smaller side, "
            f"this rank is {share:.0%}"
        )
    return notes
