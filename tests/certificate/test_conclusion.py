"""From the evidence to a status: what is certified, and what is not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate import Fit, certify, conclude
from robustrank.certificate.conclusion import _noise_objections
from robustrank.certificate.noise import NoiseFit
from robustrank.metrics import evaluate
from robustrank.operators import as_operator
from robustrank.result import StopReason
from robustrank.simulate import plant


def certificate_with(inliers: int = 900, noise: float = 0.01, exact_fits: int = 0) -> Any:
    """1,000 measurements for 500 degrees of freedom; 511 exact fits are required."""
    gains = np.full(inliers, -math.log(noise))
    fit = NoiseFit(3 * noise, 3.0, inliers, 1000, 500, gains)
    return rr.Certificate(
        exact_fits=exact_fits,
        required=511,
        inliers=inliers,
        measurements=1000,
        independent=1000,
        degrees_of_freedom=500,
        tolerance=5e-7,
        misfit=0.01,
        noise=noise,
        sigma=3 * noise,
        evidence=fit.evidence,
        required_evidence=145.0,
        prediction_error=fit.prediction_error,
    )


@pytest.mark.parametrize(
    ("inliers", "noise", "status"),
    [
        (900, 0.01, rr.Status.ESTIMATED),
        (900, 0.04, rr.Status.ESTIMATED),
        (900, 0.12, rr.Status.INCONCLUSIVE),  # too large to be called noise
        (505, 0.01, rr.Status.INCONCLUSIVE),  # a wrong matrix can be chosen to fit as many
    ],
)
def test_settled_requires_small_noise_and_evidence(
    inliers: int, noise: float, status: rr.Status
) -> None:
    assert conclude(StopReason.CONVERGED, certificate_with(inliers, noise)) is status


@pytest.mark.parametrize(("exact_fits", "holds"), [(510, False), (511, True), (1000, True)])
def test_enough_exact_fits_certify(exact_fits: int, holds: bool) -> None:
    certificate = certificate_with(exact_fits=exact_fits, noise=0.5)
    assert certificate.is_exact is holds
    expected = rr.Status.RECOVERED if holds else rr.Status.INCONCLUSIVE
    assert conclude(StopReason.CONVERGED, certificate) is expected


@pytest.mark.parametrize(
    "reason", [StopReason.CONVERGED, StopReason.ITERATIONS, StopReason.TIME_LIMIT]
)
def test_exact_fits_certify_however_the_solver_stopped(reason: StopReason) -> None:
    assert conclude(reason, certificate_with(exact_fits=600)) is rr.Status.RECOVERED


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (StopReason.CALLBACK, rr.Status.STOPPED),
        (StopReason.INTERRUPTED, rr.Status.INTERRUPTED),
        (StopReason.DIVERGED, rr.Status.DIVERGED),
    ],
)
def test_a_stopped_run_is_never_certified(reason: StopReason, status: rr.Status) -> None:
    assert conclude(reason, certificate_with(exact_fits=600)) is status


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (StopReason.ITERATIONS, rr.Status.ITERATION_LIMIT),
        (StopReason.TIME_LIMIT, rr.Status.TIME_LIMIT),
    ],
)
def test_a_limit_is_reported_without_enough_exact_fits(
    reason: StopReason, status: rr.Status
) -> None:
    assert conclude(reason, certificate_with()) is status


def test_too_few_measurements_to_certify_anything() -> None:
    few = replace(certificate_with(), required=1001)
    assert conclude(StopReason.CONVERGED, few) is rr.Status.UNDERDETERMINED
    assert conclude(StopReason.ITERATIONS, few) is rr.Status.UNDERDETERMINED
    assert conclude(StopReason.TIME_LIMIT, few) is rr.Status.TIME_LIMIT


@pytest.mark.parametrize("exact_fits", [0, 600])
def test_a_result_with_objections_is_not_certified(exact_fits: int) -> None:
    certificate = replace(certificate_with(exact_fits=exact_fits), objections=("a reason",))
    assert not certificate.is_exact
    assert conclude(StopReason.CONVERGED, certificate) is rr.Status.INCONCLUSIVE


def test_another_matrix_that_fits_less_than_half_is_not_certified() -> None:
    """Its residuals vanish on 40 % of the measurements: not by chance, but no majority."""
    planted = plant(8, 6, 1, 400, outliers=0.4, outlier_model="impostor", rng=3)
    rows = planted.A[planted.outliers].reshape(-1, 48)
    other = np.linalg.lstsq(rows, planted.y[planted.outliers], rcond=None)[0]
    problem = rr.solvers.Problem(as_operator(planted.A), planted.y, 1)
    residual = planted.y - planted.A.reshape(400, -1) @ other
    u, _, vt = np.linalg.svd(other.reshape(8, 6))
    normalized = problem.normalized()
    fit = Fit(
        problem=problem,
        residual=residual,
        weights=np.ones(400),
        spread=np.ones(400),
        linearize=lambda: normalized.operator.tangent(u[:, :1], vt[:1].T),
        norm=1.0,
    )
    certificate, status = certify(fit, StopReason.CONVERGED)
    assert certificate.exact_fits == 160 > certificate.degrees_of_freedom + 10
    assert not certificate.is_exact
    assert status is rr.Status.INCONCLUSIVE


def test_noise_is_settled_and_not_certified_as_exact() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, bounded_noise=0.05, rng=5)
    result = rr.recover(planted.A, planted.y, 2)
    assert result.status is rr.Status.ESTIMATED
    assert result.certified
    assert not result.certificate.is_exact
    assert 1e-4 < result.certificate.misfit < 0.1


def test_random_measurements_are_not_certified() -> None:
    planted = plant(20, 15, 2, 600, rng=5)
    y = np.random.default_rng(0).standard_normal(600)
    result = rr.recover(planted.A, y, 2, solver=rr.solvers.MedianTGD(max_iterations=2000))
    assert not result.certified
    assert not result.certificate.is_exact


def test_undersampled_problem_warns_and_is_not_certified() -> None:
    planted = plant(20, 15, 2, 50, rng=5)
    with pytest.warns(rr.UndersampledWarning, match="50 measurements .* 66 degrees of freedom"):
        result = rr.recover(
            planted.A, planted.y, 2, solver=rr.solvers.MedianTGD(max_iterations=3000)
        )
    assert not result.certificate.is_exact
    assert not result.certified
    assert result.status in (rr.Status.UNDERDETERMINED, rr.Status.ITERATION_LIMIT)


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
    result = rr.recover(planted.A, planted.y, 1, solver=rr.solvers.MedianTGD(max_iterations=2000))
    assert result.status is not rr.Status.RECOVERED


def test_exact_fits_are_not_outliers() -> None:
    """A residual of six medians is still an exact fit if the median is 1e-10."""
    planted = plant(20, 15, 2, 3000, rng=6)
    result = rr.recover(planted.A, planted.y, 2, solver=rr.solvers.MedianTGD(alpha_h=2.0))
    assert np.any(np.abs(result.residual) > (result.cutoff or 0.0))
    assert not np.any(result.outliers)


def test_a_diverged_run_is_reported_without_warnings() -> None:
    planted = plant(20, 15, 2, 400, rng=5)
    result = rr.recover(planted.A, planted.y, 2, solver=rr.solvers.MedianTGD(step_size=50.0))
    assert result.stopped is rr.StopReason.DIVERGED
    assert not result.certificate.is_exact


@pytest.mark.parametrize(
    ("shape", "rank", "expected"),
    [((18, 12), 1, 20 + 3 * 29), ((60, 40), 8, 20 + 2 * 736 + 13 * math.sqrt(736))],
)
def test_required_evidence_grows_more_slowly_with_many_degrees_of_freedom(
    shape: tuple[int, int], rank: int, expected: float
) -> None:
    planted = plant(*shape, rank, 800, rng=0)
    result = rr.recover(planted.A, planted.y, rank, solver=rr.solvers.GaussNewton(max_iterations=1))
    assert result.certificate.required_evidence == pytest.approx(expected)


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
    assert (said in _noise_objections(found)) != predicted
