"""Which noise model the residuals of a fit support."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from robustrank.noise import EQUAL, KNOWN, Conditions, NoiseModel, PossibleLaws
from robustrank.noise_choice import Residuals

Vector = np.ndarray
N = 1200


def residuals_of(
    sizes: Vector, prediction: Vector, seed: int = 0, share: float = 0.3, **conditions: object
) -> Residuals:
    """What least squares leaves of noise of these sizes, fitted with equal weights.

    The fit follows random directions that take a share of the degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    J = np.linalg.qr(rng.standard_normal((N, round(share * N))))[0]
    noise = sizes * rng.standard_normal(N)
    # The laws of values between 0 and 1 that are not rounded: all but that of digits.
    given = {"laws": PossibleLaws(np.linspace(0.1, 0.9, 5) ** np.pi)} | conditions
    return Residuals(
        residual=noise - J @ (J.T @ noise),
        left=1 - np.sum(J**2, axis=1),
        prediction=prediction,
        conditions=Conditions(
            count=N,
            row_factors=1.0,
            typical=float(np.median(np.abs(prediction))),
            **given,  # type: ignore[arg-type]
        ),
        noise=EQUAL,
        null_deviation=30.0,
    )


@pytest.fixture
def prediction() -> Vector:
    return 10 * np.random.default_rng(1).standard_normal(N)


def test_equal_noise_is_taken_for_equal(prediction: Vector) -> None:
    groups = {"rows": np.arange(N) % 30}
    for seed in range(5):
        residuals = residuals_of(np.ones(N), prediction, seed, groups=groups)
        assert residuals.chosen() == EQUAL


@pytest.mark.parametrize(("law", "power"), [("square", 1.0), ("linear", 0.5)])
def test_noise_that_grows_is_found_with_its_law(law: str, power: float, prediction: Vector) -> None:
    """Also the part that does not grow, although the fit spreads the noise over all residuals."""
    typical = np.median(np.abs(prediction))
    for seed in range(3):
        grown = (np.abs(prediction) / typical) ** power
        model = residuals_of(np.sqrt(0.2 + 0.8 * grown**2), prediction, seed).chosen()
        assert model.law == law
        assert model.growth == pytest.approx(0.8, abs=0.15)
        assert not model.levels


def test_noise_of_shares_is_binomial() -> None:
    prediction = np.random.default_rng(2).uniform(0, 1, N)
    sizes = 0.05 * np.sqrt(prediction * (1 - prediction) + 0.001)
    assert PossibleLaws(prediction).names == ("square", "linear", "binomial")
    model = residuals_of(sizes, prediction).chosen()
    assert model.law == "binomial"
    assert model.growth > 0.9


def test_levels_of_groups_are_those_of_the_noise(prediction: Vector) -> None:
    groups = np.arange(N) % 20
    levels = 10 ** np.random.default_rng(3).uniform(-0.5, 0.5, 20)
    residuals = residuals_of(levels[groups], prediction, groups={"rows": groups})
    model = residuals.chosen()
    assert model.groups == "rows"
    errors = np.log(np.asarray(model.levels) / levels)
    # One fit with equal weights tells only about the larger levels; the next fit tells more.
    large = levels > np.median(levels)
    assert np.std(errors[large]) < 0.2


def test_a_wrong_group_has_no_effect_on_the_levels_of_others(prediction: Vector) -> None:
    groups = np.arange(N) % 20
    sizes = np.where(groups < 5, 3.0, 1.0)
    residuals = residuals_of(sizes, prediction, groups={"groups": groups})
    wrong = groups == 19
    changed = residuals.residual + 1e3 * wrong
    found = replace(residuals, residual=changed, without=wrong).chosen()
    levels = np.asarray(found.levels)
    assert found.groups == "groups"
    assert levels[:5].min() > 1.5 * levels[5:19].max()


def test_outliers_do_not_look_like_noise(prediction: Vector) -> None:
    residuals = residuals_of(np.ones(N), prediction)
    outliers = np.random.default_rng(4).random(N) < 0.2
    changed = residuals.residual + np.where(outliers, 25.0, 0.0)
    left = np.where(outliers, 1.0, residuals.left)
    assert replace(residuals, residual=changed, left=left).chosen() == EQUAL


def test_known_sizes_are_kept(prediction: Vector) -> None:
    known = 10 ** np.random.default_rng(5).uniform(-1, 1, N)
    residuals = replace(residuals_of(known, prediction, share=0.01, known=known), noise=KNOWN)
    assert residuals.chosen() == KNOWN


@pytest.mark.parametrize(
    ("values", "extra"),
    [
        ([0.123, 4.56, 78.9, 0.00321], ("digits",)),
        ([1.0, 20.0, 300.0], ("digits",)),
        ([np.pi, 10 * math.e, 0.1234567891], ()),
        ([1.5, 2.5, 3.5], ()),  # of one size
        ([0.25, 0.5, 0.75], ("binomial",)),
        ([np.inf, 0.0, 1.5], ()),
    ],
)
def test_laws_that_depend_on_the_form_of_the_data(
    values: list[float], extra: tuple[str, ...]
) -> None:
    assert PossibleLaws(np.asarray(values)).names == ("square", "linear", *extra)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("law", ["square", "linear", "binomial", "digits"])
def test_sizes_do_not_depend_on_the_unit(unit: float, law: str) -> None:
    prediction = np.asarray([0.0, 0.2, 0.5, 0.93])
    plain, scaled = (
        NoiseModel(growth=0.9, law=law, typical=0.35 * one).sizes(
            one * prediction, Conditions(4, 1.0, 0.35 * one, one=one)
        )
        for one in (1.0, unit)
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_models_that_are_near_end_the_estimation() -> None:
    one = NoiseModel(growth=0.8, law="square", groups="rows", levels=(1.0, 2.0))
    assert one.is_near(replace(one, growth=0.82, levels=(1.05, 2.1)))
    assert not one.is_near(replace(one, levels=(1.0, 2.5)))
    assert not one.is_near(replace(one, law="linear"))
    assert not replace(one, growth=0.9999).is_near(replace(one, growth=0.98))
