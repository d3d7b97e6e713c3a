"""``recover``: what goes in, what comes out, and how the result reads."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import robustrank as rr
from robustrank.api.running import memory_needed
from robustrank.metrics import normalized_error, score_outliers
from robustrank.simulate import Planted, plant


def error_of(result: rr.Result, planted: Planted) -> float:
    factors = np.asarray(result.left, float), np.asarray(result.right, float)
    return normalized_error(factors, (planted.left, planted.right))


def test_recovers_matrix_and_outliers(small: Planted) -> None:
    result = rr.recover(small.A, small.y, rank=2)
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.is_exact
    assert np.allclose(result.matrix, small.matrix, rtol=1e-6)
    score = score_outliers(result.outliers, small.outliers)
    assert (score.missed, score.false_positives) == (0, 0)
    assert np.allclose(result.residual, small.y - np.einsum("ijk,jk->i", small.A, result.matrix))


def test_float32_sensing_data_with_float64_measurements(small: Planted) -> None:
    result = rr.recover(small.A.astype("float32"), small.y, 2)
    assert result.left.dtype == np.float64
    assert result.status is rr.Status.RECOVERED
    assert result.iterations < 1000
    assert error_of(result, small) < 1e-5


def test_memory_mapped_and_two_dimensional_input_give_the_same_result(
    small: Planted, tmp_path: Path
) -> None:
    np.save(tmp_path / "A.npy", small.A)
    mapped = rr.recover(np.load(tmp_path / "A.npy", mmap_mode="r"), small.y, 2)
    flat = rr.recover(small.A.reshape(400, 300), small.y, 2, shape=(20, 15))
    direct = rr.recover(small.A, small.y, 2)
    assert np.allclose(mapped.matrix, direct.matrix, rtol=1e-8)
    assert np.array_equal(flat.matrix, direct.matrix)


def test_lists_are_accepted() -> None:
    planted = plant(4, 3, 1, 60, outliers=0.05, rng=1)
    result = rr.recover(planted.A.tolist(), planted.y.tolist(), 1)
    assert error_of(result, planted) < 1e-6


def test_big_endian_y_and_read_only_input(small: Planted) -> None:
    A, y = small.A.copy(), small.y.astype(">f8")
    A.setflags(write=False)
    assert rr.recover(A, y, 2).status is rr.Status.RECOVERED


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (1, 12), (12, 1), (2, 40)])
def test_thin_matrices(n1: int, n2: int) -> None:
    planted = plant(n1, n2, 1, 300, outliers=0.05, rng=3)
    assert error_of(rr.recover(planted.A, planted.y, 1), planted) < 1e-6


def test_full_rank() -> None:
    planted = plant(4, 3, 3, 300, outliers=0.05, rng=3)
    assert error_of(rr.recover(planted.A, planted.y, 3), planted) < 1e-6


def test_one_measurement() -> None:
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(np.ones((1, 2, 2)), np.ones(1), 1)
    assert not result.certificate.is_exact


def test_half_of_y_identical_is_accepted() -> None:
    planted = plant(4, 3, 1, 30, rng=0)
    y = np.where(np.arange(30) < 15, 7.5, planted.y)
    assert isinstance(rr.recover(planted.A, y, 1).status, rr.Status)


def test_residuals_of_infinite_measurements_are_infinite(small: Planted) -> None:
    y = small.y.copy()
    y[3], y[5] = math.inf, -1e300
    result = rr.recover(small.A, y, 2)
    assert result.status is rr.Status.RECOVERED
    assert result.residual[3] == math.inf
    assert result.residual[5] == pytest.approx(-1e300)


def test_infinite_measurements_do_not_prevent_an_estimate() -> None:
    """They have no weight, but zero times infinity is not a number."""
    planted = plant(20, 15, 1, 400, outliers=0.05, noise=0.02, rng=1)
    planted.y[[3, 9]] = [np.inf, -np.inf]
    result = rr.recover(planted.A, planted.y, 1)
    assert result.status is rr.Status.ESTIMATED
    assert result.outliers[[3, 9]].all()


def test_text_of_a_recovered_result_leads_with_exact_fits(small: Planted) -> None:
    text = repr(rr.recover(small.A, small.y, 2))
    lines = text.splitlines()
    assert lines[0] == "A 20 × 15 matrix of rank 2 by Gauss–Newton"
    assert lines[1].split()[:2] == ["status", "recovered:"]
    evidence = lines[2].removeprefix("  evidence").strip()
    assert evidence.startswith("380 of 400 measurements are fitted exactly")
    assert "within the noise" not in text


def test_text_of_a_settled_result_leads_with_the_noise() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, bounded_noise=0.05, rng=5)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.ESTIMATED
    lines = repr(result).splitlines()
    assert lines[1].split()[:2] == ["status", "estimated:"]
    evidence = lines[2].removeprefix("  evidence").strip()
    certificate = result.certificate
    assert evidence.startswith(
        f"{certificate.inliers} of 600 measurements fit within the noise, "
        f"σ ≈ {certificate.sigma:.3g} "
    )
    true = 0.05 * np.linalg.svd(planted.matrix, compute_uv=False)[1] / np.sqrt(3)
    assert certificate.sigma == pytest.approx(true, rel=0.1)
    assert certificate.inliers == 570
    assert "exactly" not in evidence


def test_equal_sensing_rows_cause_no_warning() -> None:
    """They leave most of the matrix undetermined. A warning is an error here."""
    planted = plant(4, 3, 1, 40, rng=0)
    A = np.ascontiguousarray(np.broadcast_to(planted.A[:1], planted.A.shape))
    y = np.full(40, 2.0)
    assert not rr.recover(A, y, 1).certified


def test_a_matrix_that_would_overflow_becomes_the_zero_matrix() -> None:
    planted = plant(1, 2, 1, 60, rng=0)
    diverging = rr.solvers.VanillaGD(step_size=1e20, max_iterations=1)
    result = rr.recover(planted.A, planted.y * 1e280, 1, solver=diverging)
    assert result.stopped is rr.StopReason.DIVERGED
    assert np.all(result.matrix == 0)
    assert np.allclose(result.residual, planted.y * 1e280, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("float64", 8)])
def test_memory_needed_is_that_of_the_data_and_a_quarter(dtype: str, width: int) -> None:
    A = np.ones((40, 5, 3), dtype)
    for given in (A, rr.operators.as_operator(A)):
        assert memory_needed(given) == 1.25 * width * 600
    assert memory_needed([1.0]) == 0
