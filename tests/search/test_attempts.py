"""Which of several results is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.result import Alternative
from robustrank.search.results import best_attempt, standing

PLANTED = rr.simulate.plant(8, 6, 1, 90, outliers=0.1, rng=1)
RESULT = rr.recover(PLANTED.A, PLANTED.y, 1)
NOTHING = {"evidence": 0.0, "exact_fits": 0, "misfit": 0.5, "prediction_error": 0.1}
CAUSES: dict[rr.Status, dict[str, Any]] = {
    rr.Status.RECOVERED: {"exact_fits": RESULT.certificate.required},
    rr.Status.ESTIMATED: {},
    rr.Status.AMBIGUOUS: {},
    rr.Status.NOT_IDENTIFIED: {"unidentified": "row 2", "objections": ("a reason",)},
    rr.Status.INCONCLUSIVE: {"objections": ("a reason",)},
}


def result(status: rr.Status, **certificate: Any) -> rr.Result:
    """A result whose certificate leads to this status."""
    numbers = replace(RESULT.certificate, **(NOTHING | CAUSES[status] | certificate))
    other = Alternative(-RESULT.left, RESULT.right, 40, "the whole matrix")
    second = other if status is rr.Status.AMBIGUOUS else None
    found = replace(RESULT, certificate=numbers, alternative=second)
    assert found.status is status
    return found


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (result(rr.Status.INCONCLUSIVE), result(rr.Status.NOT_IDENTIFIED)),
        (result(rr.Status.NOT_IDENTIFIED), result(rr.Status.ESTIMATED)),
        (result(rr.Status.ESTIMATED), result(rr.Status.AMBIGUOUS)),
        (result(rr.Status.AMBIGUOUS), result(rr.Status.RECOVERED)),
        (
            result(rr.Status.ESTIMATED, prediction_error=0.2),
            result(rr.Status.ESTIMATED, prediction_error=0.1),
        ),
        (result(rr.Status.INCONCLUSIVE), result(rr.Status.INCONCLUSIVE, evidence=1.0)),
        (result(rr.Status.INCONCLUSIVE), result(rr.Status.INCONCLUSIVE, exact_fits=9)),
        (result(rr.Status.INCONCLUSIVE, misfit=0.6), result(rr.Status.INCONCLUSIVE, misfit=0.4)),
        (
            result(rr.Status.INCONCLUSIVE, evidence=-3.0, misfit=0.6),
            result(rr.Status.INCONCLUSIVE, evidence=-5.0, misfit=0.4),
        ),
    ],
)
def test_the_better_result_stands_higher(worse: rr.Result, better: rr.Result) -> None:
    assert standing(worse) < standing(better)


def estimated(scale: float = 1.0, **certificate: Any) -> rr.Result:
    """A noisy result, a multiple of the true matrix, with an expected error of 1 %."""
    found = result(rr.Status.ESTIMATED, **({"matrix_error": 0.01, "noise": 0.02} | certificate))
    return replace(found, left=scale * found.left)


def test_the_best_result_is_returned_as_it_is() -> None:
    best, other = estimated(), result(rr.Status.INCONCLUSIVE)
    assert best_attempt([other, best]) is best
    assert best_attempt([other]) is other


@pytest.mark.parametrize(
    ("scale", "error", "status"),
    [
        (1.05, 0.1, rr.Status.ESTIMATED),  # within their errors
        (1.5, 0.1, rr.Status.AMBIGUOUS),
        (1.5, 0.5, rr.Status.AMBIGUOUS),  # however much worse it predicts
    ],
)
def test_another_estimate_that_differs_is_a_second_solution(
    scale: float, error: float, status: rr.Status
) -> None:
    other = estimated(scale, prediction_error=error, inliers=70)
    best = best_attempt([estimated(prediction_error=0.1), other])
    assert best.status is status
    if status is rr.Status.AMBIGUOUS:
        assert best.alternative is not None
        assert best.alternative.left is other.left
        assert best.alternative.supporting == 70


def test_of_equal_results_the_first_is_returned() -> None:
    """Several solvers often end at the same fit, up to rounding."""
    first, second = estimated(prediction_error=0.1), estimated(prediction_error=0.1 * (1 - 1e-7))
    assert best_attempt([first, second]) is first
    assert best_attempt([second, first]) is second


def test_what_is_not_certified_is_no_second_solution() -> None:
    best, other = estimated(), result(rr.Status.INCONCLUSIVE, matrix_error=0.01)
    other = replace(other, left=1.5 * other.left)
    assert best_attempt([best, other]) is best


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"evidence": 1.0, "noise": 0.01}, True),
        ({"evidence": 1.0, "noise": 0.03}, False),
        ({"evidence": -1.0, "noise": 0.01}, False),
    ],
)
def test_a_result_of_higher_rank_that_explains_more_is_an_objection(
    change: dict[str, float], holds: bool
) -> None:
    best = estimated()
    higher = result(rr.Status.INCONCLUSIVE, **change)
    two = [np.hstack([factor, factor]) for factor in (higher.left, higher.right)]
    higher = replace(higher, left=two[0], right=two[1])
    found = best_attempt([best, higher])
    assert found.rank == 1
    assert found.certified is not holds
    said = ("a result of higher rank explains more, and leaves less noise",)
    assert found.certificate.objections == said * holds
