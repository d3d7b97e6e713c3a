"""Statuses and certificates in words, and the rule for a certified exact result."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from robustrank.certificate.counting import required_fits
from robustrank.result import Certificate, Status, exact_sentence, explain, noise_sentence

CERTIFICATE = Certificate(
    exact_fits=380,
    required=201,
    inliers=385,
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


EXPLANATIONS: dict[str, tuple[Status, dict[str, Any], str]] = {
    "recovered": (Status.RECOVERED, {}, f"{EXACT}; at least 201 are required."),
    "settled": (Status.ESTIMATED, {}, f"{NOISY}."),
    "too few measurements": (
        Status.UNDERDETERMINED,
        {"required": 1500},
        f"{EXACT}. No result can be certified with so few measurements: at least 1,500 are "
        "required.",
    ),
    "too little evidence": (
        Status.INCONCLUSIVE,
        {"exact_fits": 7},
        f"{NOISY}. The evidence for this is 30; at least 36 is required.",
    ),
    "enough evidence, but too noisy": (
        Status.INCONCLUSIVE,
        {"exact_fits": 7, "evidence": 40.0, "objections": ("there is too much noise",)},
        f"{NOISY}. There is too much noise.",
    ),
    "exact, but too few": (
        Status.INCONCLUSIVE,
        {"exact_fits": 80, "noise": 1e-15},
        f"80{EXACT[3:]}. At least 201 are required.",
    ),
    "no evidence": (
        Status.INCONCLUSIVE,
        {"exact_fits": 7, "evidence": -math.inf},
        f"7{EXACT[3:]}. At least 201 are required.",
    ),
    "objections": (
        Status.INCONCLUSIVE,
        {"objections": ("one reason", "another reason")},
        f"{EXACT}; at least 201 are required. One reason. Another reason.",
    ),
    "not identified": (
        Status.NOT_IDENTIFIED,
        {"unidentified": "row 3"},
        f"{EXACT}; at least 201 are required. No measurement depends on row 3 of the matrix.",
    ),
    "ambiguous": (Status.AMBIGUOUS, {}, f"{EXACT}; at least 201 are required."),
    "ambiguous up to noise": (Status.AMBIGUOUS, {"exact_fits": 7}, f"{NOISY}."),
    "repeated measurements": (
        Status.ESTIMATED,
        {"independent": 390},
        f"{NOISY.replace('400', '390 independent')}.",
    ),
}


@pytest.mark.parametrize("case", EXPLANATIONS)
def test_evidence_is_explained(case: str) -> None:
    status, changes, expected = EXPLANATIONS[case]
    assert explain(status, replace(CERTIFICATE, **changes)) == expected


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
