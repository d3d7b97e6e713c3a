"""What must not change the result: order, units, transposition, the values of outliers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import robustrank as rr
from robustrank.operators import as_operator
from robustrank.simulate import Planted, plant


@pytest.fixture(scope="module")
def plain(small: Planted) -> rr.Result:
    """The result that the others are compared with."""
    return rr.recover(small.A, small.y, 2)


def test_same_input_gives_the_same_bits(small: Planted) -> None:
    first, second = (rr.recover(small.A, small.y, 2, rng=1) for _ in range(2))
    assert np.array_equal(first.matrix, second.matrix)


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_order_of_the_measurements(shuffle: Any) -> None:
    planted = plant(10, 8, 1, 150, outliers=0.05, rng=2)
    order = list(range(150))
    shuffle.shuffle(order)
    plain = rr.recover(planted.A, planted.y, 1)
    permuted = rr.recover(planted.A[order], planted.y[order], 1)
    assert np.allclose(permuted.matrix, plain.matrix, atol=1e-7)
    assert np.array_equal(permuted.outliers, plain.outliers[order])


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 3.0, 1e20, 1e150])
def test_scaling_y_scales_the_matrix_and_nothing_else(
    scale: float, small: Planted, plain: rr.Result
) -> None:
    scaled = rr.recover(small.A, small.y * scale, 2)
    assert np.allclose(scaled.matrix / scale, plain.matrix, rtol=1e-6)
    assert np.array_equal(scaled.outliers, plain.outliers)
    assert scaled.status is plain.status
    assert scaled.iterations == plain.iterations
    assert scaled.certificate.exact_fits == plain.certificate.exact_fits


def test_scaling_y_by_a_power_of_four_changes_no_bit(small: Planted, plain: rr.Result) -> None:
    scaled = rr.recover(small.A, small.y * 4.0**60, 2)
    assert np.array_equal(scaled.matrix, plain.matrix * 4.0**60)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scaling_y_in_float32(scale: float, small: Planted) -> None:
    A, y = small.A.astype("float32"), (small.y * scale).astype("float32")
    assert rr.recover(A, y, 2).status is rr.Status.RECOVERED


@pytest.mark.parametrize("scale", [1e-100, 0.05, 0.3, 4.0, 77.0, 1e100])
def test_scaling_the_sensing_data_scales_the_matrix_inversely(
    scale: float, small: Planted, plain: rr.Result
) -> None:
    result = rr.recover(small.A * scale, small.y, 2)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix * scale, small.matrix, rtol=1e-6)
    assert np.array_equal(result.outliers, small.outliers)
    assert np.allclose(result.residual, plain.residual, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-20, 1e15])
def test_scaling_the_sensing_data_in_float32(scale: float, small: Planted) -> None:
    A, y = (small.A * scale).astype("float32"), small.y.astype("float32")
    result = rr.recover(A, y, 2)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix * scale, small.matrix, rtol=1e-4, atol=1e-4)


@settings(max_examples=15, phases=[Phase.generate])
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]))
def test_units_of_each_measurement(seed: int, outliers: float) -> None:
    """Multiplying an A_i and its y_i by the same number changes nothing."""
    planted = plant(8, 7, 1, 150, outliers=outliers, rng=seed % 1000)
    units = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 150)
    plain = rr.recover(planted.A, planted.y, 1)
    scaled = rr.recover(units[:, None, None] * planted.A, units * planted.y, 1)
    assert scaled.status is plain.status is rr.Status.RECOVERED
    size = np.linalg.norm(plain.matrix)
    assert np.linalg.norm(scaled.matrix - plain.matrix) < 1e-8 * size
    assert np.array_equal(scaled.outliers, plain.outliers)
    assert scaled.certificate.exact_fits == plain.certificate.exact_fits
    assert np.allclose(scaled.residual / units, plain.residual, atol=1e-8 * size)


REPEATED = {
    "exact": (plant(8, 7, 1, 120, outliers=0.1, rng=1), rr.Status.RECOVERED),
    "noisy": (plant(8, 7, 1, 150, outliers=0.1, bounded_noise=0.05, rng=2), rr.Status.ESTIMATED),
    "no matrix": (plant(8, 7, 1, 60, outliers=0.9, rng=3), rr.Status.INCONCLUSIVE),
    "too few": (plant(8, 7, 1, 20, rng=4), rr.Status.UNDERDETERMINED),
}


@settings(max_examples=4, phases=[Phase.generate])  # simpler examples would take minutes
@given(st.sampled_from(list(REPEATED)), st.integers(2, 4), st.randoms(use_true_random=False))
def test_repeating_every_measurement(case: str, times: int, shuffle: Any) -> None:
    """Copies are no evidence: neither the status nor the numbers of the certificate change."""
    planted, status = REPEATED[case]
    order = list(range(times * len(planted.y)))
    shuffle.shuffle(order)
    A, y = (np.repeat(part, times, axis=0)[order] for part in (planted.A, planted.y))
    plain, repeated = rr.recover(planted.A, planted.y, 1), rr.recover(A, y, 1)
    assert (plain.status, repeated.status) == (status, status)
    before, after = plain.certificate, repeated.certificate
    assert after.measurements == times * before.measurements
    if status.certified:
        assert after.independent == before.independent == len(planted.y)
        assert after.exact_fits == before.exact_fits
        assert after.inliers == pytest.approx(before.inliers, abs=2)
        assert np.allclose(repeated.matrix, plain.matrix, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("sensing", "measured", "dtype"),
    [
        (1e280, 1e280, "float64"),
        (1e-280, 1e-280, "float64"),
        (1e-302, 1e-280, "float64"),
        (1.0, 1e-290, "float64"),
        (1e-140, 1e140, "float64"),
        (1e-280, 1.0, "float64"),
        (1e30, 1e30, "float32"),
        (1e-30, 1e-30, "float32"),
        (1e15, 1e-15, "float32"),
        (1e-20, 1e12, "float32"),
        (1.0, 1e32, "float32"),
        (1.0, 1e302, "float64"),
    ],
)
def test_extreme_units_of_both(sensing: float, measured: float, dtype: str, small: Planted) -> None:
    A, y = (small.A * sensing).astype(dtype), (small.y * measured).astype(dtype)
    result = rr.recover(A, y, 2)
    assert result.status is rr.Status.RECOVERED
    error = result.matrix.astype(float) * (sensing / measured) - small.matrix
    assert np.linalg.norm(error) < 1e-5 * np.linalg.norm(small.matrix)


@pytest.mark.parametrize("row", [0, 7, 399])
def test_units_of_one_measurement(row: int, small: Planted, plain: rr.Result) -> None:
    A, y = small.A.copy(), small.y.copy()
    A[row] *= 1e4
    y[row] *= 1e4
    operator = as_operator(A)
    assert operator.gain == pytest.approx(as_operator(small.A).gain, rel=0.02)
    result = rr.recover(operator, y, 2)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, plain.matrix, rtol=1e-5, atol=1e-6)


def test_transposing_the_problem_transposes_the_matrix(small: Planted, plain: rr.Result) -> None:
    transposed = rr.recover(np.ascontiguousarray(small.A.swapaxes(1, 2)), small.y, 2)
    assert np.allclose(transposed.matrix.T, plain.matrix, atol=1e-6)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, -1e300, 1e12])
def test_value_of_a_rejected_outlier(value: float, small: Planted, plain: rr.Result) -> None:
    y = small.y.copy()
    y[np.flatnonzero(small.outliers)[:5]] = value
    changed = rr.recover(small.A, y, 2)
    assert changed.status is rr.Status.RECOVERED
    assert np.allclose(changed.matrix, plain.matrix, rtol=1e-5, atol=1e-6)
    assert np.array_equal(changed.outliers, plain.outliers)
