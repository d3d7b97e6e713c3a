"""The table of ``robustrank.plan``: derived from the committed rows, and tested on others."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from experiment_samples import ROOT

from experiments import Cell, load, study
from experiments.planning_table import SOURCES, derive
from experiments.studies.planning import relative_noise
from experiments.success_curves import Group, Point, fit_curves, points
from robustrank.planning.curves import Curve, load_curves
from robustrank.planning.lookup import Question, look_up

RESULTS = ROOT / "results"
HELD_OUT = ("fig1a", "solvers")


def test_committed_table_is_what_the_script_derives() -> None:
    derived, committed = derive(RESULTS), load_curves()
    assert len(derived) == len(committed)
    for one, other in zip(derived, committed, strict=True):
        assert asdict(one).keys() == asdict(other).keys()
        for name, value in asdict(one).items():
            stored = getattr(other, name)
            if isinstance(value, float):
                assert value == pytest.approx(stored, abs=2e-3), (other, name)
            else:
                assert value == stored, (other, name)


@pytest.mark.parametrize(("method", "share"), [("default", 0.95), ("median-TGD", 0.95)])
def test_table_predicts_studies_that_it_was_not_derived_from(method: str, share: float) -> None:
    """Where it predicts success, or failure, nearly all trials have that outcome."""
    assert not set(HELD_OUT) & set(SOURCES)
    outcomes: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for name in HELD_OUT:
        for point in points(study(name), load(study(name), RESULTS)):
            predicted = _predicted(point) if point.group.method == method else None
            if predicted is not None and not 1 - share < predicted < share:
                counts = outcomes[predicted >= share]
                counts[0] += point.successes
                counts[1] += point.trials
    good, bad = outcomes[True], outcomes[False]
    assert min(good[1], bad[1]) > 800
    assert good[0] >= 0.99 * good[1]
    assert bad[0] <= 0.01 * bad[1]


def _predicted(point: Point) -> float | None:
    group = point.group
    question = Question(
        point.shape, point.rank, group.outliers, group.noise, group.family, group.outlier_model
    )
    m = point.inliers_per_freedom * point.freedom / (1 - group.outliers)
    return look_up(question, group.method).success(m)


def invented(ratio: float, shape: tuple[int, int], successes: int) -> Point:
    group = Group("gaussian", "huge", "median-TGD", 0.0, 0.2)
    return Point(group, shape, 2, ratio, successes, 100, (7,) * successes)


def test_fit_recovers_a_curve() -> None:
    true = (0.3, 0.8, 0.5)
    found = []
    for shape in ((16, 12), (30, 24), (150, 120)):
        u = invented(1.0, shape, 0).smallness
        for ratio in (1.1, 1.2, 1.3, 1.35, 1.4, 1.5, 1.6, 1.8, 2.0, 2.5):
            logit = (math.log(ratio) - true[0] - true[1] * u) / (true[2] * u)
            found.append(invented(ratio, shape, round(100 / (1 + math.exp(-logit)))))
    (curve,) = fit_curves(found)
    assert (curve.offset, curve.slope, curve.width) == pytest.approx(true, abs=0.08)
    assert (curve.passes, curve.trials, curve.ratio) == (7.0, 3000, (1.1, 2.5))


def test_group_with_one_size_or_without_failures_has_no_curve() -> None:
    one_size = [invented(1.2, (30, 24), 0), invented(1.8, (30, 24), 100)]
    no_failure = [invented(1.8, shape, 100) for shape in ((30, 24), (16, 12))]
    assert fit_curves(one_size) == fit_curves(no_failure) == []
    (never,) = fit_curves([invented(1.2, shape, 0) for shape in ((30, 24), (16, 12))])
    assert isinstance(never, Curve)
    assert not never.is_known


def test_relative_noise_is_that_of_the_measurements() -> None:
    cells = [cell for cell in study("planning").cells if isinstance(cell, Cell) and cell.noise]
    assert {round(relative_noise(cell), 4) for cell in cells} == {0.01, 0.05, 0.08}
    cell = max(cells, key=lambda one: one.measurements)
    noisy, clean = cell.plant(0), Cell(**asdict(cell) | {"noise": 0.0}).plant(0)
    # The seed is a hash of the setting, so that the noise must be compared with its own problem.
    measured = (noisy.A.reshape(len(noisy.y), -1) @ noisy.matrix.ravel())[~noisy.outliers]
    level = (noisy.y[~noisy.outliers] - measured).std() / measured.std()
    assert level == pytest.approx(relative_noise(cell), rel=0.1)
    assert clean.matrix.shape == noisy.matrix.shape
