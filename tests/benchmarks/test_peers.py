"""The transcribed methods of the benchmark recover easy planted problems."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.entries_peers import Setting, compared
from benchmarks.peers import Given, Peer
from benchmarks.peers.accaltproj import accaltproj
from benchmarks.peers.base import Solve
from benchmarks.peers.rgnmr import rgnmr
from robustrank.metrics import normalized_error
from robustrank.simulate import plant_entries


@pytest.mark.parametrize(("tolerance", "largest"), [(1e-5, 1e-4), (1e-12, 1e-11)])
def test_accaltproj_recovers_a_matrix_from_its_sum_with_outliers(
    tolerance: float, largest: float
) -> None:
    planted = plant_entries(150, 120, 2, 150 * 120, outliers=0.1, condition_number=2, rng=1)
    estimate = accaltproj(planted.incomplete, 2, tolerance=tolerance)
    error = np.linalg.norm(estimate - planted.matrix) / np.linalg.norm(planted.matrix)
    assert error < largest


def test_accaltproj_fails_if_its_rank_is_too_small() -> None:
    planted = plant_entries(150, 120, 2, 150 * 120, outliers=0.1, condition_number=2, rng=1)
    estimate = accaltproj(planted.incomplete, 1)
    error = np.linalg.norm(estimate - planted.matrix) / np.linalg.norm(planted.matrix)
    assert error > 0.1


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_rgnmr_completes_sampled_entries_of_any_size(size: float) -> None:
    planted = plant_entries(120, 100, 2, 5000, outliers=0.05, condition_number=2, rng=2)
    rows, columns, values = planted.triples
    count = int(planted.outliers.sum())
    left, right = rgnmr((rows, columns, size * values), planted.shape, 2, count)
    assert normalized_error((left / size, right), (planted.left, planted.right)) < 1e-10


def test_rgnmr_without_outliers_is_plain_completion() -> None:
    planted = plant_entries(60, 50, 2, 1500, condition_number=2, rng=3)
    estimate = rgnmr(planted.triples, planted.shape, 2, 0)
    assert normalized_error(estimate, (planted.left, planted.right)) < 1e-10


def _not_installed() -> Solve:
    raise ModuleNotFoundError("No module named 'absent'")


def test_a_peer_that_is_not_installed_is_named_with_the_command_that_installs_it() -> None:
    setting = Setting(n=40, outliers=0.1, oversampling=None, trials=1)
    peer = Peer("Absent", "", _not_installed, "absent")
    problem = setting.problem(0)
    found = compared(setting, peer, [problem], [Given.of(problem)], [(1.0, 1e-15)])
    assert "pip install absent" in str(found)
    assert found.record()["seconds"] is None
    assert found.ratio is None


@pytest.mark.parametrize(("error", "successes"), [(0.0, 1), (0.01, 0)])
def test_a_ratio_is_given_only_if_the_peer_succeeds(error: float, successes: int) -> None:
    setting = Setting(n=40, outliers=0.1, oversampling=None, trials=1)
    problem = setting.problem(0)
    estimate = (1 + error) * problem.matrix
    peer = Peer("Known", "", lambda: lambda _: estimate)
    found = compared(setting, peer, [problem], [Given.of(problem)], [(1.0, 1e-15)])
    assert found.successes == successes
    assert (found.ratio is not None) == bool(successes)
