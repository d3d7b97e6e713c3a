"""Many problems in one call: each answer is the one that ``recover`` gives."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import like, to_numpy
from robustrank.metrics import evaluate
from robustrank.operators import BatchedOperator, ScaledOperator, as_operator
from robustrank.simulate import Planted, plant

# Easy ones, one that message passing solves, one that these do not: they end at different times.
KINDS = [(0.05, "huge"), (0.2, "flip"), (0.6, "scale"), (0.4, "huge"), (0.1, "constant")]
SHORT = rr.Portfolio(
    (rr.GaussNewton(max_iterations=6), rr.MessagePassing(max_steps=8, max_iterations=16))
)


@pytest.fixture(scope="module")
def mixed() -> list[Planted]:
    return [
        plant(12, 9, 1, 90, outliers=share, outlier_model=model, rng=seed)
        for seed, (share, model) in enumerate(KINDS)
    ]


def cast(xp: Any, planted: Planted, dtype: str = "float64") -> tuple[Any, Any]:
    return xp.asarray(planted.A.astype(dtype)), xp.asarray(planted.y.astype(dtype))


def test_every_answer_is_the_one_that_recover_gives(xp: Any, mixed: list[Planted]) -> None:
    if "jax" in xp.__name__:
        mixed = mixed[2:4]  # it compiles every operation for every number of lanes
    data = [cast(xp, planted) for planted in mixed]
    together = list(rr.recover_many(iter(data), 1, solver=SHORT, batch=5))
    statuses = set()
    for (A, y), answer in zip(data, together, strict=True):
        alone = rr.recover(A, y, 1, solver=SHORT)
        statuses.add(answer.status)
        assert answer.status is alone.status
        assert answer.solver == alone.solver
        assert len(answer.attempts) == len(alone.attempts)
        assert answer.attempts[0].iterations == alone.attempts[0].iterations
        if len(answer.attempts) == 1:  # message passing waits for all before it goes on
            assert answer.passes == alone.passes
            assert len(answer.history.checks) == len(alone.history.checks)
        if answer.status is rr.Status.RECOVERED:
            assert np.allclose(to_numpy(answer.matrix), to_numpy(alone.matrix), atol=1e-9)
            assert np.array_equal(to_numpy(answer.outliers), to_numpy(alone.outliers))
        for part in (answer.left, answer.right, answer.residual):
            assert like(part) == like(A)
    assert rr.Status.RECOVERED in statuses
    assert len(statuses) > 1


@pytest.mark.parametrize("batch", [2, 3, 5])
def test_the_size_of_a_batch_changes_nothing(batch: int, mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    for (A, y), answer in zip(data, rr.recover_many(data, 1, batch=batch), strict=True):
        alone = rr.recover(A, y, 1)
        assert answer.status is alone.status
        assert np.allclose(answer.residual, alone.residual, atol=1e-6)


@pytest.mark.parametrize("solver", ["gauss-newton", "message-passing"])
def test_in_single_precision_too(xp: Any, solver: str, mixed: list[Planted]) -> None:
    easy = [mixed[0], mixed[4]]
    data = [cast(xp, planted, "float32") for planted in easy]
    for planted, answer in zip(easy, rr.recover_many(data, 1, solver=solver, batch=2), strict=True):
        assert answer.status is rr.Status.RECOVERED
        assert evaluate(answer, planted).error < 1e-5


def test_units_of_each_are_its_own(mixed: list[Planted]) -> None:
    data = [(planted.A * 10.0**k, planted.y * 10.0 ** (-3 * k)) for k, planted in enumerate(mixed)]
    for k, answer in enumerate(rr.recover_many(data, 1, batch=5)):
        plain = rr.recover(mixed[k].A, mixed[k].y, 1)
        assert answer.status is plain.status
        if plain.status is rr.Status.RECOVERED:
            assert np.allclose(answer.matrix * 10.0 ** (4 * k), plain.matrix, rtol=1e-6, atol=1e-9)


def test_problems_of_different_shapes_come_back_in_order() -> None:
    shapes = [(12, 9, 90), (12, 9, 90), (8, 9, 90), (12, 9, 100), (12, 9, 90)]
    planted = [plant(n1, n2, 1, m, rng=k) for k, (n1, n2, m) in enumerate(shapes)]
    answers = list(rr.recover_many(((one.A, one.y) for one in planted), 1, batch=4))
    for one, answer in zip(planted, answers, strict=True):
        assert evaluate(answer, one).error < 1e-9


def test_no_more_problems_are_held_than_are_solved_together(mixed: list[Planted]) -> None:
    taken = 0

    def problems() -> Iterator[tuple[Any, Any]]:
        nonlocal taken
        for planted in mixed:
            taken += 1
            yield planted.A, planted.y

    answers = rr.recover_many(problems(), 1, batch=2, solver="gauss-newton")
    assert taken == 0
    next(answers)
    assert taken == 2
    next(answers)
    next(answers)
    assert taken == 4


def test_solvers_that_cannot_be_stacked_go_one_by_one(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed[:2]]
    solver = rr.MedianTGD(max_iterations=50)
    for (A, y), answer in zip(data, rr.recover_many(data, 1, solver=solver, batch=2), strict=True):
        assert np.array_equal(answer.matrix, rr.recover(A, y, 1, solver=solver).matrix)


def test_nothing_is_no_answer() -> None:
    assert list(rr.recover_many([], 1)) == []


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"batch": 0}, ValueError, "batch=0; expected at least 1"),
        ({"solver": "best"}, ValueError, "solver='best' is not known"),
        ({"rng": -1}, ValueError, "rng=-1"),
        ({"rank": 0}, ValueError, "rank=0; expected at least 1"),
    ],
)
def test_bad_arguments_are_refused_at_once(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rr.recover_many([], **{"rank": 1} | given)


def test_a_bad_problem_is_named(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    data[3] = (data[3][0], data[3][1][:-1])
    with pytest.raises(ValueError, match="y has shape") as caught:
        list(rr.recover_many(data, 1, batch=2))
    assert caught.value.__notes__ == ["This was problem 3, counted from zero."]


def test_what_is_no_pair_is_refused(mixed: list[Planted]) -> None:
    with pytest.raises(TypeError, match=r"a problem is a Planted; expected a pair \(A, y\)"):
        list(rr.recover_many(mixed, 1))  # type: ignore[arg-type]


def test_interruption_ends_all(mixed: list[Planted]) -> None:
    ran: list[int] = []

    class First(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            return super().step(problem, state)

    class Second(rr.GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            ran.append(1)
            return super().start(problem, rng)

    data = [(planted.A, planted.y) for planted in mixed]
    with pytest.raises(rr.Interrupted):
        list(rr.recover_many(data, 1, solver=rr.Portfolio((First(), Second())), batch=5))
    assert not ran


def test_interruption_carries_what_there_is(mixed: list[Planted]) -> None:
    class Slow(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(problem, state)

    data = [(planted.A, planted.y) for planted in mixed]
    with pytest.raises(rr.Interrupted) as caught:
        list(rr.recover_many(data, 1, solver=Slow(), batch=5))
    assert caught.value.recovery.status is rr.Status.INTERRUPTED
    assert caught.value.recovery.iterations >= 1


def test_large_stacks_do_without_the_compiled_loops() -> None:
    data = [plant(40, 40, 2, 800, outliers=0.05, rng=k) for k in range(10)]
    answers = list(rr.recover_many(((one.A, one.y) for one in data), 2, batch=10))
    assert all(
        evaluate(answer, one).error < 1e-9 for answer, one in zip(answers, data, strict=True)
    )


@pytest.mark.parametrize("solver", ["auto", "message-passing"])
def test_odd_sensing_data_in_one_lane_does_not_disturb_the_others(solver: str) -> None:
    """Rows over six decades make conjugate gradients slow; a mean makes message passing diverge."""
    data = []
    for k in range(6):
        one = plant(12, 9, 1, 110, outliers=0.1, rng=k)
        scale = 10.0 ** np.random.default_rng(k).uniform(-3, 3, 110) if k % 3 == 1 else np.ones(110)
        A = one.A * scale[:, None, None] + (k % 3 == 2)
        y = np.einsum("ijk,jk->i", A, one.matrix)
        y[one.outliers] *= 50
        data.append((A, y))
    together = list(rr.recover_many(data, 1, solver=solver, batch=6))
    for (A, y), answer in zip(data, together, strict=True):
        assert answer.status is rr.recover(A, y, 1, solver=solver).status


def test_message_passing_that_finds_nothing_hands_over_to_any_gauss_newton() -> None:
    rng = np.random.default_rng(0)
    finish = rr.GaussNewton(extra_rank=3, max_iterations=3)
    solver = rr.MessagePassing(finish=finish, max_steps=1, max_iterations=4)
    data = [(rng.standard_normal((60, 20, 15)), rng.standard_normal(60)) for _ in range(3)]
    with pytest.warns(rr.UndersampledWarning):
        answers = list(rr.recover_many(data, 2, solver=solver, batch=3))
    assert [answer.rank for answer in answers] == [2, 2, 2]


def test_sensing_data_out_of_the_range_of_its_precision(mixed: list[Planted]) -> None:
    one = mixed[0]
    A = (one.A * 1e-40).astype(np.float32)
    y = np.einsum("ijk,jk->i", A.astype(float), one.matrix)
    alone = rr.recover(A, y, 1)
    for answer in rr.recover_many([(A, y), (A, y)], 1, batch=2):
        assert answer.status is alone.status


def test_answers_before_a_bad_problem_are_given(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    data[2] = (data[2][0], data[2][1][:-1])
    answers = rr.recover_many(data, 1, batch=4, solver="gauss-newton")
    assert next(answers).status is rr.Status.RECOVERED
    next(answers)
    with pytest.raises(ValueError, match="y has shape"):
        next(answers)


def test_passes_of_an_operator_that_was_used_before(mixed: list[Planted]) -> None:
    operator = as_operator(mixed[0].A)
    expected = rr.recover(operator, mixed[0].y, 1).passes
    for answer in rr.recover_many([(operator, mixed[0].y)] * 3, 1):
        assert answer.passes == expected


def test_one_problem_at_a_time_is_held(mixed: list[Planted]) -> None:
    alive: list[weakref.ref[Any]] = []

    def problems() -> Iterator[tuple[Any, Any]]:
        for planted in mixed:
            gc.collect()
            assert sum(reference() is not None for reference in alive) == 0
            A = planted.A.copy()
            alive.append(weakref.ref(A))
            pair = A, planted.y
            del A
            yield pair
            del pair

    for answer in rr.recover_many(problems(), 1, solver="gauss-newton"):
        del answer


def test_a_stack_measures_as_each_of_its_operators(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    operators = [
        ScaledOperator(as_operator(xp.asarray(rng.standard_normal((20, 5, 4)).astype(dtype))), 0.5),
        as_operator(xp.asarray(rng.standard_normal((20, 5, 4)).astype(dtype))),
    ]
    stack = BatchedOperator(operators)
    U, V, w = (
        xp.asarray(rng.standard_normal(shape).astype(dtype))
        for shape in ((2, 5, 2), (2, 4, 2), (2, 20))
    )
    passes = [operator.passes for operator in operators]
    rows = stack.tangent(U, V).rows
    half = stack.rows(slice(0, 10)).measure(U, V)
    for k, operator in enumerate(operators):
        mine = U[k, ...], V[k, ...]
        expected = to_numpy(operator.measure(*mine))
        assert np.allclose(to_numpy(stack.measure(U, V))[k], expected, atol=1e-5)
        assert np.allclose(to_numpy(half)[k], expected[:10], atol=1e-5)
        for together, alone in zip(
            stack.backproject(w, U, V), operator.backproject(w[k, ...], *mine), strict=True
        ):
            assert np.allclose(to_numpy(together)[k], to_numpy(alone), atol=1e-5)
        assert np.allclose(to_numpy(rows)[k], to_numpy(operator.tangent(*mine).rows), atol=1e-5)
        values = stack.leading_svd(w, 2, rng)[1]
        alone = operator.leading_svd(w[k, ...], 2, rng)[1]
        assert np.allclose(to_numpy(values)[k], to_numpy(alone), atol=1e-5)
        assert operator.passes > passes[k]
    with pytest.raises(TypeError, match="cannot be batched"):
        BatchedOperator([stack])


@pytest.mark.gpu
def test_as_many_as_fit_are_solved_together_on_a_card() -> None:
    truth = [
        plant(30, 24, 2, 400, outliers=0.1, rng=k, library="torch", device="cuda")
        for k in range(40)
    ]
    data = [(planted.A, planted.y) for planted in truth]
    for planted, answer in zip(truth, rr.recover_many(data, 2), strict=True):
        assert answer.status is rr.Status.RECOVERED
        assert evaluate(answer, planted).error < 1e-10
