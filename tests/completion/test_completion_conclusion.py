"""What is claimed for a completed matrix: every objection by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from completion_samples import planted_sample

from robustrank.certificate import NoiseStatistics, Support
from robustrank.completion.conclusion import certified
from robustrank.completion.held_out import HeldOut
from robustrank.completion.search import Solution, unsupported
from robustrank.result import Certificate, Status
from robustrank.result.certificate import conclude

PLANTED, SAMPLE = planted_sample(40, 30, 2, 700)
FREE = 2 * (40 + 30 - 2)
EXACT = Solution(
    PLANTED.left,
    PLANTED.right,
    np.ones(700, bool),
    Support(np.ones(40, bool), np.ones(30, bool), np.ones(700, bool)),
    noise=0.0,
    typical=10.0,
)
GOOD = HeldOut(10**6, 1.0, 1.0, 10.0, 1.0)
NOISY = replace(
    EXACT,
    noise=1.0,
    held_out=GOOD,
    structure=1.0,
)


def supported_by(solution: Solution, count: int) -> Solution:
    return replace(solution, support=replace(solution.support, fitted=np.arange(700) < count))


def status_of(certificate: Certificate) -> Status:
    return conclude(certificate, second_solution=False)


def test_status_without_objections() -> None:
    certificate = certified(EXACT, 700)
    assert status_of(certificate) is Status.RECOVERED
    assert certificate.objections == ()
    assert certificate.degrees_of_freedom == FREE
    assert (certificate.decided_rows, certificate.decided_columns) == (40, 30)
    assert np.isnan(certificate.held_out_error)
    certificate = certified(NOISY, 700)
    assert status_of(certificate) is Status.ESTIMATED
    assert certificate.held_out_error * certificate.trivial_error == GOOD.error == 1.0
    assert certificate.expected_error * certificate.trivial_error == GOOD.expected


def test_a_majority_must_support_an_exact_matrix() -> None:
    assert status_of(certified(supported_by(EXACT, 351), 700)) is Status.RECOVERED
    assert status_of(certified(supported_by(EXACT, 351), 701)) is Status.RECOVERED
    assert status_of(certified(supported_by(EXACT, 351), 702)) is Status.INCONCLUSIVE
    certificate = certified(supported_by(EXACT, 350), 700)
    assert status_of(certificate) is Status.INCONCLUSIVE
    assert certificate.objections == ("too few measurements support the matrix",)
    assert (certificate.supporting, certificate.required) == (350, 351)


@pytest.mark.parametrize(
    ("change", "words", "limit"),
    [
        (
            {"typical": 1 / 0.31},
            "results with more than 30% noise are not certified",
            {"typical": 1 / 0.3},
        ),
        (
            {"statistics": NoiseStatistics(3.6, 0.0, 0.0, 3.0, 0.0)},
            "the residuals of the inliers do not look like noise",
            {"statistics": NoiseStatistics(3.5, 0.0, 0.0, 3.0, 0.0)},
        ),
        ({"structure": 1.21}, "the residuals have structure", {"structure": 1.2}),
        (
            {"held_out": replace(GOOD, error=1.51)},
            "errors of entries that were left out",
            {"held_out": replace(GOOD, error=1.49)},
        ),
        (
            {"held_out": replace(GOOD, error=0.66)},
            "errors of entries that were left out",
            {"held_out": replace(GOOD, error=0.68)},
        ),
        (
            {"held_out": replace(GOOD, error=1.3, noise=0.0, trivial=4.0)},
            "the error of the matrix may be 33%",
            {"held_out": replace(GOOD, error=1.3, noise=0.0, trivial=4.4)},
        ),
        ({"typical": float("nan")}, "results with more than 30% noise are not certified", {}),
        ({"structure": float("nan")}, "the residuals have structure", {}),
    ],
)
def test_every_objection_with_noise(
    change: dict[str, Any], words: str, limit: dict[str, Any]
) -> None:
    certificate = certified(replace(NOISY, **change), 700)
    assert status_of(certificate) is Status.INCONCLUSIVE
    assert len(certificate.objections) == 1
    assert words in certificate.objections[0]
    assert status_of(certified(replace(NOISY, **limit), 700)) is Status.ESTIMATED


def test_support_with_noise() -> None:
    assert status_of(certified(supported_by(NOISY, 358), 700)) is Status.ESTIMATED
    few = certified(supported_by(NOISY, 357), 700).objections
    assert few == ("the inliers are not a majority of the measurements",)
    # Thirty more than degrees of freedom, where that is more.
    assert status_of(certified(supported_by(NOISY, FREE + 30), 200)) is Status.ESTIMATED
    few = certified(supported_by(NOISY, FREE + 29), 200).objections
    assert few == (f"with noise, 30 inliers more than the {FREE} degrees of freedom are needed",)


def test_a_stopped_search_claims_nothing() -> None:
    solution = unsupported(SAMPLE, None)
    assert not solution.left.any()
    assert solution.left.shape[0] == 40
    assert solution.support.is_empty
    latest = unsupported(SAMPLE, (PLANTED.left, PLANTED.right))
    assert latest.inliers.all()
    assert status_of(certified(latest, 700)) is Status.INCONCLUSIVE
    assert status_of(certified(latest, 700, tested=False)) is Status.INCONCLUSIVE


def test_a_matrix_that_was_not_tested_is_not_certified() -> None:
    for solution in (EXACT, NOISY):
        certificate = certified(solution, 700, tested=False)
        assert certificate.objections == ("the run ended before the result was tested",)
        assert status_of(certificate) is Status.INCONCLUSIVE


def test_the_noise_is_in_the_units_of_the_data() -> None:
    plain, scaled = certified(NOISY, 700), certified(NOISY, 700, 1e3)
    assert (scaled.sigma, scaled.trivial_error) == (1e3, 1e3 * plain.trivial_error)
    assert (scaled.noise, scaled.held_out_error) == (plain.noise, plain.held_out_error)
    exact = certified(EXACT, 700, 1e3)
    assert (exact.sigma, exact.matrix_error, exact.exact_fits) == (0.0, 0.0, 700)
    assert (plain.exact_fits, plain.inliers) == (0, 700)
