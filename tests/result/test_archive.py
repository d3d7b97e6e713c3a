"""Saving and loading results: same values, plain arrays, and clear errors for other files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import Certificate, Check, Recovery, Status
from robustrank.simulate import Planted


@pytest.fixture(scope="module")
def recovery(small: Planted) -> Recovery:
    return rr.recover(small.A, small.y, 2, solver="median-tgd")


def check_same(found: Recovery, expected: Recovery) -> None:
    for name in ("left", "right", "outliers", "residual", "matrix"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    for name in (
        "status",
        "certificate",
        "history",
        "cutoff",
        "solver",
        "iterations",
        "passes",
        "seconds",
        "attempts",
    ):
        assert getattr(found, name) == getattr(expected, name)
    assert repr(found) == repr(expected)


def test_loaded_result_equals_the_saved_one(recovery: Recovery, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    check_same(rr.load(tmp_path / "answer.npz"), recovery)


def test_result_of_a_portfolio_can_be_saved(small: Planted, tmp_path: Path) -> None:
    result = rr.recover(small.A, small.y, 3)
    assert result.attempts
    result.save(tmp_path / "answer.npz")
    check_same(rr.load(tmp_path / "answer.npz"), result)


def test_file_contains_plain_arrays_and_a_json_header(recovery: Recovery, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    with np.load(tmp_path / "answer.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["matrix"], recovery.matrix)
        header = json.loads(str(archive["header"]))
    assert (header["format"], header["version"]) == ("robustrank-recovery", 2)
    assert header["status"] == "RECOVERED"
    assert header["advice"] == Status.RECOVERED.advice
    assert header["history_columns"] == list(Check._fields)
    assert Certificate(**header["certificate"]) == recovery.certificate


def with_header(path: Path, recovery: Recovery, **changes: Any) -> Path:
    recovery.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"])) | changes
    arrays["header"] = np.asarray(json.dumps(header))
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("version", [1, 99])
def test_other_format_version_raises(version: int, recovery: Recovery, tmp_path: Path) -> None:
    path = with_header(tmp_path / "other.npz", recovery, version=version)
    with pytest.raises(
        ValueError, match=rf"has format {version}, but .* reads format 2; read it with the version"
    ):
        rr.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"status": "FINE"},
        {"certificate": {"exact_fits": 3}},
        {"iterations": "many"},
    ],
)
def test_malformed_header_raises(
    changes: dict[str, Any], recovery: Recovery, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="not a saved result"):
        rr.load(with_header(tmp_path / "odd.npz", recovery, **changes))


def test_arrays_of_inconsistent_shapes_raise(recovery: Recovery, tmp_path: Path) -> None:
    replace(recovery, left=recovery.left[:, :1], right=recovery.right[:, :1]).save(
        tmp_path / "a.npz"
    )
    with np.load(tmp_path / "a.npz") as archive:
        arrays = dict(archive)
    arrays["left"] = arrays["left"].ravel()
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match="not a saved result: the shape of an array"):
        rr.load(tmp_path / "a.npz")


def test_result_of_a_solver_with_numpy_parameters_can_be_saved(
    small: Planted, tmp_path: Path
) -> None:
    solver = rr.MedianTGD(alpha_h=np.float32(6))  # type: ignore[arg-type]
    rr.recover(small.A, small.y, 2, solver=solver).save(tmp_path / "a.npz")
    assert rr.load(tmp_path / "a.npz").status is Status.RECOVERED


def test_archive_without_a_header_raises(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"not a saved result: 'header' is missing"):
        rr.load(tmp_path / "other.npz")
