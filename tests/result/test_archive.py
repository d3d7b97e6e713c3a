"""Saving and loading results: same values, plain arrays, and clear errors for other files."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustrank as rr
from robustrank.result import Alternative, Certificate, Check, Result, Status
from robustrank.simulate import Planted


@pytest.fixture(scope="module")
def recovery(small: Planted) -> Result:
    return rr.recover(small.A, small.y, 2, solver="median-tgd")


def check_same(found: Result, expected: Result) -> None:
    for name in ("left", "right", "outliers", "residual", "matrix"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    # In the text of a certificate, numbers that were not computed are equal: they are NaN.
    assert repr(found.certificate) == repr(expected.certificate)
    for name in (
        "status",
        "stopped",
        "noise",
        "typical_size",
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


def test_loaded_result_equals_the_saved_one(recovery: Result, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    check_same(rr.load(tmp_path / "answer.npz"), recovery)


def test_result_of_a_portfolio_can_be_saved(small: Planted, tmp_path: Path) -> None:
    result = rr.recover(small.A, small.y, 3)
    assert result.attempts
    result.save(tmp_path / "answer.npz")
    check_same(rr.load(tmp_path / "answer.npz"), result)


def test_file_contains_plain_arrays_and_a_json_header(recovery: Result, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    with np.load(tmp_path / "answer.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["matrix"], recovery.matrix)
        header = json.loads(str(archive["header"]))
    assert (header["format"], header["version"]) == ("robustrank-result", 1)
    assert header["status"] == "RECOVERED"
    assert header["advice"] == Status.RECOVERED.advice
    assert header["history_columns"] == list(Check._fields)
    assert list(header["certificate"]) == [field.name for field in fields(Certificate)]
    assert header["certificate"]["exact_fits"] == recovery.certificate.exact_fits
    assert header["alternative"] is None


# Every field of a certificate with another type than a number.
FULL = {
    "matrix_error": 0.01,
    "held_out_error": math.inf,
    "held_out_share": 0.5,
    "noise_statistics": (0.5, -1.25, 3.0),
    "contested": (0, 7, 21),
    "unidentified": "the antisymmetric part",
    "objections": ("one reason", "another reason"),
}


STOPPED = rr.StopReason.TIME_LIMIT


def ambiguous(recovery: Result) -> Result:
    other = Alternative(recovery.left[:, :1] + 1, recovery.right[:, :1], 170, "columns 2–4")
    certificate = replace(recovery.certificate, **FULL)  # type: ignore[arg-type]
    return replace(recovery, certificate=certificate, alternative=other, stopped=STOPPED)


def test_alternative_and_evidence_are_saved(recovery: Result, tmp_path: Path) -> None:
    saved = ambiguous(recovery)
    saved.save(tmp_path / "answer.npz")
    loaded = rr.load(tmp_path / "answer.npz")
    check_same(loaded, saved)
    assert repr(loaded.certificate) == repr(saved.certificate)
    assert {name: getattr(loaded.certificate, name) for name in FULL} == FULL
    assert loaded.alternative is not None
    assert saved.alternative is not None
    assert np.array_equal(loaded.alternative.matrix, saved.alternative.matrix)
    assert (loaded.alternative.supporting, loaded.alternative.where) == (170, "columns 2–4")


def test_result_without_an_alternative_is_loaded_without_one(
    recovery: Result, tmp_path: Path
) -> None:
    recovery.save(tmp_path / "answer.npz")
    assert rr.load(tmp_path / "answer.npz").alternative is None
    with np.load(tmp_path / "answer.npz") as archive:
        assert not [name for name in archive if name.startswith("alternative")]


@pytest.mark.parametrize("change", ["no left factor", "a flat left factor", "no support"])
def test_malformed_alternative_raises(change: str, recovery: Result, tmp_path: Path) -> None:
    ambiguous(recovery).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        arrays = dict(archive)
    left = arrays.pop("alternative_left")
    if change != "no left factor":
        arrays["alternative_left"] = left.ravel() if change == "a flat left factor" else left
    if change == "no support":
        header = json.loads(str(arrays["header"])) | {"alternative": {"where": "row 3"}}
        arrays["header"] = np.asarray(json.dumps(header))
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match="not a saved result"):
        rr.load(tmp_path / "a.npz")


def with_header(path: Path, recovery: Result, **changes: Any) -> Path:
    recovery.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"])) | changes
    arrays["header"] = np.asarray(json.dumps(header))
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("version", [0, 2, 99])
def test_other_format_version_raises(version: int, recovery: Result, tmp_path: Path) -> None:
    path = with_header(tmp_path / "other.npz", recovery, version=version)
    with pytest.raises(
        ValueError, match=rf"has format {version}, but .* reads format 1; read it with the version"
    ):
        rr.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"status": "FINE"},
        {"stopped": "TIRED"},
        {"stopped": 3},
        {"is_frame": 1},
        {"noise": None},
        {"format": ["robustrank-result"]},
        {"version": "2"},
        {"version": None},
        {"version": [[[2]]]},
        {"status": ["FINE"]},
        {"certificate": {"exact_fits": 3}},
        {"certificate": None},
        {"certificate": []},
        {"certificate": "many"},
        {"iterations": "many"},
        {"iterations": -1},
        {"iterations": math.inf},
        {"iterations": 1.5},
        {"iterations": 10**30},
        {"iterations": None},
        {"passes": "3"},
        {"seconds": 10**400},
        {"seconds": [1]},
        {"cutoff": {}},
        {"solver": 3},
        {"attempts": None},
        {"attempts": 3},
        {"attempts": [3]},
        {"attempts": [{"status": "RECOVERED"}]},
        {"attempts": [{"status": 3}]},
        {"attempts": "RECOVERED"},
    ],
)
def test_malformed_header_raises(changes: dict[str, Any], recovery: Result, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not a saved result: .* is missing or malformed"):
        rr.load(with_header(tmp_path / "odd.npz", recovery, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"measurements": 0},
        {"measurements": 399},
        {"measurements": -400},
        {"exact_fits": math.inf},
        {"exact_fits": -3},
        {"inliers": 1.5},
        {"inliers": True},
        {"noise": "small"},
        {"noise": None},
        {"determined": 1},
        {"unknown": 1},
    ],
)
def test_malformed_certificate_raises(
    changes: dict[str, Any], recovery: Result, tmp_path: Path
) -> None:
    certificate = asdict(recovery.certificate) | changes
    with pytest.raises(ValueError, match=r"is not a saved result: .* is missing or malformed"):
        rr.load(with_header(tmp_path / "odd.npz", recovery, certificate=certificate))


def with_arrays(path: Path, recovery: Result, **changes: Any) -> Path:
    recovery.save(path)
    with np.load(path) as archive:
        arrays = dict(archive) | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def nested(depth: int) -> Any:
    return np.asarray("[" * depth + "]" * depth)


ARRAYS: dict[str, dict[str, Any]] = {
    "no left factor": {"left": None},
    "no history": {"history": None},
    "no columns": {"left": np.ones((20, 0)), "right": np.ones((15, 0))},
    "no rows": {"left": np.ones((0, 2))},
    "no measurements": {"residual": np.ones(0), "outliers": np.ones(0, bool)},
    "other number of measurements": {"residual": np.ones(3), "outliers": np.ones(3, bool)},
    "integer factor": {"left": np.ones((20, 2), int)},
    "half-precision factor": {"left": np.ones((20, 2), np.float16)},
    "complex residual": {"residual": np.ones(400, complex)},
    "text": {"residual": np.full(400, "a")},
    "outliers as numbers": {"outliers": np.ones(400)},
    "NaN in a factor": {"left": np.full((20, 2), np.nan)},
    "infinity in the history": {"history": np.full((3, 6), np.inf)},
    "NaN in the history": {"history": np.full((3, 6), np.nan)},
    "history of other width": {"history": np.ones((3, 5))},
    "history of text": {"history": np.full((3, 6), "a")},
    "history without rows of its own": {"history": np.ones(6)},
    "header a number": {"header": np.asarray(3.0)},
    "header an array": {"header": np.asarray(["{}", "{}"])},
    "header empty": {"header": np.asarray("")},
    "header a list": {"header": np.asarray("[]")},
    "header nested": {"header": nested(100)},
    "header nested deeply": {"header": nested(100_000)},
    "header with a long number": {"header": np.asarray("1" * 10_000)},
}


@pytest.mark.parametrize("case", ARRAYS)
def test_malformed_array_raises(case: str, recovery: Result, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not a saved result: .* is missing or malformed"):
        rr.load(with_arrays(tmp_path / "odd.npz", recovery, **ARRAYS[case]))


def test_result_of_another_byte_order_is_read(recovery: Result, tmp_path: Path) -> None:
    swapped = {
        name: getattr(recovery, name).astype(">f8") for name in ("left", "right", "residual")
    }
    found = rr.load(with_arrays(tmp_path / "swapped.npz", recovery, **swapped))
    check_same(found, recovery)


def test_other_members_of_the_archive_are_not_read(recovery: Result, tmp_path: Path) -> None:
    path = with_arrays(tmp_path / "a.npz", recovery, matrix=np.asarray([{}], object))
    check_same(rr.load(path), recovery)


@settings(max_examples=300)
@given(data=st.data())
def test_damaged_file_raises_or_gives_a_complete_result(
    data: st.DataObject, recovery: Result, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    recovery.save(folder / "whole.npz")
    content = bytearray((folder / "whole.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    (folder / "damaged.npz").write_bytes(content)
    with contextlib.suppress(ValueError):
        assert repr(rr.load(folder / "damaged.npz"))


def test_arrays_of_inconsistent_shapes_raise(recovery: Result, tmp_path: Path) -> None:
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
    solver = rr.solvers.MedianTGD(alpha_h=np.float32(6))  # type: ignore[arg-type]
    rr.recover(small.A, small.y, 2, solver=solver).save(tmp_path / "a.npz")
    assert rr.load(tmp_path / "a.npz").status is Status.RECOVERED


def test_archive_without_a_header_raises(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"not a saved result: 'header' is missing"):
        rr.load(tmp_path / "other.npz")
