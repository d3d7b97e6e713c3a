"""A normal distribution with few factors is the one with the same covariance as a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tables import some

from robustrank.tables import Normal
from robustrank.tables.factors import FactorNormal, edge_of_noise, largest
from robustrank.tables.normal import Given
from robustrank.tables.shrinkage import shrunk
from robustrank.tables.units import Values
from robustrank.tables.wrong_cells import Cells, consistent_cells


def distribution(columns: int = 12, factors: int = 3, seed: int = 0) -> FactorNormal:
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((columns, factors))
    return FactorNormal(rng.standard_normal(columns), loadings, rng.uniform(0.1, 1, columns))


def both(share: float, rows: int = 30) -> tuple[Given, Given]:
    """What the used cells say by the factors, and by the matrix."""
    normal = distribution()
    table = normal.random(rows, np.random.default_rng(1))
    used = ~some(table.shape, share)
    return normal.given(table, used), normal.full().given(table, used)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.8, 1.0])
@pytest.mark.parametrize("what", ["expected", "variance", "log_density", "distances"])
def test_cells_are_predicted_as_by_the_matrix(what: str, share: float) -> None:
    by_factors, by_matrix = both(share)
    np.testing.assert_allclose(getattr(by_factors, what)(), getattr(by_matrix, what)(), rtol=1e-8)
    np.testing.assert_allclose(by_factors.completed, by_matrix.completed, rtol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_rows_are_left_out_of_the_factors_that_were_estimated_from_them(share: float) -> None:
    rows = np.random.default_rng(1).standard_normal((20, 30)) @ np.diag(np.linspace(1, 3, 30))
    rows -= rows.mean(axis=0)
    nothing = np.zeros(30)
    before = FactorNormal(nothing, np.zeros((30, 1)), np.ones(30))
    normal, weight = shrunk(before, rows, nothing, nothing, np.zeros(20, int))
    assert isinstance(normal, FactorNormal)
    used = ~some(rows.shape, share)
    left_out = normal.given(rows, used, normal.shares(rows, len(rows) + weight))
    for row in range(3):
        rest = normal.covariance - np.outer(rows[row], rows[row]) / (len(rows) + weight)
        exact = Normal(normal.mean, rest).given(rows[row : row + 1], used[row : row + 1])
        np.testing.assert_allclose(left_out.expected()[row], exact.expected()[0], atol=1e-8)
        np.testing.assert_allclose(left_out.variance()[row], exact.variance()[0], rtol=1e-6)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_the_uncertainty_of_unused_cells_is_that_of_the_matrix(share: float) -> None:
    by_factors, by_matrix = both(share)
    normal, weights = distribution(), np.linspace(0.5, 2.0, len(by_factors.used))
    for some_weights in (None, weights):
        expected = np.diagonal(normal.full().unknown(by_matrix, some_weights))
        np.testing.assert_allclose(normal.unknown(by_factors, some_weights), expected, rtol=1e-9)


def test_blocks_of_rows_do_not_change_what_cells_say(monkeypatch: pytest.MonkeyPatch) -> None:
    normal = distribution()
    table = normal.random(20, np.random.default_rng(1))
    used = ~some(table.shape, 0.3)
    whole = normal.given(table, used)
    monkeypatch.setattr("robustrank.tables.factors._BLOCK", 100)
    assert len(list(normal.blocks(20))) == 3
    np.testing.assert_allclose(normal.given(table, used).variance(), whole.variance(), rtol=1e-12)


def test_the_search_among_many_columns_goes_on_from_an_earlier_answer() -> None:
    normal = distribution(columns=300)
    table, wrong = normal.random(40, np.random.default_rng(1)), some((40, 300), 0.05)
    table[wrong] += 50
    cells = Cells(table, ~some(table.shape, 0.1, seed=1), np.ones(300, bool), 0.1)
    whole = consistent_cells(normal, cells)
    assert not np.any(whole.used & wrong)
    few = whole.used & (np.arange(300) % 2 == 0)  # half of the correct cells are taken back
    for before in (whole.used, few, cells.usable):
        again = consistent_cells(normal, cells, before)
        assert not np.any(again.used & wrong)
        assert np.mean(again.used != whole.used) < 0.003
        expected = normal.given(table, again.used)
        np.testing.assert_allclose(again.completed, expected.completed, rtol=1e-9)
        np.testing.assert_allclose(again.expected(), expected.expected(), rtol=1e-9)
        np.testing.assert_allclose(again.variance(), expected.variance(), rtol=1e-9)


@pytest.mark.parametrize(
    ("by_factors", "by_matrix"),
    [
        (lambda one: one.variances, lambda full: full.variances),
        (lambda one: one.conditional_variances, lambda full: full.conditional_variances),
        (lambda one: one.axes(3)[0], lambda full: full.axes(3)[0]),
        (lambda one: one.axes(3)[1], lambda full: full.axes(3)[1]),
        (lambda one: one.covariance, lambda full: full.covariance),
    ],
)
def test_moments_are_those_of_the_matrix(by_factors, by_matrix) -> None:  # type: ignore[no-untyped-def]
    normal = distribution()
    np.testing.assert_allclose(by_factors(normal), by_matrix(normal.full()), rtol=1e-8, atol=1e-10)


def test_random_rows_have_the_moments() -> None:
    normal = distribution()
    rows = normal.random(100_000, np.random.default_rng(0))
    np.testing.assert_allclose(rows.mean(axis=0), normal.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(rows.T), normal.covariance, atol=0.1)


@pytest.mark.parametrize("kind", [FactorNormal, Normal])
def test_draws_scatter_about_the_distribution_as_estimates_from_the_rows_would(kind: type) -> None:
    """The standard deviation of a covariance from n rows is √((c² + v w) / n)."""
    one, rng = distribution(), np.random.default_rng(2)
    normal = one if kind is FactorNormal else one.full()
    found = np.array([normal.drawn(400.0, 0.0, rng).covariance for _ in range(400)])
    variances = one.variances
    expected = np.sqrt((one.covariance**2 + np.outer(variances, variances)) / 400)
    np.testing.assert_allclose(found.mean(axis=0), one.covariance, atol=0.1)
    ratio = found.std(axis=0) / expected
    assert 0.85 < np.median(ratio) < 1.15


def test_the_change_to_another_kind_is_infinite() -> None:
    normal = distribution()
    assert normal.change(normal) == 0
    assert np.isinf(normal.change(normal.full()))
    assert np.isinf(normal.full().change(normal))


@pytest.mark.parametrize("shape", [(30, 80), (80, 30)])
def test_the_largest_components_are_those_of_the_singular_values(shape: tuple[int, int]) -> None:
    matrix: Values = np.random.default_rng(0).standard_normal(shape)
    found = largest(matrix, 4)
    _, sizes, axes = np.linalg.svd(matrix)
    np.testing.assert_allclose(found.values[::-1], sizes[:4] ** 2)
    np.testing.assert_allclose(np.abs(found.vectors.T[::-1] @ axes[:4].T), np.eye(4), atol=1e-9)
    rest = matrix.T @ matrix - (found.vectors * found.values) @ found.vectors.T
    np.testing.assert_allclose(found.rest, np.diagonal(rest), atol=1e-9)


@pytest.mark.parametrize("full", [True, False])
def test_some_principal_components_and_noise_that_keeps_the_variances(full: bool) -> None:
    normal = distribution()
    few = FactorNormal.of(normal.full() if full else normal, 2)
    assert few.most == 2
    np.testing.assert_allclose(few.mean, normal.mean)
    np.testing.assert_allclose(few.variances, normal.variances, rtol=1e-9)
    axes, variances = normal.axes(2)
    expected = (axes.T * variances) @ axes
    np.testing.assert_allclose(few.loadings @ few.loadings.T, expected, atol=1e-8)


def test_variances_of_noise_do_not_exceed_its_edge() -> None:
    noise = np.random.default_rng(0).standard_normal((500, 50))
    values = np.asarray(np.linalg.eigvalsh(noise.T @ noise / 500))
    assert values[-1] == pytest.approx(edge_of_noise(50, 500.0), rel=0.05)
