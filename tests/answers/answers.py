"""Small problems of many kinds, and what is answered to them, in numbers.

``python tests/answers/answers.py`` writes ``expected.json``. Each problem is also answered with its
data changed in the last digit; numbers that depend on that are not written. With ``--narrow``, what
is written and answered differently here is removed: for other libraries of linear algebra, as with
``OPENBLAS_CORETYPE=Prescott``.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import robustrank as rr
from robustrank.simulate import plant, plant_entries, plant_seeded

FILE = Path(__file__).with_name("expected.json")
DIGITS = 8  # that are written; they are compared up to 1e-6
Array = np.ndarray[Any, Any]
Answer = dict[str, Any]  # numbers and texts, in lists and dictionaries
Change = Callable[[Array], Array]  # of the data, in its last digit
CASES: dict[str, Callable[[Change], Answer]] = {}

# Names of statuses that may change, by what they mean.
_NAMES = {"ESTIMATED": "with noise", "INCONCLUSIVE": "not certified"}


# --- What is compared ------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Numbers and texts, in lists and dictionaries, as in a file of JSON."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)) or np.ndim(value) > 0:
        return [plain(one) for one in value]
    if value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool, int, np.integer)):
        return int(value)
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(number)


def some(values: Sequence[Any]) -> list[Any]:
    """How many there are, and a few of them, from the first to the last."""
    places = sorted({0, 1, len(values) // 3, 2 * len(values) // 3, len(values) - 1})
    return [len(values), *(values[k] for k in places if 0 <= k < len(values))]


def digest(flags: Any) -> tuple[int, int]:
    """How many are True, and where, in one number."""
    places = np.flatnonzero(np.asarray(flags))
    return len(places), int(np.sum(places))


class Steps:
    """A callback that keeps a few numbers of every step."""

    def __init__(self) -> None:
        self._steps: dict[str, list[Any]] = {}

    def __call__(self, progress: Any) -> None:
        check = progress.check
        kept = self._steps.setdefault(progress.stage, [])
        if math.isfinite(check.misfit):
            kept.append((check.iteration, check.misfit, check.change, check.inliers))
        else:
            sizes = (np.linalg.norm(factor) for factor in (progress.left, progress.right))
            kept.append((progress.fraction, math.prod(map(float, sizes))))

    def shown(self) -> dict[str, Any]:
        return {name: some(steps) for name, steps in self._steps.items()}


def answer_of(result: Any, steps: Steps | None = None) -> Answer:
    """The numbers of a recovery or a completion, certified or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.NotCertifiedWarning)
        shown = _of_any(result)
        shown |= _of_completion(result) if result.of_entries else _of_recovery(result)
    shown["steps"] = {} if steps is None else steps.shown()
    answer: Answer = plain(shown)
    return answer


