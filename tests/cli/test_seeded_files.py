"""Files that describe sensing data by a seed: small, recovered, and validated when read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

from robustrank.cli.data import describe_seeded, read_data
from robustrank.operators import Seeded


@pytest.mark.parametrize("ensemble", ["gaussian", "sign"])
def test_a_seeded_problem_is_small_and_recovered(ensemble: str, tmp_path: Path) -> None:
    size = ["--shape", "40x30", "--rank", 2, "-m", 1200, "--seed", 1]  # 12 MB if A were stored
    done = run("simulate", "p.npz", "--seeded", ensemble, *size, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1,200 measurements of a 40 × 30 matrix of rank 2, 60 of them corrupted" in done.stdout
    assert "next: robustrank recover p.npz --rank 2" in done.stdout
    assert (tmp_path / "p.npz").stat().st_size < 200_000
    done = run("recover", "p.npz", "--rank", 2, "--memory-limit", "1GB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "60 found, 0 missed, 0 false positives" in done.stdout
    assert "read in blocks" in done.stdout


def written(path: Path, **changed: Any) -> Path:
    """A file with a description of 30 measurements, some of it changed or, if None, left out."""
    arrays = describe_seeded(30, (5, 4), 2**128 - 1, "sign", "float32") | {"y": np.ones(30)}
    arrays |= changed
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def test_a_description_becomes_the_operator(tmp_path: Path) -> None:
    A = read_data(written(tmp_path / "p.npz"), (), None).A
    U, V = np.eye(5, 2), np.eye(4, 2)
    expected = Seeded(30, (5, 4), 2**128 - 1, "sign", dtype="float32")
    assert np.array_equal(A.measure(U, V), expected.measure(U, V))


MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "no seed": ({"sensing_seed": None}, "contains no array named sensing_seed"),
    "seed too large": ({"sensing_seed": str(2**128)}, "integer from 0 to 2^128 - 1"),
    "seed of many digits": ({"sensing_seed": "9" * 10000}, "integer from 0 to 2^128 - 1"),
    "seed negative": ({"sensing_seed": "-1"}, "sensing_seed in"),
    "seed a number": ({"sensing_seed": 7.5}, "sensing_seed in"),
    "seeds": ({"sensing_seed": ["1", "2"]}, "sensing_seed in"),
    "ensemble": ({"sensing_ensemble": "odd"}, 'expected "gaussian" or "sign"'),
    "dtype": ({"sensing_dtype": "O"}, 'expected "float32" or "float64"'),
    "shape of two": ({"sensing_shape": [30, 20]}, "three positive integers"),
    "shape of none": ({"sensing_shape": np.empty(0, int)}, "three positive integers"),
    "shape of floats": ({"sensing_shape": [30.0, 5.0, 4.0]}, "three positive integers"),
    "shape negative": ({"sensing_shape": [30, -5, 4]}, "three positive integers"),
    "shape huge": ({"sensing_shape": [30, 2**62, 2**62]}, "does not fit in memory"),
    "measurements huge": ({"sensing_shape": [2**62, 5, 4]}, "expected (4611686018427387904,)"),
    "y of two dimensions": ({"y": np.ones((30, 1))}, "y has shape (30, 1); expected (30,)"),
    "truth of another problem": (
        {
            "truth_left": np.ones((6, 2)),
            "truth_right": np.ones((4, 2)),
            "truth_outliers": np.ones(30, bool),
        },
        "does not match A; remove",
    ),
}


@pytest.mark.parametrize("case", list(MALFORMED))
def test_a_malformed_description_is_refused(case: str, tmp_path: Path) -> None:
    changed, message = MALFORMED[case]
    path = written(tmp_path / "p.npz", **changed)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_data(path, (), None)
    assert len(str(caught.value)) < 300
