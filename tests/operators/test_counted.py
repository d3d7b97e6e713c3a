"""Passes over the sensing data are counted for every family and every view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.linalg import share_maxima
from robustrank.operators import (
    CountedOperator,
    Operator,
    PassCounter,
    PassCounterGroup,
    ScaledOperator,
    StoredTangent,
    TransposedOperator,
    UnstoredTangent,
    as_operator,
)
from robustrank.simulate import Planted

N1, N2 = 8, 6
Array = np.ndarray[Any, Any]
View = Callable[[Operator], Operator]
VIEWS: dict[str, View] = {
    "plain": lambda operator: operator,
    "scaled": lambda operator: ScaledOperator(operator, 0.5),
    "transposed": TransposedOperator,
    "scaled transposed": lambda operator: ScaledOperator(TransposedOperator(operator), 0.5),
}


@dataclass(frozen=True, eq=False)
class ProductsOnly(Operator):
    """A family with the required members only, which records its own passes."""

    A: Array
    calls: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        m, n1, n2 = self.A.shape
        return m, (n1, n2)

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    def measure(self, U: Any, V: Any) -> Any:
        self.calls.append("measure")
        return np.einsum("ijk,jr,kr->i", self.A, U, V, optimize=True)

    def backproject(self, w: Any, U: Any, V: Any) -> tuple[Any, Any]:
        self.calls.append("backproject")
        G = np.tensordot(w, self.A, 1)
        return G @ V, G.T @ U


def factors(operator: Operator) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    U, V = (rng.standard_normal((n, 2)) for n in operator.matrix_shape)
    return U, V


@pytest.mark.parametrize("view", VIEWS)
def test_products_and_svd_of_a_stored_operator_are_one_pass_each(view: str) -> None:
    operator = CountedOperator(VIEWS[view](as_operator(np.ones((20, N1, N2)))))
    U, V = factors(operator)
    operator.measure(U, V)
    assert operator.counter.passes == 1
    operator.backproject(np.ones(20), U, V)
    assert operator.counter.passes == 2
    operator.leading_svd(np.ones(20), 2, np.random.default_rng(0), plus=(U, V))
    assert operator.counter.passes == 3


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("compiled", [True, False])
def test_stored_tangent_counts_the_reads_of_its_computation(
    view: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr("robustrank.backend.loops._numba", lambda: None)
    A = np.ones((-(-(2**20) // (N1 * N2)), N1, N2))  # large enough for compiled kernels
    operator = CountedOperator(VIEWS[view](as_operator(A)))
    U, V = factors(operator)
    tangent = operator.tangent(U, V)
    reads = 1 if compiled else 2
    assert operator.counter.passes == reads
    tangent.adjoint(tangent.apply(np.ones((N1 + N2, 2))))
    assert operator.counter.passes == reads  # the stored map is not the sensing data


@pytest.mark.parametrize("order", ["C", "F"])
def test_tangent_of_a_memory_map_is_one_pass(order: str, tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.ones((20, N1, N2)).astype(float, order=order))  # type: ignore[call-overload]
    operator = CountedOperator(as_operator(np.load(tmp_path / "A.npy", mmap_mode="r")))
    operator.tangent(*factors(operator))
    assert operator.counter.passes == 1


@pytest.mark.parametrize("view", VIEWS)
def test_unstored_tangent_counts_every_product(view: str) -> None:
    family = ProductsOnly(np.random.default_rng(2).standard_normal((20, N1, N2)))
    operator = CountedOperator(VIEWS[view](family))
    tangent = operator.tangent(*factors(operator))
    assert isinstance(tangent, UnstoredTangent)
    assert tangent.probed
    assert operator.counter.passes == 0
    along = tangent.apply(np.ones((N1 + N2, 2)))
    assert operator.counter.passes == 1
    tangent.adjoint(along)
    assert operator.counter.passes == 2
    tangent.normal_map(np.ones(20))(np.ones((N1 + N2, 2)))
    assert operator.counter.passes == 4 == len(family.calls)
    share_maxima(tangent, np.ones(20))
    assert operator.counter.passes == 4 + 2 * (N1 + N2) == len(family.calls)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", [(5, N1, N2), (3, 605, 610)])
def test_svd_and_norms_by_products_count_every_product(
    view: str, shape: tuple[int, int, int]
) -> None:
    family = ProductsOnly(np.random.default_rng(3).standard_normal(shape))
    operator = CountedOperator(VIEWS[view](family))
    operator.leading_svd(np.ones(shape[0]), 1, np.random.default_rng(0))
    assert operator.counter.passes == len(family.calls) >= 1
    if min(shape[1:]) > 600:
        assert operator.counter.passes > 2  # Lanczos iterations
    before = len(family.calls)
    operator.row_norms(probes=5)
    assert operator.counter.passes == len(family.calls) == before + 5


def test_counter_group_adds_each_pass_to_every_member() -> None:
    members = [PassCounter(), PassCounter()]
    members[1].add(2)
    group = PassCounterGroup(members)
    group.add(3)
    group.add(0.5)
    assert group.passes == 3.5
    assert [member.passes for member in members] == [3.5, 5.5]


def test_view_of_a_counted_operator_counts_once() -> None:
    counted = CountedOperator(as_operator(np.ones((20, N1, N2))))
    scaled = ScaledOperator(counted, 2.0)
    scaled.measure(*factors(scaled))
    assert counted.counter.passes == 1
    assert isinstance(counted.tangent(*factors(counted)), StoredTangent)


@pytest.mark.parametrize("view", ["plain", "scaled", "transposed"])
def test_recover_reports_the_passes_of_a_family_without_stored_data(
    view: str, small: Planted
) -> None:
    A = small.A.swapaxes(1, 2) if view == "transposed" else small.A
    family = ProductsOnly(A)
    result = rr.recover(VIEWS[view](family), small.y, 2, solver="median-tgd")
    assert result.status is rr.Status.RECOVERED
    probes = 8  # of the gain, which are not counted
    assert result.passes == len(family.calls) - probes