def _of_any(result: Any) -> dict[str, Any]:
    matrix = np.asarray(result.matrix, float)
    certificate = plain(result.certificate)
    for name in ("objections", "unidentified", "contested"):  # in words, or long
        certificate[name] = int(bool(certificate.get(name)))
    rows, columns = np.asarray([0, 1, 2]), np.asarray([1, 0, 2])
    shown: dict[str, Any] = {
        "status": _NAMES.get(result.status.name, result.status.name),
        "rank": result.rank,
        "outliers": digest(result.outliers),
        "matrix": (np.linalg.norm(matrix[np.isfinite(matrix)]), matrix[0, 0], matrix[-1, 1]),
        "singular values": result.singular_values(),
        "certificate": certificate,
    }
    if result.rank_table is not None:
        ranks = [(row.rank, row.error, row.singular_value) for row in result.rank_table.rows]
        shown |= {"ranks": ranks, "rank is clear": result.rank_table.is_clear}
    if result.error_bars is not None:
        probability = np.ravel(result.outlier_probability)
        probability = np.sort(probability[np.isfinite(probability)])
        shown |= {
            "errors": result.standard_error(rows, columns),
            "intervals": result.interval(rows, columns, level=0.9),
            "error of a square": result.standard_error_of(lambda M: np.sum(M[:3, :3] ** 2)),
            "probabilities": (np.nansum(probability), *probability[:: len(probability) // 4]),
        }
    return shown


def _of_recovery(result: Any) -> dict[str, Any]:
    other = result.alternative
    return {
        "solver": (result.solver, result.iterations, result.passes, result.cutoff),
        "residual": np.quantile(np.abs(result.residual), [0.1, 0.5, 0.9]),
        "attempts": [(it.solver, it.rank, it.iterations, it.exact_fits) for it in result.attempts],
        "contested": some(result.certificate.contested),
        "alternative": other and (other.supporting, np.linalg.norm(other.matrix)),
        "remedy": re.findall(r"[\d,.]*\d", str(result.remedy)),
    }


def _of_completion(result: Any) -> dict[str, Any]:
    rows, columns, residuals = (np.asarray(part) for part in result.entries)
    finite = np.abs(residuals[np.isfinite(residuals)])
    return {
        "undecided": (digest(result.undecided_rows), digest(result.undecided_columns)),
        "typical": result.typical_size,
        "entries": (len(rows), int(rows[0]), int(columns[-1])),
        "residuals": np.quantile(finite, [0.1, 0.5, 0.9]),
    }


# --- Problems of recover ---------------------------------------------------------------------


def recovered(name: str, **options: Any) -> None:
    """A planted problem, 12 × 10 of rank 2 with 200 measurements, unless ``options`` differ."""
    given = {"n1": 12, "n2": 10, "rank": 2, "measurements": 200, "outliers": 0.15, "rng": 3}
    used = {key: options.pop(key, value) for key, value in given.items()}
    planted_with = ("outlier_model", "noise", "bounded_noise", "spectrum", "condition_number")
    used |= {key: options.pop(key) for key in (*planted_with, "dtype") if key in options}
    guess = options.pop("guess", used["rank"])
    transform = options.pop("transform", lambda A, y: (A, y))

    def case(change: Change) -> Answer:
        planted = plant(**used)
        A, y = transform(np.asarray(planted.A), np.asarray(planted.y))
        steps = Steps()
        return answer_of(rr.recover(A, change(y), guess, callback=steps, **options), steps)

    assert name not in CASES
    CASES[name] = case


def rows_of_different_sizes(A: Array, y: Array) -> tuple[Array, Array]:
    sizes = 10 ** np.random.default_rng(1).uniform(-1, 1, len(y))
    return A * sizes[:, None, None], y * sizes


def rows_with_a_mean(A: Array, y: Array) -> tuple[Array, Array]:
    """The same outliers, and sensing matrices that have a common part."""
    return A + 2.0, y + 2.0 * plant(12, 10, 2, 200, outliers=0.15, rng=3).matrix.sum()


def without_a_row(A: Array, _: Array) -> tuple[Array, Array]:
    A[:, 4] = 0
    return A, np.einsum("ijk,jk->i", A, plant(12, 10, 2, 200, rng=3).matrix)


def with_repetitions(A: Array, y: Array) -> tuple[Array, Array]:
    return np.concatenate([A, 2 * A[:60]]), np.concatenate([y, 2 * y[:60]])


def with_infinities(A: Array, y: Array) -> tuple[Array, Array]:
    y[5:15] = np.inf
    return A, y


for _k, _model in enumerate(rr.simulate.OUTLIER_MODELS):
    recovered(f"outliers {_model}", outlier_model=_model, rng=_k)
    recovered(f"noise and outliers {_model}", outlier_model=_model, noise=0.02, rng=_k + 20)
for _name in ("gauss-newton", "message-passing", "median-tgd", "vanilla-gd"):
    recovered(_name, solver=_name)
    recovered(f"{_name} with noise", solver=_name, outlier_model="scale", noise=0.03)
for _k, _solver in enumerate(rr.solvers.Portfolio().solvers):
    recovered(f"solver {_k}", solver=_solver, outliers=0.2, outlier_model="scale", rng=5)
    recovered(f"solver {_k} with faults", solver=_solver, outlier_model="offset", noise=0.01, rng=6)
    recovered(f"solver {_k} with few", solver=_solver, measurements=110, rng=7)
recovered("none", outliers=0.0)
recovered("few measurements", measurements=75)
recovered("many outliers", outliers=0.4, measurements=300)
recovered("a weak component", condition_number=30.0)
recovered("a weak component with noise", spectrum=[10.0, 3.0, 0.5], rank=3, noise=0.02)
recovered("bounded noise", bounded_noise=0.05)
recovered("much noise", noise=0.3, outliers=0.05)
recovered("single precision", dtype="float32")
recovered("single precision with noise", dtype="float32", noise=0.02)
recovered("a rank too high", guess=4)
recovered("a rank too high with noise", guess=4, noise=0.02)
recovered("a rank too low", guess=1)
recovered("no rank", guess=None)
recovered("no rank, with noise", guess=None, noise=0.02, outlier_model="scale")
recovered("no rank, weak component", guess=None, spectrum=[9.0, 3.0, 1.0], rank=3, noise=0.01)
recovered("no rank, one", guess=None, rank=1, measurements=120)
recovered("an offset of many", outlier_model="offset:0.1", outliers=0.35, noise=2e-3)
recovered("a gain of many", outlier_model="gain:1.2", outliers=0.35, noise=2e-3)
recovered("a gain of nearly half", outlier_model="gain:1.6", outliers=0.45, noise=1e-3)
recovered("a loss of nearly half", outlier_model="gain:0.7", outliers=0.45, noise=1e-3)
recovered("an offset of nearly half", outlier_model="offset:0.05", outliers=0.45, noise=1e-3)
recovered("a gain", outlier_model="gain:3", outliers=0.3)
recovered("an impostor", outlier_model="impostor", outliers=0.45, rank=1, measurements=220)
recovered("flipped signs", outlier_model="flip", outliers=0.42, measurements=260)
recovered("rows of different sizes", transform=rows_of_different_sizes)
recovered("rows of different sizes with noise", noise=0.02, transform=rows_of_different_sizes)
recovered("rows with a mean", transform=rows_with_a_mean)
recovered("a row that is not measured", transform=without_a_row)
recovered("repetitions", transform=with_repetitions)
recovered("infinite measurements", transform=with_infinities)
recovered("a tall matrix", n1=30, n2=3, rank=1, measurements=150)
recovered("limited Gauss–Newton", solver=rr.solvers.GaussNewton(max_iterations=3))
recovered("limited descent", solver=rr.solvers.MedianTGD(max_iterations=40, step_size=0.4))
recovered(
    "a small portfolio",
    solver=rr.solvers.Portfolio((rr.solvers.GaussNewton(), rr.solvers.MedianTGD())),
)


_VARIANTS: dict[str, Any] = {
    "messages alone": rr.solvers.MessagePassing(),
    "messages that learn faults": rr.solvers.MessagePassing(faults=True, max_iterations=60),
    "messages up to an error": rr.solvers.MessagePassing(
        target_error=0.05, target_error_at_full_rank=None, patience=4
    ),
    "wide weights": rr.solvers.GaussNewton(
        weighting=rr.solvers.Weighting(width=5.0, decay=0.8, power=1.0)
    ),
    "much damping": rr.solvers.GaussNewton(damping=rr.solvers.Damping(initial=30.0, decay=0.8)),
    "early settling": rr.solvers.GaussNewton(
        settling=rr.solvers.Settling(start_after=2, alpha_h=4.0)
    ),
    "a split sample": rr.solvers.MedianTGD(sample_split=True, max_iterations=60),
    "a balance": rr.solvers.MedianTGD(balance=0.1, alpha_y=5.0, alpha_h=4.0, max_iterations=60),
    "descent by the theory": rr.solvers.MedianTGD(
        step_size=1 / 740, max_iterations=30, check_every=3
    ),
    "plain descent": rr.solvers.VanillaGD(balance=0.1, step_size=0.2, max_iterations=45),
    "two stages": rr.solvers.TwoStage(
        rr.solvers.MessagePassing(), rr.solvers.GaussNewton(), max_iterations=12
    ),
}
for _name, _solver in _VARIANTS.items():
    recovered(_name, solver=_solver, outlier_model="scale", noise=0.01, outliers=0.2, rng=66)


def recovers(case: Callable[[Change], Any]) -> None:
    """A problem with sensing data of another kind."""
    CASES[case.__name__.replace("_", " ")] = lambda change: answer_of(case(change))


@recovers
def sparse_rows(change: Change) -> Any:
    rng = np.random.default_rng(11)
    M = rng.standard_normal((10, 2)) @ rng.standard_normal((2, 8))
    A: Any = scipy.sparse.random_array((220, 80), density=0.15, rng=rng, format="csr")
    y = A @ M.ravel()
    y[:30] = rng.standard_normal(30)
    return rr.recover(A, change(y), 2, shape=(10, 8))


@recovers
def bilinear_measurements(change: Change) -> Any:
    rng = np.random.default_rng(12)
    M = rng.standard_normal((10, 2)) @ rng.standard_normal((2, 8))
    a, b = rng.standard_normal((200, 10)), rng.standard_normal((200, 8))
    y = np.einsum("ij,jk,ik->i", a, M, b)
    y[:30] *= 3
    return rr.recover(rr.operators.Bilinear(a, b), change(y), 2)


@recovers
def entries_as_measurements(change: Change) -> Any:
    planted = plant_entries(20, 16, 1, 200, outliers=0.1, rng=13)
    operator = rr.operators.Entries(planted.rows, planted.columns, planted.shape)
    return rr.recover(operator, change(planted.values), 1)


@recovers
def seeded_measurements(change: Change) -> Any:
    planted = plant_seeded(12, 10, 1, 150, outliers=0.1, rng=14)
    return rr.recover(planted.A, change(np.asarray(planted.y)), 1)


@recovers
def seeded_signs(change: Change) -> Any:
    planted = plant_seeded(12, 10, 1, 150, ensemble="sign", outliers=0.1, noise=0.01, rng=15)
    return rr.recover(planted.A, change(np.asarray(planted.y)), 1)


def _symmetric(sign: float, noise: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(16)
    U = rng.standard_normal((10, 2))
    A = rng.standard_normal((150, 10, 10))
    y = np.einsum("ijk,jl,l,kl->i", A, U, [1.0, sign], U) + noise * rng.standard_normal(150)
    y[:20] = 5 * rng.standard_normal(20)
    return A, y


@recovers
def a_symmetric_matrix(change: Change) -> Any:
    A, y = _symmetric(-1.0, 0.0)
    return rr.recover(A, change(y), 2, symmetric=True)


@recovers
def a_symmetric_matrix_without_a_rank(change: Change) -> Any:
    A, y = _symmetric(-1.0, 0.1)
    return rr.recover(A, change(y), symmetric=True)


@recovers
def a_positive_matrix_with_noise(change: Change) -> Any:
    A, y = _symmetric(1.0, 0.1)
    return rr.recover(A, change(y), 2, psd=True)


@recovers
def a_matrix_that_is_not_positive(change: Change) -> Any:
    A, y = _symmetric(-1.0, 0.0)
    return rr.recover(A, change(y), 2, psd=True)


@recovers
def a_second_answer_for_some_columns(change: Change) -> Any:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(14), rng.standard_normal(12)
    w = np.where(np.arange(12) < 6, v, rng.standard_normal(12))
    A = rng.standard_normal((150, 14, 12))
    A[90:, :, 6:] = 0
    y = np.einsum("ijk,j,k->i", A, u, v)
    y[:35] = np.einsum("ijk,j,k->i", A[:35], u, w)
    return rr.recover(A, change(y), 1)


@recovers
def continued_from_a_start(change: Change) -> Any:
    planted = plant(12, 10, 2, 200, outliers=0.15, rng=17)
    start = planted.left + 0.1, planted.right - 0.1
    return rr.recover(planted.A, change(planted.y), 2, start=start)


@recovers
def too_few_measurements(change: Change) -> Any:
    planted = plant(12, 10, 2, 30, rng=18)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.UndersampledWarning)
        return rr.recover(planted.A, change(planted.y), 2)


@recovers
def one_of_many(change: Change) -> Any:
    several = [plant(12, 10, 2, 200, outliers=0.15, rng=seed) for seed in (18, 19)]
    return [*rr.recover_many([(it.A, change(it.y)) for it in several], 2)][-1]


@recovers
def many_measurements(change: Change) -> Any:
    """So many that loops are compiled, and tangent maps are stored in single precision."""
    pytest.importorskip("numba")
    planted = plant(34, 30, 2, 1100, outliers=0.1, rng=26)
    return rr.recover(planted.A, change(planted.y), 2)


@recovers
def measurements_in_a_file(change: Change) -> Any:
    planted = plant(20, 15, 2, 400, outliers=0.1, noise=0.02, rng=27)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows keeps open files
        path = Path(folder) / "A.npy"
        np.save(path, planted.A)
        result = rr.recover(str(path), change(planted.y), 2, memory_limit="4GB")
        return replace(result, data="", accuracy=None)  # they refer to the file


def _drawn(seed: int) -> dict[str, Any]:
    """A problem with random properties."""
    rng = np.random.default_rng(seed)
    n1, n2, rank = (int(n) for n in rng.integers([7, 6, 1], [16, 13, 4]))
    freedom = rank * (n1 + n2 - rank)
    return {
        "n1": n1,
        "n2": n2,
        "rank": rank,
        "rng": seed,
        "measurements": int(freedom * rng.uniform(1.6, 5)),
        "outliers": float(rng.choice([0.0, 0.05, 0.15, 0.3, 0.42])),
        "outlier_model": str(rng.choice([*rr.simulate.OUTLIER_MODELS])),
        "noise": float(rng.choice([0.0, 0.0, 0.005, 0.02, 0.1])),
        "condition_number": float(rng.choice([1.0, 3.0, 20.0])),
        "guess": [rank, rank, rank + 1, None, None][int(rng.integers(5))],
    }


_SLOW = {37, 41, 44, 45, 50, 53, 55, 58, 59, 63}  # without a certificate, and others are similar
for _seed in sorted({*range(30, 66)} - _SLOW):
    recovered(f"drawn, {_seed}", **_drawn(_seed))


# --- Problems of complete --------------------------------------------------------------------


def completes(name: str, transform: Callable[[Array], Any] = lambda X: X, **options: Any) -> None:
    """A planted problem, 30 × 24 of rank 2 with 500 entries, unless ``options`` differ."""
    given = {"n1": 30, "n2": 24, "rank": 2, "entries": 500, "outliers": 0.1, "rng": 3}
    used = {key: options.pop(key, value) for key, value in given.items()}
    others = ("outlier_model", "noise", "sampling", "condition_number", "scales", "mean")
    used |= {key: options.pop(key) for key in others if key in options}
    call = options.pop("call", rr.complete)
    guess = options.pop("guess", None)

    def case(change: Change) -> Answer:
        X = transform(plant_entries(**used).incomplete)
        steps = Steps()
        return answer_of(call(change(X), guess, callback=steps, **options), steps)

    assert name not in CASES
    CASES[name] = case


def integers(X: Array) -> Array:
    rng = np.random.default_rng(5)
    whole = rng.integers(-2, 3, (len(X), 2)) @ rng.integers(-2, 3, (2, X.shape[1]))
    return np.where(np.isnan(X) | (rng.random(X.shape) < 0.1), X, whole)


def blocks(X: Array) -> Array:
    rows, columns = np.arange(len(X))[:, None] / len(X), np.arange(X.shape[1]) / X.shape[1]
    seen = ((rows < 0.5) & (columns < 0.6)) | ((rows >= 0.5) & (columns >= 0.4))
    return np.where(seen, X, np.nan)


def columns_of_different_sizes(X: Array) -> Array:
    X = X * 10.0 ** np.linspace(-2, 3, X.shape[1])
    X[:, 3] = 7.0
    return X


def mostly_zero(X: Array) -> Array:
    return np.where(np.isnan(X), X, np.where(np.arange(X.shape[1]) < 4, X, 0.0))


def gaps(X: Array) -> Array:
    X[:, 5], X[7] = np.nan, np.nan
    X[2, 3:] = np.nan
    X[0, :3] = np.inf
    return X


for _k, _model in enumerate(("huge", "scale", "flip", "max", "offset")):
    completes(f"entries {_model}", outlier_model=_model, rng=_k)
    completes(f"noisy entries {_model}", outlier_model=_model, noise=0.05, rng=_k + 10)
completes("entries with a rank", guess=2)
completes("noisy entries with a rank", guess=2, noise=0.05, outlier_model="scale")
completes("entries with a rank too high", guess=4, noise=0.02)
completes("entries with a rank too low", guess=1)
completes("few entries", entries=230)
completes("entries of rank one", rank=1, entries=200, noise=0.1)
completes("entries of rank four", rank=4, entries=620, outliers=0.03, rng=8)
completes("a weak component of entries", condition_number=20.0, noise=0.01)
completes("entries by a power law", sampling="power-law", entries=350)
completes("noisy entries by a power law", sampling="power-law", entries=350, noise=0.05)
completes("integers", integers)
completes("two blocks", blocks, entries=720, n1=40, outliers=0.05)
completes("columns of different sizes", columns_of_different_sizes)
completes("mostly zero", mostly_zero)
completes("rows and columns without entries", gaps)
completes("half of the entries wrong", outliers=0.5, outlier_model="scale")
completes("entries in single precision", lambda X: X.astype(np.float32))
completes("a split", call=rr.robust_pca, entries=720)
completes("a noisy split", call=rr.robust_pca, entries=720, noise=0.05, outlier_model="max")
completes("a split with a rank", call=rr.robust_pca, entries=720, guess=3, outliers=0.25)


def shifted(X: Array) -> Array:
    """Entries with a large mean, of which the components are a small part."""
    return X + 100.0


def wide(X: Array) -> Array:
    """So many entries that the search uses a part of them."""
    X[:, ::40] = np.nan
    return X


def integers_in_blocks(X: Array) -> Array:
    return blocks(integers(X))


def repeated_columns(X: Array) -> Array:
    X[:, 1::2] = X[:, ::2]
    return X


completes("a large mean", shifted, noise=0.05, outlier_model="scale")
completes("a large mean, exactly", shifted)
completes("a wide matrix", wide, n1=12, n2=400, rank=1, entries=4800, guess=1)
completes("a wide matrix with noise", wide, n1=12, n2=400, rank=1, entries=4800, guess=1, noise=0.1)
completes("integers in blocks", integers_in_blocks, n1=60, entries=1440)
completes("repeated columns", repeated_columns, entries=720, noise=0.02)
completes("much noise in entries", noise=0.5, entries=700, outliers=0.02)
completes("small entries", lambda X: 1e-20 * X, noise=0.05)
completes("nearly all entries wrong", outliers=0.75, outlier_model="huge", entries=720)
for _seed in range(4):
    completes(
        f"few noisy entries, {_seed}", entries=300, noise=0.1, outlier_model="scale", rng=_seed
    )
    completes(f"few exact entries, {_seed}", entries=240, outliers=0.08, rng=_seed + 4)


def _drawn_entries(seed: int) -> dict[str, Any]:
    """A problem with random properties."""
    rng = np.random.default_rng(seed)
    n1, n2, rank = (int(n) for n in rng.integers([12, 10, 1], [40, 30, 4]))
    return {
        "n1": n1,
        "n2": n2,
        "rank": rank,
        "rng": seed,
        "entries": min(n1 * n2, int(rank * (n1 + n2) * rng.uniform(1.5, 5))),
        "outliers": float(rng.choice([0.0, 0.03, 0.1, 0.25])),
        "outlier_model": str(rng.choice(["huge", "scale", "flip", "max", "offset"])),
        "noise": float(rng.choice([0.0, 0.0, 0.01, 0.1, 0.3])),
        "condition_number": float(rng.choice([1.0, 3.0, 20.0])),
        "scales": float(rng.choice([0.0, 0.0, 1.0])),
        "mean": float(rng.choice([0.0, 0.0, 10.0])),
        "guess": [None, None, rank, rank + 2][int(rng.integers(4))],
    }


for _seed in range(70, 96):
    completes(f"drawn entries, {_seed}", **_drawn_entries(_seed))
completes("a rank above ten", n1=50, n2=50, rank=12, entries=2500, outliers=0.01)


# --- Runs that are stopped -------------------------------------------------------------------


class _Stop(Steps):
    """A callback that stops a run after some steps."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def __call__(self, progress: Any) -> bool:  # type: ignore[override]
        super().__call__(progress)
        self._after -= 1
        return self._after <= 0


def stopped(name: str, after: int, rank: int | None) -> None:
    def recover(change: Change) -> Answer:
        planted = plant(12, 10, 3, 200, outliers=0.2, outlier_model="scale", noise=0.02, rng=28)
        steps = _Stop(after)
        return answer_of(rr.recover(planted.A, change(planted.y), rank, callback=steps), steps)

    def complete(change: Change) -> Answer:
        planted = plant_entries(30, 24, 2, 500, outliers=0.1, noise=0.05, rng=29)
        steps = _Stop(after)
        return answer_of(rr.complete(change(planted.incomplete), rank, callback=steps), steps)

    CASES.update({f"recover, {name}": recover, f"complete, {name}": complete})


for _after in (1, 2, 4, 9, 30):
    stopped(f"stopped after {_after}", _after, 3)
    stopped(f"stopped after {_after}, no rank", _after, None)


# --- Planning and estimators -----------------------------------------------------------------


def answers(case: Callable[[Change], dict[str, Any]]) -> None:
    """A case with numbers of its own."""
    CASES[case.__name__.replace("_", " ")] = lambda change: plain(case(change))


@answers
def plans(_: Change) -> dict[str, Any]:
    shown = {}
    for outliers, noise, model in ((0.0, 0.0, "huge"), (0.1, 0.03, "scale"), (0.3, 0.01, "huge")):
        for shape, rank in (((40, 30), 2), ((100, 20), 5), ((12, 10), 1)):
            for family in ("gaussian", "entries"):
                given: Any = {"family": family, "outlier_model": model}
                plan = rr.plan(shape, rank, outliers, noise, **given)
                numbers = plan.as_dict() | {"seconds": None}
                tried = [plan.success_probability(m) for m in (150, 400, 900)]
                shown[f"{shape} {rank} {outliers} {noise} {model} {family}"] = [
                    [value for value in numbers.values() if isinstance(value, (int, float))],
                    [plan.success_probability(700, "median-TGD"), *tried],
                    re.findall(r"[\d.]+", " ".join(plan.notes)),
                ]
    return shown


@answers
def new_rows_of_a_completion(change: Change) -> dict[str, Any]:
    shown = {}
    for noise in (0.0, 0.05):
        planted = plant_entries(30, 24, 2, 500, outliers=0.1, noise=noise, rng=20)
        rows = planted.matrix[:6] + noise * np.random.default_rng(21).standard_normal((6, 24))
        rows[0, :5], rows[1, 2:9], rows[2, 3:], rows[3, :] = 50.0, np.nan, np.nan, np.nan
        rows[4, :13] *= -1
        fitted = rr.complete(planted.incomplete).fit_rows(change(rows))
        matrix = np.asarray(fitted.matrix)
        shown[str(noise)] = [digest(fitted.outliers), fitted.undecided, matrix[:, :3]]
    return shown


@answers
def a_regression(change: Change) -> dict[str, Any]:
    estimators = pytest.importorskip("robustrank.estimators")
    planted = plant(8, 6, 1, 160, outliers=0.1, noise=0.05, rng=22)
    X, y = planted.A.reshape(160, -1), planted.y + 3.0
    estimator = estimators.LowRankRegressor(1, shape=(8, 6)).fit(X, change(y))
    return {
        "intercept": estimator.intercept_,
        "coefficients": np.ravel(estimator.coef_)[:6],
        "score": estimator.score(X, y),
        "predictions": estimator.predict(X)[:4],
    }


@answers
def an_imputation_and_components(change: Change) -> dict[str, Any]:
    estimators = pytest.importorskip("robustrank.estimators")
    planted = plant_entries(30, 12, 2, 300, outliers=0.05, noise=0.05, rng=23)
    X = planted.incomplete + np.arange(12)
    filled = estimators.RobustImputer(replace_outliers=True).fit_transform(change(X))
    full = plant_entries(30, 12, 2, 360, outliers=0.05, noise=0.05, rng=24).incomplete
    pca = estimators.RobustPCA(2).fit(change(full + np.arange(12)))
    return {
        "filled": filled[::7, ::5],
        "components": np.abs(pca.components_),
        "variance": pca.explained_variance_,
        "mean": pca.mean_,
        "noise": pca.noise_variance_,
        "transformed": np.abs(pca.transform(full + np.arange(12)))[:3],
    }


@answers
def new_rows_of_estimators(change: Change) -> dict[str, Any]:
    """Rows that their entries determine, or not, and entries that are wrong or not plausible."""
    estimators = pytest.importorskip("robustrank.estimators")
    shown = {}
    for noise in (0.0, 0.05):
        planted = plant_entries(40, 12, 2, 480, outliers=0.05, noise=noise, rng=34)
        new = planted.matrix[:7] + np.arange(12)
        new[0, :3], new[1, 3:], new[2, 1:], new[3, :7] = 90.0, np.nan, np.nan, -50.0
        new[4, ::2], new[5, 4] = np.nan, 1e6
        X = planted.incomplete + np.arange(12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", estimators.UncertifiedFitWarning)
            imputer = estimators.RobustImputer(replace_outliers=True).fit(change(X))
            filled = imputer.transform(new)
            projected = estimators.RobustPCA(2).fit(change(X)).transform(new[[0, 3, 5, 6]])
        shown[str(noise)] = [filled, np.abs(projected)]
    return shown


@answers
def regressions_of_other_kinds(change: Change) -> dict[str, Any]:
    estimators = pytest.importorskip("robustrank.estimators")
    planted = plant(6, 6, 1, 140, outliers=0.1, rng=35)
    X, M = planted.A, planted.left @ planted.left.T
    y = np.einsum("ijk,jk->i", X, M) + 0.02 * np.random.default_rng(36).standard_normal(140)
    y[:12] = 40.0
    kinds = {
        "symmetric": estimators.LowRankRegressor(1, symmetric=True),
        "through zero": estimators.LowRankRegressor(2, fit_intercept=False),
        "no rank": estimators.LowRankRegressor(),
    }
    shown = {}
    for name, estimator in kinds.items():
        estimator.fit(X, change(y))
        numbers = [estimator.intercept_, estimator.rank_, *np.ravel(estimator.coef_)[:5]]
        shown[name] = [numbers, digest(estimator.inlier_mask_), estimator.score(X, y)]
    predicted = y + 0.3 * np.sin(np.arange(140))
    shown["score"] = [estimators.robust_r2_score(y, predicted)]
    return shown


def numbers_in(text: str) -> list[str]:
    """The numbers that are printed, without times; the words may change."""
    text = re.sub(r"[\d.,]+ (s|ms|min|seconds?)\b", "", text)
    return re.findall(r"\d[\d.,]*(?:e[-+]?\d+)?", text)


@answers
def printed_results(change: Change) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    problems: dict[str, dict[str, Any]] = {
        "noise": {"noise": 0.02},
        "much noise": {"noise": 0.3},
        "few": {"measurements": 70, "noise": 0.02, "outliers": 0.3},
        "low rank": {"rank": 3, "noise": 0.02},
        "impostor": {"outlier_model": "impostor", "outliers": 0.45, "noise": 0.01, "rank": 1},
    }
    for name, options in problems.items():
        given: Any = {"rank": 2, "measurements": 200, "outliers": 0.15} | options
        planted = plant(12, 10, rng=40, **given)
        for guess in (2, None) if name in ("noise", "low rank") else (2,):
            text = str(rr.recover(planted.A, change(planted.y), guess))
            shown[f"{name} {guess}"] = numbers_in(text)
    problems = {
        "noise": {"noise": 0.05},
        "much noise": {"noise": 0.4},
        "few": {"entries": 220, "noise": 0.05, "sampling": "power-law"},
        "low rank": {"rank": 3, "noise": 0.02},
    }
    for name, options in problems.items():
        given = {"rank": 2, "entries": 500, "outliers": 0.1} | options
        entries = plant_entries(30, 24, rng=41, **given)
        for guess in (2, None):
            text = str(rr.complete(change(entries.incomplete), guess))
            shown[f"entries, {name} {guess}"] = numbers_in(text)
    return shown


@answers
def printed_by_the_command(change: Change) -> dict[str, Any]:
    """What is printed and written for a table with groups, for entries, and for a plan."""
    testing = pytest.importorskip("click.testing")
    from robustrank.cli.app import app

    planted = plant(4, 3, 1, 120, outliers=0.1, noise=0.02, rng=42)
    y, sensor = change(planted.y), np.arange(120) % 8
    y[sensor == 2] += 3.0
    y[sensor == 5] *= -2.0
    y[sensor == 7] = 1.25
    lines = ["reading,sensor,time," + ",".join(f"a{k}" for k in range(12))]
    for value, number, row in zip(y.tolist(), sensor, planted.A.reshape(120, -1), strict=True):
        lines.append(f"{value!r},S{number},7," + ",".join(map(repr, row.tolist())))
    entries = plant_entries(20, 15, 1, 200, outliers=0.1, noise=0.05, rng=43)
    listed = zip(*(part.tolist() for part in entries.triples), strict=True)
    table = ["user,item,rating", *(f"u{i},v{j},{value!r}" for i, j, value in listed)]
    of_log = ["log.csv", "--column", "reading", "--group", "sensor", "--ignore", "time"]
    of_table = ["table.csv", "--rows", "user", "--columns", "item", "--values", "rating"]
    commands = {
        "recover": ["recover", *of_log, "--shape", "4x3", "--rank", "1", "--out", "M.csv"],
        "complete": ["complete", *of_table, "--out", "X.csv"],
        "plan": ["plan", "40x30", "--rank", "2", "--outliers", "0.2", "--noise", "0.01"],
        "simulate": [
            "simulate",
            "p.npz",
            "--shape",
            "9x7",
            "--rank",
            "2",
            "-m",
            "60",
            "--seed",
            "5",
        ],
    }
    shown: dict[str, Any] = {}
    runner = testing.CliRunner()
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("log.csv").write_text("\n".join(lines))
        Path("table.csv").write_text("\n".join(table))
        for name, arguments in commands.items():
            done = runner.invoke(app, arguments, standalone_mode=False)
            assert done.exception is None, done
            shown[name] = [numbers_in(done.stdout), str(done.return_value)]
        for file in ("M.csv", "M.outliers.csv", "X.csv", "X.outliers.csv"):
            rows = Path(file).read_text().splitlines()
            cells = [cell for row in rows[:4] for cell in row.split(",")[:4]]
            shown[file] = [len(rows), [float(cell) if "." in cell else cell for cell in cells]]
    return shown


@answers
def planted_problems(_: Change) -> dict[str, Any]:
    """The data of planted problems; a seed is to give the same problem in every version."""
    shown: dict[str, Any] = {}
    options: dict[str, Any]
    noises: list[Any] = [{"noise": 0.1}, {"bounded_noise": 0.1, "condition_number": 5.0}]
    for model in rr.simulate.OUTLIER_MODELS:
        for options in noises:
            planted = plant(5, 4, 2, 24, outliers=0.3, outlier_model=model, rng=30, **options)
            sizes = np.linalg.norm(planted.A), np.linalg.norm(planted.matrix)
            shown[f"{model} {[*options]}"] = [planted.y, digest(planted.outliers), *sizes]
    ensembles: list[Any] = ["gaussian", "sign"]
    for ensemble in ensembles:
        options = {"outlier_model": "impostor", "noise": 0.1, "spectrum": [3.0, 1.0]}
        seeded = plant_seeded(5, 4, 2, 24, ensemble=ensemble, outliers=0.3, rng=31, **options)
        shown[ensemble] = [seeded.y, digest(seeded.outliers), seeded.matrix[0]]
    for model in rr.simulate.ENTRY_OUTLIER_MODELS:
        for sampling in ("uniform", "power-law"):
            options = {"noise": 0.1, "scales": 0.5, "mean": 2.0, "sampling": sampling}
            entries = plant_entries(
                8, 7, 2, 30, outliers=0.3, outlier_model=model, rng=32, **options
            )
            shown[f"entries {model} {sampling}"] = [*entries.triples, digest(entries.outliers)]
    conditioned = plant_entries(8, 7, 2, 30, condition_number=9.0, rng=33)
    shown["condition number"] = np.linalg.svd(conditioned.matrix)[1]
    return shown


@answers
def scores(change: Change) -> dict[str, Any]:
    planted = plant(12, 10, 2, 200, outliers=0.15, noise=0.02, rng=25)
    result = rr.recover(planted.A, change(planted.y), 2)
    scored = rr.metrics.evaluate(result, planted)
    truth = planted.left, planted.right
    other = planted.left[:, :1], planted.right[:, :1]
    outliers = scored.outliers
    return {
        "error": scored.error,
        "outliers": (outliers.precision, outliers.recall),
        "distances": [
            rr.metrics.factor_distance(other, truth),
            rr.metrics.normalized_error(other, truth),
        ],
    }


# --- Writing ---------------------------------------------------------------------------------


def unchanged(values: Array) -> Array:
    return values


def changed_by(seed: int) -> Change:
    rng = np.random.default_rng(seed)

    def change(values: Array) -> Array:
        signs = rng.choice([-1.0, 0.0, 1.0], values.shape)
        with np.errstate(invalid="ignore"):
            changed: Array = values * (1 + signs * np.finfo(values.dtype).eps)
        return changed.astype(values.dtype)

    return change


def differences(expected: Any, found: Any, by: float, at: str = "") -> Iterator[str]:
    """Where numbers differ by more than ``by``, relatively, or texts at all; None is anything."""
    if expected is None:
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected:
            yield from differences(expected[key], found.get(key), by, f"{at} {key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for k, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, by, f"{at} {k}")
    elif isinstance(expected, float) and isinstance(found, float):
        if abs(expected - found) > by * max(abs(expected), abs(found)):
            yield f"{at.strip()}: {found} instead of {expected}"
    elif type(expected) is not type(found) or expected != found:
        yield f"{at.strip()}: {found} instead of {expected}"


def common(one: Any, other: Any) -> Any:
    """What two answers have in common; the rest is None."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: common(one[key], other.get(key)) for key in one}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [common(*pair) for pair in zip(one, other, strict=True)]
    return None if any(differences(one, other, by=1e-8)) else one


def stable(case: Callable[[Change], Answer], times: int = 6) -> Any:
    """What a case answers, as far as it does not depend on the last digits of the data."""
    answer = case(unchanged)
    for seed in range(times):
        answer = common(answer, case(changed_by(seed)))
    return answer


def lines_of(answers: dict[str, Any]) -> str:
    """JSON with one line for each case, so that differences are easy to find."""
    lines = (
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(answer, ensure_ascii=False)}"
        for name, answer in answers.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(names: list[str], *, narrow: bool) -> None:
    """Write the answers of cases, all if none is named; or narrow those that are written."""
    known = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for name in names or CASES:
        case = CASES[name]
        known[name] = common(known[name], case(unchanged)) if narrow else stable(case)
    FILE.write_text(lines_of({name: known[name] for name in CASES if name in known}), "utf-8")


if __name__ == "__main__":
    import sys

    write([name for name in sys.argv[1:] if name != "--narrow"], narrow="--narrow" in sys.argv)
