"""The result as data and as text; its history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import Alternative, Attempt, Check, History, Result, Status, explain
from robustrank.simulate import Planted, plant


@pytest.fixture(scope="module")
def recovery(small: Planted) -> Result:
    return rr.recover(small.A, small.y, 2, solver="median-tgd")


def test_text_has_eight_lines(recovery: Result) -> None:
    lines = str(recovery).splitlines()
    assert len(lines) == 8
    assert [line.split()[0] for line in lines[1:]] == [
        *("status", "evidence", "outliers", "noise", "singular", "work", "next"),
    ]
    assert lines[0] == "A 20 × 15 matrix of rank 2 by median-TGD"
    text = str(recovery)
    assert "380 of 400 measurements are fitted exactly (relative residual at most 5e-07)" in text
    assert "20 of the measurements are rejected (5.0%)" in text
    assert f"{recovery.iterations} iterations, {recovery.passes:g} passes" in text
    assert explain(recovery.certificate) in text
    assert recovery.status.advice in text


def test_text_of_a_noisy_result_leads_with_the_noise() -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, bounded_noise=0.05, rng=11)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is Status.ESTIMATED
    assert "380 of 400 measurements fit within the noise, σ ≈ 0.28" in str(result)
    assert "fitted exactly" not in str(result)


def test_text_of_a_non_finite_result_contains_nan(recovery: Result) -> None:
    assert "nan" in str(replace(recovery, left=recovery.left * np.nan))


def test_text_lists_several_attempts_only(recovery: Result) -> None:
    attempt = Attempt("Gauss–Newton", Status.INCONCLUSIVE, 2, 5, 0.5, 12, 0.1)
    assert "tried" not in str(replace(recovery, attempts=(attempt,)))
    text = str(replace(recovery, attempts=(attempt, attempt)))
    assert "tried            Gauss–Newton, rank 2: inconclusive (12 iterations); Gauss" in text


def test_text_of_an_ambiguous_result_describes_the_alternative(recovery: Result) -> None:
    assert "alternative" not in str(recovery)
    other = Alternative(recovery.left[:, :1], recovery.right[:, :1], 1170, "columns 2–4")
    text = str(replace(recovery, alternative=other))
    assert "status           ambiguous: two different matrices" in text
    row = "supported by 1,170 independent measurements and different in columns 2–4"
    assert f"  alternative      {row}\n" in text
    assert np.array_equal(other.matrix, recovery.left[:, :1] @ recovery.right[:, :1].T)


def test_html_table_is_escaped(recovery: Result) -> None:
    page = replace(recovery, solver="<b>odd</b>")._repr_html_()
    assert page.startswith("<table>")
    assert "<b>odd" not in page
    assert "&lt;b&gt;odd" in page


def test_singular_values_agree_with_those_of_the_matrix(recovery: Result) -> None:
    dense = np.linalg.svd(recovery.matrix, compute_uv=False)[:2]
    assert np.allclose(recovery.singular_values(), dense)


def test_shape_rank_and_certification(recovery: Result) -> None:
    assert (recovery.shape, recovery.rank) == ((20, 15), 2)
    assert recovery.matrix.shape == (20, 15)
    assert recovery.certified
    doubtful = replace(recovery, certificate=recovery.certificate.with_objections("a reason"))
    assert doubtful.status is Status.INCONCLUSIVE
    assert not doubtful.certified
    assert "objections       A reason.\n" in str(doubtful)


def test_status_cannot_be_replaced(recovery: Result) -> None:
    with pytest.raises(TypeError, match="status"):
        replace(recovery, status=Status.ESTIMATED)  # type: ignore[call-arg]


def test_text_says_why_the_run_ended_early(recovery: Result) -> None:
    reason = rr.StopReason.TIME_LIMIT
    certified = replace(recovery, stopped=reason)
    assert "stopped          the time limit was reached\n" in str(certified)
    assert certified.advice == Status.RECOVERED.advice  # it can be used all the same
    doubtful = replace(certified, certificate=recovery.certificate.with_objections("a reason"))
    assert doubtful.advice == reason.advice


def test_history_columns() -> None:
    history = History((Check(0, 1.0, float("inf"), 9, 0.0, 2.0), Check(10, 0.5, 0.1, 8, 0.1, 22.0)))
    assert history.column("misfit").tolist() == [1.0, 0.5]
    assert len(history) == 2
    assert History.from_rows([list(check) for check in history.checks]) == history


def test_history_of_a_run_is_complete(recovery: Result) -> None:
    columns = {name: recovery.history.column(name) for name in Check._fields}
    assert columns["iteration"].tolist() == list(range(0, recovery.iterations + 1, 10))
    assert np.all(np.diff(columns["seconds"]) >= 0)
    assert columns["passes"].tolist() == (2 + 2 * columns["iteration"]).tolist()
    # The certificate compares residuals after scaling all A_i to the same norm.
    assert columns["misfit"][-1] == pytest.approx(recovery.certificate.misfit, rel=0.1)
    assert columns["inliers"][-1] >= 370


def test_noise_is_that_of_the_measurements_or_zero(recovery: Result) -> None:
    assert recovery.noise == 0.0
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    y = planted.y + 0.5 * np.random.default_rng(0).standard_normal(400)
    assert rr.recover(planted.A, y, 2).noise == pytest.approx(0.5, rel=0.1)


def test_a_matrix_that_does_not_fit_in_memory_is_not_formed(
    recovery: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = np.ones((4096, 1)), np.ones((2048, 1))
    large = replace(recovery, left=left, right=right)
    monkeypatch.setattr("robustrank.result.result.physical_memory", lambda: 2 * 4096 * 2048 * 8)
    assert large.matrix.shape == (4096, 2048)  # half of the memory
    monkeypatch.setattr("robustrank.result.result.physical_memory", lambda: 2 * 4096 * 2048 * 8 - 1)
    with pytest.raises(MemoryError, match=r"the 4096 × 2048 matrix would take 0.0625 GiB; use"):
        _ = large.matrix
    assert large.predict([4095], [7]).tolist() == [1.0]
