"""``robustrank recover``: every form of input, every form of output, exit status."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import run, simulate_problem

import robustrank as rr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated problem in every form that ``recover`` reads."""
    path = tmp_path_factory.mktemp("recover")
    simulate_problem(path)
    with np.load(path / "p.npz") as archive:
        np.save(path / "A.npy", archive["A"])
        np.save(path / "y.npy", archive["y"])
        np.savetxt(path / "y.csv", archive["y"])
        (path / "Excel.CSV").write_text("\ufeff" + "\n".join(map(str, archive["y"].tolist())))
        np.savetxt(path / "row.csv", archive["y"][None, :], delimiter=",")
        np.save(path / "flat.npy", archive["A"].reshape(400, 300))
    return path


def truth(folder: Path) -> np.ndarray:
    with np.load(folder / "p.npz") as archive:
        return archive["truth_left"] @ archive["truth_right"].T  # type: ignore[no-any-return]


FORMS = {
    "archive": ["p.npz"],
    "two arrays": ["--sensing", "A.npy", "--measurements", "y.npy"],
    "csv column": ["--sensing", "A.npy", "--measurements", "y.csv"],
    "csv from Excel": ["--sensing", "A.npy", "--measurements", "Excel.CSV"],
    "csv row": ["--sensing", "A.npy", "--measurements", "row.csv"],
    "flat": ["--sensing", "flat.npy", "--measurements", "y.npy", "--shape", "20x15"],
    "archive with other sensing data": ["p.npz", "--sensing", "A.npy"],
}


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_of_input(form: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.npz"
    done = run("recover", *FORMS[form], "--rank", 2, "--out", out, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert np.allclose(rr.load(out).matrix, truth(folder), rtol=1e-6)
    assert "recovered" in done.stdout
    assert str(out) in done.stdout
    assert done.stderr == ""


def test_the_error_is_printed_if_the_truth_is_known(folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, cwd=folder)
    assert "20 found, 0 missed, 0 false positives" in done.stdout


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_output_of_the_matrix_alone(suffix: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / f"matrix.{suffix}"
    assert run("recover", "p.npz", "--rank", 2, "-q", "-o", out, cwd=folder).returncode == 0
    matrix = np.load(out) if suffix == "npy" else np.loadtxt(out, delimiter=",")
    assert np.allclose(matrix, truth(folder), rtol=1e-6)


def test_quiet_prints_nothing(folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_report_is_written(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run("recover", "p.npz", "--rank", 2, "--report", page, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")


def test_noise_is_described_in_the_summary(folder: Path, tmp_path: Path) -> None:
    with np.load(folder / "p.npz") as archive:
        noise = 0.1 * np.random.default_rng(0).standard_normal(400)
        np.savez(tmp_path / "noisy.npz", A=archive["A"], y=archive["y"] + noise)
    done = run("recover", "noisy.npz", "--rank", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "estimated" in done.stdout
    found = re.search(r"380 of 400 measurements fit within the noise, σ ≈ (\S+)", done.stdout)
    assert found, done.stdout
    assert float(found[1]) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(
    ("options", "eigenvalues", "certified"),
    [
        (["--symmetric"], [2.0, -1.0], True),
        (["--psd"], [2.0, 1.0], True),
        (["--psd"], [2.0, -1.0], False),
        ([], [2.0, -1.0], False),
    ],
)
def test_known_symmetry(
    options: list[str], eigenvalues: list[float], certified: bool, tmp_path: Path
) -> None:
    """The sensing matrices are symmetric, so that nothing else determines the matrix."""
    rng = np.random.default_rng(1)
    a, L = rng.standard_normal((120, 8)), rng.standard_normal((8, 2))
    A = a[:, :, None] * a[:, None, :]
    y = np.einsum("ijk,jk->i", A, L * eigenvalues @ L.T)
    np.savez(tmp_path / "p.npz", A=A, y=y)
    done = run("recover", "p.npz", "--rank", 2, *options, "--out", "result.npz", cwd=tmp_path)
    assert done.returncode == (0 if certified else 1), done.stderr
    expected = {True: "recovered", False: "inconclusive" if options else "not identified"}
    assert f"status           {expected[certified]}:" in done.stdout
    matrix = rr.load(tmp_path / "result.npz").matrix
    if certified:
        assert np.allclose(matrix, L * eigenvalues @ L.T)


@pytest.mark.parametrize(
    "limit",
    [["--solver", "gauss-newton", "--max-iterations", 1], ["--time-limit", 0.000001]],
)
def test_exit_status_1_without_convergence(limit: list[object], folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, *limit, cwd=folder)
    assert done.returncode == 1
    assert "limit" in done.stdout


def test_tolerance_of_zero_uses_all_iterations(folder: Path) -> None:
    limits = ["--tolerance", 0, "--max-iterations", 177]
    done = run("recover", "p.npz", "--rank", 2, *limits, cwd=folder)
    assert "177 iterations" in done.stdout


def test_an_undersampled_problem_warns_in_one_line(folder: Path, tmp_path: Path) -> None:
    A, y = np.load(folder / "A.npy")[:50], np.load(folder / "y.npy")[:50]
    np.savez(tmp_path / "few.npz", A=A, y=y)
    done = run("recover", "few.npz", "--rank", 2, "--max-iterations", 10, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("robustrank: warning: 50 measurements cannot determine")
    assert len(done.stderr.splitlines()) == 1
