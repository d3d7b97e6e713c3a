"""One source, every array library: the same answers on NumPy, PyTorch, JAX, CuPy, CPU and card."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from robustrank.certificate.evidence.determination import determines_the_answer

import robustrank as rr
from robustrank.backend import ReducedPrecisionWarning, like, on_gpu, to_numpy
from robustrank.metrics import evaluate
from robustrank.operators import (
    DenseOperator,
    Operator,
    ScaledOperator,
    Tangent,
    TransposedOperator,
    as_operator,
    check_operator,
)
from robustrank.simulate import Planted, plant
from robustrank.solvers.weights import SoftWeights, TruncatedWeights, UniformWeights, WeightFunction

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
RULES = [TruncatedWeights(3.0), UniformWeights(), SoftWeights(1.5, 2.0, 4.0)]


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
    # Recorded steps are looked at less often.
    apart = 1 if solver != "median-tgd" else 100 if on_gpu(A) else 10
    assert abs(result.iterations - expected.iterations) <= apart
    assert np.array_equal(to_numpy(result.outliers), expected.outliers)
    if solver != "median-tgd":
        assert evaluate(result, small).error < ERROR[dtype]
    difference = np.linalg.norm(to_numpy(result.matrix) - expected.matrix)
    assert difference < 1e3 * ERROR[dtype] * np.linalg.norm(expected.matrix)
    for part in (result.left, result.right, result.matrix, result.residual):
        assert type(part) is type(A)
        assert like(part) == like(A)


def test_hard_outliers_are_told_everywhere(xp: Any, dtype: str) -> None:
    planted = plant(30, 24, 2, 330, outliers=0.2, outlier_model="flip", rng=3)
    result = rr.recover(*cast(xp, planted, dtype), 2, solver="message-passing")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < ERROR[dtype]


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator_keeps_its_contract_everywhere(xp: Any, dtype: str, kind: str) -> None:
    A = xp.asarray(plant(9, 7, 2, 40, rng=1).A.astype(dtype))
    operator = OPERATORS[kind](A)
    assert check_operator(operator).passed
    U, V = (operator.asarray(np.ones((n, 1), dtype)) for n in operator.matrix_shape)
    assert like(operator.measure(U, V)) == like(A)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_trust_rule_weighs_alike_everywhere(
    xp: Any, dtype: str, rule: WeightFunction
) -> None:
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


@pytest.fixture
def as_on_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a card does instead of conjugate gradients, wherever this runs."""
    monkeypatch.setattr("robustrank.linalg.least_squares.on_gpu", lambda _: True)


@pytest.mark.usefixtures("as_on_a_card")
@pytest.mark.parametrize("solver", ["auto", "gauss-newton", "message-passing"])
def test_a_factorisation_leads_to_the_same_answer(
    xp: Any, dtype: str, solver: str, small: Planted
) -> None:
    result = rr.recover(*cast(xp, small, dtype), 2, solver=solver, rng=0)
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, small).error < ERROR[dtype]


