"""Every solver gives the same answer with NumPy, PyTorch, JAX and CuPy, on the CPU and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import full_precision, like, on_gpu, to_numpy
from robustrank.certificate import undetermined_part
from robustrank.metrics import evaluate
from robustrank.operators import as_operator
from robustrank.simulate import Planted, plant
from robustrank.solvers.portfolio import FAULTS
from robustrank.solvers.weights import SoftWeights, TruncatedWeights, UniformWeights, WeightFunction

SOLVERS: dict[str, Any] = {
    "auto": "auto",
    "gauss-newton": "gauss-newton",
    "message-passing": "message-passing",
    "median-tgd": rr.solvers.MedianTGD(max_iterations=300),
}
ERROR = {"float32": 1e-5, "float64": 1e-10}
WEIGHT_FUNCTIONS = [TruncatedWeights(3.0), UniformWeights(), SoftWeights(1.5, 2.0, 4.0)]


def cast(xp: Any, planted: Planted, dtype: str) -> tuple[Any, Any]:
    return xp.asarray(planted.A.astype(dtype)), xp.asarray(planted.y.astype(dtype))


@pytest.mark.parametrize(
    "solver",
    [
        *(name for name in SOLVERS if name != "message-passing"),
        pytest.param("message-passing", marks=pytest.mark.slow_with_jax),  # as in the next test
    ],
)
def test_solver_gives_the_same_answer_as_with_numpy(
    xp: Any, dtype: str, solver: str, small: Planted
) -> None:
    A, y = cast(xp, small, dtype)
    result = rr.recover(A, y, 2, solver=SOLVERS[solver], rng=0)
    expected = rr.recover(*cast(np, small, dtype), 2, solver=SOLVERS[solver], rng=0)
    assert result.status is expected.status
    # On a GPU, the progress of gradient descent is checked less often.
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


def test_hard_outliers_are_detected_with_every_library(xp: Any, dtype: str) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.3, outlier_model="flip", rng=3)
    result = rr.recover(*cast(xp, planted, dtype), 2, solver="message-passing")
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < ERROR[dtype]


@pytest.mark.slow_with_jax
def test_faults_of_sensors_are_learned_with_every_library(xp: Any, dtype: str) -> None:
    planted = plant(20, 15, 1, 160, outliers=0.3, outlier_model="gain:1.2", rng=3)
    result = rr.recover(*cast(xp, planted, dtype), 1, solver=FAULTS)
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < ERROR[dtype]


@pytest.mark.parametrize("function", WEIGHT_FUNCTIONS, ids=lambda f: type(f).__name__)
def test_weights_are_the_same_with_every_library(
    xp: Any, dtype: str, function: WeightFunction
) -> None:
    sizes = np.abs(np.random.default_rng(2).standard_cauchy(50)).astype(dtype)
    values = xp.asarray(sizes)
    weights = function.weights(values, xp.asarray(np.asarray(1.0, dtype)))
    assert like(weights) == like(values)
    expected = function.weights(sizes, np.asarray(1.0, dtype))
    assert np.allclose(to_numpy(weights), expected, rtol=1e-5)


def test_result_of_every_library_can_be_saved(xp: Any, small: Planted, tmp_path: Path) -> None:
    result = rr.recover(*cast(xp, small, "float64"), 2)
    result.save(tmp_path / "answer.npz")
    assert np.array_equal(rr.load(tmp_path / "answer.npz").left, to_numpy(result.left))
    assert "recovered" in repr(result)


@pytest.fixture
def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve the normal equations by a factorization, with single numbers on the host."""

    def few_on_host(values: Any, axes: int) -> Any:
        return to_numpy(values) if values.ndim == axes else values

    monkeypatch.setattr("robustrank.linalg.least_squares.on_gpu", lambda _: True)
    for module in ("gauss_newton", "weights"):
        monkeypatch.setattr(f"robustrank.solvers.{module}.few_on_host", few_on_host)


@pytest.mark.usefixtures("_as_on_a_gpu")
@pytest.mark.parametrize("solver", ["auto", "gauss-newton", "message-passing"])
def test_factorization_leads_to_the_same_answer(
    xp: Any, dtype: str, solver: str, small: Planted
) -> None:
    result = rr.recover(*cast(xp, small, dtype), 2, solver=solver, rng=0)
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, small).error < ERROR[dtype]


@pytest.mark.usefixtures("_as_on_a_gpu")
def test_factorization_detects_an_undetermined_answer(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    n1, n2, r, m = 20, 15, 2, 400  # the shapes of ``small``, so that JAX compiles nothing anew
    freedom = r * (n1 + n2 - r)
    bases = [np.linalg.qr(rng.standard_normal((n, r)))[0].astype(dtype) for n in (n1, n2)]
    left, right = (xp.asarray(basis) for basis in bases)
    A = xp.asarray(rng.standard_normal((m, n1, n2)).astype(dtype))
    with full_precision(A):
        tangent = as_operator(A).tangent(left, right)
        for count, expected in ((freedom - 1, False), (m, True)):
            fitted = xp.asarray((np.arange(m) < count).astype(dtype))
            assert (undetermined_part(tangent, fitted) is None) is expected


JAX_IN_SINGLE_PRECISION = """
import jax, robustrank as rr
from robustrank.metrics import evaluate
planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, dtype="float32", library="jax", rng=5)
for result in (
    rr.recover(planted.A, planted.y, 2, solver="message-passing"),
    *rr.recover_many([(planted.A, planted.y)] * 2, 2, batch=2),
):
    assert result.status is rr.Status.RECOVERED
    assert evaluate(result, planted).error < 1e-5
try:
    rr.simulate.plant(20, 15, 2, 400, library="jax")
except ValueError as error:
    assert "JAX has float64 switched off" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.slow
def test_jax_works_without_float64() -> None:
    pytest.importorskip("jax")
    environment = {name: os.environ[name] for name in os.environ if name != "JAX_ENABLE_X64"}
    code = [sys.executable, "-W", "error", "-c", JAX_IN_SINGLE_PRECISION]
    subprocess.run(code, env=environment, check=True)


@pytest.mark.gpu
def test_replayed_iterations_are_the_same_as_on_the_cpu(dtype: str) -> None:
    """500 iterations on a GPU, nearly all of them replayed, against as many on the CPU."""
    planted = plant(60, 50, 3, 2000, outliers=0.05, dtype=dtype, rng=1)
    solver = rr.solvers.MedianTGD(max_iterations=500, tolerance=0)
    host = rr.recover(planted.A, planted.y, 3, solver=solver)
    gpu = rr.recover(planted.A, planted.y, 3, solver=solver, device="cuda")
    assert gpu.iterations == 500
    assert gpu.passes == pytest.approx(host.passes, abs=1)
    difference = np.linalg.norm(to_numpy(gpu.matrix) - host.matrix) / np.linalg.norm(host.matrix)
    assert difference < {"float32": 1e-4, "float64": 1e-11}[dtype]
