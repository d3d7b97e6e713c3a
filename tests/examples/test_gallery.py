"""The examples with real data draw their picture, or say how to install the data."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"

SMALL = {
    "plot_background": ["--step", "40", "--shrink", "16"],
    "plot_ratings": [
        "--users",
        "150",
        "--seeds",
        "1",
        "--shares",
        "0",
        "--kinds",
        "random",
        "--rank",
        "1",
    ],
    "plot_weather": ["--years", "12", "--rank", "2"],
}
# What an example needs besides the data: a module that reads it.
READERS = {"plot_background": "av", "plot_weather": "rdata"}
HOW_TO_INSTALL = {
    "plot_background": "apt-get install opencv-doc",
    "plot_ratings": "pip install --no-deps recbole",
    "plot_weather": "apt-get install --no-install-recommends r-cran-fields",
}


def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    settings = {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, str(GALLERY / f"{name}.py"), *options],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=100,
        check=False,
    )


def data_options(name: str) -> list[str]:
    """The file of ROBUSTRANK_GALLERY_DATA that belongs to an example, or the installed one."""
    files = {
        "plot_background": "vtest.avi",
        "plot_ratings": "ml-100k.inter",
        "plot_weather": "COmonthlyMet.rda",
    }
    folder = os.environ.get("ROBUSTRANK_GALLERY_DATA")
    return [] if folder is None else ["--data", str(Path(folder) / files[name])]


def test_every_example_is_tested() -> None:
    assert {path.stem for path in GALLERY.glob("plot_*.py")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_example_draws_its_picture_or_says_what_is_missing(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    done = run(name, *data_options(name), *SMALL[name], "--out", str(picture))
    if done.returncode == 0:
        assert done.stderr == ""
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert any(status in done.stdout for status in ("RECOVERED", "SETTLED", "UNEXPLAINED"))
    else:
        assert done.returncode == 1
        assert_is_a_sentence(done.stderr)
        assert "install" in done.stderr
        assert not picture.exists()


@pytest.mark.parametrize("name", SMALL)
def test_missing_data_is_a_sentence_that_says_how_to_install_it(name: str, tmp_path: Path) -> None:
    done = run(name, "--data", str(tmp_path / "missing"), "--out", str(tmp_path / "picture.png"))
    assert done.returncode == 1
    assert_is_a_sentence(done.stderr)
    assert str(tmp_path / "missing") in done.stderr
    assert HOW_TO_INSTALL[name] in done.stderr
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.parametrize("name", READERS)
def test_missing_reader_is_a_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(READERS[name]) is not None:
        pytest.skip(f"{READERS[name]} is installed")
    data = tmp_path / "data"
    data.write_bytes(b"not read")
    done = run(name, "--data", str(data), "--out", str(tmp_path / "picture.png"))
    assert done.returncode == 1
    assert_is_a_sentence(done.stderr)
    assert f"pip install {READERS[name]}" in done.stderr


def assert_is_a_sentence(message: str) -> None:
    assert "Traceback" not in message
    assert message.strip().endswith(".")
    assert message.count("\n") == 1