@pytest.mark.usefixtures("as_on_a_card")
def test_what_is_not_pinned_down_is_seen_with_a_factorisation_too(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    n1, n2, r = 12, 9, 2
    freedom = r * (n1 + n2 - r)
    bases = [np.linalg.qr(rng.standard_normal((n, r)))[0].astype(dtype) for n in (n1, n2)]
    left, right = (xp.asarray(basis) for basis in bases)
    for m, expected in ((freedom - 1, False), (3 * freedom, True)):
        A = xp.asarray(rng.standard_normal((m, n1, n2)).astype(dtype))
        tangent = as_operator(A).tangent(left, right)
        assert (
            determines_the_answer(tangent, left, right, xp.asarray(np.ones(m, dtype))) is expected
        )


PLANTERS = [
    ("torch", None),
    ("torch", "cpu"),
    ("jax", None),
    pytest.param("torch", "cuda", marks=pytest.mark.gpu),
    pytest.param("jax", "cuda", marks=pytest.mark.gpu),
    pytest.param("cupy", None, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize(("library", "device"), PLANTERS)
def test_problems_are_planted_by_every_library(
    library: str, device: str | None, dtype: str
) -> None:
    setting: dict[str, Any] = {"outliers": 0.05, "dtype": dtype, "library": library, "rng": 5}
    told: list[float] = []
    planted = plant(20, 15, 2, 400, device=device, progress=told.append, **setting)
    assert told == [1.0]
    again = plant(20, 15, 2, 400, device=device, **setting)
    host = plant(20, 15, 2, 400, outliers=0.05, dtype=dtype, rng=5)
    A = to_numpy(planted.A)
    assert A.dtype == to_numpy(planted.y).dtype == dtype
    assert np.array_equal(A, to_numpy(again.A))
    assert np.array_equal(planted.left, host.left)  # the same matrix and the same outliers
    assert np.array_equal(planted.outliers, host.outliers)
    assert abs(float(A.mean())) < 0.02
    assert float(A.std()) == pytest.approx(1, abs=0.02)
    expected = np.einsum("ijk,jk->i", A.astype(float), planted.matrix)
    clean = ~planted.outliers
    assert np.allclose(to_numpy(planted.y)[clean], expected[clean], rtol=1e-4, atol=1e-5)
    assert rr.recover(planted.A, planted.y, 2).status is rr.Status.RECOVERED


JAX_IN_SINGLE_PRECISION = """
import jax, robustrank as rr
from robustrank.metrics import evaluate
planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, dtype="float32", library="jax", rng=5)
for result in (
    rr.recover(planted.A, planted.y, 2),
    rr.recover(planted.A, planted.y, 2, solver="message-passing"),
    *rr.recover_many([(planted.A, planted.y)] * 2, 2, batch=2),
):
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-5
try:
    rr.simulate.plant(20, 15, 2, 400, library="jax")
except ValueError as error:
    assert "JAX has no double precision unless told" in str(error)
else:
    raise AssertionError
"""


def test_jax_as_it_comes_in_single_precision() -> None:
    environment = {name: os.environ[name] for name in os.environ if name != "JAX_ENABLE_X64"}
    code = [sys.executable, "-W", "error", "-c", JAX_IN_SINGLE_PRECISION]
    subprocess.run(code, env=environment, check=True)


def test_planting_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="device='cuda' is not for NumPy"):
        plant(4, 3, 1, 20, device="cuda")
    with pytest.raises(TypeError, match="dtype=int64 is not one to plant in"):
        plant(4, 3, 1, 20, dtype="int64")
    with pytest.raises(ValueError, match="library='tensorflow' is not known; expected one of"):
        plant(4, 3, 1, 20, library="tensorflow")
    with pytest.raises(ValueError, match="out is for NumPy"):
        plant(4, 3, 1, 20, library="torch", out=np.empty((20, 4, 3)))
    if importlib.util.find_spec("cupy") is None:
        with pytest.raises(ImportError, match="install it with: pip install cupy-cuda12x"):
            plant(4, 3, 1, 20, library="cupy")


class Greedy(DenseOperator):
    """Runs out of memory as PyTorch does when a card is full."""

    def tangent(self, U: Any, V: Any) -> Tangent:
        import torch

        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


def test_a_full_card_is_a_sentence(small: Planted) -> None:
    operator = Greedy(small.A.reshape(400, -1), (20, 15))
    with pytest.raises(MemoryError, match=r"ran out of memory: this needs about .* Use float32"):
        rr.recover(operator, small.y, 2)


@pytest.mark.gpu
def test_a_card_that_is_really_full_is_a_sentence() -> None:
    import torch

    planted = plant(60, 50, 3, 20_000, library="torch", device="cuda", rng=1)
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((planted.A.nbytes + 2**26) / total)
    try:
        with pytest.raises(MemoryError, match="ran out of memory"):
            rr.recover(planted.A, planted.y, 3)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.gpu
def test_recorded_steps_are_the_same_steps(dtype: str) -> None:
    """500 iterations on a card, nearly all of them replayed, against as many on the CPU."""
    planted = plant(60, 50, 3, 2000, outliers=0.05, dtype=dtype, rng=1)
    solver = rr.MedianTGD(max_iterations=500, tolerance=0)
    host = rr.recover(planted.A, planted.y, 3, solver=solver)
    card = rr.recover(planted.A, planted.y, 3, solver=solver, device="cuda")
    assert card.iterations == 500
    assert card.passes == pytest.approx(host.passes, abs=1)
    difference = np.linalg.norm(to_numpy(card.matrix) - host.matrix) / np.linalg.norm(host.matrix)
    assert difference < {"float32": 1e-4, "float64": 1e-11}[dtype]


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
def test_arrays_in_two_places_are_refused(small: Planted) -> None:
    import torch

    with pytest.raises(ValueError, match="A is on cuda:0 and y on cpu; expected both on one"):
        rr.recover(torch.asarray(small.A, device="cuda"), torch.asarray(small.y), 2)


def test_products_with_fewer_bits_are_warned_of(small: Planted) -> None:
    import torch

    A, y = (torch.asarray(array, dtype=torch.float32) for array in (small.A, small.y))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.warns(ReducedPrecisionWarning, match="multiply single precision with fewer"):
            rr.recover(A, y, 2)
        rr.recover(A.double(), y.double(), 2)  # no warning: they are errors here
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.gpu
def test_numpy_arrays_go_to_the_card_and_stay_there(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, device="cuda")
    assert result.status is rr.Status.RECOVERED
    assert result.left.device.type == "cuda"


def test_what_is_no_array_is_taken_along(small: Planted) -> None:
    import torch

    A = torch.asarray(small.A)
    for y in (list(small.y), small.y.tolist()):
        assert rr.recover(A, y, 2).status is rr.Status.RECOVERED
    assert rr.recover(A, small.y, 2, device="cpu").status is rr.Status.RECOVERED


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
