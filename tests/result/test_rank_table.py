"""The comparison of ranks: whether the choice is clear, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import robustrank as rr
from robustrank.result import RankRow, RankTable


def table(errors: dict[int, float], chosen: int, largest: int = 20) -> RankTable:
    rows = tuple(RankRow(rank, error, 1 / rank) for rank, error in errors.items())
    return RankTable(rows, chosen, largest)


@pytest.mark.parametrize(
    ("errors", "chosen", "largest", "clear", "phrase"),
    [
        ({1: 0.6, 2: 0.01, 3: 0.011}, 2, 20, True, "2, estimated: a lower rank"),
        ({1: 0.01}, 1, 20, True, "1, estimated: a lower rank"),
        ({1: 0.9, 2: 0.5, 3: 1e-9}, 3, 3, False, "3, full: it predicts measurements clearly bet"),
        ({1: 0.9, 5: 0.5, 15: 1e-9}, 15, 15, False, "better than lower ones; tried: 1, 5"),
        ({1: 0.9, 2: 0.5, 3: 0.3}, 3, 3, False, "3, estimated, but there is no clear gap"),
        ({1: 1e-9}, 1, 1, False, "1, full: it predicts measurements clearly better"),
        ({1: 0.6, 2: 0.4, 3: 0.3, 4: 0.29}, 3, 20, False, "no clear gap between the ranks; about"),
        ({1: 0.6, 2: 0.1, 3: 0.05}, 3, 20, False, "no clear gap between the ranks; see"),
        ({1: 0.6, 2: 0.01, 3: 0.002}, 2, 20, False, "no clear gap"),
        ({1: 0.9, 6: 0.36, 12: 0.1}, 12, 20, False, "no clear gap"),
        ({1: 1.02, 2: 0.98}, 1, 20, False, "no low-rank structure was found: ranks up to 2"),
    ],
)
def test_what_a_table_says(
    errors: dict[int, float], chosen: int, largest: int, clear: bool, phrase: str
) -> None:
    ranks = table(errors, chosen, largest)
    assert ranks.is_clear is clear
    assert phrase in ranks.sentence


def test_candidates_predict_about_as_well_as_the_best() -> None:
    ranks = table({1: 0.9, 2: 0.11, 3: 0.1, 4: 0.12, 5: 0.2}, 3)
    assert [row.rank for row in ranks.candidates] == [2, 3, 4]


def test_text_and_html_mark_the_chosen_rank() -> None:
    ranks = table({1: 0.5, 2: 0.01}, 2)
    assert "2 *" in str(ranks)
    assert "0.01" in str(ranks)
    assert "<td>2 *</td>" in ranks._repr_html_()


def test_a_saved_result_keeps_its_table(tmp_path: Path) -> None:
    planted = rr.simulate.plant(20, 15, 2, 400, rng=1)
    result = rr.recover(planted.A, planted.y)
    result.save(tmp_path / "result.npz")
    assert rr.load(tmp_path / "result.npz").rank_table == result.rank_table is not None
