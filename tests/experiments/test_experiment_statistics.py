"""Success rates, transitions, line fits and ratios."""

from __future__ import annotations

import math

import pytest
from experiment_samples import invented_rows

from experiments import Cell, Method, study
from experiments.claims.convergence import convergence_rate
from experiments.statistics import Rate, crossing, fit_line, ratio_with_interval
from experiments.transitions import heuristic_limit, transition, transition_by_size


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)],
)
def test_wilson_interval(successes: int, trials: int, low: float, high: float) -> None:
    assert Rate(successes, trials).interval == pytest.approx((low, high), abs=1e-4)


def test_rate_without_trials_is_unknown() -> None:
    assert math.isnan(Rate(0, 0).value)
    assert Rate(0, 0).interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 1], 250.0),
        ([0, 0.2, 1.0], 237.5),
        ([1, 0.5, 0], 200.0),
        ([1, 1, 1], None),
        ([0, math.nan, 1], None),
    ],
)
def test_crossing_of_one_half(values: list[float], expected: float | None) -> None:
    assert crossing([100, 200, 300], values, 0.5) == expected


def test_line_fit_and_geometric_mean_of_ratios() -> None:
    line = fit_line([1, 2, 3, 4], [3, 5, 7, 9])
    assert (line.slope, line.intercept, line.r_squared) == pytest.approx((2, 1, 1))
    ratio, low, high = ratio_with_interval([2.0, 2.2, 1.8], [1.0, 1.0, 1.0])
    assert low < ratio < high
    assert ratio == pytest.approx((2.0 * 2.2 * 1.8) ** (1 / 3))


def test_convergence_rate_is_that_of_the_steady_part() -> None:
    trace = [(k, 2 * k, max(10 ** (-k / 50), 1e-4)) for k in range(0, 400, 10)]
    assert convergence_rate({"trace": trace}) == pytest.approx(1 / 50)


def test_heuristic_limit_is_the_papers_heuristic_limit() -> None:
    assert heuristic_limit(Cell(2400, 5)) == pytest.approx(
        1421.05, abs=0.01
    )  # the number of the literature


def test_r_squared_of_a_line_fit() -> None:
    assert fit_line([0, 1, 2], [0, 1, 0]).r_squared == pytest.approx(0)
    assert fit_line([0, 1, 2], [1, 2, 2]).r_squared == pytest.approx(0.75)


def test_transition_of_each_rank() -> None:
    one = study("fig1a")

    def error(cell: Cell, _: Method) -> float:
        return 1e-9 if cell.measurements > 400 * cell.rank else 0.5

    found = transition(one, invented_rows(one, error), "default")
    assert found == {1: 375, 2: 825, 3: 1275, 4: 1575, 5: 2025, 6: 2475, 7: 2775, 8: 3225}


def test_transition_of_each_size() -> None:
    one = study("sizes")

    def error(cell: Cell, _: Method) -> float:
        inliers = (1 - cell.outliers) * cell.measurements
        return 1e-9 if inliers > 1.1 * cell.degrees_of_freedom else 0.5

    found = transition_by_size(one, invented_rows(one, error), "default", 0.2)
    assert [*found] == [20, 40, 80, 160]
    assert all(1.05 < ratio < 1.16 for ratio in found.values())
