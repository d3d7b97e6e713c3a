"""Groups of measurements that are wrong altogether, such as faulty sensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import Status
from robustrank.simulate import Planted

Vector = np.ndarray[Any, Any]

SENSORS, RANK = 12, 2


def problem(noise: float, ratio: float = 4.0) -> tuple[Planted, Vector, Vector]:
    """A planted problem, its measurements in units of a typical one, and their sensors."""
    planted = rr.simulate.plant(24, 18, RANK, round(ratio * RANK * 40), noise=noise, rng=3)
    sensors = np.random.default_rng(0).permutation(len(planted.y) % SENSORS + np.arange(320))
    return planted, planted.y / np.std(planted.y), sensors % SENSORS


def error(result: rr.Result, planted: Planted) -> float:
    scaled = result.matrix * np.std(planted.y) - planted.matrix
    return float(np.linalg.norm(scaled) / np.linalg.norm(planted.matrix))


# What a sensor reports, its verdict, and its offset and gain.
FAULTS: dict[str, tuple[Callable[[Vector], Vector], str, float, float]] = {
    "dead": (lambda y: 0 * y, "dead", 0, 0),
    "stuck": (lambda y: 0 * y + 0.7, "stuck", 0.7, 0),
    "small offset": (lambda y: y + 0.1, "offset", 0.1, 1),
    "offset": (lambda y: y - 1, "offset", -1, 1),
    "lower gain": (lambda y: 0.8 * y, "gain", 0, 0.8),
    "higher gain": (lambda y: 1.2 * y, "gain", 0, 1.2),
    "double": (lambda y: 2 * y, "gain", 0, 2),
    "opposite sign": (lambda y: -y, "gain", 0, -1),
    "offset and gain": (lambda y: 0.5 * y + 0.6, "offset and gain", 0.6, 0.5),
    "noise only": (lambda y: np.random.default_rng(9).permutation(y), "noise only", np.nan, np.nan),
}


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_named(fault: str, noise: float) -> None:
    planted, y, sensors = problem(noise)
    change, verdict, offset, gain = FAULTS[fault]
    for sensor in (2, 7):
        y[sensors == sensor] = change(y[sensors == sensor])
    result = rr.recover(planted.A, y, RANK, groups=sensors)
    assert result.status is (Status.ESTIMATED if noise else Status.RECOVERED)
    assert error(result, planted) < (0.02 if noise else 1e-9)
    assert result.groups is not None
    assert [(row.label, row.verdict) for row in result.groups.wrong] == [(2, verdict), (7, verdict)]
    for row in result.groups.wrong:
        assert row.share > 0.9
        if np.isfinite(offset):
            assert abs(row.offset - offset) <= 4 * row.offset_error + 1e-9
            assert abs(row.gain - gain) <= 4 * row.gain_error + 1e-9
            assert row.noise <= 2 * max(abs(gain), 1) * noise + 1e-6  # with that of predictions


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_exchanged_sensors_are_named_with_each_other(noise: float) -> None:
    planted, y, sensors = problem(noise)
    one, other = (np.flatnonzero(sensors == sensor)[:26] for sensor in (1, 4))
    y[one], y[other] = y[other], y[one]
    result = rr.recover(planted.A, y, RANK, groups=[f"S{k}" for k in sensors])
    assert result.certified
    assert result.groups is not None
    verdicts = {row.label: row.verdict for row in result.groups.wrong}
    assert verdicts == {"S1": "exchanged with S4", "S4": "exchanged with S1"}


def test_good_sensors_are_not_named() -> None:
    planted, y, sensors = problem(0.02)
    y[:20] += 50.0  # outliers of several sensors
    groups = rr.recover(planted.A, y, RANK, groups=sensors).groups
    assert groups is not None
    assert not groups.wrong
    assert sum(row.rejected for row in groups.rows) >= 20
    inside = [abs(row.gain - 1) < 3 * row.gain_error for row in groups.rows]
    assert sum(inside) >= SENSORS - 1


def test_a_faulty_sensor_does_not_change_the_result() -> None:
    planted, y, sensors = problem(0.01)
    results = []
    for value in (0.0, 1e3, np.inf):
        y[sensors == 5] = value
        results.append(rr.recover(planted.A, y, RANK, groups=sensors))
    without = sensors != 5
    oracle = rr.recover(planted.A[without], y[without], RANK)
    for result in results:
        assert result.certified
        assert np.linalg.norm(result.matrix - oracle.matrix) < 1e-3 * np.linalg.norm(oracle.matrix)


def test_a_fault_of_a_few_sensors_is_found_beside_other_outliers() -> None:
    planted, y, sensors = problem(0.01)
    y[::10] += np.random.default_rng(1).standard_normal(32) * 30
    y[sensors == 3] *= 1.3
    result = rr.recover(planted.A, y, RANK, groups=sensors)
    assert result.certified
    assert result.groups is not None
    assert [(row.label, row.verdict) for row in result.groups.wrong] == [(3, "gain")]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_result_that_most_sensors_contradict_is_not_certified(noise: float) -> None:
    planted, y, sensors = problem(noise)
    sensors = np.where(sensors < 8, 0, sensors)  # one sensor has two thirds of the measurements
    y[sensors == 0] *= 2
    assert rr.recover(planted.A, y, RANK).certified
    assert not rr.recover(planted.A, y, RANK, groups=sensors).certified


@pytest.mark.parametrize("size", [1, 2, 3, 320])
def test_groups_of_any_size(size: int) -> None:
    planted, y, _ = problem(0.0)
    y[5] = 100.0
    result = rr.recover(planted.A, y, RANK, groups=np.arange(320) // size)
    assert result.certified
    assert result.groups is not None
    assert sum(row.rejected for row in result.groups.rows) == 1
    assert {row.verdict for row in result.groups.rows} <= {"good", "noise only", "not checked"}
    assert all(row.count == min(size, 320 - k * size) for k, row in enumerate(result.groups.rows))


def test_a_sensor_that_alone_measures_a_column_is_not_checked() -> None:
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, RANK)) @ rng.standard_normal((RANK, 12))
    rows, columns = np.unravel_index(rng.permutation(360)[:300], (30, 12))
    entries = rr.operators.Entries(rows, columns, (30, 12))
    result = rr.recover(entries, M[rows, columns], RANK, groups=columns)
    assert result.groups is not None
    assert {row.verdict for row in result.groups.rows} == {"not checked"}


def test_a_stopped_run_counts_only() -> None:
    planted, y, sensors = problem(0.01)
    result = rr.recover(planted.A, y, RANK, groups=sensors, callback=lambda _: True)
    assert result.groups is not None
    assert {row.verdict for row in result.groups.rows} == {"not tested"}
    assert not result.groups.wrong


def test_without_groups_there_is_no_table() -> None:
    planted, y, _ = problem(0.0)
    assert rr.recover(planted.A, y, RANK).groups is None


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_have_the_same_verdicts(library: str) -> None:
    xp = pytest.importorskip(library)
    planted, y, sensors = problem(0.01)
    y[sensors == 2] = 0.0
    plain = rr.recover(planted.A, y, RANK, groups=sensors).groups
    other = rr.recover(xp.asarray(planted.A), xp.asarray(y), RANK, groups=sensors).groups
    assert plain is not None
    assert other is not None
    assert [row.verdict for row in plain.rows] == [row.verdict for row in other.rows]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"groups has shape \(2,\); expected \(320,\)"),
        (np.zeros((320, 2)), "groups has shape"),
        (np.where(np.arange(320) == 3, np.nan, 1.0), "groups contains NaN"),
        ([None, *"a" * 319], "groups contains NaN or None"),
        ([float("nan"), *"a" * 319], "groups contains NaN or None"),
        (np.ma.masked_array(np.zeros(320), mask=np.arange(320) == 3), "groups"),
    ],
)
def test_labels_that_cannot_be_used(groups: Any, message: str) -> None:
    planted, y, _ = problem(0.0)
    with pytest.raises((ValueError, TypeError), match=message):
        rr.recover(planted.A, y, RANK, groups=groups)


def test_labels_of_several_types_are_text() -> None:
    planted, y, sensors = problem(0.0)
    names: list[Any] = [1 if sensor == 0 else f"S{sensor}" for sensor in sensors]
    groups = rr.recover(planted.A, y, RANK, groups=names).groups
    assert groups is not None
    assert {row.label for row in groups.rows} == {"1", *(f"S{k}" for k in range(1, SENSORS))}
