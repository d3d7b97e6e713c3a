"""A result can be read, kept and found again."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import Certificate, Check, History, Recovery, Status
from robustrank.simulate import Planted


@pytest.fixture(scope="module")
def recovery(small: Planted) -> Recovery:
    return rr.recover(small.A, small.y, 2, solver="median-tgd")


def test_saved_and_loaded_is_the_same(recovery: Recovery, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    again = rr.load(tmp_path / "answer.npz")
    for name in ("left", "right", "outliers", "residual", "matrix"):
        assert np.array_equal(getattr(again, name), getattr(recovery, name))
    for name in ("status", "certificate", "history", "cutoff", "solver", "iterations", "passes"):
        assert getattr(again, name) == getattr(recovery, name)
    assert repr(again) == repr(recovery)


def test_file_is_plain_arrays_and_a_json_header(recovery: Recovery, tmp_path: Path) -> None:
    recovery.save(tmp_path / "answer.npz")
    with np.load(tmp_path / "answer.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["matrix"], recovery.matrix)
        header = json.loads(str(archive["header"]))
    assert (header["format"], header["version"]) == ("robustrank-recovery", 1)
    assert header["status"] == "RECOVERED"


def with_header(path: Path, recovery: Recovery, **changes: Any) -> Path:
    recovery.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"])) | changes
    arrays["header"] = np.asarray(json.dumps(header))
    np.savez(path, **arrays)
    return path


def test_newer_format_says_to_upgrade(recovery: Recovery, tmp_path: Path) -> None:
    path = with_header(tmp_path / "new.npz", recovery, version=99)
    with pytest.raises(ValueError, match=r"newer robustrank.*upgrade"):
        rr.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"status": "FINE"},
        {"certificate": {"explained": 3}},
        {"iterations": "many"},
    ],
)
def test_malformed_header_is_refused(
    changes: dict[str, Any], recovery: Recovery, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="not a saved recovery"):
        rr.load(with_header(tmp_path / "odd.npz", recovery, **changes))


def test_arrays_that_do_not_fit_are_refused(recovery: Recovery, tmp_path: Path) -> None:
    replace(recovery, left=recovery.left[:, :1], right=recovery.right[:, :1]).save(
        tmp_path / "a.npz"
    )
    with np.load(tmp_path / "a.npz") as archive:
        arrays = dict(archive)
    arrays["left"] = arrays["left"].ravel()
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match="not a saved recovery: the shape of an array"):
        rr.load(tmp_path / "a.npz")


def test_result_of_numpy_parameters_can_be_saved(small: Planted, tmp_path: Path) -> None:
    solver = rr.MedianTGD(alpha_h=np.float32(6))  # type: ignore[arg-type]
    rr.recover(small.A, small.y, 2, solver=solver).save(tmp_path / "a.npz")
    assert rr.load(tmp_path / "a.npz").status is Status.RECOVERED


def test_text_of_a_result_that_is_not_finite(recovery: Recovery) -> None:
    assert "nan" in str(replace(recovery, left=recovery.left * np.nan))


def test_foreign_archive_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"not a saved recovery: 'header' is missing"):
        rr.load(tmp_path / "other.npz")


def test_text_is_eight_lines_a_person_can_read(recovery: Recovery) -> None:
    lines = str(recovery).splitlines()
    assert len(lines) == 8
    assert lines[0] == "Recovery of a 20 × 15 matrix of rank 2 by median-TGD"
    text = str(recovery)
    assert "380 of 400 measurements met to 5e-07" in text
    assert "20 not believed (5.0%)" in text
    assert str(recovery.iterations) in text
    assert recovery.status.advice in text


def test_notebook_table_is_escaped(recovery: Recovery) -> None:
    page = replace(recovery, solver="<b>odd</b>")._repr_html_()
    assert page.startswith("<table>")
    assert "<b>odd" not in page
    assert "&lt;b&gt;odd" in page


def test_every_status_says_what_happened_and_what_to_do() -> None:
    for status in Status:
        for text in (status.meaning, status.advice):
            assert re.fullmatch(r"\S.*\.", text), text
        assert str(status).startswith(status.value)
    assert {status for status in Status if status.converged} == {Status.RECOVERED, Status.SETTLED}


def test_singular_values_come_from_the_factors(recovery: Recovery) -> None:
    dense = np.linalg.svd(recovery.matrix, compute_uv=False)[:2]
    assert np.allclose(recovery.singular_values(), dense)


@pytest.mark.parametrize(
    ("explained", "measurements", "freedom", "holds"),
    [
        (60, 100, 40, True),
        (50, 100, 20, False),  # exactly half: another matrix may have the other half
        (51, 100, 20, True),
        (80, 100, 75, False),  # five coincidences are not enough
        (100, 100, 100, False),
    ],
)
def test_certificate_needs_more_than_half_and_more_than_chance(
    explained: int, measurements: int, freedom: int, holds: bool
) -> None:
    assert Certificate(explained, explained, measurements, freedom, 1e-7, 0.0, 0.0).holds is holds


def test_loose_tolerance_needs_more_coincidences() -> None:
    tight, loose = (Certificate(0, 0, 10_000, 6_000, tol, 0.0, 0.0).needed for tol in (1e-7, 1e-2))
    assert loose > tight + 500


def test_history_columns() -> None:
    history = History((Check(0, 1.0, float("inf"), 9, 0.0, 2.0), Check(10, 0.5, 0.1, 8, 0.1, 22.0)))
    assert history.column("misfit").tolist() == [1.0, 0.5]
    assert len(history) == 2
    assert History.from_rows([list(check) for check in history.checks]) == history


def test_history_of_a_run_is_complete(recovery: Recovery) -> None:
    columns = {name: recovery.history.column(name) for name in Check._fields}
    assert columns["iteration"].tolist() == list(range(0, recovery.iterations + 1, 10))
    assert np.all(np.diff(columns["seconds"]) >= 0)
    assert columns["passes"].tolist() == (2 + 2 * columns["iteration"]).tolist()
    assert columns["misfit"][-1] == pytest.approx(recovery.certificate.misfit)
    assert columns["believed"][-1] >= 370
