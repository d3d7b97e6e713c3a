"""A result that is not certified says what would help."""

from __future__ import annotations

from pathlib import Path

import pytest

import robustrank as rr
from robustrank.report import render_report


@pytest.fixture(scope="module")
def failed() -> rr.Result:
    planted = rr.simulate.plant(16, 12, 1, 37, outliers=0.1, rng=2)
    return rr.recover(planted.A, planted.y, 1)


def test_failed_result_says_what_would_help(failed: rr.Result) -> None:
    assert not failed.certified
    assert failed.remedy.startswith("About ")
    assert dict(failed.summary())["next"] == f"{failed.status.advice} {failed.remedy}"
    assert failed.remedy in repr(failed)


def test_remedy_is_saved_and_on_the_page(failed: rr.Result, tmp_path: Path) -> None:
    failed.save(tmp_path / "result.npz")
    assert rr.load(tmp_path / "result.npz").remedy == failed.remedy
    assert "more measurements" in render_report(failed)


def test_batch_has_the_same_remedies(failed: rr.Result) -> None:
    planted = rr.simulate.plant(16, 12, 1, 37, outliers=0.1, rng=2)
    (one,) = rr.recover_many([(planted.A, planted.y)], 1)
    assert one.remedy == failed.remedy


def test_certified_result_needs_no_remedy(small: rr.simulate.Planted) -> None:
    result = rr.recover(small.A, small.y, 2)
    assert result.remedy == ""
    assert result.advice == result.status.advice


def test_no_remedy_for_what_the_trials_do_not_have() -> None:
    planted = rr.simulate.plant(12, 12, 1, 20, rng=2)
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(planted.A, planted.y, 2, symmetric=True)
    assert not result.certified
    assert result.remedy == ""
