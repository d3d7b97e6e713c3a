"""The expected time of dense measurements, compared with a run."""

from __future__ import annotations

import time

import robustrank as rr
from robustrank.planning.cost import expected_cost, seconds_per_pass


def test_time_is_proportional_to_the_rows_beyond_the_sample() -> None:
    few, many = (seconds_per_pass((40, 30), 2, m) for m in (4_000, 400_000))
    assert 30 < many / few < 300


def test_cost_of_passes() -> None:
    cost = expected_cost((40, 30), 2, 1000, passes=10)
    assert cost.memory_bytes == 8 * 1000 * (40 * 30 + 2 * 2 * 70)
    assert cost.seconds > 0


def test_prediction_is_within_a_factor_of_ten_of_a_run() -> None:
    """CPU time, because the machine has other load; docs/guide/planning.md has measurements."""
    planted = rr.simulate.plant(60, 48, 3, 800, outliers=0.1, rng=0)
    rr.recover(planted.A, planted.y, 3)  # compiles
    begin = time.process_time()
    result = rr.recover(planted.A, planted.y, 3)
    seconds = time.process_time() - begin
    predicted = result.passes * seconds_per_pass((60, 48), 3, 800)
    assert 0.1 < predicted / seconds < 10
