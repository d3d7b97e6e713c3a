"""From a sample to a completed matrix: exact if the data is, or with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate import (
    MARGIN,
    NoiseStatistics,
    Support,
    enough_fits,
    exact_fits,
    noise_statistics,
    supported_part,
)
from robustrank.completion.contested import agreeing_share, contested
from robustrank.completion.held_out import (
    HeldOut,
    held_out_errors,
    largest_structure_of_noise,
    residual_structure,
    split,
)
from robustrank.completion.noisy_fit import EmpiricalBayes, NoisyFit
from robustrank.completion.refinement import CUTOFF, Fit, Narrowing, Polishing
from robustrank.completion.repair import repaired, undecided_refitted
from robustrank.completion.ridge_path import (
    PathPoint,
    RidgePath,
    candidate_ranks,
    is_confined,
)
from robustrank.completion.sample import Sample, robust_deviation, row_and_column_scales
from robustrank.completion.watch import Watch
from robustrank.linalg import Factors, Point, TangentMap, degrees_of_freedom, point_of
from robustrank.result import RankRow, RankTable, left_out_error

Vector = np.ndarray[Any, Any]

_LOOK = 11  # the step of the path at which the singular values are looked at
_REPAIRS = 4
# The search uses about 30 entries of a row or column for each component of the rank; all entries of
# the sample if that is more than half of them.
_ENOUGH = 30
# If the rank is not given, it is looked for up to 10; then up to 20, 40, and so on.
_FIRST_BOUND = 10
# Components that leave at most this share of the typical entry are explained: the search goes on
# with what is left, so that outliers are compared with that and not with a large mean. There are at
# most three such levels, the data itself included.
_EXPLAINED, _LEVELS = 0.3, 3
_ROUGHLY = EmpiricalBayes(sweeps=10)
_LESS_NOISE = 0.9  # a component that the data has leaves less noise than this share


@dataclass(frozen=True, eq=False)
class Solution:
    """A completed matrix in the units of the sample, and what supports it."""

    left: Array
    right: Array
    inliers: Vector  # boolean, in the order of the rows
    support: Support
    noise: float  # standard deviation; zero if the data is exact
    tolerance: float = 0.0  # the largest residual of an exact fit, in units of a typical one
    noisy: NoisyFit | None = None
    held_out: HeldOut | None = None
    structure: float = 0.0
    noise_level: float = 0.0  # relative to a typical entry
    statistics: NoiseStatistics | None = None  # of the residuals in the part that is decided

    @property
    def is_exact(self) -> bool:
        """Whether most entries are fitted up to rounding."""
        return self.noisy is None


@dataclass(frozen=True, eq=False)
class Level:
    """Components that explain most of the entries, and the typical size of what they leave."""

    explained: Point | None
    typical: float

    @property
    def rank(self) -> int:
        """The number of components."""
        return 0 if self.explained is None else int(self.explained.values.shape[0])


@dataclass(frozen=True, eq=False)
class Attempt:
    """What fits of several ranks showed: an exact solution, or a rank that leaves only noise."""

    level: Level
    exact: Solution | None = None
    enough: int | None = None


class Search:
    """The search for the matrix behind a sample."""

    def __init__(self, sample: Sample, rng: np.random.Generator, watch: Watch) -> None:
        self._sample, self._rng, self._watch = sample, rng, watch
        self._units = row_and_column_scales(sample)
        self._scaled = sample.divided_by(*self._units)
        self._path = RidgePath()
        self._zero = _zero_solution(sample)
        self._by_structure = False
        self._noise_structure = largest_structure_of_noise(sample.shape)
        self._compared: dict[int, RankRow] = {}

    def run(self, bound: int | None) -> Solution:
        """The best solution of at most this rank; None: of any rank.

        If most entries are zero, it is the zero matrix, unless another one fits more entries than
        chance explains.
        """
        zero = self._zero
        if zero is not None and _is_by_chance(np.sum(~zero.inliers), self._sample.shape, 0, 1):
            return zero
        self._by_structure = bound is None
        *lower, last = self._limits(bound)
        for limit in lower:
            solution = self._solution(limit)
            complete = solution.is_exact or solution.structure < self._noise_structure
            if solution.left.shape[1] < limit or complete:
                return solution
        return self._solution(last)

    def rank_table(self, solution: Solution) -> RankTable | None:
        """The ranks that were compared, and all lower ones than the rank of the solution.

        The errors of ranks that were not fitted are those of the solution with fewer components.
        There is no table for the zero matrix.
        """
        rank = int(solution.left.shape[1])
        if rank == 0:
            return None
        point, rows = point_of(solution.left, solution.right), dict(self._compared)
        for k in range(1, rank + 1):
            if k not in rows:
                lower = point.truncated(k)
                residual = self._sample.residual(lower.scaled_left, lower.right)
                rows[k] = _rank_row(self._sample, lower, robust_deviation(residual))
        return RankTable(tuple(rows[k] for k in sorted(rows)), rank, min(self._sample.shape))

    def _solution(self, limit: int) -> Solution:
        """The best solution of at most this rank."""
        if self._sample.size < MARGIN:
            look = self._looked(self._scaled, limit)
            return unsupported(self._sample, self._in_user_units((look.left, look.right)))
        thin, kept = self._scaled.thinned(_ENOUGH * limit, self._rng)
        if 2 * thin.size > self._scaled.size:
            return self._solution_by(self._scaled, None, limit)
        solution = self._solution_by(thin, kept, limit)
        if concluded_support(solution, self._sample.size):
            return solution
        return self._solution_by(self._scaled, None, limit)

    def _solution_by(self, part: Sample, kept: Array | None, limit: int) -> Solution:
        """The best solution, looked for with a part of the entries; None: with all of them."""
        level = Level(None, part.deviation)
        attempt = self._attempt(part, kept, limit, level, _LEVELS) or Attempt(level)
        exact, zero = attempt.exact, self._zero
        if zero is not None:
            return exact if exact is not None and _fits_more(exact, zero) else zero
        if exact is not None:
            return exact
        return self._noisy_solution(part, limit, attempt.level.explained, attempt.enough)

    def _limits(self, bound: int | None) -> Iterator[int]:
        """The largest ranks to try, one after the other."""
        n1, n2 = self._sample.shape
        # With a higher rank, the degrees of freedom would exceed the number of entries.
        most = max(1, min(n1, n2, self._sample.size // (n1 + n2)))
        if bound is not None:
            yield min(bound, n1, n2)
            return
        limit = _FIRST_BOUND
        while limit < most:
            yield limit
            limit *= 2
        yield most

    def _looked(self, sample: Sample, limit: int, explained: Point | None = None) -> PathPoint:
        """The point of the path at which the ranks to try are chosen."""
        self._watch.begin("search", self._units)
        start = self._path.start(sample, limit, self._rng, explained)
        return self._path.advance(sample, start, _LOOK, self._watch)

    def _attempt(
        self, part: Sample, kept: Array | None, limit: int, level: Level, levels: int
    ) -> Attempt | None:
        """A solution that fits the entries up to rounding, or a rank that leaves only noise.

        If no rank was given, lower ranks are tried first. Higher ones are not tried if only noise
        is left: they would fit it, which takes long. If a fit explains most of the entries, what
        it leaves is searched in the same way, in its own units, before a higher rank is tried.
        """
        look = self._looked(part, limit, level.explained)
        waiting = [rank for rank in candidate_ranks(look.singular_values) if rank > level.rank]
        largest, noise, further = look.left.shape[1], {}, None
        if self._by_structure:
            waiting.sort()
        while waiting or further is not None:
            if further is not None and waiting in ([], [largest]):
                found = self._attempt(part, kept, limit, further, levels - 1)
                if found is not None:
                    return found
                waiting, further, levels = [max(noise) + 1, *waiting], None, 1
            rank = waiting.pop(0)
            if rank in noise:
                continue
            fit = self._fit(part, look, rank)
            residual = part.residual(*fit.factors)
            noise[rank] = robust_deviation(residual)
            self._compared[rank] = _rank_row(part, fit.point, noise[rank])
            if not fit.has_noise:
                solution = self._conclusive(fit, part, kept)
                if solution is not None and self._is_surplus(fit, part, look):
                    waiting.insert(0, rank - 1)
                elif solution is not None:
                    return Attempt(level, exact=solution)
            elif self._by_structure and self._has_only_noise(part, residual, noise[rank]):
                return Attempt(level, enough=rank)
            elif rank < largest:
                if levels > 1 and 0 < noise[rank] <= _EXPLAINED * level.typical:
                    if further is None or rank < further.rank:
                        further = Level(fit.point, noise[rank])
                # The rank may be higher if that leaves less noise; otherwise the data has noise.
                elif noise[rank] < _LESS_NOISE * noise.get(rank - 1, math.inf):
                    waiting.insert(0, rank + 1)
                else:
                    break
        return None

    def _has_only_noise(self, sample: Sample, residual: Array, noise: float) -> bool:
        """Whether the residuals of a fit, without those of outliers, have no further component."""
        xp = namespace(residual)
        typical = xp.abs(residual) <= CUTOFF * noise
        kept = xp.where(typical, residual, xp.zeros_like(residual))
        return residual_structure(sample, kept, self._rng) < self._noise_structure

    def _fit(self, sample: Sample, look: PathPoint, rank: int) -> Fit:
        """The fit of one rank, from a point of the path."""
        watch = self._watch
        watch.begin(f"rank {rank}", self._units)
        end = self._path.advance(sample, look.truncated(rank), self._path.steps, watch)
        fit = Narrowing().run(sample, end.left, end.right, end.width, watch)
        for _ in range(_REPAIRS):
            if fit.has_noise:
                break
            fit, _ = repaired(sample, fit, self._rng)
            fit = Polishing().run(sample, fit, watch)
            again, changed = repaired(sample, fit, self._rng)
            if not changed:
                break
            fit = again
        return fit

    def _conclusive(self, fit: Fit, part: Sample, kept: Array | None) -> Solution | None:
        """The solution if chance does not explain its exact fits."""
        sample = self._scaled
        if kept is not None:
            fit, _ = repaired(sample, fit, self._rng)
        tolerance = sample.tolerance
        inliers = _exact_fits(sample, fit.factors)
        by = None if kept is None else (part.tangent(fit.point), to_numpy(kept))
        support = self._supported(sample, fit.point, inliers, tolerance, by)
        factors = undecided_refitted(sample, fit.factors, support.rows, support.columns, tolerance)
        inliers, relative = _exact_fits(sample, factors), sample.relative_tolerance
        solution = Solution(*self._in_user_units(factors), inliers, support, 0.0, relative)
        return solution if concluded_support(solution, sample.size) else None

    def _supported(
        self,
        sample: Sample,
        point: Point,
        inliers: Vector,
        cutoff: float,
        by: tuple[TangentMap, Vector] | None = None,
    ) -> Support:
        """The part that the inliers, which have residuals up to the cutoff, determine."""
        given = sample, (point.scaled_left, point.right), inliers, cutoff, self._rng
        return supported_part(
            sample.tangent(point),
            inliers,
            without=np.concatenate(contested(*given)),
            agreeing=agreeing_share(*given) * sample.size,
            by=by,
        )

    def _is_surplus(self, fit: Fit, part: Sample, look: PathPoint) -> bool:
        """Whether the last component fits hardly more entries than it has degrees of freedom.

        It then fits outliers. That is tested only if it is confined to few rows or columns: the
        fit of lower rank takes as long as that of this rank.
        """
        rank = int(fit.point.values.shape[0])
        if rank == 1 or not is_confined(fit.point):
            return False
        lower, tolerance = self._fit(part, look, rank - 1), self._scaled.tolerance
        return _is_gained_by_chance(self._scaled, lower.factors, fit.factors, tolerance)

    def _noisy_solution(
        self, part: Sample, limit: int, explained: Point | None, enough: int | None
    ) -> Solution:
        """The solution of the rank with the most evidence, and how it predicts entries left out.

        If a rank is enough to leave only noise, no higher one is tried.
        """
        fitted, left_out = split(part, self._rng)
        given, given_left_out = (
            part.divided_by(*(1 / unit for unit in self._units)) for part in (fitted, left_out)
        )
        look = self._looked(fitted, limit, explained)
        ranks = set(candidate_ranks(look.singular_values))
        if enough is not None:
            ranks = {rank for rank in ranks if rank < enough} | {enough}

        def evidence(fit: NoisyFit) -> float:
            return fit.evidence(given)

        best = []
        for rank in sorted(ranks):
            fit = max(self._noisy_fits(fitted, given, look, rank), key=evidence)
            error = held_out_errors(given_left_out, fit).error / self._sample.deviation
            self._compared[rank] = RankRow.of(to_numpy(point_of(*fit.factors).values), error)
            best.append(fit)
        most = max(best, key=evidence)
        return self._noisy_result(most, held_out_errors(given_left_out, most))

    def _noisy_fits(
        self, scaled: Sample, given: Sample, look: PathPoint, rank: int
    ) -> Iterator[NoisyFit]:
        """Fits of one rank, from two starting points."""
        watch = self._watch
        watch.begin(f"noise, rank {rank}", self._units)
        end = self._path.advance(scaled, look.truncated(rank), self._path.steps, watch)
        narrowed = Narrowing().run(scaled, end.left, end.right, end.width, watch)
        watch.begin(f"noise, rank {rank}")
        for factors in ((end.left, end.right), narrowed.factors):
            yield EmpiricalBayes().run(given, self._in_user_units(factors), watch)

    def _noisy_result(self, start: NoisyFit, errors: HeldOut) -> Solution:
        """The solution with all entries, from the fit without those that were left out."""
        sample = self._sample
        fit = self._repaired_noisy(EmpiricalBayes().run(sample, start.factors, self._watch))
        fit = self._without_surplus(fit)
        inliers = to_numpy(fit.weights) > 0.5
        residual = fit.weights * sample.residual(*fit.factors)
        cutoff = CUTOFF * fit.noise
        support = self._supported(sample, point_of(*fit.factors), inliers, cutoff)
        return Solution(
            *fit.factors,
            inliers,
            support,
            fit.noise,
            noisy=fit,
            held_out=errors,
            structure=residual_structure(sample, residual, self._rng),
            noise_level=fit.noise / sample.deviation,
            statistics=_statistics(sample, fit.factors, inliers, support),
        )

    def _without_surplus(self, fit: NoisyFit) -> NoisyFit:
        """The fit without components that explain less than they have degrees of freedom.

        They fit outliers. Each component may be the one; a rough fit without it shows that.
        """
        while (lower := self._without_a_surplus_component(fit)) is not None:
            fit = self._repaired_noisy(EmpiricalBayes().run(self._sample, lower, self._watch))
        return fit

    def _without_a_surplus_component(self, fit: NoisyFit) -> Factors | None:
        """The factors without the first surplus component that is found; None if there is none."""
        point = point_of(*fit.factors)
        for component in reversed(range(fit.rank)) if fit.rank > 1 else ():
            others = [k for k in range(fit.rank) if k != component]
            factors = point.scaled_left[:, others], point.right[:, others]
            lower = _ROUGHLY.run(self._sample, factors, self._watch)
            if lower.evidence(self._sample) >= fit.evidence(self._sample):
                return lower.factors
        return None

    def _repaired_noisy(self, fit: NoisyFit) -> NoisyFit:
        """The fit after repairing rows and columns that are not explained by it."""
        for _ in range(_REPAIRS):
            before = Fit(point_of(*fit.factors), CUTOFF * fit.noise, has_noise=True)
            after, changed = repaired(self._sample, before, self._rng)
            if not changed:
                break
            fit = EmpiricalBayes().run(self._sample, after.factors, self._watch)
        return fit

    def _in_user_units(self, factors: tuple[Array, Array]) -> tuple[Array, Array]:
        (P, Q), (rows, columns) = factors, self._units
        return rows[:, None] * P, columns[:, None] * Q


def _rank_row(sample: Sample, point: Point, noise: float) -> RankRow:
    """The row of a fit that leaves this noise."""
    values = to_numpy(point.values)
    freedom = degrees_of_freedom(*sample.shape, len(values))
    return RankRow.of(values, left_out_error(noise / sample.deviation, sample.size, freedom))


def _exact_fits(sample: Sample, factors: tuple[Array, Array]) -> Vector:
    """Which entries are fitted up to rounding, boolean, in the order of the rows."""
    given = sample.relative_tolerance, sample.deviation
    return to_numpy(exact_fits(sample.residual(*factors), *given))


def _is_gained_by_chance(
    sample: Sample, lower: tuple[Array, Array], higher: tuple[Array, Array], largest: float
) -> bool:
    """Whether one more component fits hardly more entries than it has degrees of freedom.

    An entry is fitted if its residual is at most the largest one.
    """
    without, fitted = (
        int(np.sum(np.abs(to_numpy(sample.residual(*factors))) <= largest))
        for factors in (lower, higher)
    )
    rank = int(higher[0].shape[1])
    return _is_by_chance(fitted - without, sample.shape, rank - 1, rank)


def _fits_more(solution: Solution, lower: Solution) -> bool:
    """Whether a solution fits more entries than one of a lower rank, by more than chance."""
    ranks = (int(one.left.shape[1]) for one in (lower, solution))
    gained = int(np.sum(solution.inliers)) - int(np.sum(lower.inliers))
    shape = solution.left.shape[0], solution.right.shape[0]
    return not _is_by_chance(gained, shape, *ranks)


def _is_by_chance(gained: int, shape: tuple[int, int], lower: int, higher: int) -> bool:
    """Whether a higher rank fits hardly more entries than it has more degrees of freedom."""
    fewer, free = (degrees_of_freedom(*shape, rank) for rank in (lower, higher))
    return gained < free - fewer + MARGIN


def _statistics(
    sample: Sample, factors: tuple[Array, Array], inliers: Vector, support: Support
) -> NoiseStatistics:
    """What the residuals look like in the part that is decided."""
    at = sample.by_rows
    decided = support.rows[to_numpy(at.owners)] & support.columns[to_numpy(at.others)]
    residual, predicted = (
        to_numpy(values)[decided].astype(float)
        for values in (sample.residual(*factors), at.dot(*factors))
    )
    return noise_statistics(residual, predicted, inliers[decided])


def _zero_solution(sample: Sample) -> Solution | None:
    """The zero matrix if most entries support it."""
    xp, values = namespace(sample.row_values), sample.row_values
    inliers = to_numpy(exact_fits(values, sample.relative_tolerance, sample.deviation))
    if 2 * np.sum(inliers) <= sample.size:  # no majority in any part
        return None
    left, right = (xp.zeros((n, 0), **like(values)) for n in sample.shape)
    point = Point(left, values[:0], right)
    support = supported_part(sample.tangent(point), inliers, agreeing=0.0)
    solution = Solution(left, right, inliers, support, 0.0, sample.relative_tolerance)
    return solution if concluded_support(solution, sample.size) else None


def unsupported(sample: Sample, factors: tuple[Array, Array]) -> Solution:
    """A solution that nothing supports."""
    residual = sample.residual(*factors)
    noise = robust_deviation(residual)
    inliers = np.abs(to_numpy(residual)) <= CUTOFF * noise
    rows, columns = (np.zeros(n, bool) for n in sample.shape)
    support = Support(rows, columns, np.zeros_like(inliers))
    level = noise / sample.deviation if noise else 0.0
    return Solution(*factors, inliers, support, noise, noise_level=level)


def concluded_support(solution: Solution, entries: int) -> bool:
    """Whether enough entries support a solution."""
    rank = int(solution.left.shape[1])
    required = required_support(solution.support, entries, rank, solution.tolerance)[1]
    return int(np.sum(solution.support.fitted)) >= required


def required_support(
    support: Support, entries: int, rank: int, tolerance: float
) -> tuple[int, int]:
    """The degrees of freedom of the decided part, and the number of inliers that it needs.

    They are a majority of all entries, and more than chance can fit.
    """
    free = support.degrees_of_freedom(rank)
    return free, enough_fits(tolerance, entries, free)
