"""From a sample to a completed matrix: exact if the data is, or with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, like, namespace, tiny, to_numpy
from robustrank.certificate import (
    MARGIN,
    NoiseStatistics,
    Support,
    enough_fits,
    error_per_deviation,
    exact_fits,
    largest_structure_of_noise,
    noise_statistics,
    residual_structure,
    supported_part,
    with_random_signs,
)
from robustrank.completion.held_out import (
    HeldOut,
    held_out_errors,
    split,
)
from robustrank.completion.noisy_fit import NoisyFit, empirical_bayes, with_noise_model
from robustrank.completion.refinement import CUTOFF, Fit, narrowed, polished
from robustrank.completion.ridge_path import PathPoint, RidgePath, candidate_ranks
from robustrank.completion.sample import (
    MANY,
    Sample,
    Vector,
    robust_deviation,
    row_and_column_scales,
    typical_deviation,
)
from robustrank.completion.single_rows import (
    agreeing_share,
    contested,
    repaired,
    undecided_refitted,
)
from robustrank.completion.watch import Watch
from robustrank.linalg import (
    Factors,
    Point,
    TangentMap,
    degrees_of_freedom,
    point_of,
)
from robustrank.noise import EQUAL, KNOWN, NoiseModel
from robustrank.result import FIRST_RANKS, PROGRESS, RankRow, RankTable, left_out_error

_REPAIRS = 4
# The search uses about 30 entries of a row or column for each component of the rank; all entries of
# the sample if that is more than half of them.
_ENOUGH = 30
# Components that leave at most this share of the typical entry are explained: the search goes on
# with what is left, so that outliers are compared with that and not with a large mean.
EXPLAINED = 0.3
_ROUGH_SWEEPS = 10  # of a fit that only shows whether a component is needed


@dataclass(frozen=True, eq=False)
class Solution:
    """A completed matrix in the units of the sample, and what supports it."""

    left: Array
    right: Array
    inliers: Vector  # boolean, in the order of the rows
    support: Support
    noise: float  # standard deviation; zero if the data is exact
    typical: float  # the size of a typical entry
    tolerance: float = 0.0  # the largest residual of an exact fit, relative to a typical entry
    noise_model: NoiseModel = EQUAL
    noise_sizes: Array | None = None  # relative, of each entry; None: equal for all
    held_out: HeldOut | None = None  # only with noise
    structure: float = 0.0
    # The error that is expected in the decided part, and the largest component of what the
    # residuals may hide, both relative to its norm.
    error: float = 0.0
    hidden: float = 0.0
    statistics: NoiseStatistics | None = None  # of the residuals in the part that is decided

    @property
    def rank(self) -> int:
        """The number of components."""
        return int(self.left.shape[1])

    @property
    def is_exact(self) -> bool:
        """Whether most entries are fitted up to rounding."""
        return self.held_out is None

    @property
    def cutoff(self) -> float:
        """The largest residual of an inlier."""
        return max(CUTOFF * self.noise, self.tolerance * self.typical)

    def required(self, entries: int) -> int:
        """The number of inliers that the decided part needs among this number of entries.

        They are a majority of all entries, and more than chance can fit.
        """
        return enough_fits(self.tolerance, entries, self.support.degrees_of_freedom(self.rank))

    def is_supported(self, entries: int) -> bool:
        """Whether the decided part has that number of inliers."""
        return int(np.sum(self.support.fitted)) >= self.required(entries)


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
        for limit in self._limits(bound):
            solution = self._solution(limit)
            complete = solution.is_exact or solution.structure < self._noise_structure
            if solution.rank < limit or complete:
                break
        return solution

    def rank_table(self, solution: Solution) -> RankTable | None:
        """The ranks that were compared, and all lower ones than the rank of the solution.

        The errors of ranks that were not fitted are those of the solution with fewer components.
        There is no table for the zero matrix.
        """
        if solution.rank == 0:
            return None
        point, rows = point_of(solution.left, solution.right), dict(self._compared)
        for k in range(1, solution.rank + 1):
            if k not in rows:
                lower = point.truncated(k)
                residual = self._sample.residual(lower.scaled_left, lower.right)
                rows[k] = _rank_row(self._sample, lower, robust_deviation(residual))
        compared = tuple(rows[k] for k in sorted(rows))
        return RankTable(compared, solution.rank, min(self._sample.shape))

    def _limits(self, bound: int | None) -> Iterator[int]:
        """The largest ranks to try, one after the other."""
        n1, n2 = self._sample.shape
        # With a higher rank, the degrees of freedom would exceed the number of entries.
        most = max(1, min(n1, n2, self._sample.size // (n1 + n2)))
        limit = FIRST_RANKS
        while bound is None and limit < most:
            yield limit
            limit *= 2
        yield most if bound is None else min(bound, n1, n2)

    def _solution(self, limit: int) -> Solution:
        """The best solution of at most this rank."""
        if self._sample.size < MARGIN:
            look = self._looked(self._scaled, limit, self._scaled.zero)
            return unsupported(self._sample, self._in_user_units(look.left, look.right))
        thin, kept = self._scaled.thinned(_ENOUGH * limit, self._rng)
        if 2 * thin.size <= self._scaled.size:
            solution = self._solution_by(thin, kept, limit)
            if solution.is_supported(self._sample.size):
                return solution
        return self._solution_by(self._scaled, None, limit)

    def _solution_by(self, part: Sample, kept: Array | None, limit: int) -> Solution:
        """The best solution, looked for with a part of the entries; None: with all of them."""
        found = self._attempt(part, kept, limit, part.zero)
        if found is None:
            found = self._noisy_solution(part, limit, part.zero)
        if self._zero is None:
            return found
        gained = np.sum(found.inliers) - np.sum(self._zero.inliers)
        by_chance = _is_by_chance(gained, self._sample.shape, 0, found.rank)
        return self._zero if by_chance else found

    def _looked(self, sample: Sample, limit: int, explained: Point) -> PathPoint:
        """The point halfway along the path, at which the ranks to try are chosen."""
        self._watch.begin("search", self._in_user_units)
        start = self._path.start(sample, limit, self._rng, explained)
        return self._path.advance(sample, start, self._path.steps // 2, self._watch)

    def _attempt(
        self, part: Sample, kept: Array | None, limit: int, explained: Point
    ) -> Solution | None:
        """A solution that fits the entries up to rounding, or one of a rank that leaves only noise.

        If no rank was given, lower ranks are tried first. Higher ones are not tried if only noise
        is left: they would fit it, which takes long. If a fit explains most of the entries, what
        it leaves is searched in the same way, in its own units, before a higher rank is tried.
        """
        look = self._looked(part, limit, explained)
        known, largest = explained.values.shape[0], look.left.shape[1]
        typical = typical_deviation(part.residual(explained.scaled_left, explained.right))
        waiting = [rank for rank in candidate_ranks(look.singular_values) if rank > known]
        if self._by_structure:
            waiting.sort()
        noise: dict[int, float] = {}  # that each rank leaves
        searched = False  # whether what a fit leaves has been searched
        further: Fit | None = None  # the fit of the lowest rank that explains most of the entries
        while waiting or further is not None:
            if further is not None and waiting in ([], [largest]):
                found = self._attempt(part, kept, limit, further.point)
                if found is not None:
                    return found
                waiting, further, searched = [max(noise) + 1, *waiting], None, True
            rank = waiting.pop(0)
            if rank in noise:
                continue
            fit = self._fit(part, look, rank)
            residual = part.residual(*fit.factors)
            noise[rank] = robust_deviation(residual)
            self._compared[rank] = _rank_row(part, fit.point, noise[rank])
            if not fit.has_noise:
                solution = self._conclusive(fit, part, kept)
                if solution is not None:
                    return solution
            elif self._by_structure and self._has_only_noise(part, residual, noise[rank]):
                return self._noisy_solution(part, limit, explained, enough=rank)
            elif rank == largest:
                continue
            elif not searched and 0 < noise[rank] <= EXPLAINED * typical:
                further = fit if further is None or rank < further.rank else further
            elif noise[rank] < PROGRESS * noise.get(rank - 1, math.inf):
                waiting.insert(0, rank + 1)  # the rank may be higher if that leaves less noise
            else:
                break  # the data has noise
        return None

    def _has_only_noise(self, sample: Sample, residual: Array, noise: float) -> bool:
        """Whether the residuals of a fit, without those of outliers, have no further component."""
        xp = namespace(residual)
        typical = xp.abs(residual) <= CUTOFF * noise
        kept = xp.where(typical, residual, xp.zeros_like(residual))
        return self._structure(sample, kept) < self._noise_structure

    def _structure(self, sample: Sample, residual: Array) -> float:
        """How much more than noise the residuals are; see ``residual_structure``."""
        return residual_structure(self._largest_values(sample, residual))

    def _largest_values(self, sample: Sample, residual: Array) -> list[float]:
        """The largest singular values of the residuals, and of these with random signs."""
        drawn = with_random_signs(residual, self._rng)
        return [float(sample.leading_svd(values, 1, self._rng)[1][0]) for values in drawn]

    def _narrowed(
        self, sample: Sample, look: PathPoint, rank: int, stage: str
    ) -> tuple[PathPoint, Fit]:
        """The end of the path with a lower rank, and the first fit from there."""
        self._watch.begin(stage, self._in_user_units)
        end = self._path.advance(sample, look.truncated(rank), self._path.steps, self._watch)
        return end, narrowed(sample, (end.left, end.right), end.width, self._watch)

    def _fit(self, sample: Sample, look: PathPoint, rank: int) -> Fit:
        """The fit of one rank, from a point of the path."""
        _, fit = self._narrowed(sample, look, rank, f"rank {rank}")
        for _ in range(_REPAIRS):
            if fit.has_noise:
                break
            fit, _ = repaired(sample, fit, self._rng)
            fit = polished(sample, fit, self._watch)
            again, changed = repaired(sample, fit, self._rng)
            if not changed:
                break
            fit = again
        return fit

    def _conclusive(self, fit: Fit, part: Sample, kept: Array | None) -> Solution | None:
        """The solution if chance does not explain its exact fits."""
        sample, by = self._scaled, None
        if kept is not None:
            fit, _ = repaired(sample, fit, self._rng)
            by = part.tangent(fit.point), to_numpy(kept)
        inliers = _exact_fits(sample, fit.factors)
        support = self._supported(sample, fit.point, inliers, sample.tolerance, by)
        factors = undecided_refitted(
            sample, fit.factors, support.rows, support.columns, sample.tolerance
        )
        solution = Solution(
            *self._in_user_units(*factors),
            _exact_fits(sample, factors),
            support,
            noise=0.0,
            typical=self._sample.deviation,
            tolerance=sample.relative_tolerance,
        )
        return solution if solution.is_supported(sample.size) else None

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

    def _noisy_solution(
        self, part: Sample, limit: int, explained: Point, enough: int | None = None
    ) -> Solution:
        """The solution of the rank with the most evidence, and how it predicts entries left out.

        If a rank is enough to leave only noise, no higher one is tried. Entries of which most are
        zero have no noise.
        """
        if self._zero is not None:
            return self._zero
        fitted, left_out = split(part, self._rng)
        look = self._looked(fitted, limit, explained)
        ranks = set(candidate_ranks(look.singular_values))
        if enough is not None:
            ranks = {rank for rank in ranks if rank < enough} | {enough}
        in_user_units = [1 / unit for unit in self._units]
        given, predicted = (one.divided_by(*in_user_units) for one in (fitted, left_out))
        found = []
        for rank in sorted(ranks):
            evidence, fit = self._noisy_fit(fitted, given, look, rank)
            errors = held_out_errors(predicted, fit)
            values = to_numpy(point_of(*fit.factors).values)
            self._compared[rank] = RankRow.of(values, errors.error / self._sample.deviation)
            found.append((evidence, fit, errors))
        _, best, errors = max(found, key=lambda one: one[0])
        return self._noisy_result(best, errors)

    def _noisy_fit(
        self, scaled: Sample, given: Sample, look: PathPoint, rank: int
    ) -> tuple[float, NoisyFit]:
        """The largest evidence of the fits of one rank from two starting points, and that fit."""
        stage, watch = f"noise, rank {rank}", self._watch
        end, narrow = self._narrowed(scaled, look, rank, stage)
        watch.begin(stage)
        model = EQUAL if given.known_noise is None else KNOWN
        fits = [
            empirical_bayes(given, self._in_user_units(*factors), watch, model)
            for factors in ((end.left, end.right), narrow.factors)
        ]
        best = max(fits, key=lambda fit: fit.evidence(given))
        best = with_noise_model(given, best, watch, self._rng)
        return best.evidence(given), best

    def _noisy_result(self, start: NoisyFit, errors: HeldOut) -> Solution:
        """The solution with all entries, from the fit without those that were left out."""
        sample = self._sample
        fit = self._repaired_noisy(empirical_bayes(sample, start.factors, self._watch, start.model))
        fit = with_noise_model(sample, self._without_surplus(fit), self._watch, self._rng)
        inliers = to_numpy(fit.weights) > 0.5
        xp = namespace(fit.left)
        residual = fit.weights * sample.residual(*fit.factors) / fit.sizes
        largest, point = self._largest_values(sample, residual), point_of(*fit.factors)
        support = self._supported(sample, point, inliers, CUTOFF * fit.noise)
        norm = max(float(xp.linalg.vector_norm(point.values)), tiny(residual))
        return Solution(
            *fit.factors,
            inliers,
            support,
            fit.noise,
            sample.deviation,
            noise_model=fit.model,
            noise_sizes=None if fit.model == EQUAL else fit.sizes,
            held_out=errors,
            error=_expected_error(sample, fit, support),
            hidden=largest[0] * math.prod(sample.shape) / (sample.size * norm),
            structure=residual_structure(largest),
            statistics=_statistics(sample, fit, inliers, support, self._rng),
        )

    def _without_surplus(self, fit: NoisyFit) -> NoisyFit:
        """The fit without components that explain less than they have degrees of freedom.

        They fit outliers. Each component may be the one; a rough fit without it shows that.
        """
        while (lower := self._without_a_surplus_component(fit)) is not None:
            fit = self._repaired_noisy(empirical_bayes(self._sample, lower, self._watch, fit.model))
        return fit

    def _without_a_surplus_component(self, fit: NoisyFit) -> Factors | None:
        """The factors without the first surplus component that is found; None if there is none."""
        if fit.rank == 1:
            return None
        point, evidence = point_of(*fit.factors), fit.evidence(self._sample)
        for component in reversed(range(fit.rank)):
            others = [k for k in range(fit.rank) if k != component]
            factors = point.scaled_left[:, others], point.right[:, others]
            lower = empirical_bayes(
                self._sample, factors, self._watch, fit.model, sweeps=_ROUGH_SWEEPS
            )
            if lower.evidence(self._sample) >= evidence:
                return lower.factors
        return None

    def _repaired_noisy(self, fit: NoisyFit) -> NoisyFit:
        """The fit after repairing rows and columns that are not explained by it."""
        for _ in range(_REPAIRS):
            before = Fit(point_of(*fit.factors), CUTOFF * fit.noise, has_noise=True)
            after, changed = repaired(self._sample, before, self._rng)
            if not changed:
                break
            fit = empirical_bayes(self._sample, after.factors, self._watch, fit.model)
        return fit

    def _in_user_units(self, P: Array, Q: Array) -> Factors:
        rows, columns = self._units
        return rows[:, None] * P, columns[:, None] * Q


def _rank_row(sample: Sample, point: Point, noise: float) -> RankRow:
    """The row of a fit that leaves this noise."""
    values = to_numpy(point.values)
    freedom = degrees_of_freedom(*sample.shape, len(values))
    return RankRow.of(values, left_out_error(noise / sample.deviation, sample.size, freedom))


def _expected_error(sample: Sample, fit: NoisyFit, support: Support) -> float:
    """The expected error in the rows and columns that are decided, relative to the norm there."""
    xp = namespace(fit.left)
    rows, columns = (
        xp.asarray(one, device=like(fit.left)["device"]) for one in (support.rows, support.columns)
    )
    left, right = (
        xp.where(part[:, None], factor, xp.zeros_like(factor))
        for part, factor in zip((rows, columns), fit.factors, strict=True)
    )
    point = point_of(left, right)
    at = sample.by_rows
    inside = xp.take(rows, at.owners) & xp.take(columns, at.others)
    precisions = xp.where(inside, fit.weights / fit.sizes**2, xp.zeros_like(fit.weights))
    largest = float(xp.max(precisions))
    norm = float(xp.linalg.vector_norm(point.values))
    if not largest * norm > 0:
        return math.inf
    deviation = error_per_deviation(
        sample.tangent(point),
        precisions / largest,
        support.degrees_of_freedom(fit.rank),
        xp.concat([rows, columns]),
    )
    return fit.noise / math.sqrt(largest) * deviation / norm


def _exact_fits(sample: Sample, factors: Factors) -> Vector:
    """Which entries are fitted up to rounding, boolean, in the order of the rows."""
    residual = sample.residual(*factors)
    return to_numpy(exact_fits(residual, sample.relative_tolerance, sample.deviation))


def _is_by_chance(gained: int, shape: tuple[int, int], lower: int, higher: int) -> bool:
    """Whether a higher rank fits hardly more entries than it has more degrees of freedom."""
    fewer, free = (degrees_of_freedom(*shape, rank) for rank in (lower, higher))
    return gained < free - fewer + MARGIN


def _statistics(
    sample: Sample, fit: NoisyFit, inliers: Vector, support: Support, rng: np.random.Generator
) -> NoiseStatistics:
    """What the residuals look like in the part that is decided, by some entries of each row."""
    part, kept = sample.thinned(MANY, rng)
    at, of_part = part.by_rows, fit.restricted(kept)
    decided = support.rows[to_numpy(at.owners)] & support.columns[to_numpy(at.others)]
    left, residual, predicted = (
        to_numpy(values)[decided].astype(float)
        for values in (
            of_part.residuals(part).left,
            part.residual(*fit.factors) / of_part.sizes,
            at.dot(*fit.factors),
        )
    )
    return noise_statistics(residual, predicted, inliers[to_numpy(kept)][decided], left)


def _zero_solution(sample: Sample) -> Solution | None:
    """The zero matrix if most entries support it."""
    zero = sample.zero
    inliers = _exact_fits(sample, (zero.left, zero.right))
    if 2 * np.sum(inliers) <= sample.size:  # no majority in any part
        return None
    solution = Solution(
        zero.left,
        zero.right,
        inliers,
        supported_part(sample.tangent(zero), inliers, agreeing=0.0),
        noise=0.0,
        typical=sample.deviation,
        tolerance=sample.relative_tolerance,
    )
    return solution if solution.is_supported(sample.size) else None


def unsupported(sample: Sample, factors: Factors | None) -> Solution:
    """A solution that nothing supports: the factors, or zero if there are none."""
    P, Q = factors or (sample.zero.left, sample.zero.right)
    noise = robust_deviation(sample.residual(P, Q))
    inliers = sample.within(P, Q, CUTOFF * noise)
    rows, columns = (np.zeros(n, bool) for n in sample.shape)
    support = Support(rows, columns, np.zeros_like(inliers))
    return Solution(P, Q, inliers, support, noise, sample.deviation)
