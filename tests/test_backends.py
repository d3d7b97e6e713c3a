"""One source, every array library: the same answers on NumPy, PyTorch, JAX, CuPy, CPU and card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import like, to_numpy
from robustrank.metrics import judge
from robustrank.operators import (
    Operator,
    ScaledOperator,
    TransposedOperator,
    as_operator,
    check_operator,
)
from robustrank.simulate import Planted, plant
from robustrank.trust import KeepAll, MedianTruncation, SoftTruncation, TrustRule

SOLVERS: dict[str, Any] = {
    "auto": "auto",
    "gauss-newton": "gauss-newton",
    "message-passing": "message-passing",
    "median-tgd": rr.MedianTGD(max_iterations=300),
}
ERROR = {"float32": 1e-5, "float64": 1e-10}
OPERATORS: dict[str, Callable[[Any], Operator]] = {
    "dense": as_operator,
    "transposed": lambda A: TransposedOperator(as_operator(A)),
    "scaled": lambda A: ScaledOperator(as_operator(A), 0.3),
    "rows": lambda A: as_operator(A).rows(slice(2, 30)),
}
RULES = [MedianTruncation(3.0), KeepAll(), SoftTruncation(1.5, 2.0, 4.0)]


def cast(xp: Any, planted: Planted, dtype: str) -> tuple[Any, Any]:
    return xp.asarray(planted.A.astype(dtype)), xp.asarray(planted.y.astype(dtype))


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_gives_the_same_answer_everywhere(
    xp: Any, dtype: str, solver: str, small: Planted
) -> None:
    A, y = cast(xp, small, dtype)
    result = rr.recover(A, y, 2, solver=SOLVERS[solver], rng=0)
    expected = rr.recover(*cast(np, small, dtype), 2, solver=SOLVERS[solver], rng=0)
    assert result.status is expected.status
    assert abs(result.iterations - expected.iterations) <= (10 if solver == "median-tgd" else 1)
    assert np.array_equal(to_numpy(result.outliers), expected.outliers)
    if solver != "median-tgd":
        assert judge(result, small).error < ERROR[dtype]
    difference = np.linalg.norm(to_numpy(result.matrix) - expected.matrix)
    assert difference < 1e3 * ERROR[dtype] * np.linalg.norm(expected.matrix)
    for part in (result.left, result.right, result.matrix, result.residual):
        assert type(part) is type(A)
        assert like(part) == like(A)


def test_hard_outliers_are_told_everywhere(xp: Any, dtype: str) -> None:
    planted = plant(30, 24, 2, 330, outliers=0.2, outlier_model="flip", rng=3)
    result = rr.recover(*cast(xp, planted, dtype), 2, solver="message-passing")
    assert result.status is rr.Status.RECOVERED
    assert judge(result, planted).error < ERROR[dtype]


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator_keeps_its_contract_everywhere(xp: Any, dtype: str, kind: str) -> None:
    A = xp.asarray(plant(9, 7, 2, 40, rng=1).A.astype(dtype))
    operator = OPERATORS[kind](A)
    assert check_operator(operator).passed
    U, V = (operator.asarray(np.ones((n, 1), dtype)) for n in operator.matrix_shape)
    assert like(operator.measure(U, V)) == like(A)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_trust_rule_weighs_alike_everywhere(xp: Any, dtype: str, rule: TrustRule) -> None:
    sizes = np.abs(np.random.default_rng(2).standard_cauchy(50)).astype(dtype)
    values = xp.asarray(sizes)
    weights = rule.weights(values, xp.asarray(np.asarray(1.0, dtype)))
    assert like(weights) == like(values)
    expected = rule.weights(sizes, np.asarray(1.0, dtype))
    assert np.allclose(to_numpy(weights), expected, rtol=1e-5)


def test_results_are_saved_from_every_library(xp: Any, small: Planted, tmp_path: Any) -> None:
    result = rr.recover(*cast(xp, small, "float64"), 2)
    result.save(tmp_path / "answer.npz")
    assert np.array_equal(rr.load(tmp_path / "answer.npz").left, to_numpy(result.left))
    assert "recovered" in repr(result)


# Where the data is, and where it is asked to be.


def test_arrays_of_two_libraries_are_refused(small: Planted) -> None:
    import torch

    with pytest.raises(TypeError, match="A is a torch array and y a numpy one; expected both"):
        rr.recover(torch.asarray(small.A), small.y, 2)
    with pytest.raises(TypeError, match="A is a numpy array and y a torch one"):
        rr.recover(small.A, torch.asarray(small.y), 2)


def test_device_moves_both(xp: Any, small: Planted) -> None:
    A, y = cast(xp, small, "float64")
    result = rr.recover(A, y, 2, device="cpu")
    assert isinstance(to_numpy(result.left), np.ndarray)
    assert result.status is rr.Status.RECOVERED


@pytest.mark.gpu
def test_numpy_arrays_go_to_the_card_and_stay_there(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, device="cuda")
    assert result.status is rr.Status.RECOVERED
    assert result.left.device.type == "cuda"


@pytest.mark.parametrize("target", ["gpu", "cuda:x", "", "cpu:0:1"])
def test_unknown_devices_are_refused(target: str, small: Planted) -> None:
    with pytest.raises(ValueError, match="is not known; expected"):
        rr.recover(small.A, small.y, 2, device=target)


def test_a_card_that_is_not_there_is_a_sentence(small: Planted) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a card")
    with pytest.raises(ValueError, match="PyTorch sees no CUDA device"):
        rr.recover(small.A, small.y, 2, device="cuda")
