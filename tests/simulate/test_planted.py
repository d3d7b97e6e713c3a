"""Planted problems: reproducible, and with the stated properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from robustrank.simulate import plant

Array = np.ndarray[Any, Any]


def measured(A: Array, M: Array) -> Array:
    return np.einsum("ijk,jk->i", A.astype(float), M)  # type: ignore[no-any-return]


def test_noise_is_relative_to_a_measurement() -> None:
    quiet = plant(12, 9, 3, 2000, outliers=0.1, outlier_model="flip", condition_number=9, rng=1)
    noisy = plant(
        12, 9, 3, 2000, outliers=0.1, outlier_model="flip", condition_number=9, noise=0.05, rng=1
    )
    noise = noisy.y - quiet.y
    assert np.std(noise) / np.std(quiet.y) == pytest.approx(0.05, rel=0.05)
    assert kstest(noise / np.std(noise), "norm").pvalue > 0.01
    assert np.std(noise[quiet.outliers]) == pytest.approx(np.std(noise), rel=0.2)


def test_bounded_noise_is_uniform_and_added_to_clean_and_corrupted_measurements() -> None:
    quiet = plant(12, 9, 3, 2000, outliers=0.1, outlier_model="flip", rng=1)
    noisy = plant(12, 9, 3, 2000, outliers=0.1, outlier_model="flip", bounded_noise=0.05, rng=1)
    smallest = np.linalg.svd(quiet.matrix, compute_uv=False)[2]
    w = (noisy.y - quiet.y) / (0.05 * smallest)
    assert kstest(w, "uniform", args=(-1, 2)).pvalue > 0.01
    assert np.ptp(w[quiet.outliers]) > 1


def test_row_and_column_spaces_are_independent() -> None:
    planted = plant(10, 10, 3, 1, rng=0)
    left, right = np.linalg.qr(planted.left)[0], np.linalg.qr(planted.right)[0]
    assert np.linalg.svd(left.T @ right, compute_uv=False).min() < 0.9


def test_singular_values_are_the_requested_ones() -> None:
    given = plant(12, 9, 3, 5, spectrum=[1.0, 7.0, 2.0], rng=1)
    assert np.allclose(np.linalg.svd(given.matrix, compute_uv=False)[:3], [7, 2, 1])
    conditioned = plant(12, 9, 3, 5, condition_number=100, rng=1)
    values = np.linalg.svd(conditioned.matrix, compute_uv=False)[:3]
    assert values[0] / values[2] == pytest.approx(100)


def test_sensing_data_is_standard_gaussian() -> None:
    A = plant(30, 20, 1, 200, rng=5).A
    assert kstest(A.ravel()[::7], "norm").pvalue > 0.01
    gram = A.reshape(200, -1) @ A.reshape(200, -1).T / 600
    assert np.abs(gram - np.eye(200)).max() < 0.3  # rows are independent


def test_seed_determines_the_problem() -> None:
    # Recorded once; a change would break every published seed.
    planted = plant(4, 3, 2, 6, outliers=0.34, rng=123)
    found = [planted.A[0, 0, 0], planted.A[5, 3, 2], planted.left[0, 0], planted.right[2, 1]]
    assert np.allclose(found, GOLDEN, rtol=1e-13)
    assert np.flatnonzero(planted.outliers).tolist() == GOLDEN_OUTLIERS
    assert np.allclose(planted.y[planted.outliers], GOLDEN_Y, rtol=1e-12)


GOLDEN = [-0.4032342454213371, -0.27696817944488666, -0.2716779317710631, -1.2096994795775715]
GOLDEN_OUTLIERS = [2, 3]
GOLDEN_Y = [379.2702849256009, -115.98994347490644]


def test_parts_of_a_problem_are_drawn_from_separate_streams() -> None:
    base = plant(5, 4, 1, 50, outliers=0.1, rng=7)
    longer = plant(5, 4, 1, 80, outliers=0.3, outlier_model="flip", bounded_noise=0.1, rng=7)
    assert np.array_equal(longer.A[:50], base.A)
    assert np.array_equal(longer.matrix, base.matrix)


def test_float32_problem_is_the_float64_problem_rounded() -> None:
    double, single = plant(5, 4, 1, 50, rng=7), plant(5, 4, 1, 50, dtype="float32", rng=7)
    assert single.A.dtype == single.y.dtype == np.float32
    assert np.array_equal(single.A, double.A.astype("float32"))
    assert np.allclose(single.y, measured(single.A, double.matrix), rtol=1e-6)


def test_rng_may_be_a_generator_or_none() -> None:
    first, second = (plant(3, 2, 1, 4, rng=np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first.A, second.A)
    assert not np.array_equal(plant(3, 2, 1, 4).A, plant(3, 2, 1, 4).A)
    again = plant(3, 2, 1, 4, rng=first.seed)
    assert np.array_equal(again.A, first.A)


def test_sensing_data_can_be_written_to_a_memory_map(tmp_path: Any) -> None:
    out = np.lib.format.open_memmap(tmp_path / "A.npy", mode="w+", dtype="f4", shape=(50, 5, 4))
    reported: list[float] = []
    planted = plant(5, 4, 1, 50, rng=7, out=out, progress=reported.append)
    assert planted.A is out
    assert np.array_equal(np.load(tmp_path / "A.npy"), plant(5, 4, 1, 50, dtype="f4", rng=7).A)
    assert reported[-1] == 1.0


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "rank too large": ({"rank": 5}, r"rank=5; expected 1 ≤ rank ≤ min\(n1, n2\) = 4"),
    "rank zero": ({"rank": 0}, "rank=0"),
    "no measurements": ({"measurements": 0}, "at least 1"),
    "fraction above one": ({"outliers": 1.5}, "fraction"),
    "unknown model": ({"outlier_model": "weird"}, "is not known; expected one of huge, scale"),
    "negative noise": ({"noise": -1}, "noise=-1; expected zero or a positive finite number"),
    "negative bounded noise": ({"bounded_noise": -1}, "bounded_noise=-1; expected zero or"),
    "no matrix": ({"n1": 0}, "at least 1 × 1"),
    "both spectra": ({"spectrum": [1.0], "condition_number": 2}, "not both"),
    "short spectrum": ({"rank": 2, "spectrum": [1.0]}, "expected 2 positive"),
    "noise is nan": ({"noise": float("nan")}, "noise=nan"),
    "infinite condition": ({"condition_number": float("inf")}, "condition_number=inf"),
    "enormous seed": ({"rng": 2**64}, "expected an integer from 0"),
    "condition below one": ({"condition_number": 0.5}, "≥ 1"),
    "negative seed": ({"rng": -1}, "expected an integer from 0"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_arguments_raise(case: str) -> None:
    changes, message = INVALID[case]
    arguments: dict[str, Any] = {"n1": 5, "n2": 4, "rank": 1, "measurements": 10} | changes
    with pytest.raises(ValueError, match=message):
        plant(**arguments)


@pytest.mark.parametrize("share", [1.0, 1.5, -0.1])
def test_a_share_of_outliers_is_less_than_one(share: float) -> None:
    with pytest.raises(ValueError, match="outliers"):
        plant(5, 4, 1, 30, outliers=share, rng=1)
