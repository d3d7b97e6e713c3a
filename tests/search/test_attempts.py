"""Which of several results is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import robustrank as rr
from robustrank.search.attempts import standing

PLANTED = rr.simulate.plant(8, 6, 1, 90, outliers=0.1, rng=1)
RESULT = rr.recover(PLANTED.A, PLANTED.y, 1)
NOTHING = {"evidence": 0.0, "exact_fits": 0, "misfit": 0.5, "prediction_error": 0.1}


def result(status: rr.Status, **certificate: Any) -> rr.Result:
    numbers = replace(RESULT.certificate, **(NOTHING | certificate))
    return replace(RESULT, status=status, certificate=numbers)


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
