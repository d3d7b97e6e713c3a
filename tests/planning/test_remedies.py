"""What would help after a failure, and whether it does."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest

import robustrank as rr
from robustrank.planning import Failure, failure_of, measurements_needed, what_would_help

SMALL, TINY, TINY_FREEDOM = (30, 24), (16, 12), 27


def failing(measurements: int, rejected: float, noise: float | None = None) -> Failure:
    return Failure(SMALL, 2, measurements, rejected, noise)


def test_more_measurements_fewer_outliers_or_a_lower_rank() -> None:
    text = what_would_help(failing(134, 0.3))
    found = re.match(r"About (\d+) more measurements \((\d+) in all\) are enough in 95% of", text)
    assert found is not None
    more, total = map(int, found.groups())
    assert total == 134 + more == measurements_needed(failing(134, 0.3).question(0.0))
    assert "30% large outliers and no noise; with noise of 5%" in text
    share = re.search(
        r"The present 134 are enough for a matrix of rank 1 or with at most (\d+)%", text
    )
    assert share is not None
    enough, too_many = (
        measurements_needed(failing(134, int(share[1]) / 100 + extra).question(0.0))
        for extra in (0.0, 0.01)
    )
    assert enough is not None
    assert too_many is not None
    assert enough <= 134 < too_many


def test_known_noise_gives_one_number() -> None:
    text = what_would_help(failing(185, 0.1, 0.05))
    assert "and noise of 5.0%" in text
    assert "no noise" not in text


# What is known of a failure (30 × 24, rank 2, 104 degrees of freedom), what the text must contain,
# and what it must not.
ENOUGH, FEWER = "probably not the cause", "fewer than the 104 degrees of freedom"
MORE, NOISE = "more measurements (", "results with more than 10% noise are not certified"
UNKNOWN, HALF = "The rank is not known", "If half of all measurements are wrong"
SITUATIONS: dict[str, tuple[Failure, list[str], list[str]]] = {
    "fewer than degrees of freedom": (failing(60, 0.0), [FEWER, MORE], [ENOUGH, UNKNOWN]),
    "fewer, and residuals of a lower rank": (failing(60, 0.0, 0.5), [FEWER, MORE], [ENOUGH, NOISE]),
    "fewer, and many rejected": (failing(60, 0.6), [FEWER, MORE], [ENOUGH, "as many as"]),
    "too few": (failing(110, 0.1), [MORE, "and no noise; with noise of 5%"], [ENOUGH, FEWER]),
    "too few with 45 % outliers": (failing(150, 0.45), [MORE, "and no noise."], [ENOUGH, ",."]),
    "too few with noise": (failing(150, 0.1, 0.05), [MORE, "noise of 5.0%"], [ENOUGH, "no noise"]),
    "enough without noise": (
        failing(140, 0.04),
        [
            "with noise of 5%",
            "If there is no noise, perhaps the rank is too low",
            "20% outliers of",
        ],
        [ENOUGH, FEWER, MORE],
    ),
    "ample": (
        failing(5000, 0.04),
        [ENOUGH, "Perhaps the rank is too low, or there are more outliers than were rejected."],
        [MORE, NOISE, HALF],
    ),
    "ample with noise": (failing(5000, 0.04, 0.05), [ENOUGH, "noise of 5.0%"], [MORE, "no noise"]),
    "full rank": (Failure(TINY, 12, 5000, 0.04, None), [ENOUGH], ["rank is too low"]),
    "too much noise": (
        failing(5000, 0.0, 0.16),
        ["The residuals are 16% of a typical measurement", NOISE, "the rank is too low"],
        [ENOUGH, MORE, UNKNOWN],
    ),
    "noise beyond the trials": (failing(300, 0.3, 0.091), ["trials do not tell"], [ENOUGH, NOISE]),
    "half rejected": (failing(400, 0.5), ["50% of the measurements are rejected", HALF], [MORE]),
    "rank unknown": (
        Failure((22, 20), 1, 60, 0.0, None, rank_is_known=False),
        [UNKNOWN, "53 for rank 1 (72 with noise of 5%), 94 for rank 2 (", "; there are 60."],
        [ENOUGH, MORE],
    ),
    "rank unknown, noise or a missing component": (
        Failure((22, 20), 1, 60, 0.0, 0.5, rank_is_known=False),
        [UNKNOWN, NOISE],
        [ENOUGH, MORE],
    ),
    "rank unknown, too much noise": (
        Failure(SMALL, 2, 5000, 0.0, 0.16, rank_is_known=False),
        [NOISE],
        [ENOUGH, MORE, UNKNOWN],
    ),
    "rank unknown, ample": (
        Failure(SMALL, 2, 5000, 0.0, None, rank_is_known=False),
        [ENOUGH],
        [MORE, UNKNOWN],
    ),
    "rank unknown, small residuals": (
        Failure(SMALL, 2, 150, 0.1, 0.05, rank_is_known=False),
        [MORE, "noise of 5.0%"],
        [ENOUGH, UNKNOWN],
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_text_fits_the_situation(situation: str) -> None:
    failure, contained, absent = SITUATIONS[situation]
    text = what_would_help(failure)
    assert [phrase for phrase in contained if phrase not in text] == []
    assert [phrase for phrase in absent if phrase in text] == []
    assert text.endswith(".")
    assert ".." not in text


@pytest.mark.parametrize(("rank", "cause"), [(2, "fewer than the 80"), (None, "rank is not known")])
def test_too_few_measurements_are_named_as_the_cause(rank: int | None, cause: str) -> None:
    planted = rr.simulate.plant(22, 20, 2, 60, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.UndersampledWarning)
        result = rr.recover(planted.A, planted.y, rank)
    assert cause in result.advice
    assert "probably not the cause" not in result.advice


def test_noise_is_named_as_the_cause() -> None:
    planted = rr.simulate.plant(16, 12, 1, 160, condition_number=1.0, rng=3)
    noise = 0.16 * np.linalg.norm(planted.matrix) * np.random.default_rng(3).normal(size=160)
    result = rr.recover(planted.A, planted.y + noise, 1)
    assert result.status is rr.Status.INCONCLUSIVE
    shown = f"esiduals are {100 * result.certificate.noise:.3g}% of a typical measurement"
    said = dict(result.summary())["objections"]  # there is enough evidence
    assert said == f"The r{shown}, and results with more than 10% noise are not certified."
    assert shown in result.remedy


def test_nothing_rejected_may_mean_outliers_that_are_not_noticed() -> None:
    text = what_would_help(failing(100, 0.0))
    assert "random sensing matrices, no outliers and no noise" in text
    assert "If 20% are outliers of the size of measurements" in text


def test_one_measurement_is_singular() -> None:
    needed = measurements_needed(failing(100, 0.1).question(0.0))
    assert needed is not None
    assert "About 1 more measurement (" in what_would_help(failing(needed - 1, 0.1))


# The fraction of outliers, the inliers per degree of freedom, and the noise of problems that fail.
FAILING = [(0.0, 1.1, 0.0), (0.1, 1.2, 0.0), (0.2, 1.0, 0.0), (0.3, 1.2, 0.0), (0.1, 2.0, 0.05)]


def test_following_the_advice_works() -> None:
    """Ten problems that fail, and new ones with as many measurements as were advised."""
    certified = 0
    for (outliers, ratio, noise), seed in itertools.product(FAILING, (0, 1)):
        failed = solved(round(ratio * TINY_FREEDOM / (1 - outliers)), outliers, noise, seed)
        assert not failed.certified
        assert failed.remedy == what_would_help(failure_of(failed, 1))
        found = re.search(r"About \d+ more measurements? \((\d+) in all\)", failed.remedy)
        assert found is not None, failed.remedy
        certified += solved(int(found[1]), outliers, noise, 1000 + seed).certified
    assert certified >= 8


def solved(measurements: int, outliers: float, noise: float, seed: int) -> rr.Result:
    planted = rr.simulate.plant(
        *TINY,
        1,
        measurements,
        outliers=outliers,
        noise=noise,
        condition_number=1.0,
        rng=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.UndersampledWarning)
        return rr.recover(planted.A, planted.y, 1)
