"""The front door: what goes in, what comes out, and what cannot change the answer."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robustrank.certificate.evidence import certify, conclude

import robustrank as rr
from robustrank.metrics import evaluate, normalized_error, score_outliers
from robustrank.simulate import Planted, plant

Array = np.ndarray[Any, Any]


def error_of(result: rr.Recovery, planted: Planted) -> float:
    factors = np.asarray(result.left, float), np.asarray(result.right, float)
    return normalized_error(factors, (planted.left, planted.right))


def test_recovers_matrix_and_outliers(small: Planted) -> None:
    result = rr.recover(small.A, small.y, rank=2)
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.holds
    assert np.allclose(result.matrix, small.matrix, rtol=1e-6)
    score = score_outliers(result.outliers, small.outliers)
    assert (score.missed, score.false_positives) == (0, 0)
    assert np.allclose(result.residual, small.y - np.einsum("ijk,jk->i", small.A, result.matrix))


def test_single_precision_sensing_data_with_double_measurements(small: Planted) -> None:
    result = rr.recover(small.A.astype("float32"), small.y, 2)
    assert result.left.dtype == np.float64
    assert result.status is rr.Status.RECOVERED
    assert result.iterations < 1000
    assert error_of(result, small) < 1e-5


def test_memory_mapped_and_flat_input_give_the_same_answer(small: Planted, tmp_path: Path) -> None:
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


# What must not change the answer.


def test_same_input_same_bits(small: Planted) -> None:
    first, second = (rr.recover(small.A, small.y, 2, rng=1) for _ in range(2))
    assert np.array_equal(first.matrix, second.matrix)


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_order_of_measurements_does_not_matter(shuffle: Any) -> None:
    planted = plant(10, 8, 1, 150, outliers=0.05, rng=2)
    order = list(range(150))
    shuffle.shuffle(order)
    plain = rr.recover(planted.A, planted.y, 1)
    permuted = rr.recover(planted.A[order], planted.y[order], 1)
    assert np.allclose(permuted.matrix, plain.matrix, atol=1e-7)
    assert np.array_equal(permuted.outliers, plain.outliers[order])


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 3.0, 1e20, 1e150])
def test_scaling_y_scales_the_matrix_and_nothing_else(scale: float, small: Planted) -> None:
    plain, scaled = rr.recover(small.A, small.y, 2), rr.recover(small.A, small.y * scale, 2)
    assert np.allclose(scaled.matrix / scale, plain.matrix, rtol=1e-6)
    assert np.array_equal(scaled.outliers, plain.outliers)
    assert scaled.status is plain.status
    assert scaled.iterations == plain.iterations
    assert scaled.certificate.explained == plain.certificate.explained


def test_scaling_y_by_a_power_of_four_changes_no_bit(small: Planted) -> None:
    plain, scaled = rr.recover(small.A, small.y, 2), rr.recover(small.A, small.y * 4.0**60, 2)
    assert np.array_equal(scaled.matrix, plain.matrix * 4.0**60)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scaling_in_single_precision(scale: float, small: Planted) -> None:
    A, y = small.A.astype("float32"), (small.y * scale).astype("float32")
    assert rr.recover(A, y, 2).status is rr.Status.RECOVERED


@pytest.mark.parametrize("scale", [1e-100, 0.05, 0.3, 4.0, 77.0, 1e100])
def test_scaling_the_sensing_data_scales_the_matrix_back(scale: float, small: Planted) -> None:
    result = rr.recover(small.A * scale, small.y, 2)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix * scale, small.matrix, rtol=1e-6)
    assert np.array_equal(result.outliers, small.outliers)
    assert np.allclose(
        result.residual, rr.recover(small.A, small.y, 2).residual, rtol=1e-6, atol=1e-5
    )


def test_transposing_the_problem_transposes_the_answer(small: Planted) -> None:
    plain = rr.recover(small.A, small.y, 2)
    turned = rr.recover(np.ascontiguousarray(small.A.swapaxes(1, 2)), small.y, 2)
    assert np.allclose(turned.matrix.T, plain.matrix, atol=1e-6)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, -1e300, 1e12])
def test_value_of_a_rejected_outlier_does_not_matter(value: float, small: Planted) -> None:
    y = small.y.copy()
    y[np.flatnonzero(small.outliers)[:5]] = value
    plain, changed = rr.recover(small.A, small.y, 2), rr.recover(small.A, y, 2)
    assert changed.status is rr.Status.RECOVERED
    assert np.allclose(changed.matrix, plain.matrix, rtol=1e-5, atol=1e-6)
    assert np.array_equal(changed.outliers, plain.outliers)


# Statuses that say what happened.


def test_infinite_measurements_make_vanilla_diverge_and_say_so(small: Planted) -> None:
    y = small.y.copy()
    y[3] = math.inf
    result = rr.recover(small.A, y, 2, solver="vanilla-gd")
    assert result.status is rr.Status.DIVERGED
    assert np.all(np.isfinite(result.matrix))
    assert not result.converged


def test_residuals_of_infinite_measurements_are_infinite(small: Planted) -> None:
    y = small.y.copy()
    y[3], y[5] = math.inf, -1e300
    result = rr.recover(small.A, y, 2)
    assert result.status is rr.Status.RECOVERED
    assert result.residual[3] == math.inf
    assert result.residual[5] == pytest.approx(-1e300)


def test_too_large_a_step_diverges_and_keeps_finite_factors(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=rr.MedianTGD(step_size=50.0))
    assert result.status is rr.Status.DIVERGED
    assert np.all(np.isfinite(result.matrix))


def test_noise_settles_without_a_certificate() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, noise=0.05, rng=5)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.SETTLED
    assert result.converged
    assert not result.certificate.holds
    assert 1e-4 < result.certificate.misfit < 0.1


def test_pure_garbage_is_not_called_an_answer() -> None:
    planted = plant(20, 15, 2, 600, rng=5)
    y = np.random.default_rng(0).standard_normal(600)
    result = rr.recover(planted.A, y, 2, solver=rr.MedianTGD(max_iterations=2000))
    assert not result.converged
    assert not result.certificate.holds


def test_undersampled_problem_warns_and_never_certifies() -> None:
    planted = plant(20, 15, 2, 50, rng=5)
    with pytest.warns(rr.UndersampledWarning, match="50 measurements .* 66 degrees of freedom"):
        result = rr.recover(planted.A, planted.y, 2, solver=rr.MedianTGD(max_iterations=3000))
    assert not result.certificate.holds
    assert not result.converged
    assert result.status in (rr.Status.UNDERDETERMINED, rr.Status.ITERATION_LIMIT)


def test_so_few_measurements_that_anything_fits_are_not_an_answer() -> None:
    planted = plant(20, 16, 2, 30, rng=5)
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.UNDERDETERMINED
    assert "lower the rank" in result.status.advice
    assert not result.converged


@pytest.mark.parametrize(
    ("believed", "noise", "status"),
    [
        (900, 0.01, rr.Status.SETTLED),
        (900, 0.19, rr.Status.SETTLED),
        (900, 0.21, rr.Status.UNEXPLAINED),  # no noise that anyone would call so
        (505, 0.01, rr.Status.UNEXPLAINED),  # a wrong answer can be bent to meet as many
    ],
)
def test_what_is_left_is_called_noise_only_if_it_can_be(
    believed: int, noise: float, status: rr.Status
) -> None:
    seen = rr.Certificate(0, believed, 1000, 500, 5e-7, 0.01, noise)
    assert conclude(rr.Status.SETTLED, seen) is status


def test_noise_level_is_that_of_the_noise() -> None:
    planted = plant(20, 15, 2, 2000, outliers=0.05, noise=0.1, rng=8)
    result = rr.recover(planted.A, planted.y, 2)
    true = 0.1 * np.linalg.svd(planted.matrix, compute_uv=False)[1] / np.sqrt(3)
    assert result.certificate.noise * np.linalg.norm(planted.matrix) == pytest.approx(
        true,
        rel=0.1,  # outliers make a typical measurement look larger
    )


def test_answer_that_is_bent_to_the_measurements_is_not_called_noise() -> None:
    """Near the limit a wrong answer meets half of the measurements exactly, so the median is 0."""
    planted = plant(20, 15, 2, 90, outliers=0.3, outlier_model="scale", rng=2)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert evaluate(result, planted).error > 0.1
    assert not result.converged


def test_missing_small_component_is_not_called_exact_in_single_precision() -> None:
    planted = plant(20, 15, 2, 600, condition_number=1000, dtype="float32", rng=5)
    result = rr.recover(planted.A, planted.y, 1, solver=rr.MedianTGD(max_iterations=2000))
    assert result.status is not rr.Status.RECOVERED


def test_explained_measurements_are_not_accused() -> None:
    """Six medians away from a median of 1e-10 is still met exactly."""
    planted = plant(20, 15, 2, 3000, rng=6)
    result = rr.recover(planted.A, planted.y, 2, solver=rr.MedianTGD(alpha_h=2.0))
    assert np.any(np.abs(result.residual) > (result.cutoff or 0.0))
    assert not np.any(result.outliers)


def test_an_impostor_with_fewer_than_half_cannot_be_certified() -> None:
    """At the impostor the residuals vanish on 40 %, which is beyond chance but not half."""
    planted = plant(8, 6, 1, 400, outliers=0.4, outlier_model="impostor", rng=3)
    rows = planted.A[planted.outliers].reshape(-1, 48)
    other = np.linalg.lstsq(rows, planted.y[planted.outliers], rcond=None)[0]
    problem = rr.Problem(rr.operators.as_operator(planted.A), planted.y, 1)
    residual = planted.y - planted.A.reshape(400, -1) @ other
    certificate = certify(problem, residual, np.ones(400))
    assert certificate.explained == 160 > certificate.degrees_of_freedom + 10
    assert not certificate.holds


def test_iteration_limit(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=rr.MedianTGD(max_iterations=15))
    assert result.status is rr.Status.ITERATION_LIMIT
    assert result.iterations == 15
    assert result.history.checks[-1].iteration == 15


def test_progress_rule_can_be_switched_off(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=rr.MedianTGD(max_iterations=700, tolerance=0))
    assert result.iterations == 700
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.misfit < 1e-13
    assert rr.recover(small.A, small.y, 2).iterations < 700


def test_passes_are_counted(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=rr.MedianTGD(max_iterations=20))
    # One to check A, one for the start, one to see it, two for each iteration.
    assert result.passes == 3 + 2 * 20
    operator = rr.operators.as_operator(small.A)
    again = rr.recover(operator, small.y, 2, solver=rr.MedianTGD(max_iterations=20))
    assert again.passes == 2 + 2 * 20


def test_time_limit_stops_in_time() -> None:
    planted = plant(60, 50, 2, 600, outliers=0.05, rng=5)
    began = time.perf_counter()
    result = rr.recover(planted.A, planted.y, 2, solver=rr.MedianTGD(tolerance=0), time_limit=0.2)
    assert time.perf_counter() - began < 2
    assert result.status in (rr.Status.TIME_LIMIT, rr.Status.RECOVERED)
    assert result.iterations < 10_000
    assert result.history.checks[-1].iteration == result.iterations


def test_time_limit_while_diverging_keeps_finite_factors(small: Planted) -> None:
    solver = rr.MedianTGD(step_size=50.0, max_iterations=9)
    result = rr.recover(small.A, small.y, 2, solver=solver)
    assert np.all(np.isfinite(result.matrix))
    assert str(result)
    limited = rr.recover(small.A, small.y, 2, solver=solver, time_limit=1e-9)
    assert np.all(np.isfinite(limited.matrix))
    assert limited.iterations <= 1


def test_callback_sees_progress_and_can_stop(small: Planted) -> None:
    seen: list[rr.Progress] = []

    def stop_at_50(progress: rr.Progress) -> bool:
        seen.append(progress)
        return progress.iteration >= 50

    result = rr.recover(small.A, small.y * 1e8, 2, solver="median-tgd", callback=stop_at_50)
    assert result.status is rr.Status.STOPPED
    assert [progress.iteration for progress in seen] == [0, 10, 20, 30, 40, 50]
    assert np.array_equal(seen[-1].left @ seen[-1].right.T, result.matrix)  # the user's units
    fractions = [progress.fraction for progress in seen]
    assert fractions[0] == 0
    assert 0 < fractions[-1] <= 1


def test_ctrl_c_raises_and_carries_the_state(small: Planted) -> None:
    def press_ctrl_c(progress: rr.Progress) -> None:
        if progress.iteration == 30:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    solver = rr.MedianTGD(tolerance=0, max_iterations=10_000_000)
    with pytest.raises(KeyboardInterrupt) as caught:
        rr.recover(small.A, small.y, 2, solver=solver, callback=press_ctrl_c)
    assert isinstance(caught.value, rr.Interrupted)
    recovery = caught.value.recovery
    assert recovery.status is rr.Status.INTERRUPTED
    assert recovery.iterations >= 30
    assert np.all(np.isfinite(recovery.matrix))
    again = pickle.loads(pickle.dumps(caught.value))
    assert np.array_equal(again.recovery.matrix, recovery.matrix)


def test_ctrl_c_before_the_first_iteration_carries_a_state_too(small: Planted) -> None:
    def interrupt(_: rr.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(small.A, small.y, 2, callback=interrupt)
    assert caught.value.recovery.iterations == 0
    assert str(caught.value.recovery)


# Input that cannot be used.

OK_A, OK_Y = plant(4, 3, 1, 30, rng=0).A, plant(4, 3, 1, 30, rng=0).y


def changed(values: Array, **items: float) -> Array:
    copy = values.copy()
    for key, value in items.items():
        copy[int(key[1:])] = value
    return copy


BAD_INPUT: dict[str, tuple[Any, Any, Any, type[Exception], str]] = {
    "y too short": (OK_A, OK_Y[:-1], 1, ValueError, r"shape \(29,\); expected \(30,\)"),
    "y two-dimensional": (OK_A, OK_Y[:, None], 1, ValueError, r"\(30, 1\); expected \(30,\)"),
    "rank zero": (OK_A, OK_Y, 0, ValueError, "rank=0; expected at least 1"),
    "rank too large": (OK_A, OK_Y, 4, ValueError, r"rank=4 is larger than min\(n1, n2\) = 3"),
    "rank a fraction": (OK_A, OK_Y, 1.5, TypeError, "rank=1.5 is a float"),
    "rank a boolean": (OK_A, OK_Y, True, TypeError, "expected an integer"),
    "NaN in y": (OK_A, changed(OK_Y, i3=math.nan), 1, ValueError, "y contains 1 NaN"),
    "integer y": (OK_A, OK_Y.astype(int), 1, TypeError, "y has dtype int64; expected float32"),
    "complex y": (OK_A, OK_Y.astype(complex), 1, TypeError, "y has dtype complex128"),
    "object y": (OK_A, OK_Y.astype(object), 1, TypeError, "y has dtype object"),
    "y all zero": (OK_A, OK_Y * 0, 1, ValueError, "y is all zero"),
    "mostly zero": (OK_A, np.where(np.arange(30) < 20, 0, OK_Y), 1, ValueError, "20 of 30 .* 0:"),
    "half zero": (OK_A, np.where(np.arange(30) < 15, 0, OK_Y), 1, ValueError, "half of the meas"),
    "masked y": (OK_A, np.ma.masked_array(OK_Y), 1, TypeError, "y is a masked array"),
    "mostly the same": (
        OK_A,
        np.where(np.arange(30) < 16, 7.5, OK_Y),
        1,
        ValueError,
        "16 of 30 measurements in y are exactly 7.5",
    ),
    "mostly infinite": (
        OK_A,
        np.where(np.arange(30) < 16, np.inf * (-1.0) ** np.arange(30), OK_Y),
        1,
        ValueError,
        "16 of 30 measurements in y are infinite",
    ),
}


@pytest.mark.parametrize("case", list(BAD_INPUT))
def test_bad_input_gets_a_sentence(case: str) -> None:
    A, y, rank, error, words = BAD_INPUT[case]
    with pytest.raises(error, match=words):
        rr.recover(A, y, rank)


def test_half_of_y_identical_is_still_tried() -> None:
    y = np.where(np.arange(30) < 15, 7.5, OK_Y)
    assert isinstance(rr.recover(OK_A, y, 1).status, rr.Status)


def test_unknown_solver_and_senseless_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="'magic' is not known; expected one of 'auto'"):
        rr.recover(OK_A, OK_Y, 1, solver="magic")
    with pytest.raises(ValueError, match="time_limit=0"):
        rr.recover(OK_A, OK_Y, 1, time_limit=0)
    with pytest.raises(TypeError, match="time_limit='3' is a str"):
        rr.recover(OK_A, OK_Y, 1, time_limit="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callback=3 cannot be called"):
        rr.recover(OK_A, OK_Y, 1, callback=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rng='a'"):
        rr.recover(OK_A, OK_Y, 1, rng="a")  # type: ignore[arg-type]


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (1, 12), (12, 1), (2, 40)])
def test_thin_matrices(n1: int, n2: int) -> None:
    planted = plant(n1, n2, 1, 300, outliers=0.05, rng=3)
    assert error_of(rr.recover(planted.A, planted.y, 1), planted) < 1e-6


def test_full_rank_is_allowed() -> None:
    planted = plant(4, 3, 3, 300, outliers=0.05, rng=3)
    assert error_of(rr.recover(planted.A, planted.y, 3), planted) < 1e-6


def test_one_measurement() -> None:
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(np.ones((1, 2, 2)), np.ones(1), 1)
    assert not result.certificate.holds


def test_big_endian_y_and_read_only_input(small: Planted) -> None:
    A, y = small.A.copy(), small.y.astype(">f8")
    A.setflags(write=False)
    assert rr.recover(A, y, 2).status is rr.Status.RECOVERED
