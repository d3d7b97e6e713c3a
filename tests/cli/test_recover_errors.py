"""``robustrank recover`` with invalid input: one line on stderr and exit status 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import run

from robustrank.simulate import plant

INVALID = {
    "no input": ([], "incomplete input: pass an .npz file with A and y"),
    "missing file": (["nowhere.npz"], "nowhere.npz does not exist"),
    "truncated": (["truncated.npz"], "truncated.npz cannot be read"),
    "not a NumPy file": (["foreign.npz"], "foreign.npz is not a NumPy file"),
    "pickle": (["pickle.npz"], "pickled Python objects, which are refused"),
    "no A": (["no_A.npz"], "no_A.npz contains no array named A; it contains y"),
    "NaN in A": (["nan.npz"], "A contains NaN or infinity (first in row 2)"),
    "NaN in y": (["nan_y.npz"], "y contains NaN (1 of 400 values)"),
    "words in csv": (
        ["p.npz", "--measurements", "words.csv"],
        "words.csv, line 2, column 'one': 'two' is not a number",
    ),
    "unknown extension": (
        ["p.npz", "--out", "x.mat"],
        "x.mat has an unknown extension; expected one of .npz",
    ),
    "missing folder": (["p.npz", "--out", "no/x.npz"], "the folder no does not exist"),
    "output is a folder": (["p.npz", "--report", "."], "is a folder"),
    "unknown solver": (["p.npz", "--solver", "magic"], "'magic' is not one of 'auto'"),
    "invalid shape": (["p.npz", "--shape", "20"], "expected ROWSxCOLUMNS"),
    "wrong shape": (["p.npz", "--shape", "15x20"], "does not match shape=(15, 20)"),
    "output is the input": (["p.npz", "--out", "p.npz"], "p.npz is also an input file"),
    "one name for two outputs": (
        ["p.npz", "--out", "a.npz", "--report", "a.npz"],
        "a.npz is also another output file",
    ),
    "report without .html": (["p.npz", "--report", "page.npy"], "expected one of .html"),
    "truth of another problem": (["other_truth.npz"], "does not match A; remove"),
    "empty csv": (["p.npz", "--measurements", "empty.csv"], "empty.csv is empty; expected a table"),
    "circle of links": (["circle.npz"], "its symbolic links lead in a circle; choose another"),
    "circle of links as output": (["p.npz", "--out", "circle.npz"], "lead in a circle"),
    "circle of folders as output": (["p.npz", "--report", "circle/x.html"], "lead in a circle"),
    "no iterations": (["p.npz", "--max-iterations", "0"], "expected at least 1"),
    "negative time limit": (
        ["p.npz", "--time-limit", "-1"],
        "time_limit=-1.0; expected a positive",
    ),
    "time limit NaN": (["p.npz", "--time-limit", "nan"], "time_limit=nan; expected a positive"),
    "time limit a word": (["p.npz", "--time-limit", "long"], "'long' is not a valid float"),
    "negative tolerance": (["p.npz", "--tolerance", "-1"], "tolerance=-1.0; expected zero or a"),
    "infinite tolerance": (
        ["p.npz", "--tolerance", "1e400", "--solver", "median-tgd"],
        "tolerance=inf; expected zero or a",
    ),
    "memory limit": (["p.npz", "--memory-limit", "much"], "memory_limit='much'; expected bytes"),
    "resume from nowhere": (
        ["p.npz", "--resume", "nowhere.npz", "--out", "x.npz"],
        "nowhere.npz does not exist; pass a result saved with --out, or omit --resume",
    ),
    "resume from a matrix": (["p.npz", "--resume", "A.npy"], "A.npy must end in .npz"),
    "resume from a problem": (["p.npz", "--resume", "no_A.npz"], "no_A.npz is not a saved result"),
    "workers and scheduler": (
        ["p.npz", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
        "pass --scheduler or --workers, not both",
    ),
    "no workers": (["p.npz", "--workers", "0"], "0 is not in the range x>=1"),
    "workers and an archive": (
        ["p.npz", "--workers", "2"],
        "save A as an .npy file and pass it with --sensing",
    ),
    "parts of different shapes": (
        ["p.npz", "--sensing", "A.npy", "--sensing", "other.npy"],
        "the files contain sensing matrices of different shapes",
    ),
    "a folder": (["p.npz", "--sensing", "empty"], "empty is a folder, but not an array of zarr"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a valid problem and with files that are invalid in one way each."""
    folder = tmp_path_factory.mktemp("invalid")
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    A, y = planted.A, planted.y
    np.savez(folder / "p.npz", A=A, y=y)
    (folder / "truncated.npz").write_bytes((folder / "p.npz").read_bytes()[:5000])
    (folder / "foreign.npz").write_text("not a NumPy file")
    (folder / "words.csv").write_text("one\ntwo\n")
    np.savez(folder / "pickle.npz", A=np.asarray([{}], object), y=y)
    (folder / "empty.csv").write_text("")
    truth = {"truth_left": np.ones((3, 2)), "truth_right": np.ones((4, 2)), "truth_outliers": y}
    np.savez(folder / "other_truth.npz", A=A, y=y, **truth)
    np.savez(folder / "no_A.npz", y=y)
    np.save(folder / "A.npy", A)
    np.save(folder / "other.npy", A[:, :3])
    (folder / "empty").mkdir()
    for name in ("circle.npz", "circle"):
        (folder / name).symlink_to(folder / name)
    bad = A.copy()
    bad[2, 3, 4] = np.nan
    np.savez(folder / "nan.npz", A=bad, y=y)
    np.savez(folder / "nan_y.npz", A=A, y=np.where(np.arange(400) == 7, np.nan, y))
    return folder


@pytest.mark.parametrize("case", list(INVALID))
def test_invalid_input_is_one_line_and_status_2(case: str, folder: Path) -> None:
    arguments, message = INVALID[case]
    before = sorted(folder.iterdir())
    done = run("recover", "--rank", 2, *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("robustrank: error: ")
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before
