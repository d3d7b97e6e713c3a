"""Which curve answers a question, and what is said outside of the trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robustrank.planning.curves import DEFAULT, PAPER, load_curves
from robustrank.planning.lookup import Question, look_up

USUAL = Question((60, 48), 3, 0.1, 0.0, "gaussian", "huge")


def test_curve_at_a_fraction_of_the_table_is_that_of_the_table() -> None:
    answer = look_up(USUAL, DEFAULT)
    assert answer.notes == ()
    assert answer.curve in load_curves()
    assert answer.curve is not None
    assert (answer.curve.outliers, answer.curve.noise) == (0.1, 0.0)


@pytest.mark.parametrize("method", [DEFAULT, PAPER])
def test_more_measurements_are_needed_with_more_outliers_and_noise(method: str) -> None:
    def needed(**given: float) -> int:
        found = look_up(replace(USUAL, **given), method).needed(0.95)  # type: ignore[arg-type]
        assert found is not None
        return found

    by_outliers = [needed(outliers=s) for s in (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)]
    # Without noise, success is the exact matrix, which the paper's method needs more for.
    by_noise = [needed(noise=nu) for nu in (0.01, 0.03, 0.05)]
    by_rank = [needed(rank=r) for r in (1, 2, 3, 4)]
    for counts in (by_outliers, by_noise, by_rank):
        assert counts == sorted(counts)
        assert len(set(counts)) == len(counts)


def test_interpolation_is_between_the_neighbors() -> None:
    counts = [look_up(replace(USUAL, outliers=s), DEFAULT).needed(0.5) for s in (0.3, 0.35, 0.4)]
    assert None not in counts
    assert counts[0] < counts[1] < counts[2]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("noise", "share"), [(0.001, 0.666667), (0.0001, 0.5), (0.0000001, 0.285714)]
)
def test_noise_is_interpolated_by_the_evidence_of_a_measurement(noise: float, share: float) -> None:
    """Linearly in 1/log(1/noise): log 100 / log(1/noise) of the way to noise of 1 %."""
    none, some, one_percent = (
        look_up(replace(USUAL, noise=level), DEFAULT).curve for level in (0.0, noise, 0.01)
    )
    assert none is not None
    assert some is not None
    assert one_percent is not None
    assert none.offset is not None
    expected = none.offset + share * ((one_percent.offset or 0) - none.offset)
    assert some.offset == pytest.approx(expected, rel=1e-5)


def test_number_of_measurements_reaches_the_probability_and_no_smaller_one_does() -> None:
    answer = look_up(replace(USUAL, noise=0.05), DEFAULT)
    needed = answer.needed(0.95)
    assert needed is not None
    assert (answer.success(needed) or 0) >= 0.95 > (answer.success(needed - 1) or 1)


@pytest.mark.parametrize(
    ("outliers", "noise", "used"),
    [
        (0.12, 0.0, (0.1, 0.0)),  # of 10 and 20 %, those need more inliers
        (0.08, 0.0, (0.05, 0.0)),
        (0.12, 0.01, (0.1, 0.05)),
    ],
)
def test_entries_use_the_harder_of_two_levels(
    outliers: float, noise: float, used: tuple[float, float]
) -> None:
    question = replace(USUAL, family="entries", outliers=outliers, noise=noise)
    curve = look_up(question, DEFAULT).curve
    assert curve is not None
    assert (curve.outliers, curve.noise) == used


def test_success_is_impossible_with_too_few_inliers_for_a_certificate() -> None:
    answer = look_up(replace(USUAL, outliers=0.0), DEFAULT)
    assert answer.success(USUAL.freedom + 10) == 0.0
    assert (answer.success(USUAL.freedom + 11) or 0.0) > 0.4
    assert answer.needed(0.01) == USUAL.freedom + 11


@pytest.mark.parametrize(
    ("changes", "method", "note"),
    [
        ({"noise": 0.09}, DEFAULT, "unknown: the trials have noise of at most 8%"),
        ({"outliers": 0.46}, DEFAULT, "unknown: the trials have at most 45% outliers"),
        (
            {"family": "entries", "outliers": 0.35, "noise": 0.05},
            DEFAULT,
            "unknown: no trial with 40% outliers succeeded, with up to 6 inliers per degree of "
            "freedom, with noise of 5%",
        ),
        ({"family": "entries"}, PAPER, "unknown: the table has no such trials"),
        (
            {"outlier_model": "scale", "noise": 0.05},
            DEFAULT,
            "unknown: the trials have noise of at most 0%",
        ),
    ],
)
def test_question_that_no_trial_answers(changes: dict[str, float], method: str, note: str) -> None:
    answer = look_up(replace(USUAL, **changes), method)  # type: ignore[arg-type]
    assert answer.curve is None
    assert answer.notes == (note,)
    assert (answer.needed(0.5), answer.success(10**6)) == (None, None)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"shape": (500, 400), "rank": 5},
            "from 27 to 2,600 degrees of freedom, this matrix 4,475",
        ),
        ({"shape": (30, 24), "rank": 8}, "at most 21% of the smaller side, this rank is 33%"),
        ({"shape": (400, 300), "rank": 9, "family": "entries"}, "ranks from 1 to 5"),
        (
            {"shape": (150, 120), "rank": 5, "noise": 0.05, "outliers": 0.2},
            "from 27 to 315 degrees of freedom, this matrix 1,325",
        ),
    ],
)
def test_extrapolation_is_announced(changes: dict[str, float], note: str) -> None:
    answer = look_up(replace(USUAL, **changes), DEFAULT)  # type: ignore[arg-type]
    assert answer.curve is not None
    assert len(answer.notes) == 1
    assert answer.notes[0].startswith("extrapolated: ")
    assert note in answer.notes[0]


def test_number_of_inliers_that_was_not_tried_is_not_returned() -> None:
    answer = look_up(replace(USUAL, outliers=0.45), PAPER)
    assert answer.curve is not None
    assert answer.curve.inliers_per_freedom(0.95, USUAL.smallness) > answer.curve.ratio[1]
    assert answer.needed(0.95) is None
