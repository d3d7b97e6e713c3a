"""What would help after a failure, and whether it does."""

from __future__ import annotations

import itertools
import math
import re
import warnings

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
    assert "30% large outliers, as many as were rejected, and no noise; with noise of 5%" in text
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


def test_enough_measurements_point_to_other_causes() -> None:
    text = what_would_help(failing(182, 0.04))
    assert text.startswith("The number of measurements is probably not the cause")
    assert "rank is too low, there is noise (" in text
    assert "outliers have the size of measurements (" in text
    ample = what_would_help(failing(5000, 0.04))
    assert ample.endswith("Perhaps the rank is too low, or outliers have the size of measurements.")


def test_nothing_rejected_may_mean_outliers_that_are_not_noticed() -> None:
    text = what_would_help(failing(100, 0.0))
    assert "random sensing matrices, no outliers and no noise" in text
    assert "If 20% are outliers of the size of measurements" in text


def test_one_measurement_is_singular() -> None:
    needed = measurements_needed(failing(100, 0.1).question(0.0))
    assert needed is not None
    assert "About 1 more measurement (" in what_would_help(failing(needed - 1, 0.1))


def test_no_remedy_where_the_table_does_not_tell() -> None:
    assert what_would_help(failing(185, 0.1, 0.2)) == ""


# The fraction of outliers, the inliers per degree of freedom, and the noise of problems that fail.
FAILING = [(0.0, 1.1, 0.0), (0.1, 1.2, 0.0), (0.2, 1.0, 0.0), (0.3, 1.2, 0.0), (0.1, 2.0, 0.05)]


def test_following_the_advice_works() -> None:
    """Ten problems that fail, and new ones with as many measurements as were advised."""
    certified = 0
    for (outliers, ratio, noise), seed in itertools.product(FAILING, (0, 1)):
        failed = solved(round(ratio * TINY_FREEDOM / (1 - outliers)), outliers, noise, seed)
        assert not failed.certified
        assert failed.remedy == what_would_help(failure_of(failed, 1))
        found = re.match(r"About \d+ more measurements? \((\d+) in all\)", failed.remedy)
        assert found is not None, failed.remedy
        certified += solved(int(found[1]), outliers, noise, 1000 + seed).certified
    assert certified >= 8


def solved(measurements: int, outliers: float, noise: float, seed: int) -> rr.Recovery:
    planted = rr.simulate.plant(
        *TINY,
        1,
        measurements,
        outliers=outliers,
        noise=noise * math.sqrt(3),
        condition_number=1.0,
        rng=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.UndersampledWarning)
        return rr.recover(planted.A, planted.y, 1)
