"""Oracles of planted tables, and what is measured against them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.tables.covariance import (
    STRUCTURES,
    CovarianceCell,
    alternating,
    random_correlations,
    row_shift,
    structured_cells,
)
from experiments.tables.filled import Filled
from experiments.tables.measure import counts, coverage, divergence
from experiments.tables.normal import Normal, maximum_likelihood
from experiments.tables.pictures import PictureCell, known_pixels
from experiments.tables.planted import (
    CorrelatedCell,
    LowRankCell,
    PlantedProblem,
    SpikesCell,
    least_squares,
)
from experiments.tables.sources import Matrix
from experiments.tables.timing import TimedCell


def mahalanobis(values: Matrix, covariance: Matrix) -> float:
    return math.sqrt(values @ np.linalg.solve(covariance, values))


def test_divergence_is_zero_for_the_truth_only() -> None:
    covariance = alternating(6)
    assert divergence(covariance, covariance) == pytest.approx(0, abs=1e-12)
    assert divergence(2 * covariance, covariance) == pytest.approx(6 - 6 * math.log(2))
    assert divergence(np.eye(6), covariance) > 1
    assert divergence(np.ones((6, 6)), covariance) == math.inf
    assert divergence(-covariance, covariance) == math.inf


@pytest.mark.parametrize("structure", STRUCTURES)
def test_structures_are_correlation_matrices(structure: str) -> None:
    found = STRUCTURES[structure](20, np.random.default_rng(2))
    assert np.allclose(np.diag(found), 1)
    assert np.linalg.eigvalsh(found)[0] > 0
    if structure == "ALYZ":
        assert np.linalg.cond(found) == pytest.approx(100, rel=0.01)


def test_wrong_rows_and_cells_have_the_stated_distance() -> None:
    covariance = random_correlations(9, np.random.default_rng(0))
    assert mahalanobis(row_shift(covariance, 5.0), covariance) == pytest.approx(15)
    hit = np.arange(9) < 4
    found = structured_cells(covariance, hit, 5.0)
    assert mahalanobis(found, covariance[:4, :4]) == pytest.approx(10)


def test_covariance_of_the_oracle_and_of_wrong_rows() -> None:
    problem = CovarianceCell("A09", 100, 20, "rows 20 %", 0.1, 10.0).draw(0)
    assert np.isnan(problem.given).mean() == pytest.approx(0.1, abs=0.03)
    filled = np.where(np.isnan(problem.given), 0.0, problem.given)
    naive = problem.scored(Filled(filled, covariance=np.cov(filled.T)))
    assert naive["error"] > 3 * problem.about()["oracle"] > 0
    assert problem.scored(Filled(filled, covariance=problem.covariance))["error"] < 1e-6
    assert "failure" in problem.scored(Filled(filled))
    assert "failure" in problem.scored(Filled(filled, covariance=np.zeros((20, 20))))


def test_maximum_likelihood_with_and_without_missing_cells() -> None:
    rng = np.random.default_rng(0)
    covariance = alternating(5)
    table = rng.standard_normal((4000, 5)) @ np.linalg.cholesky(covariance).T + 2
    start = Normal.standard(table)
    complete = maximum_likelihood(table, start)
    assert np.allclose(complete.covariance, np.cov(table.T, bias=True))
    missing = np.where(rng.random(table.shape) < 0.2, np.nan, table)
    found = maximum_likelihood(missing, start)
    assert np.allclose(found.mean, 2, atol=0.1)
    assert divergence(found.covariance, covariance) < 0.02
    filled, _ = found.expected(missing)
    hidden = np.isnan(missing)
    assert np.array_equal(filled[~hidden], table[~hidden])
    assert np.std((filled - table)[hidden]) < 0.6 < np.std(table[hidden])


def test_least_squares_recovers_a_matrix_from_its_correct_cells() -> None:
    rng = np.random.default_rng(0)
    low = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    correct = rng.random(low.shape) < 0.7
    found = least_squares(np.where(correct, low, 1e3), correct, 2)
    assert np.linalg.norm(found - low) < 1e-8 * np.linalg.norm(low)


@pytest.mark.parametrize(
    "cell",
    [LowRankCell(0.02, 0.1, "cluster", (40, 30)), LowRankCell(0.0, 0.3, "scattered", (40, 30))],
    ids=str,
)
def test_low_rank_success_and_wrong_claims(cell: LowRankCell) -> None:
    problem = cell.draw(0)
    assert problem.rows.mean() == pytest.approx(cell.wrong_rows)
    assert not problem.cells[problem.rows].any()
    perfect = problem.scored(Filled(problem.truth, problem.cells, problem.rows))
    assert perfect["error"] == 0
    assert perfect["success"]
    assert perfect["rows"][:3] == [problem.rows.sum()] * 3
    assert perfect["cells"][:3] == [problem.cells.sum()] * 3
    failed = problem.scored(Filled(problem.given, claimed=True))
    assert not failed["success"]
    assert failed["claimed"]
    assert problem.scored(Filled(problem.oracle))["success"]


@pytest.mark.parametrize("cell", [CorrelatedCell(), SpikesCell()], ids=str)
def test_oracles_predict_much_better_than_nothing(cell: CorrelatedCell | SpikesCell) -> None:
    problem: PlantedProblem = cell.draw(1)
    nothing = np.where(problem.predicted, 0.0, problem.given)
    assert problem.error(nothing) == pytest.approx(1)
    assert problem.about()["oracle"] < 0.7
    assert not np.isnan(problem.given[problem.cells]).any()


def test_the_correlated_table_has_the_stated_shares() -> None:
    problem = CorrelatedCell().draw(0)
    change = np.round(problem.given - problem.truth, 9)
    assert [int(np.sum(change == shift)) for shift in (10, -10, 0)] == [25, 25, 400]
    assert int(np.isnan(problem.given).sum()) == 50


def test_salt_and_pepper_and_the_peers_that_know_images() -> None:
    problem = PictureCell("digits").draw(0)
    assert np.isin(problem.given[problem.wrong], (0, 1)).all()
    assert 0.04 < problem.wrong.mean() < 0.1  # a black pixel that becomes black is not wrong
    peers, raw = problem.about(), problem.scored(Filled(problem.given))["error"]
    assert peers["PCA"] < peers["median filter"] < 1.5 * raw
    assert problem.scored(Filled(problem.truth))["error"] == 0
    assert np.array_equal(
        known_pixels(problem.given, problem.wrong, 5)[~problem.wrong], problem.given[~problem.wrong]
    )


def test_timed_tables_have_missing_and_wrong_cells() -> None:
    problem = TimedCell((60, 10), 1.0).draw(0)
    assert 0 < np.isnan(problem.given).mean() < 0.15
    assert problem.scored(Filled(problem.truth))["error"] == 0
    assert "failure" in problem.scored(Filled(problem.given))


def test_counts_and_coverage() -> None:
    flags, wrong = np.array([True, True, False, True]), np.array([True, False, True, True])
    of = np.array([True, True, True, False])
    assert counts(flags, wrong, of) == [1, 2, 2, 3]
    errors = np.random.default_rng(0).standard_normal(20_000)
    everywhere = np.ones(len(errors), bool)
    assert coverage(errors, np.ones(len(errors)), everywhere) == pytest.approx(0.9, abs=0.01)
    assert coverage(errors, np.full(len(errors), 0.5), everywhere) < 0.6
