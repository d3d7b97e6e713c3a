"""``recover_many``: each result equals that of ``recover``, in order and without waste."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import like, to_numpy
from robustrank.metrics import evaluate
from robustrank.operators import as_operator
from robustrank.simulate import Planted, plant

# Easy problems, one that message passing solves, and one that neither solves, so that they end
# after different numbers of iterations.
KINDS = [(0.05, "huge"), (0.2, "flip"), (0.6, "scale"), (0.4, "huge"), (0.1, "constant")]
SHORT = rr.solvers.Portfolio(
    (
        rr.solvers.GaussNewton(max_iterations=6),
        rr.solvers.TwoStage(
            rr.solvers.MessagePassing(max_iterations=8), rr.solvers.GaussNewton(), max_iterations=16
        ),
    )
)


@pytest.fixture(scope="module")
def mixed() -> list[Planted]:
    return [
        plant(12, 9, 1, 90, outliers=share, outlier_model=model, rng=seed)
        for seed, (share, model) in enumerate(KINDS)
    ]


@pytest.fixture(scope="module")
def alone(mixed: list[Planted]) -> list[rr.Result]:
    """The results of ``recover``."""
    return [rr.recover(planted.A, planted.y, 1) for planted in mixed]


def cast(xp: Any, planted: Planted, dtype: str = "float64") -> tuple[Any, Any]:
    return xp.asarray(planted.A.astype(dtype)), xp.asarray(planted.y.astype(dtype))


@pytest.mark.slow_with_jax
def test_every_result_equals_that_of_recover(xp: Any, mixed: list[Planted]) -> None:
    solver = SHORT
    if "jax" in xp.__name__:  # JAX compiles every operation for every batch size
        mixed, solver = mixed[2:4], rr.solvers.Portfolio(SHORT.solvers[:1])
    data = [cast(xp, planted) for planted in mixed]
    together = list(rr.recover_many(iter(data), 1, solver=solver, batch=5))
    statuses = set()
    for (A, y), result in zip(data, together, strict=True):
        single = rr.recover(A, y, 1, solver=solver)
        statuses.add(result.status)
        assert result.status is single.status
        assert result.solver == single.solver
        assert len(result.attempts) == len(single.attempts)
        assert result.attempts[0].iterations == single.attempts[0].iterations
        if len(result.attempts) == 1:  # the second stage of the second solver starts for all
            assert result.passes >= single.passes  # alone, a tangent map may be used twice
            assert len(result.history.checks) == len(single.history.checks)
        if result.status is rr.Status.RECOVERED:
            assert np.allclose(to_numpy(result.matrix), to_numpy(single.matrix), atol=1e-9)
            assert np.array_equal(to_numpy(result.outliers), to_numpy(single.outliers))
        for part in (result.left, result.right, result.residual):
            assert like(part) == like(A)
    assert rr.Status.RECOVERED in statuses
    assert len(statuses) > 1


@pytest.mark.parametrize("batch", [2, 3, 5])
def test_batch_size_does_not_matter(
    batch: int, mixed: list[Planted], alone: list[rr.Result]
) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    for single, result in zip(alone, rr.recover_many(data, 1, batch=batch), strict=True):
        assert result.status is single.status
        assert np.allclose(result.residual, single.residual, atol=1e-6)


@pytest.mark.slow_with_jax
def test_float32(xp: Any, mixed: list[Planted]) -> None:
    easy = [mixed[0], mixed[4]]
    data = [cast(xp, planted, "float32") for planted in easy]
    for solver in ("gauss-newton", "message-passing"):
        results = rr.recover_many(data, 1, solver=solver, batch=2)
        for planted, result in zip(easy, results, strict=True):
            assert result.status is rr.Status.RECOVERED
            assert evaluate(result, planted).error < 1e-5


def test_each_problem_has_its_own_units(mixed: list[Planted], alone: list[rr.Result]) -> None:
    data = [(planted.A * 10.0**k, planted.y * 10.0 ** (-3 * k)) for k, planted in enumerate(mixed)]
    for k, result in enumerate(rr.recover_many(data, 1, batch=5)):
        assert result.status is alone[k].status
        if result.status is rr.Status.RECOVERED:
            matrix = result.matrix * 10.0 ** (4 * k)
            assert np.allclose(matrix, alone[k].matrix, rtol=1e-6, atol=1e-9)


def test_problems_of_different_shapes_stay_in_order() -> None:
    shapes = [(12, 9, 90), (12, 9, 90), (8, 9, 90), (12, 9, 100), (12, 9, 90)]
    planted = [plant(n1, n2, 1, m, rng=k) for k, (n1, n2, m) in enumerate(shapes)]
    results = list(rr.recover_many(((one.A, one.y) for one in planted), 1, batch=4))
    for one, result in zip(planted, results, strict=True):
        assert evaluate(result, one).error < 1e-9


def test_no_more_than_one_batch_is_read_ahead(mixed: list[Planted]) -> None:
    taken = 0

    def problems() -> Iterator[tuple[Any, Any]]:
        nonlocal taken
        for planted in mixed:
            taken += 1
            yield planted.A, planted.y

    results = rr.recover_many(problems(), 1, batch=2, solver="gauss-newton")
    assert taken == 0
    next(results)
    assert taken == 2
    next(results)
    next(results)
    assert taken == 4


def test_one_problem_at_a_time_is_in_memory(mixed: list[Planted]) -> None:
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

    for result in rr.recover_many(problems(), 1, solver="gauss-newton"):
        del result
    assert len(alive) == len(mixed)


def test_solvers_that_cannot_be_batched_run_one_after_another(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed[:2]]
    solver = rr.solvers.MedianTGD(max_iterations=50)
    for (A, y), result in zip(data, rr.recover_many(data, 1, solver=solver, batch=2), strict=True):
        assert np.array_equal(result.matrix, rr.recover(A, y, 1, solver=solver).matrix)


def test_without_a_rank_every_result_equals_that_of_recover(mixed: list[Planted]) -> None:
    near_the_limit = plant(30, 24, 2, 119, rng=1)
    noisy = plant(16, 12, 2, 260, outliers=0.1, noise=0.02, rng=1)
    data = [(one.A, one.y) for one in (*mixed, near_the_limit, noisy)]
    for (A, y), result in zip(data, rr.recover_many(data, batch=4), strict=True):
        alone = rr.recover(A, y)
        assert result.status is alone.status
        assert result.rank == alone.rank
        assert result.rank_table is not None
        assert result.rank_table == alone.rank_table
        assert result.passes == alone.passes
        assert result.remedy == alone.remedy
        assert [one.solver for one in result.attempts] == [one.solver for one in alone.attempts]
        assert np.array_equal(result.matrix, alone.matrix)
    assert result.rank == 2
    assert result.status is rr.Status.ESTIMATED


def test_without_a_rank_problems_are_read_one_at_a_time(mixed: list[Planted]) -> None:
    unread = [(one.A, one.y) for one in mixed]
    problems = (unread.pop(0) for _ in mixed)
    next(rr.recover_many(problems, solver="gauss-newton", batch=4))
    assert len(unread) == len(mixed) - 1


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_without_a_rank_raises_with_the_result_so_far(mixed: list[Planted]) -> None:
    class Interrupting(rr.solvers.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            raise KeyboardInterrupt

    data = [(planted.A, planted.y) for planted in mixed]
    solver = rr.solvers.Portfolio((rr.solvers.GaussNewton(), Interrupting(name="second")))
    with pytest.raises(rr.Interrupted) as caught:
        list(rr.recover_many(data, solver=solver))
    assert caught.value.result.stopped is rr.StopReason.INTERRUPTED
    assert caught.value.result.attempts[0].solver == "Gauss–Newton"
    assert np.any(caught.value.result.matrix)


def test_no_problems_give_no_results() -> None:
    assert list(rr.recover_many([], 1)) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch": 0}, ValueError, "batch=0; expected at least 1"),
        ({"solver": "best"}, ValueError, "solver='best' is not known"),
        ({"rng": -1}, ValueError, "rng=-1"),
        ({"rank": 0}, ValueError, "rank=0; expected at least 1"),
    ],
)
def test_invalid_arguments_raise_immediately(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rr.recover_many([], **{"rank": 1} | arguments)


def test_an_invalid_problem_is_named(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    data[3] = (data[3][0], data[3][1][:-1])
    with pytest.raises(ValueError, match="y has shape") as caught:
        list(rr.recover_many(data, 1, batch=2))
    assert caught.value.__notes__ == ["This was problem 3, counted from zero."]


def test_results_before_an_invalid_problem_are_yielded(mixed: list[Planted]) -> None:
    data = [(planted.A, planted.y) for planted in mixed]
    data[2] = (data[2][0], data[2][1][:-1])
    results = rr.recover_many(data, 1, batch=4, solver="gauss-newton")
    assert next(results).status is rr.Status.RECOVERED
    next(results)
    with pytest.raises(ValueError, match="y has shape"):
        next(results)


def test_a_problem_that_is_not_a_pair_raises(mixed: list[Planted]) -> None:
    with pytest.raises(TypeError, match=r"a problem is a Planted; expected a pair \(A, y\)"):
        list(rr.recover_many(mixed, 1))  # type: ignore[arg-type]


def test_large_batches_without_compiled_kernels() -> None:
    data = [plant(40, 40, 2, 800, outliers=0.05, rng=k) for k in range(10)]
    results = list(rr.recover_many(((one.A, one.y) for one in data), 2, batch=10))
    assert all(
        evaluate(result, one).error < 1e-9 for result, one in zip(results, data, strict=True)
    )


@pytest.mark.parametrize("solver", ["auto", "message-passing"])
def test_unusual_sensing_data_of_one_problem_does_not_affect_the_others(solver: str) -> None:
    """Rows over six decades slow down conjugate gradients; a mean misleads message passing."""
    data = []
    for k in range(6):
        one = plant(12, 9, 1, 110, outliers=0.1, rng=k)
        scale = 10.0 ** np.random.default_rng(k).uniform(-3, 3, 110) if k % 3 == 1 else np.ones(110)
        A = one.A * scale[:, None, None] + (k % 3 == 2)
        y = np.einsum("ijk,jk->i", A, one.matrix)
        y[one.outliers] *= 50
        data.append((A, y))
    together = list(rr.recover_many(data, 1, solver=solver, batch=6))
    for (A, y), result in zip(data, together, strict=True):
        assert result.status is rr.recover(A, y, 1, solver=solver).status


def test_sensing_data_outside_the_range_of_its_precision(mixed: list[Planted]) -> None:
    one = mixed[0]
    A = (one.A * 1e-40).astype(np.float32)
    y = np.einsum("ijk,jk->i", A.astype(float), one.matrix)
    with pytest.raises(ValueError, match="a typical entry of A is 1e-40; expected a size between"):
        rr.recover(A, y, 1)
    with pytest.raises(ValueError, match="a typical entry of A is 1e-40; expected a size between"):
        list(rr.recover_many([(A, y), (A, y)], 1, batch=2))
    A, y = (one.A * 1e-33).astype(np.float32), one.y * 1e-33
    for result in rr.recover_many([(A, y), (A, y)], 1, batch=2):
        assert result.status is rr.recover(A, y, 1).status is rr.Status.RECOVERED


def test_passes_with_an_operator_that_was_used_before(mixed: list[Planted]) -> None:
    operator = as_operator(mixed[0].A)
    expected = rr.recover(operator, mixed[0].y, 1).passes
    for result in rr.recover_many([(operator, mixed[0].y)] * 3, 1):
        assert result.passes == expected


@pytest.mark.gpu
def test_batches_fill_the_gpu_by_default() -> None:
    pytest.importorskip("torch")
    truth = [
        plant(30, 24, 2, 400, outliers=0.1, rng=k, library="torch", device="cuda")
        for k in range(40)
    ]
    data = [(planted.A, planted.y) for planted in truth]
    for planted, result in zip(truth, rr.recover_many(data, 2), strict=True):
        assert result.status is rr.Status.RECOVERED
        assert evaluate(result, planted).error < 1e-10
