"""Writes the saved results in this folder, and the numbers that they must give: see README.md."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import robustrank as rr

HERE = Path(__file__).parent


def recoveries(folder: Path) -> Iterator[tuple[str, rr.Result]]:
    """A small result of each kind, by name."""
    exact = rr.simulate.plant(8, 6, 1, 60, outliers=0.1, rng=1)
    yield "exact", rr.recover(exact.A, exact.y, 1, rng=0)
    two = rr.simulate.plant(9, 7, 2, 120, outliers=0.05, bounded_noise=0.05, rng=8)
    yield "rank-table", rr.recover(two.A, two.y, rng=0)
    noisy = rr.simulate.plant(8, 6, 1, 80, outliers=0.1, bounded_noise=0.05, rng=2)
    yield "noisy", rr.recover(noisy.A, noisy.y, 1, rng=0)
    yield "ambiguous", _ambiguous()
    yield "symmetric", _symmetric([1, -1], symmetric=True)
    yield "psd", _symmetric([1, 1], psd=True)
    np.save(folder / "A.npy", exact.A)
    yield "from-file", rr.recover(folder / "A.npy", exact.y, 1, rng=0, memory_limit="1MB")
    single = rr.simulate.plant(8, 6, 1, 60, dtype=np.float32, rng=3)
    yield "float32", rr.recover(single.A, single.y, 1, rng=0)


def _ambiguous() -> rr.Result:
    """Nearly half of the measurements are those of another matrix."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((120, 8, 6))
    one, other = (np.outer(rng.standard_normal(8), rng.standard_normal(6)) for _ in range(2))
    y = np.einsum("mij,ij->m", A, one)
    y[:55] = np.einsum("mij,ij->m", A[:55], other)
    return rr.recover(A, y, 1, rng=0)


def _symmetric(signs: list[int], **options: Any) -> rr.Result:
    rng = np.random.default_rng(5)
    A, U = rng.standard_normal((60, 7, 7)), rng.standard_normal((7, 2))
    y = np.einsum("mij,ij->m", A, U * signs @ U.T)
    y[:5] = 50
    return rr.recover(A, y, 2, rng=0, **options)


def numbers(result: rr.Result) -> dict[str, Any]:
    """What the loaded result is compared with."""
    table = result.rank_table
    return {
        "status": result.status.name,
        "rank": result.rank,
        "shape": list(result.shape),
        "matrix": result.matrix[:2, :3].tolist(),
        "singular_values": result.singular_values().tolist(),
        "outliers": np.flatnonzero(result.outliers).tolist(),
        "residual_norm": float(np.linalg.norm(result.residual)),
        "exact_fits": result.certificate.exact_fits,
        "required": result.certificate.required,
        "noise": result.noise,
        "passes": result.passes,
        "data": result.data,
        "ranks": None if table is None else [table.chosen, *(row.rank for row in table.rows)],
        "alternative": None
        if result.alternative is None
        else np.asarray(result.alternative.matrix)[:2, :3].tolist(),
    }


def completions(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The names of completions, and the arguments of the command that writes each of them."""
    incomplete = rr.simulate.plant_entries(24, 16, 1, 300, outliers=0.1, rng=6).incomplete
    incomplete[3, 1:] = np.nan  # a row that is not determined
    np.savetxt(folder / "matrix.csv", incomplete, delimiter=",")
    yield "completion-of-matrix", ["matrix.csv", "--rank", "1"]
    noisy = rr.simulate.plant_entries(20, 15, 1, 220, outliers=0.05, noise=0.05, rng=7)
    columns = [part.tolist() for part in noisy.triples]
    lines = [f"u{i},c{j},{v!r}" for i, j, v in zip(*columns, strict=True)]
    (folder / "table.csv").write_text("\n".join(["row,column,value", *lines]) + "\n")
    names = ["--rows", "row", "--columns", "column", "--values", "value"]
    yield "completion-of-table", ["table.csv", *names]


def completion_numbers(path: Path, status: int) -> dict[str, Any]:
    """What the arrays in the file of a completion are compared with."""
    with np.load(path) as arrays:
        matrix = arrays["left"] @ arrays["right"].T
        return {
            "exit_status": status,  # 0: certified
            "arrays": {name: list(arrays[name].shape) for name in sorted(arrays)},
            "matrix": matrix[:2, :3].tolist(),
            "outliers": np.flatnonzero(arrays["outliers"]).tolist(),
            "undecided_rows": arrays["undecided_rows"].tolist(),
            "undecided_columns": arrays["undecided_columns"].tolist(),
        }


def main() -> None:
    """Write all files."""
    results, completed = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, result in recoveries(Path(folder)):
            result.save(HERE / f"{name}.npz")
            results[name] = numbers(result)
        for name, arguments in completions(Path(folder)):
            out = HERE / f"{name}.npz"
            command = [
                sys.executable,
                "-m",
                "robustrank",
                "complete",
                *arguments,
                "--out",
                str(out),
            ]
            status = subprocess.run([*command, "--quiet"], cwd=folder).returncode
            completed[name] = completion_numbers(out, status)
    expected = {"robustrank": rr.__version__, "recoveries": results, "completions": completed}
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
