"""Is every part of the result supported by a majority, and could it have been chance?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from robustrank.certificate.parts import name_parts
from robustrank.certificate.support import Informing, Parts, Support
from robustrank.operators import StoredTangent, UnstoredTangent


def parts_of(supporting: Any, rejected: Any, total: int, total_rejected: float) -> Parts:
    supporting, rejected = (np.asarray(counts, float) for counts in (supporting, rejected))
    return Parts(supporting, rejected, total, total_rejected - rejected + supporting)


def numbers(flags: Any) -> list[int]:
    return np.flatnonzero(flags).tolist()


def tangent_of(energies: Any, rows: int) -> StoredTangent:
    """A map of rank one in which measurement i depends on part k with energies[i, k]."""
    stored = np.sqrt(np.asarray(energies, float))[:, None, :]
    columns = stored.shape[2] - rows
    return StoredTangent(stored, np.ones((rows, 1)), np.ones((columns, 1)))


def counted(energies: Any, rows: int, labels: Any, fitted: Any) -> Parts:
    support = Support(np.ones(rows, bool), np.ones(len(energies[0]) - rows, bool), fitted)
    return Informing(tangent_of(energies, rows), labels, fitted).parts(support)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], ""),
        ([3], "row 3"),
        ([0, 1, 2, 4], "rows 0–2, 4"),
        ([5], "column 0"),
        ([5, 6, 9], "columns 0–1, 4"),
        ([2, 3, 12], "rows 2–3 and column 7"),
    ],
)
def test_parts_are_named(parts: list[int], expected: str) -> None:
    assert name_parts(parts, 5) == expected


def test_measurements_that_depend_on_a_part_are_counted() -> None:
    """A matrix of two rows and one column; the size of a measurement does not matter."""
    energies = np.asarray([[1.0, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1e6, 1e6], [1, 1, 2]])
    fitted = np.asarray([True, False, True, True, True])
    parts = counted(energies, 2, np.arange(5), fitted)
    assert parts.supporting.tolist() == [2, 3, 4]
    assert parts.rejected.tolist() == [1, 0, 1]
    assert parts.total == 5
    assert parts.outliers.tolist() == [2, 4, 4]


def test_repetitions_count_as_one() -> None:
    energies = np.ones((6, 3))
    labels = np.asarray([0, 0, 0, 1, 2, 2])
    fitted = np.asarray([True, True, True, True, False, False])
    parts = counted(energies, 2, labels, fitted)
    assert parts.supporting == pytest.approx([2, 2, 2])
    assert parts.rejected == pytest.approx([1, 1, 1])
    assert parts.total == 3


def test_negligible_dependence_is_not_counted() -> None:
    energies = np.asarray([[1.0, 1e-9], [1.0, 1.0], [1.0, 1e-3]])
    parts = counted(energies, 1, np.arange(3), np.ones(3, bool))
    assert parts.supporting.tolist() == [3, 2]


def test_every_measurement_informs_everything_if_the_tangent_map_is_not_stored() -> None:
    U = np.ones((2, 1))
    unstored = UnstoredTangent(None, U, U)  # type: ignore[arg-type]
    fitted, whole = np.asarray([True, True, False]), np.ones(2, bool)
    informing = Informing(unstored, np.arange(3), fitted)
    parts = informing.parts(Support(whole, whole, fitted))
    assert (parts.supporting.tolist(), parts.rejected.tolist()) == ([2] * 4, [1] * 4)
    assert informing.only(np.ones(4, bool)).all()
    assert not informing.only(np.arange(4) > 0).any()


def test_measurements_that_inform_other_parts_do_not_count() -> None:
    energies = np.asarray([[1.0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1e-9, 1]])
    informing = Informing(tangent_of(energies, 2), np.arange(4), np.ones(4, bool))
    assert informing.only(np.asarray([True, False, True])).tolist() == [True, True, False, True]


def test_part_without_a_majority() -> None:
    parts = parts_of([10, 5, 4, 0], [3, 5, 6, 0], 100, 9)
    assert numbers(parts.without_majority()) == [1, 2, 3]


def test_part_with_hardly_more_measurements_than_unknowns() -> None:
    assert numbers(parts_of([3, 4, 3.999999], [0, 0, 0], 100, 9).with_too_few(2)) == [0]


def test_part_with_few_measurements_could_be_determined_by_chance() -> None:
    """10 % of 1,000 measurements are rejected. Three others determine a row of rank 2."""
    few = parts_of([3, 50], [0, 0], 1000, 100)
    assert numbers(few.possibly_by_chance(rank=2)) == [0]


@pytest.mark.parametrize("supporting", range(2, 40))
def test_chance_is_the_tail_of_the_binomial_distribution(supporting: int) -> None:
    rank, rejected, total, total_rejected = 2, 1, 1000, 150
    parts = parts_of([supporting] * 2, [rejected] * 2, total, total_rejected)
    rate = (total_rejected - rejected + supporting) / total
    probability = binom.sf(supporting - rank - 1, supporting + rejected, rate)
    assert (numbers(parts.possibly_by_chance(rank)) == [0, 1]) == bool(probability > 1e-4 / 2)


def test_outliers_cannot_be_a_majority() -> None:
    """If the row were wrong, more than half of all measurements would be outliers."""
    assert numbers(parts_of([6], [0], 20, 4).possibly_by_chance(1)) == []
    assert numbers(parts_of([5], [0], 20, 4).possibly_by_chance(1)) == [0]


def test_where_many_are_rejected_a_second_answer_is_searched_for() -> None:
    many, few = parts_of([14], [9], 100, 40), parts_of([14], [8], 100, 40)
    assert numbers(many.possibly_by_chance(rank=2)) == []
    assert numbers(few.possibly_by_chance(rank=2)) == [0]


@pytest.mark.parametrize(
    ("supporting", "rejected", "contested"),
    [(20, 8, True), (20, 7, False), (4, 2, False), (4, 3, True), (0, 3, True)],
)
def test_contested_where_nearly_half_as_many_are_rejected(
    supporting: int, rejected: int, contested: bool
) -> None:
    assert bool(parts_of([supporting], [rejected], 100, 30).contestable(rank=2)) is contested
