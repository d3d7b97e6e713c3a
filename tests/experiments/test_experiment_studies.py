"""The definitions of the studies: settings, seeds, problems."""

from __future__ import annotations

import numpy as np
import pytest

import robustrank as rr
from experiments import DEFAULT, NAMES, ORACLE, PAPER, Cell, Data, Method, Place, study
from experiments.battery.problems import MOSTLY_OUTLIERS, NOISE_ONLY, POSSIBLE, TOO_FEW
from experiments.battery.sensing import FAMILIES
from experiments.problems import draw, only_inliers, origin, source
from experiments.studies.certificates import Battery

PAPER_FIGURES = [name for name in NAMES if name.startswith("fig")]
OTHERS = {
    "coverage",
    "groups",
    "noise",
    "certificates",
    "entries",
    "robust-pca",
    "entry-certificates",
    "planning-entries",
}
COMPARISONS = [name for name in NAMES if name not in OTHERS]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_study_is_well_formed(name: str, quick: bool) -> None:
    found = study(name, quick=quick)
    keys = [cell.key for cell in found.cells]
    assert len(set(keys)) == len(keys) > 0
    assert len({method.name for method in found.methods}) == len(found.methods)
    assert DEFAULT in found.methods
    assert ("quick" in found.name) == ("quick" in found.title) == quick


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", COMPARISONS)
def test_every_comparison_includes_the_papers_method(name: str, quick: bool) -> None:
    found = study(name, quick=quick)
    (paper,) = (method for method in found.methods if method.name == PAPER.name)
    assert (paper.solver, paper.data) == (PAPER.solver, PAPER.data)
    for cell in found.cells:
        given = cell.rank_given(0) + max(m.extra_rank for m in found.methods)
        assert cell.rank <= given <= min(cell.shape)


def test_settings_are_those_of_the_paper() -> None:
    figures = {name: study(name) for name in PAPER_FIGURES}
    cells = [cell for figure in figures.values() for cell in figure.cells]
    assert {(cell.shape, cell.model) for cell in cells} == {((150, 120), "huge")}
    assert {figure.trials for figure in figures.values()} == {10}
    solver = PAPER.solver
    assert isinstance(solver, rr.solvers.MedianTGD)
    assert (solver.alpha_y, solver.alpha_h, solver.step_size) == (12.0, 6.0, 0.4)
    assert solver.max_iterations == 10_000
    assert {cell.outliers for cell in figures["fig1a"].cells} == {0.05}
    assert {cell.measurements for cell in figures["fig1b"].cells} == {2700}
    assert {(c.rank, c.noise, c.outliers) for c in figures["fig2"].cells} == {(5, 0.05, 0.05)}
    for letter, fraction in (("a", 0.0), ("b", 0.01), ("c", 0.1)):
        (cell,) = figures[f"fig3{letter}"].cells
        assert (cell.measurements, cell.rank, cell.outliers) == (2400, 5, fraction)


def test_unknown_study_raises() -> None:
    with pytest.raises(ValueError, match="study 'fig9' is not known; expected one of fig1a"):
        study("fig9")


def test_seeds_never_change() -> None:
    assert Cell(2400, 5).key == "150x120 r=5 m=2400 huge 0.05"
    assert Cell(2400, 5).seed(0) == 7754182922432965327
    seeds = {cell.seed(trial) for cell in study("fig1a").cells for trial in range(10)}
    assert len(seeds) == 10 * len(study("fig1a").cells)
    assert {cell.seed(3) for cell in study("solvers").cells} == {90_003}
    assert {cell.seed(3) for cell in study("certificates").cells} == {130_003}


def test_targets_and_bounds_are_not_part_of_the_problem() -> None:
    plain = Cell(60, 1, 0.2, shape=(8, 6), first_seed=5)
    marked = Cell(60, 1, 0.2, shape=(8, 6), first_seed=5, rank_bound=3, label="x", target=0.9)
    assert (plain.plant(2).y == marked.plant(2).y).all()
    assert (plain.rank_given(2), marked.rank_given(2)) == (1, 3)
    assert marked.key == f"{plain.key} bound=3"


def test_uncorrupted_problem_differs_only_in_the_outliers() -> None:
    cell = Cell(60, 1, 0.2, noise=0.05, shape=(8, 6))
    corrupted = cell.plant(3)
    clean = draw(cell, 3, Method("clean", rr.solvers.MedianTGD(), data=Data.UNCORRUPTED), Place())
    assert (corrupted.A == clean.A).all()
    good = ~corrupted.outliers
    assert (corrupted.y[good] == clean.y[good]).all()
    assert (corrupted.y[~good] != clean.y[~good]).all()
    assert not clean.outliers.any()


def test_oracle_gets_only_the_inliers() -> None:
    cell = Cell(60, 1, 0.2, shape=(8, 6))
    corrupted, inliers = cell.plant(3), draw(cell, 3, ORACLE, Place())
    good = ~corrupted.outliers
    assert (corrupted.A[good] == inliers.A).all()
    assert (inliers.y == corrupted.y[good]).all()
    assert len(inliers.outliers) == 48
    assert not inliers.outliers.any()


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_inliers_of_other_libraries(library: str) -> None:
    pytest.importorskip(library)
    planted = Cell(60, 1, 0.2, shape=(8, 6)).plant(3, Place(library))
    inliers = only_inliers(planted)
    assert np.array_equal(np.asarray(inliers.y), np.asarray(planted.y)[~planted.outliers])


def test_place_of_a_row_tells_what_drew_the_problem() -> None:
    gpu = Place("torch", "cuda")
    hashed, counted = Cell(60, 1), Cell(60, 1, first_seed=5)
    assert [origin(hashed, place) for place in (Place(), gpu)] == ["numpy", "torch cuda"]
    assert [origin(counted, place) for place in (Place(), gpu)] == ["numpy", "numpy on cuda"]
    assert [source(place) for place in ("numpy", "numpy on cuda")] == ["numpy", "numpy"]
    assert source("torch cuda") == "torch cuda"


def test_numpy_draws_problems_with_counted_seeds_for_other_places() -> None:
    pytest.importorskip("torch")
    cell = Cell(60, 1, 0.2, shape=(8, 6), first_seed=5)
    drawn = draw(cell, 0, DEFAULT, Place("torch", "cpu"))
    assert (np.asarray(drawn.A) == cell.plant(0).A).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_of_the_battery_are_of_their_kind(family: str) -> None:
    for trial in range(24):
        problem = Battery(family).problem(trial)
        measured = np.tensordot(problem.A.astype(float), problem.truth, axes=2)
        sizes = np.abs(measured).max()
        inliers = ~problem.outliers
        if problem.task == NOISE_ONLY:
            continue
        near = np.abs(problem.y - measured)[inliers] <= max(10 * problem.level, 1e-3) * sizes
        assert near.mean() > 0.95  # noise with heavy tails
        if problem.task == MOSTLY_OUTLIERS:
            assert problem.outliers.mean() > 0.5
        elif problem.task == TOO_FEW:
            assert problem.oracle().error > 1e-4
        else:
            assert problem.task == POSSIBLE
            assert problem.outliers.mean() < 0.5


def test_quarter_of_the_battery_is_impossible() -> None:
    tasks = [Battery("gaussian").problem(trial).task for trial in range(24)]
    assert tasks.count(POSSIBLE) == 18


def test_battery_problem_is_the_same_every_time() -> None:
    one, two = (Battery("blocks").plant(5) for _ in range(2))
    assert (one.A == two.A).all()
    assert (one.y == two.y).all()
    assert Battery("symmetric").options(0) == {"symmetric": True}
