"""From where a solver ended to the fit that explains the measurements best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from robustrank.backend import namespace, to_numpy
from robustrank.certificate import exact_tolerance, noise_statistics
from robustrank.linalg import LEVERAGE_LIMIT, leverages, sample_quantile
from robustrank.noise import EQUAL, KNOWN, PROPORTIONAL, NoiseModel
from robustrank.noise_choice import ROUNDS, Residuals
from robustrank.problem import Problem
from robustrank.search.results import Found
from robustrank.search.sensors import in_wrong_groups
from robustrank.solvers import Outcome, Solver
from robustrank.solvers.evidence_fit import EvidenceFit, EvidenceFitState
from robustrank.solvers.group_fit import Fault, GroupFit, GroupFitState

_SIMILAR = 1.5
# Two groups are looked for if the fit has at least this much evidence for each degree of freedom:
# a compromise between them explains most of what is measured.
_COMPROMISE = 0.5
# Two groups explain the measurements better if their evidence is larger by this much for each.
_CLEARLY_MORE = 0.1

Drive = Callable[[Solver[Any], Problem], Found]


class Fitted(NamedTuple):
    """A final fit: the solver and its outcome."""

    solver: EvidenceFit
    outcome: Outcome
    state: EvidenceFitState
    evidence: float  # with what explains the sensors that share a fault, if it does


@dataclass(frozen=True)
class FinalFit:
    """Tries several explanations and keeps the one with the most evidence.

    Noise may be proportional to the norm of each A_i or of equal size for all, grow with the
    prediction, or have a level for each group, and a part of the sensors may share an offset or a
    gain. ``drive`` runs a solver on a problem. Fits without a
    majority of inliers are None.
    """

    drive: Drive

    def best(self, problem: Problem, fit: EvidenceFit) -> Fitted | None:
        """The fit with the most evidence, without sensors that share a fault if there are any."""
        plain = self._of_any_noise(problem, fit)
        if plain is None or _leaves_only_rounding(problem, plain):
            return plain
        plain = self._without_wrong_groups(problem, plain)
        best = self._with_numbers_of_noise(problem, plain)
        if best is not plain:  # with another noise model, other groups may be wrong
            again = self._without_wrong_groups(problem, best)
            best = best if again is best else self._with_numbers_of_noise(problem, again)
        for fault in _possible_faults(problem, plain):
            explained = self._without_fault(problem, plain, fault)
            if explained is not None:
                explained = self._with_numbers_of_noise(problem, explained)
                best = max(best, explained, key=lambda one: one.evidence)
        return best

    def _of_any_noise(self, problem: Problem, fit: EvidenceFit) -> Fitted | None:
        """The fit of the noise model with the most evidence, among those without numbers."""
        best: Fitted | None = None
        for noise in _possible_noise(problem):
            if best and best.evidence > 0:
                fit = replace(fit, initial=best.state.point)
            fitted = self._fitted(problem, replace(fit, noise=noise))
            if fitted and not (best and best.evidence >= fitted.evidence):
                best = fitted
        return best

    def _with_numbers_of_noise(self, problem: Problem, best: Fitted) -> Fitted:
        """The fit with a noise model whose numbers are estimated, if that has more evidence.

        The residuals at one fit support a model, and the fit with that model others: the numbers
        are those that a fit with them supports.
        """
        unit = problem.with_unit_rows.normalized()
        residuals = _residuals(unit, best)
        density, fitted = residuals.density, best
        for _ in range(ROUNDS):
            before, noise = fitted.solver.noise, residuals.chosen()
            if noise == before:
                break
            again = self._fitted(
                problem, replace(fitted.solver, initial=fitted.state.point, noise=noise)
            )
            if again is None:
                break
            gain = again.evidence - fitted.state.evidence
            fitted = again._replace(evidence=fitted.evidence + gain)
            residuals = _residuals(unit, again)
            if residuals.density > density:
                best, density = fitted, residuals.density
            if noise.is_near(before):
                break
        return best

    def _without_wrong_groups(self, problem: Problem, best: Fitted) -> Fitted:
        """The fit without the groups that are wrong altogether, until these are the same."""
        unit = problem.with_unit_rows.normalized()
        for _ in range(0 if problem.groups is None else ROUNDS):
            state, noise, before = best.state, best.solver.noise, best.solver.without
            wrong = in_wrong_groups(unit, state.tangent, state.residual, state.weights, noise)
            changed = wrong if before is None else wrong != before
            if not bool(namespace(wrong).any(changed)):
                break
            fit = replace(best.solver, initial=state.point, without=wrong)
            fitted = self._fitted(problem, fit)
            if fitted is None:
                break
            best = fitted
        return best

    def _fitted(self, problem: Problem, fit: EvidenceFit) -> Fitted | None:
        outcome = self.drive(fit, problem).outcome()
        state = outcome.state
        if not (isinstance(state, EvidenceFitState) and math.isfinite(state.evidence)):
            return None
        return Fitted(fit, outcome, state, state.evidence)

    def _without_fault(self, problem: Problem, best: Fitted, fault: Fault) -> Fitted | None:
        """The fit without the sensors that share a fault, if that explains clearly more."""
        fit, margin = best.solver, _CLEARLY_MORE * problem.operator.measurements
        groups = GroupFit(best.state.point, fault, name=fit.name)
        state = self.drive(groups, problem).outcome().state
        if not (isinstance(state, GroupFitState) and state.best.evidence > best.evidence + margin):
            return None
        found = state.best
        without = self._fitted(problem, replace(fit, initial=found.point, excluded=found.smaller))
        return without and without._replace(evidence=found.evidence)


def _possible_noise(problem: Problem) -> Sequence[NoiseModel]:
    """The noise models to try: only the first one unless the norms of the A_i clearly differ."""
    if problem.noise_scale is not None:
        return (KNOWN,)
    low, high = (float(sample_quantile(problem.row_factors, p)) for p in (0.1, 0.9))
    equal = (EQUAL,) if high > _SIMILAR * low else ()
    return PROPORTIONAL, *equal


def _residuals(unit: Problem, fitted: Fitted) -> Residuals:
    """What a fit of a normalized problem with rows of equal norm leaves."""
    state = fitted.state
    own = leverages(state.tangent, state.weights, unit.degrees_of_freedom, LEVERAGE_LIMIT)
    return Residuals(
        state.residual,
        1 - own,
        unit.y - state.residual,
        unit.conditions,
        fitted.solver.noise,
        float(unit.trivial_deviation),
        fitted.solver.without,
    )


def _leaves_only_rounding(problem: Problem, fitted: Fitted) -> bool:
    return fitted.state.level <= exact_tolerance(problem.with_unit_rows.normalized())


def _possible_faults(problem: Problem, best: Fitted) -> Iterator[Fault]:
    """What may distinguish two groups of sensors that a fit compromises between."""
    if best.evidence < _COMPROMISE * problem.degrees_of_freedom:
        return
    residuals = _residuals(problem.with_unit_rows.normalized(), best)
    sizes = best.solver.noise.sizes(residuals.prediction, residuals.conditions)
    given = residuals.residual / sizes, residuals.prediction, best.state.weights > 0, residuals.left
    statistics = noise_statistics(*map(to_numpy, given))
    if statistics.suggest_offsets():
        yield Fault.OFFSET
    if statistics.suggest_gains():
        yield Fault.GAIN
