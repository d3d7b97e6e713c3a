"""A second matrix that explains the rejected measurements makes a result ambiguous."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.linalg import Factors
from robustrank.operators import OutOfTime, as_operator
from robustrank.problem import Problem
from robustrank.result import StopReason
from robustrank.run import Stopped
from robustrank.search.second_solution import second_solution

N1, N2 = 14, 12
FREEDOM = N1 + N2 - 1
NOT_LOOKED_FOR = ("the run ended before a second solution was looked for",)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Two:
    """Measurements of a matrix of rank one, some of which measure another one."""

    A: Array
    y: Array
    matrix: Array
    other: Array


def measured(A: Array, matrix: Array) -> Array:
    return np.einsum("ijk,jk->i", A, matrix)  # type: ignore[no-any-return]


def rank_one(rng: np.random.Generator) -> Array:
    matrix = np.outer(rng.standard_normal(N1), rng.standard_normal(N2))
    return matrix / np.linalg.norm(matrix)


def impostor(share: float, seed: int, noise: float = 0.0) -> Two:
    rng = np.random.default_rng(seed)
    matrix, other = rank_one(rng), rank_one(rng)
    A = rng.standard_normal((8 * FREEDOM, N1, N2))
    chosen = rng.permutation(len(A)) < share * len(A)
    y = np.where(chosen, measured(A, other), measured(A, matrix))
    return Two(A, y + noise * rng.standard_normal(len(A)), matrix, other)


def local_impostor(seed: int, agreeing: int) -> Two:
    """Columns 6 to 11 are seen by 90 measurements, some of which agree on other columns."""
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal(N1), rng.standard_normal(N2)
    w = np.where(np.arange(N2) < 6, v, rng.standard_normal(N2))
    A = rng.standard_normal((6 * FREEDOM, N1, N2))
    A[90:, :, 6:] = 0
    y = measured(A, np.outer(u, v))
    y[:agreeing] = measured(A[:agreeing], np.outer(u, w))
    return Two(A, y, np.outer(u, v), np.outer(u, w))


def error(found: Array, true: Array) -> float:
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("seed", [0, 2])
def test_another_matrix_with_comparable_support_is_reported(seed: int, noise: float) -> None:
    two = impostor(0.45, seed, noise)
    result = rr.recover(two.A, two.y, 1)
    assert result.status is rr.Status.AMBIGUOUS
    assert not result.certified
    assert error(result.matrix, two.matrix) < 1e-8 + noise
    assert result.alternative is not None
    assert error(result.alternative.matrix, two.other) < 1e-8 + 2 * noise
    assert result.alternative.supporting == pytest.approx(0.45 * len(two.A), abs=3)
    assert result.alternative.where == "the whole matrix"


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_another_matrix_with_little_support_is_rejected(noise: float) -> None:
    two = impostor(0.25, 2, noise)
    result = rr.recover(two.A, two.y, 1)
    assert result.certified
    assert result.alternative is None
    assert error(result.matrix, two.matrix) < 1e-8 + noise


def test_outliers_that_do_not_agree_are_no_alternative() -> None:
    rng = np.random.default_rng(3)
    two = impostor(0.0, 3)
    y = np.where(rng.permutation(len(two.y)) < 90, 100 * rng.standard_normal(200), two.y)
    result = rr.recover(two.A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.contested  # so a second answer was searched for
    assert result.alternative is None


@pytest.mark.parametrize("agreeing", [35, 55])
def test_other_columns_with_comparable_support_are_named(agreeing: int) -> None:
    """With 55 of the 90 measurements, they are the result, and the true ones the alternative."""
    two = local_impostor(0, agreeing)
    result = rr.recover(two.A, two.y, 1)
    assert result.status is rr.Status.AMBIGUOUS
    assert result.alternative is not None
    assert result.alternative.where == "columns 6–11"
    found = [result.matrix, result.alternative.matrix]
    expected = [two.matrix, two.other] if agreeing == 35 else [two.other, two.matrix]
    assert [error(*pair) for pair in zip(found, expected, strict=True)] < [1e-8, 1e-8]


def test_other_rows_with_comparable_support_are_named() -> None:
    two = local_impostor(1, 35)
    result = rr.recover(np.ascontiguousarray(two.A.mT), two.y, 1)
    assert result.status is rr.Status.AMBIGUOUS
    assert result.alternative is not None
    assert result.alternative.where == "rows 6–11"
    assert error(result.alternative.matrix.T, two.other) < 1e-8


def test_few_other_measurements_of_some_columns_are_rejected() -> None:
    two = local_impostor(2, 12)
    result = rr.recover(two.A, two.y, 1)
    assert result.status is rr.Status.RECOVERED
    assert error(result.matrix, two.matrix) < 1e-8


def test_repetitions_do_not_support_an_alternative() -> None:
    """90 copies of one wrong measurement agree on many other matrices."""
    two = impostor(0.0, 4)
    A, y = two.A.copy(), two.y.copy()
    A[:90] = A[0]
    y[:90] = y[0] + 5.0
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.independent == 111
    assert error(result.matrix, two.matrix) < 1e-8


def given(factors: Factors, _: Problem) -> Factors:
    return factors


def contested_everywhere(result: rr.Result) -> rr.Result:
    """The result as if a second answer were possible everywhere."""
    everywhere = tuple(range(N1 + N2))
    return replace(result, certificate=replace(result.certificate, contested=everywhere))


def test_another_matrix_needs_half_of_the_support() -> None:
    for share, count in ((0.25, None), (0.4, 80)):
        two = impostor(share, 6)
        u, s, vt = np.linalg.svd(two.other)
        factors = u[:, :1] * s[0], vt[:1].T
        result = contested_everywhere(rr.recover(two.A, two.y, 1, solver="gauss-newton"))
        assert result.status is rr.Status.RECOVERED
        problem = Problem(as_operator(two.A), two.y, 1)
        other = second_solution(problem, result, partial(given, factors))
        assert (other and other.supporting) == count
        status = rr.Status.RECOVERED if other is None else rr.Status.AMBIGUOUS
        assert replace(result, alternative=other).status is status


def test_copies_of_a_measurement_are_one_supporter() -> None:
    two = impostor(0.0, 4)
    A, y = two.A.copy(), two.y.copy()
    A[:90], y[:90] = A[0], 3 * y[0]
    result = contested_everywhere(rr.recover(A, y, 1))
    u, s, vt = np.linalg.svd(3 * two.matrix)  # fits all copies
    problem = Problem(as_operator(A), y, 1)
    assert second_solution(problem, result, lambda _: (u[:, :1] * s[0], vt[:1].T)) is None


def test_no_second_solution_is_looked_for_without_contested_parts() -> None:
    two = impostor(0.1, 5)
    problem = Problem(as_operator(two.A), two.y, 1)
    result = rr.recover(two.A, two.y, 1)

    def never(_: Problem) -> Factors:
        raise AssertionError

    assert not result.certificate.contested
    assert second_solution(problem, result, never) is None


class Watched(rr.solvers.GaussNewton):
    """Ctrl-C when a part of the measurements is being solved."""

    def start(self, problem: Problem, rng: Any) -> Any:
        if problem.operator.measurements < 200:
            raise KeyboardInterrupt
        return super().start(problem, rng)


def test_ctrl_c_during_the_search_is_not_lost() -> None:
    two = impostor(0.45, 0)
    solver = rr.solvers.Portfolio((Watched(settling=rr.solvers.Settling(start_after=0)),))
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(two.A, two.y, 1, solver=solver)
    result = caught.value.result
    assert result.stopped is rr.StopReason.INTERRUPTED
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.objections == NOT_LOOKED_FOR
    assert error(result.matrix, two.matrix) < 1e-8


def test_a_callback_that_stops_the_search_leaves_the_result_uncertified() -> None:
    two = impostor(0.45, 0)
    starts: list[int] = []

    def stop_the_last_run(progress: rr.Progress) -> bool:
        starts.append(progress.iteration == 0)
        return sum(starts) == runs

    plain = rr.recover(two.A, two.y, 1, callback=lambda p: starts.append(p.iteration == 0))
    assert plain.status is rr.Status.AMBIGUOUS
    runs = sum(starts)  # the last of which is the search for a second answer
    starts.clear()
    result = rr.recover(two.A, two.y, 1, callback=stop_the_last_run)
    assert result.stopped is rr.StopReason.CALLBACK
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.objections == NOT_LOOKED_FOR
    assert error(result.matrix, two.matrix) < 1e-8


@pytest.mark.parametrize(
    "interruption", [KeyboardInterrupt(), Stopped(StopReason.TIME_LIMIT), OutOfTime()]
)
def test_an_interruption_is_not_handled_by_the_search(interruption: BaseException) -> None:
    two = impostor(0.45, 0)
    problem = Problem(as_operator(two.A), two.y, 1)
    only_one = rr.recover(two.A, two.y, 1, solver="gauss-newton")  # no portfolio: no search
    assert only_one.status is rr.Status.RECOVERED

    def interrupted(_: Problem) -> Factors:
        raise interruption

    with pytest.raises(type(interruption)) as caught:
        second_solution(problem, only_one, interrupted)
    assert caught.value is interruption


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 2.0])
def test_sensors_with_a_wrong_gain_are_no_second_answer(factor: float, noise: float) -> None:
    """They agree on a multiple of the matrix; zero is that of dead sensors."""
    rng = np.random.default_rng(6)
    matrix = rank_one(rng)
    A = rng.standard_normal((8 * FREEDOM, N1, N2))
    y = measured(A, matrix)
    wrong = rng.permutation(len(A)) < 0.36 * len(A)
    y = np.where(wrong, factor, 1.0) * y + noise * rng.standard_normal(len(A))
    result = rr.recover(A, y, 1)
    assert result.certified
    assert np.linalg.norm(result.matrix - matrix) < 0.03
    assert result.alternative is None


def test_sensors_of_a_part_with_a_wrong_gain_are_no_second_answer() -> None:
    """Columns 6 to 11 are seen by 90 measurements, 35 of which by sensors with a gain of 2."""
    rng = np.random.default_rng(2)
    matrix = rank_one(rng)
    A = rng.standard_normal((6 * FREEDOM, N1, N2))
    A[:90, :, :6] = 0
    A[90:, :, 6:] = 0
    y = measured(A, matrix)
    y[:35] *= 2
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, matrix)


@pytest.mark.parametrize(("share", "status"), [(0.34, "RECOVERED"), (0.42, "AMBIGUOUS")])
def test_the_opposite_sign_is_reported_if_nearly_as_many_fit_it(share: float, status: str) -> None:
    rng = np.random.default_rng(10)
    matrix = rank_one(rng)
    A = rng.standard_normal((16 * FREEDOM, N1, N2))
    y = np.where(rng.permutation(len(A)) < share * len(A), -1.0, 1.0) * measured(A, matrix)
    result = rr.recover(A, y, 1)
    assert result.status.name == status
    assert error(result.matrix, matrix) < 1e-8
    if result.alternative is not None:
        assert result.alternative.where == "the whole matrix"
        assert result.alternative.supporting == round(share * len(A))
        assert error(result.alternative.matrix, -matrix) < 1e-8
