"""Sensors that share an offset or a gain are told from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.backend import as_generator, to_numpy
from robustrank.certificate import best_set
from robustrank.linalg import Point, damped_least_squares, point_of, retract
from robustrank.metrics import normalized_error
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.result import StopReason
from robustrank.run import Run
from robustrank.simulate import Planted, plant
from robustrank.solvers import Drive
from robustrank.solvers.base import linearize
from robustrank.solvers.group_fit import Fault, GroupFit, GroupFitState, _two_centers

Array = np.ndarray[Any, Any]
M = 300


@pytest.fixture(scope="module")
def clean() -> Planted:
    return plant(16, 12, 2, M, rng=4)


def faulty(planted: Planted, fault: str, share: float, noise: float = 1e-3) -> tuple[Array, Array]:
    """Measurements with noise, of which the first ones are wrong; and which."""
    wrong = np.arange(M) < share * M
    deviation = np.std(planted.y)
    y = {
        "offset": planted.y + 0.1 * deviation * wrong,
        "gain": planted.y * np.where(wrong, 1.2, 1.0),
        "none": planted.y,
    }[fault]
    return y + noise * deviation * np.random.default_rng(1).standard_normal(M), wrong


def compromise(problem: Problem, planted: Planted) -> Point:
    """Least squares on all measurements."""
    point = point_of(planted.left / problem.units.matrix, planted.right)
    normalized = problem.normalized()
    for _ in range(5):
        tangent, residual = linearize(normalized, point)
        damping, tolerance = np.asarray(1e-12), np.asarray(1e-10)
        W = damped_least_squares(tangent, np.ones(M), residual, damping, tolerance)
        point = retract(point, W, 2)
    return point


def evidence_of(problem: Problem, point: Point) -> float:
    """The evidence that the residuals are noise."""
    normalized = problem.normalized()
    _, residual = linearize(normalized, point)
    freedom, null = problem.degrees_of_freedom, normalized.trivial_deviation
    return float(best_set(np.abs(residual), np.ones(M), null, freedom).evidence)


def explained(problem: Problem, initial: Point, fault: Fault) -> GroupFitState:
    (outcome,) = Drive([problem], GroupFit(initial, fault), Run()).to_the_end(as_generator(0))
    assert isinstance(outcome.state, GroupFitState)
    return outcome.state


def error_of(problem: Problem, point: Point, planted: Planted) -> float:
    found = point.scaled_left * problem.units.matrix, point.right
    return normalized_error(found, (planted.left, planted.right))


@pytest.mark.parametrize("share", [0.15, 0.3, 0.45])
@pytest.mark.parametrize("fault", [Fault.OFFSET, Fault.GAIN])
def test_both_groups_are_found(fault: Fault, share: float, clean: Planted) -> None:
    y, wrong = faulty(clean, fault.value, share)
    problem = Problem(as_operator(clean.A), y, 2)
    initial = compromise(problem, clean)
    evidence = evidence_of(problem, initial)
    best = explained(problem, initial, fault).best
    assert best.evidence > evidence + 0.1 * M
    assert np.mean(best.smaller == wrong) > 0.99
    assert error_of(problem, best.point, clean) < 2e-3
    if share > 0.2:  # the fit that they start from compromises between them
        assert error_of(problem, initial, clean) > 5e-3


@pytest.mark.parametrize("fault", [Fault.OFFSET, Fault.GAIN])
def test_noise_is_not_better_explained_by_groups(fault: Fault, clean: Planted) -> None:
    for kind, noise in (("none", 1e-3), ("none", 0.05)):
        y, _ = faulty(clean, kind, 0.0, noise)
        problem = Problem(as_operator(clean.A), y, 2)
        initial = compromise(problem, clean)
        evidence = evidence_of(problem, initial)
        assert explained(problem, initial, fault).best.evidence < evidence + 0.1 * M


def test_unrelated_outliers_belong_to_no_group(clean: Planted) -> None:
    y, wrong = faulty(clean, "offset", 0.3)
    y[-30:] = 100 * np.std(clean.y) * np.random.default_rng(3).standard_normal(30)
    problem = Problem(as_operator(clean.A), y, 2)
    unit = problem.units.matrix
    state = explained(problem, point_of(clean.left / unit, clean.right), Fault.OFFSET)
    assert np.mean(state.best.smaller[:-30] == wrong[:-30]) > 0.99
    assert not np.any(state.weights[-30:])


def test_offsets_are_equal_before_rows_are_scaled(clean: Planted) -> None:
    y, wrong = faulty(clean, "offset", 0.3, noise=0.0)
    sizes = 10 ** np.random.default_rng(5).uniform(-0.3, 0.3, M)
    A = sizes[:, None, None] * clean.A
    y = sizes * clean.y + 0.1 * np.std(clean.y) * wrong
    problem = Problem(as_operator(A), y, 2).with_unit_rows
    initial = compromise(problem, clean)
    best = explained(problem, initial, Fault.OFFSET).best
    assert np.array_equal(best.smaller, wrong)


@pytest.mark.slow_with_jax
def test_groups_are_found_by_every_library(xp: Any, clean: Planted) -> None:
    y, wrong = faulty(clean, "gain", 0.4)
    problem = Problem(as_operator(xp.asarray(clean.A)), xp.asarray(y), 2)
    unit = problem.units.matrix
    start = point_of(xp.asarray(1.08 * clean.left / unit), xp.asarray(clean.right))
    best = explained(problem, start, Fault.GAIN).best
    assert np.mean(to_numpy(best.smaller) == wrong) > 0.99


@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_two_groups_are_separated_despite_outliers(share: float, spread: float) -> None:
    rng = np.random.default_rng(0)
    values = np.where(np.arange(500) < share * 500, 1.0, 0.0) + spread * rng.standard_normal(500)
    values[-20:] = 1e3 * rng.standard_normal(20)
    low, high = _two_centers(values)
    assert low == pytest.approx(0.0, abs=0.25)
    assert high == pytest.approx(1.0, abs=0.35 if spread < 0.2 else 0.75)


def test_centers_of_equal_values() -> None:
    assert _two_centers(np.ones(5)) == (1.0, 1.0)


def test_a_run_that_is_not_finite_ends_without_an_exception(clean: Planted) -> None:
    problem = Problem(as_operator(clean.A), clean.y, 2)
    nowhere = Point(np.full((16, 2), np.nan), np.full(2, np.nan), np.full((12, 2), np.nan))
    for fault in Fault:
        (outcome,) = Drive([problem], GroupFit(nowhere, fault), Run()).to_the_end(as_generator(0))
        assert outcome.reason in (None, StopReason.ITERATIONS, StopReason.DIVERGED)


def test_positive_number_of_iterations_is_required(clean: Planted) -> None:
    point = point_of(clean.left, clean.right)
    with pytest.raises(ValueError, match="max_iterations=0"):
        GroupFit(point, Fault.OFFSET, max_iterations=0)
