"""The progress of a completion: its stage, the latest factors, and where it ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clock import Clock

from robustrank.completion.watch import Watch
from robustrank.operators import OutOfTime
from robustrank.result import StopReason
from robustrank.run import Progress, Run, Stopped

P, Q = np.ones((3, 1)), np.full((2, 1), 2.0)


def test_nothing_is_known_before_the_first_report() -> None:
    assert Watch(Run()).latest is None


def test_the_latest_factors_are_kept_in_the_units_of_the_stage() -> None:
    watch = Watch(Run())
    units = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0])
    watch.begin("first", lambda P, Q: (units[0][:, None] * P, units[1][:, None] * Q))
    watch.report(0.5, P, Q)
    assert watch.latest is not None
    left, right = watch.latest
    assert np.array_equal(left[:, 0], [1, 2, 3])
    assert np.array_equal(right[:, 0], [2, 20])
    watch.begin("second")
    watch.report(0.1, P, Q)
    assert watch.latest is not None
    assert np.array_equal(watch.latest[0], P)


def test_the_callback_is_given_the_stage_and_the_factors_in_the_units_of_the_user() -> None:
    seen: list[Progress] = []
    watch = Watch(Run(seen.append), lambda left, right: (100 * left, right))
    watch.of_whole = lambda left, right: (np.vstack([left, 0 * left]), right)
    watch.begin("rank 2")
    watch.report(0.25, P, Q)
    watch.report(0.5, P, Q)
    assert [shown.stage for shown in seen] == ["rank 2", "rank 2"]
    assert [shown.fraction for shown in seen] == [0.25, 0.5]
    assert [shown.iteration for shown in seen] == [1, 2]
    assert math.isnan(seen[0].misfit)
    assert np.array_equal(seen[0].left[:, 0], [100, 100, 100, 0, 0, 0])
    assert watch.latest is not None
    assert watch.latest[0].shape == (6, 1)


def test_the_factors_are_kept_when_the_run_is_stopped(clock: Clock) -> None:
    watch = Watch(Run(lambda _: True))
    with pytest.raises(Stopped) as caught:
        watch.report(0.5, P, Q)
    assert caught.value.reason is StopReason.CALLBACK
    assert watch.latest is not None
    watch = Watch(Run(time_limit=100))
    watch.report(0.5, P, Q)
    clock.forward(101)
    with pytest.raises(OutOfTime):
        watch.report(0.6, P, 2 * Q)
    assert watch.latest is not None
    assert np.array_equal(watch.latest[1], 2 * Q)
