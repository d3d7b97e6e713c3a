"""Several explanations are compared, and the one with the most evidence is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.metrics import normalized_error
from robustrank.noise import EQUAL, PROPORTIONAL
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.search.final_fit import _possible_noise
from robustrank.simulate import Planted, plant

Array = np.ndarray[Any, Any]


def error_of(result: rr.Result, planted: Planted) -> float:
    return normalized_error((result.left, result.right), (planted.left, planted.right))


def with_offset(
    seed: int, share: float, offset: float, *, correlated: bool = False, mean: float = 0.0
) -> tuple[Planted, Array, Array]:
    """A problem with noise of 1e-3 in which some sensors share an offset, and which."""
    planted = plant(14, 12, 1, 120, rng=seed)
    rng = np.random.default_rng(seed)
    A = planted.A + mean
    if correlated:
        for i in range(1, len(A)):
            A[i] = 0.9 * A[i - 1] + np.sqrt(1 - 0.81) * A[i]
    y = np.einsum("mij,ij->m", A, planted.left @ planted.right.T)
    deviation = np.std(y)
    wrong = rng.permutation(120) < share * 120
    y = y + offset * deviation * wrong + 1e-3 * deviation * rng.standard_normal(120)
    return planted, A, np.stack([y, wrong])


@pytest.mark.parametrize(
    "sensing", [{}, {"correlated": True}, {"mean": 5.0}], ids=["centered", "correlated", "mean"]
)
@pytest.mark.parametrize("share", [0.25, 0.45])
def test_an_offset_of_many_sensors_is_not_taken_for_noise(
    share: float, sensing: dict[str, Any]
) -> None:
    """A wrong result was certified with the offset as noise, and an error of 1 to 4 %."""
    for seed in range(3):
        planted, A, (y, wrong) = with_offset(seed, share, 0.05, **sensing)
        result = rr.recover(A, y, 1)
        assert error_of(result, planted) < 3e-3
        assert np.mean(result.outliers == wrong) > 0.97
        assert result.status in (rr.Status.ESTIMATED, rr.Status.INCONCLUSIVE)


def test_a_surplus_column_is_not_used_to_fit_outliers() -> None:
    """Half of the columns are seen by few rows: a second column can fit outliers there."""
    certified = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        planted = plant(18, 14, 1, 130, rng=seed)
        A = planted.A.copy()
        A[rng.random(130) > 0.3, :, :7] = 0
        y = np.einsum("mij,ij->m", A, planted.left @ planted.right.T)
        y[:10] = y[1:11]
        y += 2e-3 * np.std(y) * rng.standard_normal(130)
        result = rr.recover(A, y, 2)
        if result.status is rr.Status.ESTIMATED:
            certified += 1
            assert result.rank == 1
            assert error_of(result, planted) < 0.02
    assert certified >= 4


@pytest.mark.parametrize("rank", [2, 3])
def test_a_lower_rank_is_found_from_the_fit_itself(rank: int) -> None:
    """With few measurements for the given rank, no fit of that rank has enough evidence."""
    planted = plant(22, 14, 1, 130, outliers=0.2, outlier_model="scale", rng=3)
    noise = 1e-3 * np.std(planted.y) * np.random.default_rng(0).standard_normal(130)
    result = rr.recover(planted.A, planted.y + noise, rank)
    assert result.status is rr.Status.ESTIMATED
    assert result.rank == 1
    assert error_of(result, planted) < 2e-3


@pytest.mark.parametrize("event", ["callback", "time"])
def test_a_final_fit_can_be_stopped(event: str, clock: Clock) -> None:
    planted, A, (y, _) = with_offset(0, 0.45, 0.05)
    seen: list[int] = []

    def watch(progress: rr.Progress) -> bool:
        # The iterations of each part begin at zero.
        if progress.iteration == 0:
            seen.append(0)
        late = len(seen) >= 3 and progress.iteration > 0
        if late and event == "time":
            clock.forward(100)
        return late and event == "callback"

    limit = 100 if event == "time" else None
    result = rr.recover(A, y, 1, callback=watch, time_limit=limit)
    assert len(seen) >= 3
    stopped = rr.StopReason.CALLBACK if event == "callback" else rr.StopReason.TIME_LIMIT
    assert result.stopped is stopped
    assert result.status is rr.Status.INCONCLUSIVE
    assert error_of(result, planted) < 0.1


def test_noise_of_equal_size_is_tried_if_rows_differ_by_more_than_a_half(small: Planted) -> None:
    for factor, expected in ((1.2, (PROPORTIONAL,)), (3.0, (PROPORTIONAL, EQUAL))):
        sizes = np.where(np.arange(len(small.y)) % 2, 1.0, factor)
        A = sizes[:, None, None] * small.A
        assert _possible_noise(Problem(as_operator(A), sizes * small.y, 2)) == expected


def test_rows_of_one_size_are_not_rejected_together() -> None:
    """Noise proportional to the rows: for noise of equal size, the large rows would be outliers."""
    rng = np.random.default_rng(0)
    planted = plant(20, 14, 2, 200, rng=0)
    sizes = np.where(rng.random(200) < 0.4, 1e-3, 1.0)
    A, y = sizes[:, None, None] * planted.A, sizes * planted.y
    variable = rng.standard_normal(200) * np.exp(rng.normal(-0.25, 0.7, 200))
    result = rr.recover(A, y + 1e-3 * np.std(planted.y) * sizes * variable, 2)
    assert result.status is rr.Status.ESTIMATED
    assert np.count_nonzero(result.outliers) < 20
