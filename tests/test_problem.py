"""The problem: units, normalization, dtypes, pass counting and batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision, like, to_numpy
from robustrank.operators import ScaledOperator, TransposedOperator, as_operator
from robustrank.outofcore import StreamedOperator
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.problem import Problem, UndersampledWarning
from robustrank.simulate import Planted, plant
from robustrank.theory import degrees_of_freedom

Array = np.ndarray[Any, Any]


def problem(planted: Planted, rank: int = 2, dtype: str = "float64", y: Any = None) -> Problem:
    A = planted.A.astype(dtype)
    return Problem(as_operator(A), planted.y.astype(dtype) if y is None else y, rank)


def test_scale_is_the_lower_median_of_the_measurements(small: Planted) -> None:
    given = problem(small)
    assert given.scale == np.sort(np.abs(small.y))[199]
    assert given.typical_deviation == pytest.approx(given.scale / 0.67449, rel=1e-4)
    assert given.degrees_of_freedom == degrees_of_freedom(20, 15, 2) == 66


@pytest.mark.parametrize(
    ("A_dtype", "y_dtype", "expected"),
    [
        ("float64", "float64", "float64"),
        ("float32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float64", "float32", "float64"),
    ],
)
def test_y_is_promoted_to_the_common_dtype(
    A_dtype: str, y_dtype: str, expected: str, small: Planted
) -> None:
    given = problem(small, dtype=A_dtype, y=small.y.astype(y_dtype))
    assert given.y.dtype == expected
    # The coarser input determines the accuracy that can be expected.
    coarse = "float32" if A_dtype == "float32" else expected
    assert given.epsilon == np.finfo(coarse).eps


@pytest.mark.parametrize("unit", [1e-30, 1.0, 3e40])
def test_units_are_powers_of_two_near_the_typical_sizes(unit: float, small: Planted) -> None:
    units = Problem(as_operator(small.A * unit), small.y * unit * 7, 2).units
    for size, expected in (
        (units.measurement, 7 * unit * problem(small).scale),
        (units.sensing, unit),
    ):
        assert math.frexp(size)[0] == 0.5  # a power of two
        assert 0.5 < size / expected < 2
    assert units.matrix == units.measurement / units.sensing


def test_solution_of_the_normalized_problem_solves_the_problem(
    xp: Any, dtype: str, small: Planted
) -> None:
    A, y = xp.asarray((3e5 * small.A).astype(dtype)), xp.asarray(small.y.astype(dtype))
    given = Problem(as_operator(A), y, 2)
    normalized = given.normalized()
    assert like(normalized.y) == like(y)
    assert 0.5 < float(normalized.operator.gain) < 2
    assert 0.5 < normalized.scale < 2
    U, V = (xp.asarray(part.astype(dtype)) for part in (small.left, small.right))
    with full_precision(A):
        expected = to_numpy(given.operator.measure(U, V))
        in_units = normalized.operator.measure(U / given.units.matrix, V)
    rtol = {"float32": 1e-5, "float64": 1e-12}[dtype]
    found = to_numpy(in_units) * given.units.measurement
    assert np.linalg.norm(found - expected) < rtol * np.linalg.norm(expected)


def test_normalization_of_moderate_values_is_exact(small: Planted) -> None:
    given = problem(small)
    normalized = given.normalized()
    assert np.array_equal(normalized.y * given.units.measurement, given.y)
    residual = np.linspace(-1, 1, 400)
    assert np.array_equal(given.to_user_units(residual), residual * given.units.measurement)


def test_infinite_measurements_become_finite_and_back(small: Planted) -> None:
    y = small.y.copy()
    y[:3] = [np.inf, -np.inf, 1e308]
    given = problem(small, y=y)
    normalized = given.normalized()
    assert np.isfinite(normalized.y).all()
    assert np.all(np.sign(normalized.y[:3]) == [1, -1, 1])
    residual = given.to_user_units(normalized.y)
    assert residual[:2].tolist() == [np.inf, -np.inf]
    assert np.allclose(residual[3:], y[3:])


def test_passes_of_all_forms_of_a_problem_are_counted_together(small: Planted) -> None:
    given = problem(small)
    U, V = np.ones((20, 1)), np.ones((15, 1))
    given.operator.measure(U, V)
    assert given.counter.passes == 1
    given.normalized().operator.measure(U, V)
    given.of_rank(1).operator.measure(U, V)
    assert given.counter.passes == 3
    for form in (given.normalized(), given.of_rank(1)):
        assert form.counter is given.counter


def test_other_rank_keeps_the_measurements(small: Planted) -> None:
    given = problem(small, rank=2)
    other = given.of_rank(1)
    assert (other.rank, given.rank) == (1, 2)
    assert other.y is given.y


def test_batch_has_a_leading_axis_and_counts_for_every_member(xp: Any, small: Planted) -> None:
    A = xp.asarray(small.A)
    members = [
        Problem(as_operator(data), xp.asarray(y), 2)
        for data, y in ((A, small.y), (2 * A, 3 * small.y))
    ]
    members[1].counter.add(5)
    batch = Problem.batched(members)
    assert tuple(batch.y.shape) == (2, 400)
    assert np.allclose(to_numpy(batch.scale), [member.scale for member in members])
    assert batch.rank == 2
    U, V = (xp.asarray(np.stack([part, part])) for part in (small.left, small.right))
    measured = to_numpy(batch.operator.measure(U, V))
    for k, member in enumerate(members):
        assert np.allclose(measured[k], to_numpy(member.operator.measure(U[k, ...], V[k, ...])))
    # One pass of the batch, and one of each member in the loop above.
    assert [member.counter.passes for member in (batch, *members)] == [1, 2, 7]


def test_only_problems_of_one_kind_can_be_batched(small: Planted) -> None:
    given = problem(small)
    A, y = small.A, small.y
    assert given.can_be_batched_with(problem(small))
    assert given.can_be_batched_with(Problem(ScaledOperator(as_operator(A), 2.0), y, 2))
    others = {
        "rank": problem(small, rank=1),
        "dtype": problem(small, dtype="float32"),
        "measurements": Problem(as_operator(A[:300]), y[:300], 2),
        "shape": Problem(as_operator(A.reshape(400, 15, 20)), y, 2),
        "transposed": Problem(TransposedOperator(as_operator(A.reshape(400, 15, 20))), y, 2),
        "streamed": Problem(StreamedOperator(ArrayRows(A), (20, 15)), y, 2),
    }
    for name, other in others.items():
        assert not given.can_be_batched_with(other), name
        assert not other.can_be_batched_with(given), name


def test_unit_rows_have_the_norm_of_a_typical_row(xp: Any, small: Planted) -> None:
    units = 10.0 ** np.random.default_rng(1).uniform(-6, 6, 400)
    A, y = units[:, None, None] * small.A, units * small.y
    A[7] = 0
    given = Problem(as_operator(xp.asarray(A)), xp.asarray(y), 2)
    unit = given.with_unit_rows
    norms = np.linalg.norm(A.reshape(400, -1), axis=1)
    typical = np.sort(norms[norms > 0])[199]
    expected = np.where(norms > 0, typical, 0)
    assert np.allclose(to_numpy(unit.operator.row_norms()), expected)
    factors = to_numpy(given.row_factors)
    assert factors[7] == 1
    assert np.allclose(to_numpy(unit.y), factors * y)
    assert unit.counter is given.counter
    assert (unit.rank, unit.degrees_of_freedom) == (2, 66)
    U, V = (xp.asarray(part) for part in (small.left, small.right))
    measured, rescaled = (to_numpy(one.operator.measure(U, V)) for one in (given, unit))
    assert np.allclose(rescaled, factors * measured)


def test_infinite_measurements_stay_infinite_with_unit_rows(small: Planted) -> None:
    y = small.y.copy()
    y[:2] = [np.inf, -np.inf]
    A = small.A.copy()
    A[0] = 0
    unit = problem(small, y=y).with_unit_rows
    assert unit.y[:2].tolist() == [np.inf, -np.inf]
    assert Problem(as_operator(A), y, 2).with_unit_rows.y[0] == np.inf


def test_some_of_the_measurements(xp: Any, small: Planted) -> None:
    given = Problem(as_operator(xp.asarray(small.A)), xp.asarray(small.y), 2)
    part = given.of_rows([3, 5, 100])
    assert part.operator.shape == (3, (20, 15))
    assert to_numpy(part.y).tolist() == small.y[[3, 5, 100]].tolist()
    U, V = (xp.asarray(factor) for factor in (small.left, small.right))
    expected = np.einsum("ijk,jk->i", small.A[[3, 5, 100]], small.matrix)
    assert np.allclose(to_numpy(part.operator.measure(U, V)), expected)
    assert part.counter is given.counter


@pytest.mark.parametrize("form", ["with_unit_rows", "normalized", "of_rank", "of_rows"])
def test_every_form_of_a_symmetric_problem_is_symmetric(form: str) -> None:
    rng = np.random.default_rng(0)
    given = Problem(
        as_operator(rng.standard_normal((90, 7, 7))), rng.standard_normal(90), 2, symmetric=True
    )
    forms: dict[str, Callable[[], Problem]] = {
        "with_unit_rows": lambda: given.with_unit_rows,
        "normalized": given.normalized,
        "of_rank": lambda: given.of_rank(1),
        "of_rows": lambda: given.of_rows(range(80)),
    }
    found = forms[form]()
    assert found.symmetric
    assert found.degrees_of_freedom == (7 if form == "of_rank" else 13)


def test_symmetric_problem_needs_a_square_matrix(small: Planted) -> None:
    with pytest.raises(ValueError, match=r"symmetric=True needs a square matrix; .* 20 × 15"):
        Problem(as_operator(small.A), small.y, 2, symmetric=True)


@pytest.mark.parametrize("form", ["with_unit_rows", "normalized"])
def test_trivial_deviation_has_the_units_of_y(form: str, small: Planted) -> None:
    given = Problem(as_operator(small.A + 5), 1e3 * small.y, 2)
    deviation = float(given.trivial_deviation)
    assert float(problem(small).trivial_deviation) == pytest.approx(
        np.median(np.abs(small.y)) / 0.6745, rel=0.1
    )
    other = given.with_unit_rows if form == "with_unit_rows" else given.normalized()
    unit = given.units.measurement if form == "normalized" else 1.0
    assert float(other.trivial_deviation) * unit == pytest.approx(deviation, rel=0.1)
    assert given.of_rank(1).trivial_deviation is given.trivial_deviation


def test_too_few_measurements_are_warned_about(small: Planted) -> None:
    with pytest.warns(
        UndersampledWarning, match="65 measurements cannot .* which has 66 degrees of freedom"
    ):
        Problem(as_operator(small.A[:65]), small.y[:65], 2)
    Problem(as_operator(small.A[:66]), small.y[:66], 2)  # a warning would be an error here


def test_a_symmetric_matrix_needs_fewer_measurements() -> None:
    planted = plant(10, 10, 2, 19, rng=0)  # of rank two: 36 degrees of freedom, 19 if symmetric
    Problem(as_operator(planted.A), planted.y, 2, symmetric=True)
    with pytest.warns(UndersampledWarning, match="a 10 × 10 symmetric matrix .* has 19 degrees"):
        Problem(as_operator(planted.A[:18]), planted.y[:18], 2, symmetric=True)


def test_mostly_constant_measurements_are_recognized(small: Planted) -> None:
    stuck = np.arange(400)
    assert not problem(small).is_mostly_constant
    assert not problem(small, y=np.where(stuck < 200, 7.0, small.y)).is_mostly_constant
    assert problem(small, y=np.where(stuck < 201, 7.0, small.y)).is_mostly_constant


@pytest.mark.slow_with_jax
def test_centered_problem_has_no_common_part(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    A = (3 + rng.standard_normal((200, 8, 6))).astype(dtype)
    U, V = rng.standard_normal((8, 2)).astype(dtype), rng.standard_normal((6, 2)).astype(dtype)
    y = np.einsum("mij,ij->m", A, U @ V.T)
    problem = Problem(as_operator(xp.asarray(A)), xp.asarray(y), 2)
    centered = problem.centered
    measured = to_numpy(centered.operator.measure(xp.asarray(U), xp.asarray(V)))
    common = y - measured
    assert np.ptp(common) < 1e-4 * np.std(y)
    assert abs(np.mean(measured)) < 0.3 * np.std(measured)
    assert float(centered.operator.gain) == pytest.approx(1.0, rel=0.1)
    assert float(np.mean(common)) == pytest.approx(3 * np.sum(U @ V.T), rel=0.1)


def test_a_problem_without_a_common_part_is_centered(small: Planted) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    assert problem.centered is problem


def test_a_batch_is_centered_where_there_is_a_common_part(small: Planted) -> None:
    problems = [Problem(as_operator(small.A + mean), small.y, 2) for mean in (0.0, 2.0)]
    single = problems[1].centered.operator
    batch = Problem.batched(problems).centered.operator
    U, V = small.left, small.right
    found = batch.measure(np.stack([U, U]), np.stack([V, V]))
    assert np.allclose(found[0], problems[0].operator.measure(U, V))
    assert np.allclose(found[1], single.measure(U, V))
    w = np.linspace(-1, 1, len(small.y))
    _, values, _ = batch.leading_svd(np.stack([w, w]), 2, np.random.default_rng(0))
    _, alone, _ = single.leading_svd(w, 2, np.random.default_rng(0))
    assert np.allclose(values[1], alone)
    assert np.asarray(batch.gain)[1] == pytest.approx(single.gain)
