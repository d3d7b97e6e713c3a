"""Any input gives an answer or an error that says what is wrong, whatever its dtype and size.

The environment variable ROBUSTRANK_FUZZ is the number of random cases, as in CONTRIBUTING.md.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import robustrank as rr

CASES = int(os.environ.get("ROBUSTRANK_FUZZ", "1200"))
IN_CI = "ROBUSTRANK_FUZZ" not in os.environ
Array = np.ndarray[Any, Any]

# Each with what is valid, and with what is unusual or invalid.
DTYPES = (
    ["float64", "float64", "float32"],
    [
        *["int64", "int32", "int8", "uint8", "uint64", "bool", "float16", ">f8", ">i2"],
        *["complex128", "object", "U5", "longdouble", "M8[s]"],
    ],
)
EXPONENTS = [0], [1, -1, 3, -3, 30, -30, 39, -45, 150, -150, 200, -200, 290, -290, 308, -320]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, 1e308, -1e308, 1e200, 1e-320, 5e-324, 1e10]
SIZES = [40, 50, 60], [0, 1, 2, 5, 12, 25]
RANKS = (
    [1, 1, 2, 3],
    [0, -1, 10, 10**30, 10**5000, 1.5, math.nan, True, None, "2", np.int8(1), [1]],
)
SOLVERS: tuple[list[Any], list[Any]] = (
    ["auto", "auto", "auto", "gauss-newton", "message-passing", "median-tgd", "vanilla-gd"],
    [
        *["magic", None, 3],
        rr.solvers.GaussNewton(max_iterations=3),
        rr.solvers.GaussNewton(tolerance=np.float32(1e-3)),  # type: ignore[arg-type]
        rr.solvers.GaussNewton(tolerance=math.nan),
        rr.solvers.GaussNewton(tolerance=-1),
        rr.solvers.MessagePassing(tolerance=10**400),
        rr.solvers.MedianTGD(tolerance=0, step_size=50.0),
        rr.solvers.MedianTGD(sample_split=True),
        rr.solvers.Portfolio((rr.solvers.VanillaGD(max_iterations=5), rr.solvers.MessagePassing())),
    ],
)
LIMITS: tuple[list[Any], list[Any]] = (
    [0.005, 0.02, 0.05],
    [
        *[1e-9, 5e-324, Fraction(1, 100), np.float32(0.01), np.float16(0.01)],
        *[0, -1, math.nan, -math.inf, -(10**400), "1", True, 1j, np.ones(2), 10**-400],
        *[None, math.inf, 10**400, Fraction(10**400)],
    ],
)
SENSING = (
    ["gaussian"],
    ["integers", "entries", "zeros", "sparse rows", "equal rows", "unequal rows"],
)
MEASUREMENTS = (
    ["exact", "outliers", "noise"],
    ["random", "constant", "mostly stuck", "integers"],
)


@dataclass(frozen=True)
class Case:
    """The arguments of ``recover``, and the true matrix if the problem is an easy one."""

    A: Any
    y: Any
    options: dict[str, Any]
    truth: Array | None


def sensing(kind: str, m: int, n1: int, n2: int, rng: np.random.Generator) -> Array:
    A = rng.standard_normal((m, n1, n2))
    if kind == "integers":
        return rng.integers(-3, 4, A.shape).astype(float)
    if kind == "entries":
        A = np.zeros((m, n1 * n2))
        if A.size:
            A[np.arange(m), rng.integers(0, n1 * n2, m)] = 1
        return A.reshape(m, n1, n2)
    if kind == "zeros":
        return np.zeros_like(A)
    if kind == "sparse rows":
        A *= (rng.random(m) < 0.1)[:, None, None]
    if kind == "equal rows":
        return np.broadcast_to(A[:1], A.shape) if m else A
    if kind == "unequal rows":
        A *= 10.0 ** rng.integers(-100, 100, m)[:, None, None]
    return A


def measured(kind: str, A: Array, M: Array, rng: np.random.Generator) -> Array:
    y: Array = np.einsum("mij,ij->m", A, M)
    if kind == "outliers":
        return np.where(rng.random(len(y)) < 0.1, 100 * rng.standard_normal(len(y)), y)
    if kind == "noise":
        y = y + 0.01 * rng.standard_normal(len(y))
    if kind == "random":
        return rng.standard_normal(len(y))
    if kind == "constant":
        return np.full(len(y), rng.standard_normal())
    if kind == "mostly stuck":
        return np.where(rng.random(len(y)) < 0.7, 1.0, y)
    if kind == "integers":
        return np.round(3 * y)
    return y


def disturbed(values: Array, rng: np.random.Generator) -> Array:
    """A copy with some values that are special."""
    values = np.array(values)
    for _ in range(rng.integers(1, 4) if values.size else 0):
        values.flat[rng.integers(values.size)] = SPECIAL[rng.integers(len(SPECIAL))]
    return values


def converted(values: Array, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        if dtype in (">f8", "float64", "float32", "float16", "longdouble", "object"):
            return values.astype(dtype)
        whole: Array = np.clip(np.nan_to_num(values), -(2.0**62), 2.0**62).astype("int64")
        return whole.astype(dtype)


def case_from(rng: np.random.Generator) -> Case:
    def chance(percent: int) -> bool:
        return bool(rng.integers(100) < percent)

    def pick(choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    def mostly_valid(choices: tuple[Any, Any], percent: int = 8) -> Any:
        return pick(choices[chance(percent)])

    m, n1, n2 = mostly_valid(SIZES, 15), pick([1, 2, 3, 4]), pick([1, 2, 3, 4])
    n1 = 0 if chance(1) else n1
    kind, values = mostly_valid(SENSING, 40), mostly_valid(MEASUREMENTS, 40)
    A = sensing(kind, m, n1, n2, rng)
    rank = min(n1, n2, pick([1, 1, 2]))
    M = rng.standard_normal((n1, rank)) @ rng.standard_normal((rank, n2))
    y = measured(values, A, M, rng)
    dtypes = mostly_valid(DTYPES, 15), mostly_valid(DTYPES, 15)
    exponents = mostly_valid(EXPONENTS, 15), mostly_valid(EXPONENTS, 15)
    easy = kind in SENSING[0] and values in MEASUREMENTS[0] and exponents == (0, 0)
    easy = easy and all(dtype in DTYPES[0] for dtype in dtypes)
    with np.errstate(all="ignore"):
        A, y = A * 10.0 ** exponents[0], y * 10.0 ** exponents[1]
    if chance(10):
        A, easy = disturbed(A, rng), False
    if chance(10):
        y, easy = disturbed(y, rng), False
    A, y = converted(A, dtypes[0]), converted(y, dtypes[1])
    options: dict[str, Any] = {
        "rank": mostly_valid(([max(1, min(pick(RANKS[0]), n1, n2))], RANKS[1])),
        "solver": mostly_valid(SOLVERS),
        "time_limit": mostly_valid(LIMITS),
        "rng": mostly_valid(([0], [None, -1, "a", 2**70]), 4),
    }
    if chance(15):
        A = A.reshape(m, -1) if A.size else A
        options["shape"] = mostly_valid(([(n1, n2)], [(n2, n1), None, (n1,), "2x2", (n1, -n2)]), 30)
    if chance(4):
        A = pick([A[..., None], A[0] if len(A) else A, A.tolist(), np.asfortranarray(A), "A", None])
    if chance(4):
        y = pick([y[:-1], y[:, None], y.tolist(), 3.0, "y", None, np.ma.masked_array(y)])
    if chance(4):
        options["callback"] = pick([lambda progress: progress.iteration > 1, 3])
    if chance(2):
        options["device"] = pick(["cpu", "tpu", 3])
    if chance(8):
        A, y = (as_tensor(part) for part in (A, y))
    easy = easy and isinstance(options["rank"], int) and options["rank"] >= rank
    easy = easy and options.get("shape", (n1, n2)) == (n1, n2)
    return Case(A, y, options, M if easy else None)


def as_tensor(values: Any) -> Any:
    torch = pytest.importorskip("torch")
    try:
        return torch.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return values


def check(case: Case) -> None:
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", rr.UndersampledWarning)
            result = rr.recover(case.A, case.y, **case.options)
            text, matrix = str(result), np.asarray(result.matrix, float)
    except FileNotFoundError:
        assert isinstance(case.A, str)  # the path of no file
        return
    except (ValueError, TypeError) as error:
        message = str(error)
        assert len(message.split()) >= 4, repr(error)  # noqa: PT017
        assert type(error) in (ValueError, TypeError), repr(error)  # noqa: PT017
        return
    assert time.perf_counter() - began < 60
    assert len(text) > 100
    assert np.all(np.isfinite(matrix)), result
    if result.certified and case.truth is not None:
        # A settled result states a noise level of up to a fifth of the measurements.
        largest = 1e-3 if result.status is rr.Status.RECOVERED else 0.5
        assert np.linalg.norm(matrix - case.truth) < largest * np.linalg.norm(case.truth), result


@pytest.mark.timeout(600 if IN_CI else 0)
@settings(
    max_examples=CASES,
    derandomize=IN_CI,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**64 - 1))
def test_any_input_gives_an_answer_or_an_error_in_words(seed: int) -> None:
    check(case_from(np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", [66226, 89916, 400_539_952_092, 2_043_325])
def test_cases_that_once_failed(seed: int) -> None:
    """The matrix overflows in units of rows of equal norm, or most measurements underflow.

    The third case has a row of zeros beside one of 1e200, the last one y of 1e-45 and A of 1e308.
    """
    check(case_from(np.random.default_rng(seed)))
