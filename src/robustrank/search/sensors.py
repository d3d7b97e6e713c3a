"""Which sensors, or other groups of measurements, are wrong altogether?

What each group measured is compared with what the other groups predict for it, and the explanation
with the most evidence is its verdict. A fault of a group is one piece of evidence: rejecting a
group costs the choice of the wrong groups, and not that of each of their measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate import (
    CLEARLY,
    NEGLIGIBLE,
    exact_tolerance,
    leave_out_folds,
    log_choices,
)
from robustrank.linalg import TangentMap, half_normal_quantile, plain_least_squares, point_of
from robustrank.noise import NoiseModel
from robustrank.problem import Problem
from robustrank.result import GroupRow, GroupTable, Result
from robustrank.result.groups import GOOD, NOISY, NOT_CHECKED
from robustrank.solvers.base import linearize

Vector = np.ndarray[Any, Any]

MOST_ARE_WRONG = "most of the groups are wrong altogether"
_ROUNDS = 20  # of fitting a line to its inliers, and choosing them
_POINTS = 300  # for the slope of a line
_OFFSET, _GAIN, _BOTH = "offset", "gain", "offset and gain"
_CONSTANT, _DEAD, _STUCK, _NOISE_ONLY = "constant", "dead", "stuck", "noise only"
_EXCHANGED = "exchanged with"


def table_of_groups(problem: Problem, result: Result) -> GroupTable:
    """The verdict on each group, at the matrix of a result."""
    unit_rows = problem.with_unit_rows.of_rank(max(result.rank, 1))
    unit, root = unit_rows.normalized(), math.sqrt(unit_rows.units.matrix)
    tangent, residual = linearize(unit, point_of(result.left / root, result.right / root))
    noise = result.noise_model.in_unit(1 / unit_rows.units.measurement)
    xp = namespace(residual)
    sizes = noise.sizes(unit.y - residual, unit.conditions)
    weights = xp.where(result.outliers, xp.zeros_like(residual), (xp.min(sizes) / sizes) ** 2)
    verdicts = judged(unit, tangent, residual, weights, noise)
    scale, rows = unit_rows.units.measurement, counted_groups(problem, result).rows
    return GroupTable(tuple(map(lambda row, it: it.completed(row, scale), rows, verdicts)))


def counted_groups(problem: Problem, result: Result) -> GroupTable:
    """How many measurements of each group are rejected, without any verdicts."""
    members, labels = to_numpy(problem.groups), problem.group_labels
    counts = np.bincount(members, minlength=len(labels)).tolist()
    rejected = np.bincount(members, to_numpy(result.outliers), len(labels)).astype(int).tolist()
    return GroupTable(tuple(map(GroupRow, labels, counts, rejected)))


def with_known_fault(problem: Problem, groups: GroupTable) -> Vector:
    """Which measurements are in wrong groups that follow the matrix, or a constant, up to noise.

    They support the matrix of the result, or none, and so are no evidence for another one.
    """
    noise = CLEARLY * float(np.median([row.noise for row in groups.rows if not row.is_wrong]))
    known = [
        row.is_wrong and (row.noise <= noise or row.verdict.startswith(_EXCHANGED))
        for row in groups.rows
    ]
    return np.asarray(np.asarray(known)[to_numpy(problem.groups)])


def in_wrong_groups(
    problem: Problem, tangent: TangentMap, residual: Array, weights: Array, noise: NoiseModel
) -> Array:
    """Which measurements are in groups that are wrong, boolean; none if most groups are."""
    verdicts = judged(problem, tangent, residual, weights, noise)
    wrong = np.asarray([verdict.is_wrong for verdict in verdicts])
    wrong &= 2 * np.count_nonzero(wrong) < len(wrong)
    rows = wrong[to_numpy(problem.groups)]
    return namespace(residual).asarray(rows, device=like(residual)["device"])


def judged(
    problem: Problem, tangent: TangentMap, residual: Array, weights: Array, noise: NoiseModel
) -> list[Verdict]:
    """The verdict on each group of a normalized problem with rows of equal norm.

    The wrong groups are the k with the most evidence for a fault, for the k for which that exceeds
    the logarithm of the number of choices of k groups by the most.
    """
    groups = _compared(problem, tangent, residual, weights, noise)
    least = exact_tolerance(problem) * problem.resolution
    fitted = np.concatenate([np.abs(it.value - it.predicted)[it.inlier] for it in groups])
    deviation = least
    if len(fitted):
        deviation = max(float(np.median(fitted)) / half_normal_quantile(0.5), least)
    choice = math.log(len(groups))
    verdicts = [group.explained(deviation, least, choice) for group in groups]
    _name_exchanged(verdicts, groups, problem.group_labels, deviation)
    advantages = np.asarray([verdict.advantage for verdict in verdicts])
    order = np.argsort(-advantages)
    counts = np.arange(1.0 + np.count_nonzero(advantages > 0))
    evidence = np.append(0.0, np.cumsum(advantages[order]))[: len(counts)]
    evidence -= log_choices(np.full_like(counts, len(groups)), counts)
    for k in order[: int(np.argmax(evidence))]:
        verdicts[k] = replace(verdicts[k], is_wrong=True)
    return verdicts


class _Line(NamedTuple):
    """An explanation of a group: its measurements are offset + gain · prediction, up to noise."""

    words: str
    offset: float
    gain: float
    errors: Vector  # of offset and gain
    deviation: float  # of its inliers about the line, relative to the sizes of their noise
    inliers: int
    evidence: float


@dataclass(frozen=True)
class Verdict:
    """What is known about a group, in normalized units."""

    fault: str = ""
    otherwise: str = NOT_CHECKED  # if it is not wrong
    evidence: float = 0.0  # for the fault
    advantage: float = 0.0  # of the fault, in evidence
    is_wrong: bool = False
    line: _Line | None = None  # with an offset and a gain
    size: float = math.nan  # of the noise of a typical measurement, relative to the others

    def completed(self, row: GroupRow, scale: float) -> GroupRow:
        """The row of a table; ``scale`` is the unit of the measurements."""
        words, line = self.fault if self.is_wrong else self.otherwise, self.line
        if line is None:
            return replace(row, verdict=words)
        noise = line.deviation * self.size * scale
        return replace(
            row,
            offset=line.offset * scale,
            offset_error=float(line.errors[0]) * scale,
            gain=line.gain,
            gain_error=float(line.errors[1]),
            noise=noise,
            noise_error=noise / math.sqrt(2 * max(line.inliers - 2, 1)),
            verdict=words,
        )


@dataclass(frozen=True, eq=False)
class _Group:
    """The measurements of a group that are checked by others, relative to the size of their noise.

    ``worth`` is log(τ/size), the evidence of a measurement that is known up to this size.
    """

    count: int  # with those that are not checked
    value: Vector
    predicted: Vector
    one: Vector  # what an offset of one adds
    worth: Vector
    inlier: Vector  # boolean: fitted

    def explained(self, deviation: float, least: float, choice: float) -> Verdict:
        """The verdict; ``deviation`` is that of other groups, and ``choice`` the cost of one."""
        if 2 * len(self.value) <= self.count:
            return Verdict()
        right = self.as_good(deviation)
        noisy = self.line(NOISY, (0.0, 1.0), (), least)
        ratio = self.value - self.predicted
        slope = self._slope() if noisy.evidence > right else 1.0
        flat = float(np.median(self.value / self.one))
        both = self.line(_BOTH, (self._middle(slope), slope), (0, 1), least)
        near = self.line(_BOTH, (0.0, 1.0), (0, 1), least)
        both = max(both, near, key=lambda line: line.evidence)
        faults = [
            self.line(_OFFSET, (float(np.median(ratio / self.one)), 1.0), (0,), least),
            self.line(_GAIN, (0.0, self._ratio()), (1,), least),
            both,
            self.line(_CONSTANT, (flat, 0.0), (0,), least),
            self.line(_DEAD, (0.0, 0.0), (), least),
        ]
        material = [
            line
            for line in faults
            if line.gain == 0 or self._effect(line) > max(deviation, line.deviation)
        ]
        fault = max(material, key=lambda line: line.evidence)
        # Noise of any size is no fault as long as the values clearly follow the predictions.
        unrelated = max(0.0, *(line.evidence for line in faults if line.gain == 0))
        base = max(right, noisy.evidence) if noisy.evidence > unrelated + choice else right
        words, evidence = fault.words, fault.evidence
        if not evidence > 0:  # it says nothing
            words, evidence = _NOISE_ONLY, 0.0
        elif words in (_CONSTANT, _DEAD):
            still = fault.deviation <= CLEARLY * deviation
            words = _NOISE_ONLY if not still else _DEAD if words == _DEAD else _STUCK
        is_noisy = noisy.evidence > right + choice and noisy.deviation > deviation
        return Verdict(
            fault=words,
            otherwise=NOISY if is_noisy else GOOD,
            evidence=evidence,
            advantage=evidence - base - math.log(len(faults) + 1),
            line=both if both.inliers else None,
            size=float(np.median(1 / self.one)),
        )

    def as_good(self, deviation: float) -> float:
        """The evidence that the group has the same noise as the others, and no fault."""
        left = np.abs(self.value - self.predicted) / deviation
        order = np.argsort(left)
        gains = self.worth[order] - math.log(deviation) - (left[order] ** 2 - 1) / 2
        return float(np.max(self._majorities(np.cumsum(gains))))

    def as_if(self, other: _Group, deviation: float) -> float:
        """The evidence that another group has measured what this one should have."""
        count = min(len(self.value), len(other.value))
        value = other.value[:count] / other.one[:count] * self.one[:count]
        parts = {
            name: getattr(self, name)[:count] for name in ("predicted", "one", "worth", "inlier")
        }
        return replace(self, value=value, **parts).as_good(deviation)

    def line(
        self, words: str, start: tuple[float, float], free: tuple[int, ...], least: float
    ) -> _Line:
        """A line through the majority with the most evidence; ``free`` numbers of it are fitted.

        N inliers about a line with q numbers have the evidence (N − q) log(τ/σ), less ½ log n for
        each number and for σ, and less the choice of the inliers: log(τ/σ) + ½ log n is what a
        number costs that could have had any size up to τ.
        """
        design, numbers = np.stack([self.one, self.predicted], axis=1), np.asarray(start)
        columns, kept = design[:, list(free)], np.zeros(0, int)
        for _ in range(_ROUNDS):
            left = self.value - design @ numbers
            before, (kept, deviation, evidence) = kept, self._inliers(left, len(free), least)
            if not free or not len(kept) or np.array_equal(before, kept):
                break
            fixed = np.delete(np.arange(2), free)
            target = self.value - design[:, fixed] @ numbers[fixed]
            numbers[list(free)] = np.linalg.lstsq(columns[kept], target[kept], rcond=None)[0]
        errors = np.full(2, math.nan)
        if len(kept) and free:
            inverse = np.linalg.pinv(columns[kept].T @ columns[kept])
            errors[list(free)] = deviation * np.sqrt(np.diag(inverse))
        offset, gain = map(float, numbers)
        return _Line(words, offset, gain, errors, deviation, len(kept), evidence)

    def _inliers(self, left: Vector, numbers: int, least: float) -> tuple[Vector, float, float]:
        """The majority with the most evidence, its deviation, and that evidence."""
        order, count = np.argsort(np.abs(left)), np.arange(1, len(left) + 1)
        beyond = count - numbers
        deviation = np.sqrt(np.cumsum(left[order] ** 2) / np.maximum(beyond, 1))
        deviation = np.maximum(deviation, least)
        gains = beyond * (np.cumsum(self.worth[order]) / count - np.log(deviation))
        gains = np.where(beyond > 0, gains, -math.inf)
        evidence = self._majorities(gains) - (numbers + 1) * math.log(len(left)) / 2
        best = int(np.argmax(evidence))
        if not math.isfinite(evidence[best]):
            return np.zeros(0, int), math.inf, -math.inf
        return np.sort(order[: best + 1]), float(deviation[best]), float(evidence[best])

    def _majorities(self, gains: Vector) -> Vector:
        """The evidence of the N best measurements, for each N, less the choice of N of them."""
        total = np.full(len(gains), float(len(gains)))
        count = np.arange(1.0, len(gains) + 1)
        return np.where(2 * count > total, gains - log_choices(total, count), -math.inf)

    def _effect(self, line: _Line) -> float:
        """The size of what a fault adds to a measurement."""
        added = line.offset * self.one + (line.gain - 1) * self.predicted
        return float(np.sqrt(np.mean(added**2)))

    def _ratio(self) -> float:
        """The median ratio of values to predictions, of the half for which those are larger."""
        magnitudes = np.abs(self.predicted)
        larger = (magnitudes >= np.median(magnitudes)) & (magnitudes > 0)
        return (
            float(np.median(self.value[larger] / self.predicted[larger])) if larger.any() else 0.0
        )

    def _middle(self, slope: float) -> float:
        """The median offset from a line with this slope."""
        return float(np.median((self.value - slope * self.predicted) / self.one))

    def _slope(self) -> float:
        """The slope by repeated medians, which any minority of outliers does not change."""
        count = len(self.value)
        some = np.linspace(0, count - 1, min(count, _POINTS)).astype(int)
        value, predicted = ((part / self.one)[some] for part in (self.value, self.predicted))
        rise, run = (np.subtract.outer(part, part) for part in (value, predicted))
        slopes = np.divide(rise, run, out=np.full_like(rise, np.nan), where=run != 0)
        informative = slopes[np.isfinite(slopes).any(axis=1)]
        return float(np.median(np.nanmedian(informative, axis=1))) if len(informative) else 0.0


def _compared(
    problem: Problem, tangent: TangentMap, residual: Array, weights: Array, noise: NoiseModel
) -> list[_Group]:
    """Each group with the predictions of its measurements that do not use them."""
    xp, members = namespace(residual), to_numpy(problem.groups)
    # The levels of groups are what is examined here.
    plain = replace(noise, groups="", levels=())
    sizes = to_numpy(plain.sizes(problem.y - residual, problem.conditions))
    largest = float(xp.finfo(residual.dtype).max) ** 0.25
    value = np.clip(to_numpy(problem.y).astype(float), -largest, largest)
    errors, checked = _left_out(problem, tangent, residual, weights, members)
    predicted = to_numpy(problem.y).astype(float) - errors
    one = np.broadcast_to(to_numpy(problem.row_factors), value.shape)
    worth = np.log(float(problem.trivial_deviation) / sizes)
    inlier = to_numpy(weights) > 0
    order = np.argsort(members, kind="stable")
    counts = np.bincount(members, minlength=len(problem.group_labels))
    groups = []
    for rows, count in zip(np.split(order, np.cumsum(counts)[:-1]), counts, strict=True):
        own = rows[checked[rows]]
        size = sizes[own]
        parts = value[own] / size, predicted[own] / size, one[own] / size, worth[own], inlier[own]
        groups.append(_Group(int(count), *parts))
    return groups


def _left_out(
    problem: Problem, tangent: TangentMap, residual: Array, weights: Array, members: Vector
) -> tuple[Vector, Vector]:
    """What predictions leave that do not use the group, and whether there is such a prediction.

    Some groups at a time are left out of the fit, linearized. A random change of the matrix that is
    not found again without them shows which of their measurements the others do not predict.
    """
    xp, rng = namespace(residual), np.random.default_rng(0)
    inlier = to_numpy(weights) > 0
    used = np.bincount(members, inlier, len(problem.group_labels)) > 0
    folds = leave_out_folds(int(np.count_nonzero(inlier)), problem.degrees_of_freedom)
    order = rng.permutation(np.flatnonzero(used))
    shape = tangent.U.shape[0] + tangent.V.shape[0], tangent.U.shape[1]
    probe = tangent.apply(xp.asarray(rng.standard_normal(shape), **like(residual)))
    limit = NEGLIGIBLE * float(np.sqrt(np.mean(to_numpy(probe) ** 2)))
    errors, checked = to_numpy(residual).astype(float), np.zeros(len(members), bool)
    for fold in (np.flatnonzero(~used), *(order[k::folds] for k in range(folds))):
        chosen = np.isin(members, fold)
        kept = weights * xp.asarray(~chosen * 1.0, **like(weights))
        if not (chosen.any() and bool(xp.any(kept > 0))):
            continue
        left, missing = (
            to_numpy(target - tangent.apply(plain_least_squares(tangent, kept, target, accuracy)))
            for target, accuracy in ((residual, NEGLIGIBLE), (probe, NEGLIGIBLE**2))
        )
        errors[chosen] = left[chosen]
        checked |= chosen & (np.abs(missing) <= limit)
    return errors, checked & np.isfinite(errors)


def _name_exchanged(
    verdicts: list[Verdict], groups: Sequence[_Group], labels: Sequence[Any], deviation: float
) -> None:
    """Name pairs of groups of which each measured what the other should have, in the same order."""
    some = [k for k, verdict in enumerate(verdicts) if verdict.fault == _NOISE_ONLY]
    if len(some) < 2:
        return
    length = min(len(groups[k].value) for k in some)
    values, predicted = (
        np.sign([getattr(groups[k], name)[:length] / groups[k].one[:length] for k in some])
        for name in ("value", "predicted")
    )
    agreement = values @ predicted.T
    np.fill_diagonal(agreement, -math.inf)
    partner = np.argmax(agreement + agreement.T, axis=1)
    for i in np.flatnonzero(partner[partner] == np.arange(len(some))):
        one, other = some[i], some[partner[i]]
        pair = ((one, other), (other, one))
        more = [groups[k].as_if(groups[j], deviation) - verdicts[k].evidence for k, j in pair]
        if one < other and sum(more) > math.log(len(groups)):
            for (k, j), gained in zip(pair, more, strict=True):
                words, advantage = f"{_EXCHANGED} {labels[j]}", verdicts[k].advantage + gained
                verdicts[k] = replace(verdicts[k], fault=words, advantage=advantage)
