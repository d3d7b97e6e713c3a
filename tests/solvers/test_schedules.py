"""The parts that Gauss–Newton is composed of: values, limits and validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.solvers import Damping, Settling, SoftWeights, Weighting

MAGNITUDES = np.asarray([0.0, 0.5, 1.0, 3.0, 9.9, 10.1])
MEDIAN = np.asarray(1.0)


def test_width_is_limited_by_the_median_of_the_residuals() -> None:
    widths, medians = np.asarray([3.0, 3.0]), np.asarray([0.1, 2.0])
    assert np.allclose(Weighting(max_medians=6.0).limited(widths, medians), [0.6, 3.0])


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_weights_are_soft_up_to_the_cutoff(power: float) -> None:
    weighting = Weighting(power=power, cutoff_medians=10.0)
    weights = weighting.weights(np.asarray(2.0), MAGNITUDES, MEDIAN)
    expected = np.where(MAGNITUDES <= 10, (1 + (MAGNITUDES / 2) ** 2) ** -power, 0)
    assert np.allclose(weights, expected)
    assert np.array_equal(
        weights, SoftWeights(np.asarray(2.0), power, 10.0).weights(MAGNITUDES, MEDIAN)
    )


def test_a_width_of_zero_gives_finite_weights() -> None:
    with np.errstate(over="ignore"):
        weights = Weighting().weights(np.asarray(0.0), MAGNITUDES, MEDIAN)
    assert np.isfinite(weights).all()
    assert weights[0] == 1


@pytest.mark.parametrize(
    ("iteration", "misfit", "expected"),
    [
        (0, 0.5, 0.25),  # the squared misfit
        (0, 4.0, 3.0),  # at most the initial damping
        (10, 4.0, 3.0 * 0.9**10),  # which decays
        (10, 1e-9, 1e-6),  # at least the smallest allowed
        (1000, 1.0, 1e-6),
    ],
)
def test_damping_is_the_squared_misfit_within_limits(
    iteration: int, misfit: float, expected: float
) -> None:
    damping = Damping(initial=3.0, decay=0.9)
    assert float(damping.at(iteration, np.asarray(misfit), 1e-6)) == pytest.approx(expected)


def test_each_problem_of_a_batch_has_its_own_damping() -> None:
    values = Damping(initial=10.0).at(0, np.asarray([0.1, 0.2, 9.0]), 1e-9)
    assert np.allclose(values, [0.01, 0.04, 10.0])


def test_default_schedules() -> None:
    """The values that the benchmarks were run with."""
    assert Weighting() == Weighting(3.0, 0.97, 6.0, 2.0, 10.0)
    assert Damping() == Damping(3.0, 0.93)
    assert Settling() == Settling(6.0, 40)


@pytest.mark.parametrize(
    ("schedule", "arguments", "message"),
    [
        (Weighting, {"width": 0.0}, "width=0.0; expected a positive finite number"),
        (Weighting, {"decay": -1.0}, "decay=-1.0; expected a positive finite number"),
        (Weighting, {"power": 0.0}, "power=0.0; expected a positive finite number"),
        (Weighting, {"cutoff_medians": 0.5}, "expected ≥ 1"),
        (Damping, {"initial": 0.0}, "initial=0.0; expected a positive finite number"),
        (Damping, {"decay": float("nan")}, "decay=nan; expected a positive finite number"),
        (Settling, {"alpha_h": 0.5}, "expected ≥ 1"),
        (Settling, {"alpha_h": float("inf")}, "expected a positive finite number"),
    ],
)
def test_invalid_parameters_raise(schedule: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule(**arguments)


def test_schedules_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Weighting().width = 1.0  # type: ignore[misc]
