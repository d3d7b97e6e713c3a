"""Results that earlier versions saved are read as they were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr

FOLDER = Path(__file__).parents[1] / "data" / "archives"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
# Read from another machine, the numbers are computed from the same factors, up to rounding.
CLOSE = 1e-9
RENAMED = {"SETTLED": "ESTIMATED", "UNEXPLAINED": "INCONCLUSIVE"}


@pytest.mark.parametrize("name", EXPECTED["recoveries"])
def test_recovery_of_an_earlier_version(name: str) -> None:
    expected: dict[str, Any] = EXPECTED["recoveries"][name]
    close = 1e-5 if name == "float32" else CLOSE
    result = rr.load(FOLDER / f"{name}.npz")
    assert result.status.name == RENAMED.get(expected["status"], expected["status"])
    assert (result.rank, [*result.shape]) == (expected["rank"], expected["shape"])
    assert np.allclose(result.matrix[:2, :3], expected["matrix"], close, close)
    assert np.allclose(result.singular_values(), expected["singular_values"], close)
    assert np.flatnonzero(result.outliers).tolist() == expected["outliers"]
    assert np.isclose(np.linalg.norm(result.residual), expected["residual_norm"], close, close)
    assert result.certificate.exact_fits == expected["exact_fits"]
    assert result.certificate.required == expected["required"]
    assert np.isclose(result.noise, expected["noise"], close)
    assert (result.passes, result.data) == (expected["passes"], expected["data"])


def test_rank_table_of_an_earlier_version() -> None:
    table = rr.load(FOLDER / "rank-table.npz").rank_table
    assert table is not None
    ranks = [table.chosen, *(row.rank for row in table.rows)]
    assert ranks == EXPECTED["recoveries"]["rank-table"]["ranks"]


def test_alternative_of_an_earlier_version() -> None:
    alternative = rr.load(FOLDER / "ambiguous.npz").alternative
    assert alternative is not None
    expected = EXPECTED["recoveries"]["ambiguous"]["alternative"]
    assert np.allclose(alternative.matrix[:2, :3], expected, CLOSE, CLOSE)


@pytest.mark.parametrize("name", EXPECTED["completions"])
def test_completion_that_the_command_of_an_earlier_version_wrote(name: str) -> None:
    expected: dict[str, Any] = EXPECTED["completions"][name]
    with np.load(FOLDER / f"{name}.npz") as arrays:
        shapes = {key: [*arrays[key].shape] for key in arrays}
        assert shapes == expected["arrays"]
        matrix = arrays["left"] @ arrays["right"].T
        assert np.allclose(matrix[:2, :3], expected["matrix"], CLOSE, CLOSE)
        assert np.flatnonzero(arrays["outliers"]).tolist() == expected["outliers"]
        for part in ("undecided_rows", "undecided_columns"):
            assert arrays[part].tolist() == expected[part]


@pytest.mark.filterwarnings("ignore::robustrank.NotCertifiedWarning")
@pytest.mark.parametrize("name", EXPECTED["saved completions"])
def test_completion_of_an_earlier_version(name: str) -> None:
    expected: dict[str, Any] = EXPECTED["saved completions"][name]
    result = rr.load(FOLDER / f"{name}.npz")
    assert result.status.name == RENAMED.get(expected["status"], expected["status"])
    assert result.rank == expected["rank"]
    assert np.allclose(np.asarray(result.matrix)[:2, :3], expected["matrix"], CLOSE, CLOSE)
    assert np.count_nonzero(result.outliers) == expected["outliers"]
    assert result.undecided_rows.tolist() == expected["undecided"]
    assert np.isclose(result.noise, expected["noise"], CLOSE)
    certificate = result.certificate
    assert certificate.sigma == result.noise
    assert certificate.measurements == certificate.independent == expected["measurements"]
    assert certificate.supporting == expected["supporting"]
    if expected["held_out"] is not None:
        error = certificate.held_out_error * certificate.trivial_error
        assert np.isclose(error, expected["held_out"], CLOSE)
    place = (["row 0"], [10]) if result.row_labels is not None else ([0], [0])
    assert np.allclose(result.standard_error(*place), expected["error"], 1e-6)
