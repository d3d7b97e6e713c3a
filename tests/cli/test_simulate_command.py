"""``robustrank simulate``: files that ``recover`` reads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import run


def test_sensing_data_in_a_separate_file(tmp_path: Path) -> None:
    size = ["--shape", "50x40", "--rank", 2, "-m", 1500, "--dtype", "float32", "--seed", 1]
    done = run("simulate", "p.npz", "--sensing", "A.npy", *size, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "robustrank recover p.npz --sensing A.npy --rank 2" in done.stdout
    with np.load(tmp_path / "p.npz") as archive:
        assert "A" not in archive
    assert np.load(tmp_path / "A.npy", mmap_mode="r").dtype == np.float32
    done = run("recover", "p.npz", "--sensing", "A.npy", "--rank", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(os.listdir(tmp_path)) == ["A.npy", "p.npz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.txt"], "x.txt must end in .npz"),
        (["x.npz", "--sensing", "A.npz"], "A.npz must end in .npy"),
        (["x.npz", "--rank", "99"], "rank=99"),
        (["x.npz", "--outliers", "2"], "fraction"),
        (["x.npz", "--model", "odd"], "'odd' is not known; expected one of huge, scale"),
        (["x.npz", "--model", "gain:much"], "expected a number after the colon"),
        (["no/x.npz"], "does not exist"),
        (["x.npz", "--sensing", "A.npy", "--seeded", "sign"], "pass --sensing or --seeded"),
        (["x.npz", "--seeded", "odd"], "'odd' is not one of 'gaussian', 'sign'"),
    ],
)
def test_invalid_arguments_are_one_line_and_status_2(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = run("simulate", *arguments, "--shape", "20x15", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not os.listdir(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; only root can mount one."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("sensing", [[], ["--sensing", "A.npy"]])
def test_full_disk_is_one_line_and_leaves_nothing(sensing: list[str], small_disk: Path) -> None:
    done = run("simulate", "p.npz", *sensing, "--shape", "20x15", cwd=small_disk)
    assert done.returncode == 2
    assert done.stderr.startswith("robustrank: error: cannot ")
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not os.listdir(small_disk)
