"""The curves of the table: probabilities, thresholds, interpolation, and how they are stored."""

from __future__ import annotations

import json
import math

import pytest

from robustrank.certificate import required_fits
from robustrank.certificate.conclusion import _REDUNDANT
from robustrank.operators import as_operator
from robustrank.planning.curves import (
    DEFAULT,
    ENTRIES,
    GAUSSIAN,
    PAPER,
    REDUNDANT,
    REDUNDANT_WITH_NOISE,
    Curve,
    as_json,
    interpolate,
    least_inliers,
    load_curves,
    smallness,
)
from robustrank.problem import Problem
from robustrank.simulate import plant


def curve(**given: object) -> Curve:
    values: dict[str, object] = {
        "family": GAUSSIAN,
        "outlier_model": "huge",
        "method": DEFAULT,
        "noise": 0.0,
        "outliers": 0.1,
        "offset": 0.2,
        "slope": 1.0,
        "width": 0.5,
        "passes": 20.0,
        "trials": 10,
        "freedom": (27, 1000),
        "rank": (1, 5),
        "rank_ratio": (0.05, 0.2),
        "ratio": (1.0, 4.0),
    }
    return Curve(**values | given)  # type: ignore[arg-type]


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("u", [0.2, 0.02])
def test_threshold_is_where_the_probability_is_reached(probability: float, u: float) -> None:
    ratio = curve().inliers_per_freedom(probability, u)
    assert curve().success(ratio, u) == pytest.approx(probability)


def test_threshold_follows_its_formula() -> None:
    expected = math.exp(0.2 + (1.0 + 0.5 * math.log(19)) * 0.1)
    assert curve().inliers_per_freedom(0.95, 0.1) == pytest.approx(expected)
    assert curve().success(1e9, 0.1) == pytest.approx(1.0)
    assert curve().success(1e-9, 0.1) == pytest.approx(0.0, abs=1e-20)


def test_curve_without_successes_has_no_threshold() -> None:
    failed = curve(offset=None, slope=None, width=None)
    assert not failed.is_known
    with pytest.raises(ValueError, match="no trial succeeded"):
        failed.inliers_per_freedom(0.5, 0.1)


def test_interpolated_curve_is_between_and_has_the_common_sizes() -> None:
    low = curve(outliers=0.1, offset=0.2, passes=20.0, freedom=(27, 1000), ratio=(1.0, 4.0))
    high = curve(outliers=0.2, offset=0.6, passes=40.0, freedom=(50, 2000), ratio=(1.0, 8.0))
    middle = interpolate(low, high, 0.25)
    assert middle.offset == pytest.approx(0.3)
    assert (middle.passes, middle.outliers) == (25.0, 0.125)
    assert (middle.freedom, middle.ratio) == ((50, 1000), (1.0, 5.0))
    assert interpolate(low, high, 0.0) is low


def test_smallness_depends_on_the_freedom_or_for_entries_on_the_rank() -> None:
    assert smallness(GAUSSIAN, (150, 120), 5) == pytest.approx(1 / math.sqrt(1325))
    assert smallness(ENTRIES, (150, 120), 4) == 0.5


@pytest.mark.parametrize("m", [60, 2_000, 100_000])
def test_redundant_inliers_are_those_that_the_certificate_requires(m: int) -> None:
    planted = plant(6, 5, 1, 30, rng=0)
    problem = Problem(as_operator(planted.A), planted.y, 1)
    freedom = problem.degrees_of_freedom
    assert required_fits(problem, m) == max(freedom + REDUNDANT, m // 2 + 1)
    assert least_inliers(GAUSSIAN, DEFAULT, 0.0, freedom) == freedom + REDUNDANT
    assert REDUNDANT_WITH_NOISE == _REDUNDANT
    for method in (DEFAULT, PAPER):
        assert least_inliers(GAUSSIAN, method, 0.01, freedom) == freedom + _REDUNDANT
    assert least_inliers(GAUSSIAN, PAPER, 0.0, freedom) == freedom
    assert least_inliers(ENTRIES, DEFAULT, 0.01, freedom) == freedom


def test_table_survives_being_written() -> None:
    curves = load_curves()
    assert len(curves) > 50
    stored = json.loads(as_json(curves, "here"))
    assert stored["source"] == "here"
    assert [tuple(one["ratio"]) for one in stored["curves"]] == [one.ratio for one in curves]
    keys = [(c.family, c.outlier_model, c.method, c.noise, c.outliers) for c in curves]
    assert len(set(keys)) == len(keys)
