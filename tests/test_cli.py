"""The command as a user runs it: a real process, its output, its exit status."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import robustrank as rr
from robustrank.cli import doctor

COMMAND = [sys.executable, "-m", "robustrank"]


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated problem in every form that ``recover`` reads."""
    path = tmp_path_factory.mktemp("cli")
    done = run(
        "simulate", "p.npz", "--shape", "20x15", "--rank", 2, "-m", 400, "--seed", 3, cwd=path
    )
    assert done.returncode == 0, done.stderr
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
    "archive with other sensing": ["p.npz", "--sensing", "A.npy"],
}


@pytest.mark.parametrize("form", list(FORMS))
def test_recover_reads_every_form(form: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.npz"
    done = run("recover", *FORMS[form], "--rank", 2, "--out", out, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert np.allclose(rr.load(out).matrix, truth(folder), rtol=1e-6)
    assert "recovered" in done.stdout
    assert str(out) in done.stdout
    assert done.stderr == ""


def test_recover_shows_the_error_where_the_truth_is_known(folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, cwd=folder)
    assert "20 found, 0 missed, 0 falsely false_positives" in done.stdout


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_matrix_alone(suffix: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / f"matrix.{suffix}"
    assert run("recover", "p.npz", "--rank", 2, "-q", "-o", out, cwd=folder).returncode == 0
    matrix = np.load(out) if suffix == "npy" else np.loadtxt(out, delimiter=",")
    assert np.allclose(matrix, truth(folder), rtol=1e-6)


def test_quiet_is_quiet(folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_report_is_written(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run("recover", "p.npz", "--rank", 2, "--report", page, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize("limit", [["--max-iterations", 1], ["--time-limit", 0.000001]])
def test_exit_status_1_when_it_did_not_converge(limit: list[object], folder: Path) -> None:
    done = run("recover", "p.npz", "--rank", 2, *limit, cwd=folder)
    assert done.returncode == 1
    assert "limit" in done.stdout


def test_tolerance_zero_uses_every_iteration(folder: Path) -> None:
    done = run(
        "recover", "p.npz", "--rank", 2, "--tolerance", 0, "--max-iterations", 777, cwd=folder
    )
    assert "777 iterations" in done.stdout


def test_undersampled_problem_warns_in_one_line(folder: Path) -> None:
    np.savez(folder / "few.npz", A=np.load(folder / "A.npy")[:50], y=np.load(folder / "y.npy")[:50])
    done = run("recover", "few.npz", "--rank", 2, "--max-iterations", 10, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("robustrank: warning: 50 measurements cannot determine")
    assert len(done.stderr.splitlines()) == 1


BAD_CALLS = {
    "no data": ([], "no data: give a .npz file"),
    "missing file": (["nowhere.npz"], "nowhere.npz does not exist"),
    "truncated": (["truncated.npz"], "truncated.npz cannot be read"),
    "foreign": (["foreign.npz"], "foreign.npz is no NumPy file"),
    "pickle": (["pickle.npz"], "pickled Python objects, which are refused"),
    "no A": (["no_A.npz"], "no array named A; found y"),
    "NaN in A": (["nan.npz"], "A contains NaN or infinity (first in row 2)"),
    "NaN in y": (["nan_y.npz"], "y contains 1 NaN"),
    "words in csv": (
        ["p.npz", "--measurements", "words.csv"],
        "words.csv is not a list of numbers",
    ),
    "unknown ending": (["p.npz", "--out", "x.mat"], "unknown ending; expected one of .npz"),
    "no folder": (["p.npz", "--out", "no/x.npz"], "the folder no does not exist"),
    "output is a folder": (["p.npz", "--report", "."], "is a folder"),
    "unknown solver": (["p.npz", "--solver", "magic"], "'magic' is not one of 'auto'"),
    "bad shape": (["p.npz", "--shape", "20"], "expected ROWSxCOLUMNS"),
    "wrong shape": (["p.npz", "--shape", "15x20"], "does not fit shape=(15, 20)"),
    "output is the input": (["p.npz", "--out", "p.npz"], "p.npz is an input already"),
    "one name for two": (
        ["p.npz", "--out", "a.npz", "--report", "a.npz"],
        "another output already",
    ),
    "report that is no page": (["p.npz", "--report", "page.npy"], "expected one of .html"),
    "truth of another problem": (["other_truth.npz"], "does not fit A; remove"),
    "empty csv": (["p.npz", "--measurements", "empty.csv"], "y has shape (0,); expected (400,)"),
    "bad iterations": (["p.npz", "--max-iterations", "0"], "expected at least 1"),
}


@pytest.fixture(scope="module")
def bad_files(folder: Path) -> Path:
    A, y = np.load(folder / "A.npy"), np.load(folder / "y.npy")
    (folder / "truncated.npz").write_bytes((folder / "p.npz").read_bytes()[:5000])
    (folder / "foreign.npz").write_text("no NumPy here")
    (folder / "words.csv").write_text("one\ntwo\n")
    np.savez(folder / "pickle.npz", A=np.asarray([{}], object), y=y)
    (folder / "empty.csv").write_text("")
    truth = {"truth_left": np.ones((3, 2)), "truth_right": np.ones((4, 2)), "truth_outliers": y}
    np.savez(folder / "other_truth.npz", A=A, y=y, **truth)
    np.savez(folder / "no_A.npz", y=y)
    bad = A.copy()
    bad[2, 3, 4] = np.nan
    np.savez(folder / "nan.npz", A=bad, y=y)
    np.savez(folder / "nan_y.npz", A=A, y=np.where(np.arange(400) == 7, np.nan, y))
    return folder


@pytest.mark.parametrize("case", list(BAD_CALLS))
def test_bad_input_is_one_line_and_status_2(case: str, bad_files: Path) -> None:
    arguments, words = BAD_CALLS[case]
    done = run("recover", "--rank", 2, *arguments, cwd=bad_files)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("robustrank: error: ")
    assert done.stdout == ""


def test_missing_rank_is_one_line_and_status_2(folder: Path) -> None:
    done = run("recover", "p.npz", cwd=folder)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--rank" in done.stderr
    assert "recover --help" in done.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_saves_the_state_so_far(
    sent: signal.Signals, folder: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "answer.npz", tmp_path / "report.html"
    endless = ["--tolerance", "0", "--max-iterations", "1000000000"]
    arguments = ["recover", "p.npz", "--rank", "2", "-o", str(out), "--report", str(page), *endless]
    with on_a_terminal([*COMMAND, *arguments], folder) as (process, terminal):
        wait_for(terminal, b"misfit")
        process.send_signal(sent)
        assert process.wait(timeout=60) == 1
    recovery = rr.load(out)
    assert recovery.status is rr.Status.INTERRUPTED
    assert recovery.iterations > 0
    assert page.exists()


class on_a_terminal:  # noqa: N801  # reads as a phrase: with on_a_terminal(...)
    """A process whose stderr is a real (pseudo-)terminal, where the progress bar is drawn."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.command, self.cwd = command, cwd

    def __enter__(self) -> tuple[subprocess.Popen[bytes], int]:
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen(
            self.command,
            cwd=self.cwd,
            stderr=inner,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(inner)
        return self.process, self.terminal

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)


def wait_for(terminal: int, text: bytes, seconds: float = 60) -> None:
    """Read the terminal until the text shows."""
    seen = b""
    end = time.monotonic() + seconds
    while text not in seen:
        assert time.monotonic() < end, seen
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            seen += os.read(terminal, 4096)


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("big")
    size = ["--shape", "50x40", "--rank", 2, "-m", 1500, "--dtype", "float32", "--seed", 1]
    done = run("simulate", "p.npz", "--sensing", "A.npy", *size, cwd=path)
    assert done.returncode == 0, done.stderr
    assert "robustrank recover p.npz --sensing A.npy --rank 2" in done.stdout
    yield path
    (path / "A.npy").unlink()


def test_simulated_sensing_data_in_a_file_of_its_own(big: Path) -> None:
    with np.load(big / "p.npz") as archive:
        assert "A" not in archive
    assert np.load(big / "A.npy", mmap_mode="r").dtype == np.float32
    done = run("recover", "p.npz", "--sensing", "A.npy", "--rank", 2, cwd=big)
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(os.listdir(big)) == ["A.npy", "p.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.txt"], "should end in .npz"),
        (["x.npz", "--sensing", "A.npz"], "should end in .npy"),
        (["x.npz", "--rank", "99"], "rank=99"),
        (["x.npz", "--outliers", "2"], "fraction"),
        (["x.npz", "--model", "odd"], "not one of 'huge'"),
        (["no/x.npz"], "does not exist"),
    ],
)
def test_simulate_refuses_what_it_cannot_do(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    done = run("simulate", *arguments, "--shape", "20x15", cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not os.listdir(tmp_path)


def test_demo_shows_both_solvers_and_writes_a_page(tmp_path: Path) -> None:
    size = ["--shape", "30x24", "--rank", 2, "-m", 1000]
    done = run("demo", *size, "--report", "demo.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (
        "median-TGD",
        "vanilla-GD",
        "outliers found",
        "passes over the data",
        "demo.html",
    ):
        assert words in done.stdout
    page = (tmp_path / "demo.html").read_text()
    assert "vanilla-GD" in page
    assert os.listdir(tmp_path) == ["demo.html"]


def test_doctor_finds_this_machine_healthy(tmp_path: Path) -> None:
    done = run("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("robustrank", "numpy", "threads", "backend torch", "GB/s"):
        assert words in done.stdout
    assert done.stdout.count("passed") == 2


def test_doctor_says_so_when_an_operator_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    healthy = rr.operators.check_operator(rr.operators.as_operator(np.ones((3, 2, 2))))
    monkeypatch.setattr(doctor, "check_operator", lambda _: replace(healthy, dot=1.0))
    outcome = CliRunner().invoke(doctor.doctor, standalone_mode=False)
    assert outcome.return_value == 1
    assert "FAILED" in outcome.stdout


@pytest.mark.parametrize("command", [[], ["demo"], ["simulate"], ["recover"], ["doctor"]])
def test_help_teaches(command: list[str], tmp_path: Path) -> None:
    done = run(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    assert len(done.stdout.splitlines()) > 5


def test_version(tmp_path: Path) -> None:
    assert rr.__version__ in run("--version", cwd=tmp_path).stdout


@pytest.mark.parametrize(("limit", "status"), [("10000", 0), ("1", 1)])
def test_exit_status_survives_a_reader_that_goes_away(
    limit: str, status: int, folder: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "recover", "p.npz", "--rank", "2", "--max-iterations", limit],
        cwd=folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (status, "")


def test_terminal_with_few_letters() -> None:
    done = subprocess.run(
        [*COMMAND, "simulate", "--help"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0
    assert b"in units of ?_r(M)" in done.stdout


def test_no_arguments_shows_the_help(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: ")
    assert "robustrank demo" in done.stdout
