"""From the evidence to a status: what is certified, and what is not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate import Fit, count, examine, untested
from robustrank.certificate.conclusion import _objections, _tested_objections
from robustrank.certificate.evidence import evidence_of, prediction_error
from robustrank.metrics import evaluate
from robustrank.operators import as_operator
from robustrank.result import StopReason
from robustrank.result.certificate import conclude
from robustrank.simulate import plant
from robustrank.solvers import MedianTGD

EARLY = [reason for reason in StopReason if reason is not StopReason.DIVERGED]


def certificate_with(
    inliers: int = 900, noise: float = 0.01, exact_fits: int = 0
) -> rr.Certificate:
    """1,000 measurements for 500 degrees of freedom; 511 exact fits are required."""
    sizes = np.full(inliers, 3 * noise)
    return rr.Certificate(
        exact_fits=exact_fits,
        required=511,
        inliers=inliers,
        supporting=exact_fits if exact_fits >= 511 else inliers,
        measurements=1000,
        independent=1000,
        degrees_of_freedom=500,
        decided_rows=100,
        decided_columns=80,
        tolerance=5e-7,
        misfit=0.01,
        noise=noise,
        sigma=3 * noise,
        evidence=evidence_of(sizes, 3.0, 1000, 500, epsilon=1e-16),
        required_evidence=145.0,
        prediction_error=prediction_error(noise, inliers, 500),
    )


def counted(certificate: rr.Certificate, reason: StopReason | None = None) -> rr.Certificate:
    """The certificate with the objections that counting finds."""
    return certificate.with_objections(*_objections(certificate, reason))


def status_of(certificate: rr.Certificate, reason: StopReason | None = None) -> rr.Status:
    return conclude(counted(certificate, reason), second_solution=False)


@pytest.mark.parametrize(
    ("inliers", "noise", "words"),
    [
        (900, 0.01, ()),
        (900, 0.04, ()),
        (900, 0.12, ("results with more than 10% noise are not certified",)),
        # A wrong matrix can be chosen to fit as many.
        (
            505,
            0.01,
            (
                "the inliers are not a majority of the measurements",
                "30 inliers more than the 500 degrees of freedom are needed",
                "the evidence for the fit is",
            ),
        ),
    ],
)
def test_an_estimate_requires_small_noise_and_evidence(
    inliers: int, noise: float, words: tuple[str, ...]
) -> None:
    certificate = certificate_with(inliers, noise)
    objections = counted(certificate).objections
    assert len(objections) == len(words)
    assert all(part in text for part, text in zip(words, objections, strict=True))
    expected = rr.Status.INCONCLUSIVE if words else rr.Status.ESTIMATED
    assert status_of(certificate) is expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"evidence": 144.0}, "the evidence for the fit is 144; at least 145 is required"),
        ({"evidence": math.nan}, "the evidence for the fit is nan; at least 145 is required"),
        ({"noise": 0.101}, "the residuals are 10.1% of a typical measurement"),
        ({"noise": math.nan}, "too few measurements are inliers"),
        ({"noise": math.inf}, "too few measurements are inliers"),
        (
            {"supporting": 510, "degrees_of_freedom": 480},
            "the inliers are not a majority of the measurements",
        ),
        (
            {"supporting": 529},
            "with noise, 30 inliers more than the 500 degrees of freedom are needed",
        ),
        ({"required": 1001}, "1,000 measurements are too few for 500 degrees of freedom"),
    ],
)
def test_every_objection_of_counting_by_itself(change: dict[str, Any], words: str) -> None:
    found = counted(replace(certificate_with(), **change)).objections
    assert len(found) == 1
    assert words in found[0]


@pytest.mark.parametrize(("exact_fits", "holds"), [(510, False), (511, True), (1000, True)])
def test_enough_exact_fits_certify(exact_fits: int, holds: bool) -> None:
    certificate = counted(certificate_with(exact_fits=exact_fits, noise=0.5))
    assert certificate.is_exact is holds
    expected = rr.Status.RECOVERED if holds else rr.Status.INCONCLUSIVE
    assert status_of(certificate_with(exact_fits=exact_fits, noise=0.5)) is expected


@pytest.mark.parametrize("reason", [None, *EARLY])
def test_exact_fits_certify_however_the_solver_stopped(reason: StopReason | None) -> None:
    assert status_of(certificate_with(exact_fits=600), reason) is rr.Status.RECOVERED


@pytest.mark.parametrize("exact_fits", [0, 600])
def test_a_diverged_run_is_never_certified(exact_fits: int) -> None:
    certificate = certificate_with(exact_fits=exact_fits)
    found = counted(certificate, StopReason.DIVERGED)
    assert found.objections == ("the factors grew without bound",)
    assert status_of(certificate, StopReason.DIVERGED) is rr.Status.INCONCLUSIVE


@pytest.mark.parametrize("reason", EARLY)
def test_a_run_that_ended_early_is_not_certified_without_enough_exact_fits(
    reason: StopReason,
) -> None:
    assert counted(certificate_with(), reason).objections == (reason.value,)
    assert status_of(certificate_with(), reason) is rr.Status.INCONCLUSIVE


@pytest.mark.parametrize("reason", [None, *StopReason])
def test_too_few_measurements_to_certify_anything(reason: StopReason | None) -> None:
    few = replace(certificate_with(), required=1001)
    assert status_of(few, reason) is rr.Status.UNDERDETERMINED


def test_another_matrix_that_fits_less_than_half_is_not_certified() -> None:
    """Its residuals vanish on 40 % of the measurements: not by chance, but no majority."""
    planted = plant(8, 6, 1, 400, outliers=0.4, outlier_model="impostor", rng=3)
    rows = planted.A[planted.outliers].reshape(-1, 48)
    other = np.linalg.lstsq(rows, planted.y[planted.outliers], rcond=None)[0]
    problem = rr.solvers.Problem(as_operator(planted.A), planted.y, 1)
    residual = planted.y - planted.A.reshape(400, -1) @ other
    fit = Fit(
        problem=problem,
        residual=residual,
        weights=np.ones(400),
        spread=np.ones(400),
        norm=1.0,
    )
    certificate = count(fit, None)
    assert certificate.exact_fits == 160 > certificate.degrees_of_freedom + 10
    assert not certificate.is_exact
    assert certificate.objections
    assert conclude(certificate, second_solution=False) is rr.Status.INCONCLUSIVE


def test_an_exact_fit_that_was_not_tested_is_not_certified() -> None:
    planted = plant(8, 6, 1, 400, rng=3)
    problem = rr.solvers.Problem(as_operator(planted.A), planted.y, 1)
    u, _, vt = np.linalg.svd(planted.matrix)
    normalized = problem.normalized()
    fit = Fit(
        problem=problem,
        residual=np.zeros(400),
        weights=np.ones(400),
        spread=np.ones(400),
        norm=1.0,
    )
    assert not count(fit, None).objections
    tangent = normalized.operator.tangent(u[:, :1], vt[:1].T)
    tested, _ = examine(fit, tangent, None)
    assert conclude(tested, second_solution=False) is rr.Status.RECOVERED
    certificate = untested(fit)
    assert certificate.fits_exactly
    assert not certificate.is_exact
    assert certificate.objections == ("the run ended before the result was tested",)
    assert conclude(certificate, second_solution=False) is rr.Status.INCONCLUSIVE


def test_noise_is_certified_but_not_as_exact() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, bounded_noise=0.05, rng=5)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.ESTIMATED
    assert result.certified
    assert not result.certificate.is_exact
    assert 1e-4 < result.certificate.misfit < 0.1


def test_random_measurements_are_not_certified() -> None:
    planted = plant(20, 15, 2, 600, rng=5)
    y = np.random.default_rng(0).standard_normal(600)
    result = rr.recover(planted.A, y, 2, solver=MedianTGD(max_iterations=2000))
    assert not result.certified
    assert not result.certificate.is_exact


def test_undersampled_problem_warns_and_is_not_certified() -> None:
    planted = plant(20, 15, 2, 50, rng=5)
    with pytest.warns(rr.UndersampledWarning, match="50 measurements .* 66 degrees of freedom"):
        result = rr.recover(planted.A, planted.y, 2, solver=MedianTGD(max_iterations=3000))
    assert not result.certificate.is_exact
    assert not result.certified
    assert result.status is rr.Status.UNDERDETERMINED
    assert result.stopped in (None, rr.StopReason.ITERATIONS)


def test_so_few_measurements_that_anything_fits_are_underdetermined() -> None:
    planted = plant(20, 16, 2, 30, rng=5)
    with pytest.warns(rr.UndersampledWarning):
        result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.UNDERDETERMINED
    assert "lower the rank" in result.status.advice
    assert not result.certified


def test_a_wrong_matrix_that_fits_half_exactly_is_not_certified() -> None:
    """Near the limit a wrong matrix can fit half of the measurements, so the median is zero."""
    planted = plant(20, 15, 2, 90, outliers=0.3, outlier_model="scale", rng=2)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert evaluate(result, planted).error > 0.1
    assert not result.certified


def test_a_missing_small_component_is_not_certified_in_float32() -> None:
    planted = plant(20, 15, 2, 600, condition_number=1000, dtype="float32", rng=5)
    result = rr.recover(planted.A, planted.y, 1, solver=MedianTGD(max_iterations=2000))
    assert result.status is not rr.Status.RECOVERED


def test_exact_fits_are_not_outliers() -> None:
    """A residual of six medians is still an exact fit if the median is 1e-10."""
    planted = plant(20, 15, 2, 3000, rng=6)
    result = rr.recover(planted.A, planted.y, 2, solver=MedianTGD(alpha_h=2.0))
    assert np.any(np.abs(result.residual) > (result.cutoff or 0.0))
    assert not np.any(result.outliers)


def test_a_diverged_run_is_reported_without_warnings() -> None:
    planted = plant(20, 15, 2, 400, rng=5)
    result = rr.recover(planted.A, planted.y, 2, solver=MedianTGD(step_size=50.0))
    assert result.stopped is rr.StopReason.DIVERGED
    assert not result.certificate.is_exact
    assert not result.certified


@pytest.mark.parametrize(
    ("error", "share", "predicted"),
    [(0.1, 0.9, True), (0.1, 0.4, False), (0.4, 0.9, False), (0.4, 0.4, False)],
)
def test_left_out_measurements_must_be_predicted_typically_and_mostly(
    error: float, share: float, predicted: bool
) -> None:
    found = replace(
        certificate_with(),
        held_out_error=error,
        held_out_share=share,
        noise_statistics=(0.0, 0.0, 0.0, 3.0, 0.0),
    )
    said = "measurements that were left out of the fit are not predicted by it"
    assert (said in _tested_objections(found)) != predicted
