"""Statuses and certificates in words, and the rule for a certified exact result."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from robustrank.certificate.evidence import required_fits
from robustrank.result import (
    Certificate,
    Status,
    StopReason,
    exact_sentence,
    explain,
    noise_sentence,
    objection_sentences,
)

CERTIFICATE = Certificate(
    exact_fits=380,
    required=201,
    inliers=385,
    supporting=380,
    measurements=400,
    independent=400,
    degrees_of_freedom=66,
    tolerance=5e-7,
    misfit=1e-9,
    noise=0.0134,
    sigma=0.2831,
    evidence=30.0,
    required_evidence=36.0,
    prediction_error=0.015,
)
EXACT = "380 of 400 measurements are fitted exactly (relative residual at most 5e-07)"
NOISY = "385 of 400 measurements fit within the noise, σ ≈ 0.283 (1.3% of a typical measurement)"


def test_status_says_what_happened_and_what_to_do() -> None:
    for status in Status:
        for text in (status.meaning, status.advice):
            assert re.fullmatch(r"\S.*\.", text), text
        assert str(status) == f"{status.value}: {status.meaning}"
    assert {status for status in Status if status.certified} == {Status.RECOVERED, Status.ESTIMATED}


def test_sentences_state_the_numbers() -> None:
    assert exact_sentence(CERTIFICATE) == EXACT
    assert noise_sentence(CERTIFICATE) == NOISY


EXPLANATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "exact": ({}, f"{EXACT}; at least 201 are required."),
    "up to noise": ({"exact_fits": 7}, f"{NOISY}."),
    "too few measurements": (
        {"required": 1500},
        f"{EXACT}. No result can be certified with so few measurements: at least 1,500 are "
        "required.",
    ),
    "exact, but too few": (
        {"exact_fits": 80, "noise": 1e-15},
        f"80{EXACT[3:]}. At least 201 are required.",
    ),
    "too few inliers": (
        {"exact_fits": 7, "sigma": math.inf},
        f"7{EXACT[3:]}. At least 201 are required.",
    ),
    "not identified": (
        {"unidentified": "row 3"},
        f"{EXACT}; at least 201 are required. No measurement depends on row 3 of the matrix.",
    ),
    "repeated measurements": (
        {"exact_fits": 7, "independent": 390},
        f"{NOISY.replace('400', '390 independent')}.",
    ),
    "left out": (
        {"exact_fits": 7, "trivial_error": 2.0, "held_out_error": 0.05, "expected_error": 0.04},
        f"{NOISY}. Measurements that were left out are predicted up to 0.1 (expected: 0.08; by a "
        "constant: 2).",
    ),
}


@pytest.mark.parametrize("case", EXPLANATIONS)
def test_evidence_is_explained(case: str) -> None:
    changes, expected = EXPLANATIONS[case]
    assert explain(replace(CERTIFICATE, **changes)) == expected


def test_measurements_of_a_completion_are_entries() -> None:
    assert explain(CERTIFICATE, "entries") == (
        f"{EXACT.replace('measurements', 'entries')}; at least 201 are required."
    )


def test_objections_are_sentences() -> None:
    assert objection_sentences(CERTIFICATE) == ""
    doubtful = CERTIFICATE.with_objections("one reason").with_objections("another")
    assert objection_sentences(doubtful) == "One reason. Another."


def test_reasons_to_stop_say_what_to_do() -> None:
    for reason in StopReason:
        assert re.fullmatch(r"\S.*\.", reason.advice), reason
        assert str(reason) == reason.value
    early = {StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED}
    assert {reason for reason in StopReason if reason.by_user} == early


def required(measurements: int, freedom: int, tolerance: float) -> int:
    problem: Any = SimpleNamespace(degrees_of_freedom=freedom, epsilon=tolerance / 1000)
    return required_fits(problem, measurements)


@pytest.mark.parametrize(
    ("exact_fits", "measurements", "freedom", "expected"),
    [
        (60, 100, 40, True),
        (50, 100, 20, False),  # exactly half: another matrix may fit the other half
        (51, 100, 20, True),
        (80, 100, 75, False),  # five more than the degrees of freedom can be chance
        (100, 100, 100, False),
    ],
)
def test_certificate_requires_more_than_half_and_more_than_chance(
    exact_fits: int, measurements: int, freedom: int, expected: bool
) -> None:
    certificate = replace(
        CERTIFICATE, exact_fits=exact_fits, required=required(measurements, freedom, 1e-7)
    )
    assert certificate.is_exact is expected
    assert not replace(certificate, objections=("a reason",)).is_exact


def test_loose_tolerance_requires_more_exact_fits() -> None:
    tight, loose = (required(10_000, 6_000, tolerance) for tolerance in (1e-7, 1e-2))
    assert loose > tight + 500
